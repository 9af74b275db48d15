"""Where everything lives: config directory, home, project stores, bundled files.

Reads `os.environ` and looks at directories; writes nothing. Source: DESIGN §4 and the host's own rules
for naming project folders (every character outside ``[A-Za-z0-9]`` of the real path, counted in UTF-16
code units, becomes ``-``).
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from pathlib import Path

from pipeline.errors import InputError

SENTINEL = "REVERIE_INSIDE"
_LONGEST = 200
_DIR_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def config_dir() -> Path:
    """Return Claude Code's configuration directory: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return Path(named).expanduser() if named else Path.home() / ".claude"


def home_dir() -> Path:
    """Return Reverie's own state directory: ``$REVERIE_HOME``, else ``<config dir>/reverie``."""
    named = os.environ.get("REVERIE_HOME")
    return Path(named).expanduser() if named else config_dir() / "reverie"


def user_config_dir() -> Path:
    """Return where this person's programs keep their settings: ``$XDG_CONFIG_HOME``, else ``~/.config``."""
    named = os.environ.get("XDG_CONFIG_HOME")
    return Path(named) if named and named.startswith("/") else Path.home() / ".config"


def projects_dir() -> Path:
    """Return the directory that holds one folder of transcripts per project."""
    return config_dir() / "projects"


def bundled(name: str) -> Path:
    """Return the directory `name` (``prompts``, ``hooks``, ``fixtures/demo``) shipped with the package.

    In a checkout it stands beside the package; in an installed wheel inside it.
    """
    package = Path(__file__).resolve().parent
    inside = package / "_bundled" / name
    return inside if inside.exists() else package.parent / name


def speakable(path: Path) -> Path:
    """Return `path`; InputError if its name is not UTF-8, since neither ledger nor index can hold it."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise InputError("the name is not UTF-8", file=shown, fix="Rename the file or folder.") from error
    return path


def sanitise(path: str) -> str:
    """Return the host's folder name for `path`, which should already be a real path.

    Names over 200 characters are cut there; the host adds a hash we can't compute, so callers match
    such names by prefix (`project_folder`).
    """
    units = unicodedata.normalize("NFC", path).encode("utf-16-le", "surrogatepass")
    chars = []
    for low, high in zip(units[::2], units[1::2], strict=True):
        char = chr(low) if high == 0 else "-"
        chars.append(char if char.isascii() and char.isalnum() else "-")
    return "".join(chars)


def project_folder(path: Path) -> Path:
    """Return the host's folder under ``projects/`` for the project at `path` (a real path).

    Honours ``CLAUDE_CODE_PROJECT_DIR_NAME``, which the host accepts only beside ``CLAUDE_CONFIG_DIR``.
    """
    named = _dir_named()
    if named is not None:
        return named
    name = sanitise(str(path))
    if len(name) <= _LONGEST:
        return projects_dir() / name
    prefix = name[:_LONGEST] + "-"
    if projects_dir().is_dir():
        for entry in sorted(projects_dir().iterdir()):
            if entry.name.startswith(prefix):
                return entry
    return projects_dir() / prefix.rstrip("-")


def _dir_named() -> Path | None:
    named = os.environ.get("CLAUDE_CODE_PROJECT_DIR_NAME", "")
    accepted = os.environ.get("CLAUDE_CONFIG_DIR") and _DIR_NAME.fullmatch(named)
    return projects_dir() / named if accepted else None


def project_root(cwd: Path) -> Path:
    """Return the directory that stands for the project `cwd` is in.

    That is the main work tree of its git repository (so linked worktrees and sub-directories share
    one store), else `cwd` itself. Reads ``.git`` files directly: git need not be installed, and a
    broken ``.git`` counts as none. A repository at the file system root is ignored.
    """
    here = _real(cwd)
    for folder in (here, *here.parents):
        if folder == Path(folder.anchor):
            break
        found = _main_tree(folder)
        if found is not None:
            return found
    return here


def project_store(cwd: Path) -> Path:
    """Return the memory folder Claude Code loads for a session in `cwd`.

    ``autoMemoryDirectory`` from the user's or the project's settings wins (absolute or ``~/`` paths
    only, as the host has it); else ``<config dir>/projects/<sanitised git root>/memory``.
    """
    root = project_root(cwd)
    return _chosen(root) or project_folder(root) / "memory"


def named_root(cwd: Path) -> Path | None:
    """Return the project root whose path alone gives `project_store` its name.

    None when a setting or a variable names the folder, since then a person chose who shares it.
    """
    root = project_root(cwd)
    if _chosen(root) is not None or _dir_named() is not None:
        return None
    return root


def _chosen(root: Path) -> Path | None:
    files = (
        root / ".claude" / "settings.local.json",
        root / ".claude" / "settings.json",
        config_dir() / "settings.json",
    )
    return next((named for file in files if (named := _auto_memory(file)) is not None), None)


def _real(path: Path) -> Path:
    """Return the real path of `path`; InputError for a name that no file can have."""
    try:
        return Path(os.path.realpath(path))
    except ValueError as error:
        raise InputError(
            f"no path can be so called: {error}",
            file=str(path).replace("\0", "\\0"),
            fix="Give an existing path.",
        ) from error


def _main_tree(folder: Path) -> Path | None:
    """Return the main work tree if `folder` is the top of one, or None."""
    mark = folder / ".git"
    try:
        if mark.is_dir():
            return folder if (mark / "HEAD").exists() else None
        if not mark.is_file():
            return None
        text = mark.read_text("utf-8", "replace").strip()
        if not text.startswith("gitdir:"):
            return None
        git_dir = _real(folder / text.removeprefix("gitdir:").strip())
        if not git_dir.is_dir():
            return None
        common = git_dir / "commondir"
        if not common.is_file():
            return folder
        shared = _real(git_dir / common.read_text("utf-8", "replace").strip())
    except (OSError, InputError):
        return None
    return shared.parent if shared.name == ".git" and shared.is_dir() else folder


def _auto_memory(settings: Path) -> Path | None:
    try:
        named = json.loads(settings.read_bytes()).get("autoMemoryDirectory")
    except (OSError, ValueError, AttributeError, RecursionError):
        # An unreadable settings file is the host's to report; it names no directory.
        return None
    if not isinstance(named, str) or not named.startswith(("/", "~/")) or "\0" in named:
        return None
    return Path(named).expanduser()

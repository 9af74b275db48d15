"""Where everything lives: config directory, home, project stores, bundled files.

The rules are those of ``pipeline.hooklib``, which the hooks share; here they give paths and our
errors.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.core.errors import InputError
from pipeline.hooklib import ownership, places

PACKAGE = Path(__file__).resolve().parents[1]
"""The directory of this package; its parent is what ``PYTHONPATH`` must name."""


def config_dir() -> Path:
    """Return Claude Code's configuration directory: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return Path(places.config_dir()).expanduser()


def home_dir() -> Path:
    """Return Reverie's own state directory: ``$REVERIE_HOME``, else ``<config dir>/reverie``."""
    return Path(places.home_dir()).expanduser()


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
    inside = PACKAGE / "_bundled" / name
    return inside if inside.exists() else PACKAGE.parent / name


def speakable(path: Path) -> Path:
    """Return `path`; InputError if its name is not UTF-8, since neither ledger nor index can hold it."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise InputError("the name is not UTF-8", file=shown, fix="Rename the file or folder.") from error
    return path


def project_folder(path: Path) -> Path:
    """Return the host's folder under ``projects/`` for the project at `path` (a real path).

    Honours ``CLAUDE_CODE_PROJECT_DIR_NAME``, which the host accepts only beside ``CLAUDE_CONFIG_DIR``.
    """
    return Path(places.project_folder(str(path))).expanduser()


def project_root(cwd: Path) -> Path:
    """Return the directory that stands for the project `cwd` is in.

    That is the main work tree of its git repository (so linked worktrees and sub-directories share
    one store), else `cwd` itself. Reads ``.git`` files directly: git need not be installed, and a
    broken ``.git`` counts as none. A repository at the file system root is ignored.
    """
    with _nameable(cwd):
        return Path(places.project_root(str(cwd)))


def project_store(cwd: Path) -> Path:
    """Return the memory folder Claude Code loads for a session in `cwd`.

    ``autoMemoryDirectory`` from the user's or the project's settings wins (absolute or ``~/`` paths
    only, as the host has it); else ``<config dir>/projects/<sanitised git root>/memory``.
    """
    with _nameable(cwd):
        return Path(ownership.project_store(str(cwd))).expanduser()


def named_root(cwd: Path) -> Path | None:
    """Return the project root whose path alone gives `project_store` its name.

    None when a setting or a variable names the folder, since then a person chose who shares it.
    """
    root = project_root(cwd)
    return None if ownership.is_chosen(str(root)) else root


@contextmanager
def _nameable(path: Path) -> Iterator[None]:
    """Turn the ValueError for a name that no file can have into an InputError."""
    try:
        yield
    except ValueError as error:
        raise InputError(
            f"no path can be so called: {error}",
            file=str(path).replace("\0", "\\0"),
            fix="Give an existing path.",
        ) from error

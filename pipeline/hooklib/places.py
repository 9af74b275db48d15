"""Where things live, as plain strings: the rules behind ``pipeline.core.paths``, which has them as paths.

Reads `os.environ` and looks at directories; writes nothing. Source: DESIGN §4 and the host's own rules for
naming project folders (every character outside ``[A-Za-z0-9]`` of the real path, counted in UTF-16 code
units, becomes ``-``).
"""

import os

OPEN = 0
for _flag in ("O_BINARY", "O_CLOEXEC", "O_NOINHERIT", "O_NONBLOCK"):
    OPEN |= getattr(os, _flag, 0)
"""Flags of every `os.open` for reading: bytes as they are, nothing a child inherits, no waiting at a pipe."""
PRIVATE = ".reverie"
"""The folder of our own files in a store."""
PROJECT_STORE = "memory"
"""Claude Code's name for the folder of memories in a project's folder."""
_LONGEST = 200
_LONGEST_NAMED = 64


def config_dir() -> str:
    """Return Claude Code's configuration directory: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return os.path.expanduser(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude")


def home_dir() -> str:
    """Return Reverie's own state directory: ``$REVERIE_HOME``, else ``<config dir>/reverie``."""
    named = os.environ.get("REVERIE_HOME")
    return os.path.expanduser(named) if named else config_dir() + "/reverie"


def sanitise(path: str) -> str:
    """Return the host's folder name for `path`, which should already be a real path.

    Names over 200 characters are cut there; the host adds a hash we can't compute, so callers match
    such names by prefix (`project_folder`).
    """
    if not path.isascii():
        import unicodedata

        path = unicodedata.normalize("NFC", path)
    return "".join(
        [char if char.isascii() and char.isalnum() else "--" if char > "\uffff" else "-" for char in path]
    )


def project_folder(root: str) -> str:
    """Return the host's folder under ``projects/`` for the project at `root` (a real path).

    Honours ``CLAUDE_CODE_PROJECT_DIR_NAME``, which the host accepts only beside ``CLAUDE_CONFIG_DIR``.
    """
    projects = config_dir() + "/projects"
    named = dir_named()
    if named:
        return f"{projects}/{named}"
    name = sanitise(root)
    if len(name) <= _LONGEST:
        return f"{projects}/{name}"
    prefix = name[:_LONGEST] + "-"
    if os.path.isdir(projects):
        for entry in sorted(os.listdir(projects)):
            if entry.startswith(prefix):
                return f"{projects}/{entry}"
    return f"{projects}/{prefix.rstrip('-')}"


def dir_named() -> str:
    """Return the folder name that ``CLAUDE_CODE_PROJECT_DIR_NAME`` sets, or "" when it sets none."""
    named = os.environ.get("CLAUDE_CODE_PROJECT_DIR_NAME", "")
    plain = named.isascii() and named.replace("-", "").replace("_", "").isalnum()
    dashes = named and not named.strip("-_")
    fits = len(named) <= _LONGEST_NAMED and (plain or dashes)
    return named if fits and os.environ.get("CLAUDE_CONFIG_DIR") else ""


def project_root(cwd: str) -> str:
    """Return the directory that stands for the project `cwd` is in.

    That is the main work tree of its git repository (so linked worktrees and sub-directories share
    one store), else `cwd` itself. Reads ``.git`` files directly: git need not be installed, and a
    broken ``.git`` counts as none. A repository at the file system root is ignored. Raises ValueError for
    a name that no file can have.
    """
    here = folder = os.path.realpath(cwd)
    while True:
        parent = os.path.dirname(folder)
        if parent == folder:
            return here
        found = _main_tree(folder)
        if found:
            return found
        folder = parent


def make_dirs(path: str) -> None:
    """Make the folder `path` and its missing parents, each for its owner only. Raises OSError."""
    if not os.path.isdir(path):
        make_dirs(os.path.dirname(path))
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            if not os.path.isdir(path):
                raise


def read_file(path: str, limit: int) -> bytes:
    """Return the first `limit` bytes of the file at `path`, or raise OSError; a pipe is not waited for."""
    handle = os.open(path, os.O_RDONLY | OPEN)
    try:
        chunks = []
        while limit > 0:
            chunk = os.read(handle, min(limit, 1 << 20))
            if not chunk:
                break
            chunks.append(chunk)
            limit -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(handle)


def _main_tree(folder: str) -> str:
    """Return the main work tree if `folder` is the top of one, else ""."""
    git = folder + "/.git"
    try:
        if os.path.isdir(git):
            return folder if os.path.exists(git + "/HEAD") else ""
        if not os.path.isfile(git):
            return ""
        text = _text(git)
        if not text.startswith("gitdir:"):
            return ""
        git_dir = os.path.realpath(os.path.join(folder, text.removeprefix("gitdir:").strip()))
        if not os.path.isdir(git_dir):
            return ""
        if not os.path.isfile(git_dir + "/commondir"):
            return folder
        shared = os.path.realpath(os.path.join(git_dir, _text(git_dir + "/commondir")))
    except (OSError, ValueError):
        return ""
    parent, name = os.path.split(shared)
    return parent if name == ".git" and os.path.isdir(shared) else folder


def _text(file: str) -> str:
    return read_file(file, 1 << 20).decode("utf-8", "replace").strip()

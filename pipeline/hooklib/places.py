"""Where things live, as plain strings: the rules behind ``pipeline.core.paths``, which has them as paths.

Reads `os.environ` and looks at directories; writes nothing. Source: DESIGN §4 and the host's own rules for
naming project folders (every character outside ``[A-Za-z0-9]`` of the real path, counted in UTF-16 code
units, becomes ``-``).
"""

import os

from pipeline.hooklib import home_files

OPEN = 0
for _flag in ("O_BINARY", "O_CLOEXEC", "O_NOINHERIT", "O_NONBLOCK"):
    OPEN |= getattr(os, _flag, 0)
"""Flags of every `os.open` for reading: bytes as they are, nothing a child inherits, no waiting at a pipe."""
PRIVATE = ".reverie"
"""The folder of our own files in a store."""
PROJECT_STORE = "memory"
"""Claude Code's name for the folder of memories in a project's folder."""
HOME_NOTE = "reverie.home"
"""The file beside the client's settings that says where Reverie's home is, if not there: one line."""
CLIENT = ("CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT")
"""What Claude Code sets for all it starts; a project's settings can change them, not unset them."""
FOLDERS = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/opt/homebrew/bin"
"""Where programs are looked for when no PATH can be believed."""
_LONGEST = 200
_LONGEST_NAMED = 64


def by_client() -> bool:
    """Whether Claude Code started this process, so that its environment may be a project's."""
    return any(name in os.environ for name in CLIENT)


def variable(name: str) -> str:
    """Return the variable called `name` if a person set it in a shell of their own, else ""."""
    return "" if by_client() else os.environ.get(name, "")


def without_a_projects_zone() -> bool:
    """Take ``TZ`` away if Claude Code started this process; return whether there was one.

    It may be a project's, and the days that are told would hang on the project one is in.
    """
    return by_client() and os.environ.pop("TZ", None) is not None


def config_dir() -> str:
    """Return Claude Code's configuration directory: ``$CLAUDE_CONFIG_DIR``, else ``~/.claude``."""
    return os.path.expanduser(os.environ.get("CLAUDE_CONFIG_DIR") or "~/.claude")


def client_file() -> str:
    """Return the file in which Claude Code keeps its own state, and the MCP servers for all projects."""
    named = os.environ.get("CLAUDE_CONFIG_DIR")
    return os.path.expanduser(f"{named or '~'}/.claude.json")


def home_dir() -> str:
    """Return Reverie's own state directory: ``$REVERIE_HOME`` in a shell, else where the hooks find it.

    That is what ``<config dir>/reverie.home`` says (`HOME_NOTE`), else ``<config dir>/reverie``.
    """
    named = variable("REVERIE_HOME")
    return os.path.expanduser(named) if named else hooks_home()


def hooks_home() -> str:
    """Return the home that hooks go by, whatever variables say; ``hooks/spooling.py`` has the same rule."""
    noted = first_line(f"{config_dir()}/{HOME_NOTE}")
    return noted if os.path.isabs(noted) else config_dir() + "/reverie"


def runs_python(home: str) -> bool:
    """Whether the interpreter that is noted in `home` can be run."""
    noted = first_line(f"{home}/{home_files.PYTHON}")
    return os.path.isfile(noted) and os.access(noted, os.X_OK)


def needs_note(home: str) -> bool:
    """Whether Reverie has worked in `home` and a command should note there which Python and PATH it has."""
    if not any(os.path.exists(f"{home}/{name}") for name in (home_files.LEDGER, home_files.SPOOL)):
        return False
    return not runs_python(home) or not (by_client() or os.path.exists(f"{home}/{home_files.PATH}"))


def search_path(home: str) -> str:
    """Return where programs are looked for: the PATH of a shell or worker, in a session that of a worker."""
    if not by_client():
        return os.environ.get("PATH", os.defpath)
    return first_line(f"{home}/{home_files.PATH}") or FOLDERS


def first_line(file: str) -> str:
    """Return the first line of `file`, or "" when there is none to read."""
    try:
        return os.fsdecode(read_file(file, 4096).partition(b"\n")[0]).strip()
    except (OSError, ValueError):
        return ""


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
    """Return the main work tree if `folder` is the top of one as git sees it, else "".

    What a ``.git`` file says is believed only if the place it names says the same: anybody can write a file
    that names another's repository. Git itself asks for a HEAD, objects and refs. A linked work tree shares
    with its repository if that knows it (``worktrees/<name>/gitdir`` leads back); all else stands for itself:
    a submodule, ``--separate-git-dir``, a work tree that was moved by hand and not repaired.
    """
    git = folder + "/.git"
    try:
        if os.path.isdir(git):
            return folder if _is_repository(git) else ""
        if not os.path.isfile(git):
            return ""
        text = _text(git)
        if not text.startswith("gitdir:"):
            return ""
        git_dir = os.path.realpath(os.path.join(folder, text.removeprefix("gitdir:").lstrip(" ")))
        if not os.path.isfile(git_dir + "/commondir"):
            return folder if _is_repository(git_dir) else ""
        shared = os.path.realpath(os.path.join(git_dir, _text(git_dir + "/commondir")))
        if not (_has_head(git_dir) and _is_repository(shared)):
            return ""
        parent, name = os.path.split(shared)
        return parent if name == ".git" and _leads_back(git_dir, shared, git) else folder
    except (OSError, ValueError):
        return ""


def _is_repository(git_dir: str) -> bool:
    """Whether git takes `git_dir` for a repository, by what stands in it."""
    return _has_head(git_dir) and all(os.path.isdir(f"{git_dir}/{name}") for name in ("objects", "refs"))


def _has_head(git_dir: str) -> bool:
    """Whether ``HEAD`` names a branch or a commit; it may be a link that leads nowhere, as git allows."""
    head = git_dir + "/HEAD"
    if os.path.islink(head):
        return os.readlink(head).startswith("refs/")
    text = _text(head)
    if text.startswith("ref:"):
        return text.removeprefix("ref:").strip().startswith("refs/")
    return len(text) in (40, 64) and not text.strip("0123456789abcdef")


def _leads_back(git_dir: str, shared: str, git: str) -> bool:
    """Whether `git_dir` is of a work tree that `shared` knows, and of the one whose ``.git`` is at `git`."""
    if os.path.dirname(git_dir) != shared + "/worktrees":
        return False
    back = os.path.join(git_dir, _text(git_dir + "/gitdir"))
    return os.path.realpath(back) == os.path.realpath(git)


def _text(file: str) -> str:
    """Return what stands in a file of git's, of which only the line's end is no part: a path may be odd."""
    return os.fsdecode(read_file(file, 1 << 16)).rstrip("\r\n")

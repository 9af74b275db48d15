"""Whose a store is: the one rule of hooks, worker and commands.

Claude Code names a project's folder after its path with every odd character made ``-``, so two projects can
meet in one. The first to write in the store leaves its root in ``.reverie/root``, in Unicode's composed form,
since systems differ in which form they give a path; the store is its alone. A store that a person chose by a
setting or a variable may be shared. One whose project is gone from there is taken over by the project whose
store it is by name, since a project that was moved or renamed keeps its memories; ``.reverie/moved`` says so.
"""

import os

from pipeline.hooklib import claude_settings, jsonish, places
from pipeline.hooklib.plain import lines_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OWNER = f"{places.PRIVATE}/root"
WRITTEN = f"{places.PRIVATE}/written.jsonl"
"""What Reverie wrote: ``["path","digest"]`` a line, the last one of a path counts."""
OURS, TOLD, EDITED, OTHER, TEAMS = "ours", "told", "edited", "other", "team"
"""Whose words a memory file has: the very bytes are Reverie's; nobody knows the file, but the ledger has what
it cites; Reverie wrote it and somebody changed it; nothing bears out what it says of itself; it lies in a
team's folder, where others can write all of that, the notes of what Reverie wrote too."""
TEAM = "team"
"""Claude Code's name for the folder of a team's memories, below a project's own."""
MOVED = f"{places.PRIVATE}/moved"
"""A JSON object a line for each time the store's project moved: ``from``, ``to``, ``at`` (epoch seconds)."""
_LONGEST = 8192
_MOST_WRITTEN = 8 << 20
_TEAM_DEPTH = 3
"""Claude Code gives each shared store a folder in the team's, and may keep its files one below that."""
_MOST_TEAM_FOLDERS = 64
_NOT_TEAM_MEMORIES = frozenset({"archive", "skills"})
_MOUNTS = ("/", "/media", "/mnt", "/net", "/run/media", "/Volumes")
"""Where a disk may be missing: what ends right here is not gone for good."""


def project_store(cwd: str) -> str:
    """Return the memory folder Claude Code loads for a session in `cwd`.

    ``autoMemoryDirectory`` from the user's or the project's settings wins; else ``<config
    dir>/projects/<sanitised git root>/memory``. Raises ValueError for a name that no file can have.
    """
    return _store(places.project_root(cwd))


def is_chosen(root: str) -> bool:
    """Whether a setting or a variable names the store of the project at `root`, so that it may be shared."""
    return bool(places.dir_named() or claude_settings.chosen_store(root))


def owner(store: str) -> str:
    """Return the root of the project that has claimed `store`, "" when none has. Raises OSError."""
    try:
        return os.fsdecode(places.read_file(f"{store}/{OWNER}", _LONGEST)).strip("\n")
    except FileNotFoundError:
        return ""


def composed(root: str) -> str:
    """Return `root` as an owner's is written down."""
    if root.isascii():
        return root
    import unicodedata

    return unicodedata.normalize("NFC", root)


def may_use(owner: str, root: str) -> bool:
    """Whether the project at `root` may use a store that belongs to `owner` ("": to nobody)."""
    return owner in ("", composed(root)) or has_moved(owner, root)


def has_moved(owner: str, root: str) -> bool:
    """Whether the project at `root` may be what was at `owner`: that is gone for good, and this is there."""
    return owner != composed(root) and is_gone(owner) and os.path.isdir(root)


def is_gone(root: str) -> bool:
    """Whether nothing is at `root` any more; a disk that is missing, or a locked folder, is no proof."""
    if not root.startswith("/") or _is_there(root):
        return False
    if not root.isascii():
        import unicodedata

        # It is written down composed; the folder may have the other form.
        if _is_there(unicodedata.normalize("NFD", root)):
            return False
    above = os.path.dirname(root)
    while not os.path.lexists(above):
        above = os.path.dirname(above)
    return above not in _MOUNTS and os.path.dirname(above) not in ("/media", "/run/media")


def _is_there(path: str) -> bool:
    """Whether something is at `path`, or might be."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return True


def moves(store: str) -> "list[dict[str, Any]]":
    """Return how the project of `store` moved, oldest first, as `MOVED` has it; odd lines are left out."""
    try:
        lines = lines_of(places.read_file(f"{store}/{MOVED}", _LONGEST * 8).decode("utf-8", "replace"))
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            value = jsonish.loads(line)
        except ValueError:
            continue
        fits = isinstance(value, dict) and isinstance(value.get("from"), str)
        if fits and isinstance(value.get("to"), str) and isinstance(value.get("at"), int | float):
            found.append(value)
    return found


def moved_from(store: str, root: str) -> str:
    """Return where the project at `root`, which owns `store`, was before, "" when it was always here."""
    try:
        claimed = owner(store)
    except OSError:
        return ""
    if claimed and has_moved(claimed, root):
        return claimed
    known = moves(store)
    return str(known[-1]["from"]) if known and known[-1]["to"] == composed(root) else ""


def project_of(cwd: str) -> "tuple[str, str]":
    """Return root and store of the project a session in `cwd` belongs to; the store "" when it is another's.

    A store whose owner can't be read counts as nobody's: recall only reads, and the host loads it anyway.
    """
    root = places.project_root(cwd)
    store = _store(root)
    if is_chosen(root):
        return root, store
    try:
        return root, store if may_use(owner(store), root) else ""
    except OSError:
        return root, store


def hand(store: str, path: str, digest: str) -> str:
    """Return whose the file at `path` of `store` with that SHA-256 is: `TEAMS`, `OURS`, `EDITED` or `OTHER`.

    For a file that the worker has not seen yet, by the end of what was written; what is not found is `OTHER`.
    """
    if is_team(store):
        return TEAMS
    try:
        written = places.read_file(f"{store}/{WRITTEN}", _MOST_WRITTEN)
    except (OSError, ValueError):
        return OTHER
    start = f'["{path}","'.encode("utf-8", "surrogateescape")
    end = written.rfind(f'","{digest}"]'.encode())
    if end >= 0:
        # Written here, or moved: what was written at that path since then is other bytes, or none.
        begin = written.rfind(b"\n", 0, end) + 1
        if written.rfind(written[begin : end + 3]) == begin:
            return OURS
    at = written.rfind(start)
    return EDITED if at >= 0 and not written.startswith(b'"', at + len(start)) else OTHER


def is_team(store: str) -> bool:
    """Whether others write in the folder `store` as well: a team's, or one that a repository brings along."""
    return is_team_folder(store) or claude_settings.is_brought(store)


def is_team_folder(store: str) -> bool:
    """Whether `store` is the folder ``team/`` in a memory folder, or one that memories may be in below it.

    A folder counts as a memory folder by its name, or by what Claude Code or Reverie keep in one.
    """
    return team_level(store) > 0


def team_level(store: str) -> int:
    """Return 1 where `store` is the folder ``team/`` in a memory folder, 2 or 3 for one below it, else 0."""
    folder, below = store.rstrip("/"), 0
    while below < _TEAM_DEPTH and f"/{TEAM}" in folder:
        above, name = os.path.split(folder)
        below += 1
        if name == TEAM and holds_memories(above):
            return below
        folder = above
    return 0


def team_folder(store: str) -> str:
    """Return the team's folder in the memory folder `store`, "" when there is none; a link is none."""
    folder = f"{store}/{TEAM}"
    return folder if store and os.path.isdir(folder) and not os.path.islink(folder) else ""


def team_folders(root: str) -> "list[str]":
    """Return the folders that memories may be in below the team's folder at `root`, itself as "" first.

    They are the same ones for a folder in ``team/`` as for ``team/`` itself. Links, hidden folders, the
    archive and skills are left out. Raises OSError.
    """
    found = [""]
    below = _TEAM_DEPTH - max(1, team_level(root))
    for folder in found:
        depth = folder.count("/") + 1 if folder else 0
        if depth < below and len(found) < _MOST_TEAM_FOLDERS:
            with os.scandir(f"{root}/{folder}") as entries:
                names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            fit = [name for name in names if name[0] not in ".~" and name not in _NOT_TEAM_MEMORIES]
            found += [f"{folder}/{name}" if folder else name for name in fit if _is_plain(name)]
    return found[:_MOST_TEAM_FOLDERS]


def _is_plain(name: str) -> bool:
    return "\\" not in name and ":" not in name and name.isprintable()


def holds_memories(folder: str) -> bool:
    """Whether `folder` is a memory folder, by its name or by what is kept in one."""
    if os.path.basename(folder) == places.PROJECT_STORE:
        return True
    from pipeline.hooklib.memory_format import INDEX

    return any(os.path.lexists(f"{folder}/{name}") for name in (places.PRIVATE, INDEX))


def _store(root: str) -> str:
    return claude_settings.chosen_store(root) or f"{places.project_folder(root)}/{places.PROJECT_STORE}"

"""Which files of a store mean what, and the guard that keeps every path inside it.

A path is text relative to the store with ``/`` between parts. Links are never followed: a memory behind
a link is skipped and reported, since the check and the later write could see two different targets.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Container, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pipeline.core import system
from pipeline.core.errors import PathEscapeError, StoreError
from pipeline.hooklib import memory_format, ownership, places
from pipeline.hooklib.memory_format import odd_name
from pipeline.record import record
from pipeline.safety.invisible import visible_name

INDEX = memory_format.INDEX
OVERFLOW = memory_format.OVERFLOW
PRIVATE = places.PRIVATE
VAULT = memory_format.VAULT
GRAPH = memory_format.GRAPH
EDGES = memory_format.EDGES
ARCHIVE = memory_format.ARCHIVE
EARLIER = "earlier"
"""Folder below ``archive/<year>`` for former texts, of memories that go on and of what was undone."""
EPISODES = "episodes"
MAX_FILE = memory_format.MAX_FILE
MAX_DERIVED = 1_000_000_000


@record
class Problem:
    """A file that could not be taken as it is; `line` is 0 when no line is to blame, `fix` may be empty.

    `by_name` says that its name is: then `path` has it as a person can read it (`visible_name`). `no_file`
    says that a folder, a pipe or the like stands where a memory file should.
    """

    path: str
    line: int
    message: str
    fix: str = ""
    by_name: bool = False
    no_file: bool = False

    def in_words(self) -> str:
        """Return it on one line, with where it is and what to do."""
        path = visible_name(self.path)
        where = f"{path}:{self.line}" if self.line else path
        return f"{where}: {self.message}" + (f". {self.fix}" if self.fix else "")


class FileStamp(NamedTuple):
    """What tells that a file is unchanged without reading it; times in nanoseconds."""

    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, info: os.stat_result) -> FileStamp:
        """Return the stamp of a `stat` result."""
        return cls(info.st_size, info.st_mtime_ns, info.st_ctime_ns)


_UNSEEN = FileStamp(0, 0, 0)
_CHECKED = 1 << 16
"""Paths that are known to be plain: of one file it is asked at each step of a change."""
_LINK = "a link; it is not followed"
_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
"""What may have the name of a memory and is no file."""


@lru_cache(_CHECKED)
def check_path(path: str, *, suffix: str = "") -> str:
    """Return `path` if it is a plain visible relative path, else raise PathEscapeError.

    Refused: absolute paths, ``..``, what `odd_name` tells of, and names that do not end in `suffix`.
    """
    parts = path.split("/")
    bad = (
        any(not part or odd_name(part) for part in parts)
        or (len(path) > 63 and any(len(os.fsencode(part)) > 255 for part in parts))
        or not path.endswith(suffix)
    )
    if bad:
        raise PathEscapeError(f"{path!r} is no file name inside a store", fix="Use the memory's plain name.")
    return path


def inside(root: Path, path: str) -> Path:
    """Return the real place of `path` under `root`; raise PathEscapeError when a link is on the way.

    `root` itself must be a real path already. Parts that do not exist yet are fine.
    """
    here = str(root)
    for part in check_path(path).split("/"):
        here = f"{here}/{part}"
        if os.path.islink(here):  # noqa: PTH114 - a third of pathlib's time, for every file of every scan
            raise PathEscapeError(
                f"{path} goes through a link", file=here, fix="Replace the link by the file it names."
            )
    return Path(here)


def listed_file(root: Path, path: str) -> str:
    """Return the place of `path`, as `memory_files` listed it: no folder on the way is a link."""
    return f"{root}/{path}"


def private_folder(root: Path, *below: str) -> Path:
    """Return our own folder in the store at `root`, or the one `below` it, after a look for links.

    A folder of memories may come with a repository, links and all, and what we keep in our own folder is
    replaced and removed without asking. So StoreError is raised for a link on the way there or at any depth
    in it, and for a file in place of ``.reverie``. What is not there yet is fine.
    """
    here = root
    for part in (PRIVATE, *below):
        here /= part
        if here.is_symlink():
            raise _no_folder("a link", here)
    if not below and here.exists() and not here.is_dir():
        raise _no_folder("a file", here)
    waiting = [str(here)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as found:
                for entry in found:
                    if entry.is_symlink():
                        raise StoreError(
                            "a link where Reverie keeps files of its own",
                            file=entry.path,
                            fix="Remove it; nothing was touched where it leads.",
                        )
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (FileNotFoundError, NotADirectoryError):
            # Not made yet, removed by another process meanwhile, or a file, which leads nowhere.
            continue
        except OSError as error:
            raise StoreError(
                f"this folder can't be looked into: {error.strerror}",
                file=folder,
                fix="Make it readable and writable for yourself.",
            ) from error
    return here


def _no_folder(what: str, file: Path) -> StoreError:
    return StoreError(
        f"{what} where a folder must be", file=str(file), fix="Remove it; Reverie makes a folder."
    )


def read_regular(file: Path | str, limit: int = MAX_FILE) -> tuple[bytes, FileStamp]:
    """Return bytes and stamp of a regular file, never through a link and never from a pipe or device.

    Raises FileNotFoundError when it is gone, StoreError when it is no regular file or over `limit` bytes.
    """
    flags = os.O_RDONLY | system.NO_LINK | system.NO_WAIT | system.OPEN
    handle = os.open(file, flags)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode):
            raise StoreError("not a regular file", file=str(file), fix="Move it out of the store.")
        if info.st_size > limit:
            raise StoreError(
                f"over {limit:,} bytes", file=str(file), fix="Split it or move it out of the store."
            )
        parts = []
        while part := os.read(handle, info.st_size + 1):
            parts.append(part)
        return b"".join(parts), FileStamp.of(info)
    finally:
        os.close(handle)


def bytes_at(root: Path, path: str) -> bytes | None:
    """Return the bytes of the file at `path` in the store at `root`, None when there is none.

    Raises StoreError for what is no regular file or too large even for a derived one.
    """
    try:
        return read_regular(inside(root, path), MAX_DERIVED)[0]
    except FileNotFoundError:
        return None


def derived_bytes(file: Path) -> bytes | None:
    """Return the bytes of a derived file, None when there is none. Raises StoreError as `bytes_at` does."""
    try:
        return read_regular(file, MAX_DERIVED)[0]
    except FileNotFoundError:
        return None


def is_same_file(root: Path, path: str, other: str) -> bool:
    """Whether the file system takes both paths, which are the same in their common form, for one file.

    Of two where nothing is yet it does not say; whoever makes the second one then finds the first.
    """
    if path == other:
        return True
    here, there = root / path, root / other
    if not (os.path.lexists(here) and os.path.lexists(there)):
        return False
    # Where both are listed there are two files. One that is there and not listed goes by another's name.
    return not (_is_listed(here) and _is_listed(there))


def _is_listed(file: Path) -> bool:
    try:
        return any(item.name == file.name for item in file.parent.iterdir())
    except OSError:
        # Not to be looked into: then it is taken for the same, and nothing is done twice.
        return False


def is_live(path: str) -> bool:
    """Whether `path`, relative to a store, is where a memory of it lies: not in the archive or the diary."""
    folder, _, name = path.rpartition("/")
    # Any folder else is one of a team's; in other stores nothing of ours lies in such a one.
    other = folder.partition("/")[0] not in (ARCHIVE, EPISODES, GRAPH, PRIVATE)
    fits = other or (folder.startswith(f"{GRAPH}/") and folder != EDGES)
    return fits and memory_format.is_memory(name, at_root=not folder)


def memory_files(
    root: Path, problems: list[Problem], *, stamps: bool = True, known: Container[str] = ()
) -> Iterator[tuple[str, FileStamp]]:
    """Yield path and stamp of every file that should be a memory, sorted within each folder.

    Memories are the visible ``*.md`` of the store itself, of ``vault/`` and of the folders under
    ``graph/`` except ``edges``. Links are reported in `problems` and skipped. Without `stamps` files are
    listed only, with a stamp of zeros. `known` are paths that were found here before, whose names are not
    judged again.
    """
    if (root / GRAPH).is_symlink():
        problems.append(Problem(GRAPH, 0, _LINK))
    for folder in memory_folders(root):
        if folder != GRAPH:
            yield from files_in(root, folder, problems, stamps=stamps, known=known)


def memory_folders(root: Path) -> list[str]:
    """Return the folders that memories may be in, and ``graph``, where such folders come and go.

    A team's folder has others: those of the stores that Claude Code keeps there.
    """
    if ownership.is_team_folder(str(root)):
        return ownership.team_folders(str(root)) if root.is_dir() else []
    graph = root / GRAPH
    if graph.is_symlink() or not graph.is_dir():
        return ["", VAULT]
    names = sorted(item.name for item in graph.iterdir() if not item.name.startswith("."))
    below = [f"{GRAPH}/{name}" for name in names if f"{GRAPH}/{name}" != EDGES]
    return ["", VAULT, GRAPH, *below]


def folder_times(root: Path) -> dict[str, tuple[int, int]]:
    """Return path ("" is the root), mtime and ctime (ns) of each folder in which memories come and go."""
    found = {}
    for folder in memory_folders(root):
        try:
            info = (root / folder).lstat()
        except FileNotFoundError:
            continue
        found[folder] = (info.st_mtime_ns, info.st_ctime_ns)
    return found


def _passed_over(entry: os.DirEntry[str], folder: str) -> Iterator[Problem]:
    """Yield what a person should know of an entry that is not meant to be a memory, by its name."""
    name = entry.name
    if name.startswith("."):
        # Those with “._” are not written by anybody: macOS puts them on foreign disks.
        if name.endswith(".md") and not name.startswith("._") and entry.is_file(follow_symlinks=False):
            path = f"{folder}/{name}" if folder else name
            yield Problem(visible_name(path), 0, odd_name(name), by_name=True)
    # A link to a folder may hide memories; one in the place of MEMORY.md is not about them.
    elif not folder and entry.is_symlink() and not name.endswith(".md"):
        yield Problem(visible_name(name), 0, _LINK)


def _no_file(entry: os.DirEntry[str], path: str) -> Iterator[Problem]:
    """Yield what stands at `path` in place of a file; nothing where all is gone meanwhile."""
    try:
        mode = entry.stat(follow_symlinks=False).st_mode
    except FileNotFoundError:
        return
    kind = next((word for test, word in _KINDS if test(mode)), "a device")
    yield Problem(path, 0, f"{kind}, no file", "Move it out of the memory folder.", no_file=True)


def files_in(
    root: Path, folder: str, problems: list[Problem], *, stamps: bool = True, known: Container[str] = ()
) -> Iterator[tuple[str, FileStamp]]:
    """Yield path and stamp of each regular visible ``*.md`` in one folder; see `memory_files`."""
    directory = root / folder if folder else root
    if folder and directory.is_symlink():
        problems.append(Problem(folder, 0, _LINK))
        return
    if not directory.is_dir():
        return
    with os.scandir(directory) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    at_root = not folder or ownership.is_team_folder(str(root))
    start = f"{folder}/" if folder else ""
    for entry in entries:
        path = start + entry.name
        # Of a large store nearly all are known, and to judge their names would cost more than the look.
        is_known = path in known and entry.is_file(follow_symlinks=False)
        if is_known or _holds_memory(entry, folder, at_root, problems):
            try:
                yield path, FileStamp.of(entry.stat(follow_symlinks=False)) if stamps else _UNSEEN
            except FileNotFoundError:
                # Removed between listing and looking: as if it had never been listed.
                continue


def _holds_memory(entry: os.DirEntry[str], folder: str, at_root: bool, problems: list[Problem]) -> bool:
    """Whether a memory should be in `entry`; where something else has such a name, `problems` tell."""
    name = entry.name
    if not memory_format.is_memory(name, at_root=at_root):
        problems += _passed_over(entry, folder)
        return False
    path = f"{folder}/{name}" if folder else name
    reason = odd_name(name)
    if reason and not entry.is_symlink() and entry.is_file():
        problems.append(Problem(visible_name(path), 0, reason, by_name=True))
    elif entry.is_symlink():
        problems.append(Problem(visible_name(path), 0, _LINK))
    elif entry.is_file():
        return True
    else:
        problems += _no_file(entry, path)
    return False

"""Generations: every file a change set touches, as it was and as it became, kept for undo.

    .reverie/generations/<run>/<digest>        bytes, one file per different content
    .reverie/generations/<run>/index-lines     the lines of MEMORY.md that were ours before
    .reverie/generations/<run>/manifest.json   which path held which bytes, before and after
    .reverie/generations/<run>/sealed.json     written when the change set has happened

Bytes and manifest are on the disk before the intent is written, so whatever a change set replaces or
removes can be brought back. A generation without its seal belongs to a change set that never began, unless
an intent is there to finish it. The caller holds the store's lock for all that writes.
"""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import orjson

from pipeline.core import faults
from pipeline.core.atomic import ensure_dir, fsync_dir, write_atomic, write_temp
from pipeline.core.clock import iso, parse_time
from pipeline.core.errors import ConflictError, StoreError, cause
from pipeline.core.ids import digest
from pipeline.store.file_operations import Change, Move, Retire
from pipeline.store.files.layout import (
    MAX_DERIVED,
    PRIVATE,
    bytes_at,
    check_path,
    inside,
    private_folder,
    read_regular,
)
from pipeline.store.history.generation_folders import FOLDER, folders
from pipeline.store.journal_entry import file_id

KEEP = 10
_LINES = "index-lines"
_MANIFEST = "manifest.json"
_SEAL = "sealed.json"
_SHORT = 8
"""Characters of a short id, behind what says that it is an undo."""
ARRIVED, SIGNED = "sync-", "signed-"
"""How the ids of change sets begin that brought what others changed, and that only put a name to texts."""
_TURN = re.compile(r"(?P<word>undo|redo)(?P<nth>[1-9]\d{0,5})?-(?P<run>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileChange:
    """One path of a generation: the digests it had before and after, None where there was no file.

    `record` is the digest we had last written there before, empty when the file was not ours; `mode` and
    `mtime_ns` (None if unknown) are those of the file before; `index` says that it is one of the two index
    files.
    """

    path: str
    before: str | None
    after: str | None
    record: str = ""
    mode: int = 0o600
    mtime_ns: int | None = None
    index: bool = False


@dataclass(frozen=True, slots=True)
class Generation:
    """What one change set did. `run` is its id; `undone` says that its undo happened and still stands.

    `damaged` says why its records can't be read, empty when they can; it then holds no files.
    """

    run: str
    number: int
    at: datetime | None
    reason: str
    files: tuple[FileChange, ...]
    undone: bool = False
    damaged: str = ""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """A path's bytes before and after a change set, None where there was no file."""

    path: str
    before: bytes | None
    after: bytes | None


def folder_of(root: Path, run: str) -> Path:
    """Return the folder of the generation that change set `run` keeps."""
    return root / PRIVATE / FOLDER / file_id(run)


def turns_of(run: str) -> tuple[str, int]:
    """Return which change set `run` is about, and how often that one was turned round with it.

    0 is the change set itself, an odd number says that it was undone, an even one that it was done again.
    """
    found = _TURN.fullmatch(run)
    if found is None:
        return run, 0
    # An earlier version put one ``undo-`` before another.
    base, more = turns_of(found["run"])
    return base, more + 2 * int(found["nth"] or 1) - (found["word"] == "undo")


def is_arrival(run: str) -> bool:
    """Whether change set `run` brought what others changed, or turned that round."""
    return turns_of(run)[0].startswith(ARRIVED)


def is_own(item: Generation) -> bool:
    """Whether `item` is a change that stands and was made here: none that came, none that only names."""
    base, turns = turns_of(item.run)
    return not (item.undone or turns or base.startswith((ARRIVED, SIGNED)))


def names_only(item: Generation | None) -> bool:
    """Whether `item` did no more than put a person's name on what was changed before."""
    return item is not None and turns_of(item.run)[0].startswith(SIGNED)


def undo_id(run: str) -> str:
    """Return the id of the change set that undoes `run`: ``undo-<id>``, of that one ``redo-<id>``.

    Turned round once more they are ``undo2-<id>`` and ``redo2-<id>``: no id grows with the turns.
    """
    base, turns = turns_of(run)
    nth = turns // 2 + 1
    return f"{'redo' if turns % 2 else 'undo'}{nth if nth > 1 else ''}-{base}"


def short_ids(history: Sequence[Generation]) -> dict[str, str]:
    """Return for each run of `history` the beginning of it that no other begins with."""
    known = [item.run for item in history]
    short = {}
    for run in known:
        lead = len(run) - len(turns_of(run)[0])
        size = next(
            (
                size
                for size in range(lead + _SHORT, len(run))
                if run[size - 1] != "-" and not any(o.startswith(run[:size]) for o in known if o != run)
            ),
            len(run),
        )
        short[run] = run[:size]
    return short


def base_of(item: Generation, history: Sequence[Generation]) -> Generation:
    """Return the change that `item` undid or did again; itself where that is not kept, or it is none such."""
    base, _ = turns_of(item.run)
    return next((known for known in history if known.run == base), item)


def last_turn(item: Generation, history: Sequence[Generation]) -> Generation:
    """Return the last change set that undid the change of `item` or did it again; `item` if none did."""
    base, _ = turns_of(item.run)
    return max(
        (known for known in history if turns_of(known.run)[0] == base),
        key=lambda known: turns_of(known.run)[1],
        default=item,
    )


def keep(
    root: Path,
    run: str,
    reason: str,
    at: datetime,
    changes: Sequence[Change],
    *,
    record: Callable[[str], str | None],
    indexes: Collection[str],
    lines: Sequence[str],
) -> None:
    """Write the generation of the change set that will make `changes`.

    `record` tells what digest we last wrote at a path; `indexes` are the index files and
    `lines` those of their lines that are ours. Raises ConflictError when a file is not what its change
    was planned against, OSError when the disk refuses; either way nothing is left behind.
    """
    folder = folder_of(root, run)
    number = max((item.number for item in history(root)), default=0) + 1
    if folder.exists():
        remove(root, folder.name)
    try:
        ensure_dir(folder)
        files = [
            _image(root, folder, *row, index=row[0] in indexes, record=record(row[0]) or "")
            for change in changes
            for row in _outcome(root, change)
        ]
        values = {"run": run, "number": number, "at": iso(at), "reason": reason}
        values["files"] = files
        _deposit(folder, _joined(lines), _LINES)
        write_atomic(folder / _MANIFEST, orjson.dumps(values))
        fsync_dir(folder.parent)
    except BaseException:
        remove(root, folder.name)
        raise


def seal(root: Path, run: str, conflicts: Sequence[str]) -> None:
    """Note that change set `run` has happened, but for `conflicts`, where someone else's file stayed."""
    folder = folder_of(root, run)
    if folder.is_dir():
        write_atomic(folder / _SEAL, orjson.dumps({"conflicts": list(conflicts)}))


def sweep(root: Path) -> None:
    """Remove generations of change sets that never began; call it only while no intent is there."""
    for folder in folders(root):
        if not (folder / _SEAL).exists() or not (folder / _MANIFEST).exists():
            remove(root, folder.name)


def history(root: Path) -> list[Generation]:
    """Return what is kept, newest first; what can't be read stands last and says so."""
    found = [_read(folder) for folder in folders(root) if (folder / _SEAL).exists()]
    found.sort(key=lambda item: -item.number)
    turns = {turns_of(item.run) for item in found}
    return [replace(item, undone=_is_undone(turns_of(item.run), turns)) for item in found]


def pick(generations: Sequence[Generation], run: str) -> Generation:
    """Return the generation of change set `run`; StoreError when it is not among them, or damaged."""
    for item in generations:
        if item.run == run and item.damaged:
            raise _damaged(Path(PRIVATE, FOLDER, run, _MANIFEST), item.damaged)
        if item.run == run:
            return item
    raise StoreError(f"no run {run!r} is kept", fix="`reverie history` lists the runs that can be undone.")


def content(root: Path, run: str, sha: str | None) -> bytes | None:
    """Return the bytes with digest `sha` of a generation; None for None. StoreError if they are damaged."""
    if sha is None:
        return None
    file = folder_of(root, run) / sha
    try:
        data = read_regular(file, MAX_DERIVED)[0]
    except OSError as error:
        raise _damaged(file, error.strerror or str(error)) from error
    if digest(data) != sha:
        raise _damaged(file, "not the bytes that were kept")
    return data


def own_lines(root: Path, run: str) -> list[str]:
    """Return the index lines that were ours before change set `run`."""
    file = folder_of(root, run) / _LINES
    try:
        return file.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    except OSError as error:
        raise _damaged(file, error.strerror or str(error)) from error


def diff(root: Path, item: Generation) -> list[FileDiff]:
    """Return what `item` changed, by path; StoreError when it is damaged."""
    files = sorted(pick([item], item.run).files, key=lambda file: file.path)
    return [
        FileDiff(file.path, content(root, item.run, file.before), content(root, item.run, file.after))
        for file in files
    ]


def _read(folder: Path) -> Generation:
    """Return what `folder` holds; where its records have not the right shape, a generation that says why."""
    try:
        values = orjson.loads(read_regular(folder / _MANIFEST, MAX_DERIVED)[0])
        lost = list(orjson.loads(read_regular(folder / _SEAL)[0])["conflicts"])
        files = tuple(_sound(FileChange(**item)) for item in values["files"])
        run, number, reason = values["run"], values["number"], values["reason"]
        if not isinstance(run, str) or not isinstance(reason, str) or folder.name != file_id(run):
            raise TypeError("not the records of this run")
        at = parse_time(values["at"])
        return Generation(run, int(number), at, reason, tuple(f for f in files if f.path not in lost))
    except (OSError, StoreError, ValueError, KeyError, TypeError) as error:
        known = isinstance(error, OSError | StoreError)
        damage = cause(error) if known else "it does not hold the records of a run"
        return Generation(folder.name, 0, None, "can't be read", (), damaged=damage)


def _sound(item: FileChange) -> FileChange:
    """Return `item` if its values are of the types they should be; TypeError or StoreError otherwise."""
    shas = (item.before, item.after)
    numbers = (item.mode, 0 if item.mtime_ns is None else item.mtime_ns)
    if (
        not isinstance(item.path, str)
        or not isinstance(item.record, str)
        or not all(sha is None or isinstance(sha, str) for sha in shas)
        or not all(isinstance(number, int) for number in numbers)
    ):
        raise TypeError("a value of the wrong type")
    for sha in filter(None, shas):
        check_path(sha)
    check_path(item.path)
    return item


def _is_undone(turn: tuple[str, int], turns: Collection[tuple[str, int]]) -> bool:
    """Whether the undo of `turn` is among `turns` and was not undone itself."""
    undo = (turn[0], turn[1] + 1)
    return undo in turns and not _is_undone(undo, turns)


def _outcome(root: Path, change: Change) -> Iterator[tuple[str, str | None, bytes | None]]:
    """Yield each path of `change`, the digest it was planned against, and its bytes afterwards."""
    if isinstance(change, Retire):
        yield change.path, change.expected, None
        yield change.target, None, bytes_at(root, change.path)
    elif isinstance(change, Move):
        yield change.path, change.expected, None
        yield change.target, None, change.data
    else:
        yield change.path, change.expected, change.data


def _image(
    root: Path,
    folder: Path,
    path: str,
    expected: str | None,
    after: bytes | None,
    *,
    index: bool,
    record: str,
) -> FileChange:
    before = bytes_at(root, path)
    sha = None if before is None else digest(before)
    if sha != expected and not index:
        raise ConflictError("changed since it was read", file=path, fix="Look at the store again and retry.")
    info = None if before is None else inside(root, path).lstat()
    return FileChange(
        path,
        _deposit(folder, before),
        _deposit(folder, after),
        record,
        stat.S_IMODE(info.st_mode) if info else 0o600,
        info.st_mtime_ns if info else None,
        index,
    )


def _joined(lines: Sequence[str]) -> bytes:
    return "\n".join(lines).encode("utf-8", "surrogateescape")


def _deposit(folder: Path, data: bytes | None, name: str = "") -> str | None:
    """Write `data` under `name`, else under its digest, which is returned; None for None."""
    if data is None:
        return None
    sha = digest(data)
    target = folder / (name or sha)
    if not target.exists():
        # Made durable together with the manifest, whose writing syncs the folder.
        write_temp(target, data).replace(target)
        faults.reach("store.generation_begun")
    return sha


def remove(root: Path, name: str) -> None:
    """Remove the generation in the folder `name`, its seal first: half of one is never taken for a whole."""
    folder = private_folder(root, FOLDER, name)
    if folder.exists():
        (folder / _SEAL).unlink(missing_ok=True)
        shutil.rmtree(folder)


def _damaged(file: Path, reason: str) -> StoreError:
    return StoreError(
        f"this generation can't be read: {reason}",
        file=str(file),
        fix="Remove its folder; that run can't be undone any more, the memories are not touched.",
    )

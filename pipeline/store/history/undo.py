"""What brings a kept generation back, or why that would lose a later edit.

A file is restored when it still is what the change set left. One that is as before already needs nothing,
unless a later change only moved it (a pin);
a log that only grew since keeps what was added; MEMORY.md, when someone changed it since, is rendered anew
around their lines, or loses our block where it had none before and no memory of ours is left. Anything else
changed since is refused, and then nothing is undone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath

from pipeline.core.errors import ConflictError, DocumentError, OvertakenError, StoreError
from pipeline.core.ids import digest
from pipeline.store.file_operations import Applied, Restore
from pipeline.store.files import document, memory_index
from pipeline.store.files.layout import (
    EPISODES,
    MAX_DERIVED,
    OVERFLOW,
    VAULT,
    bytes_at,
    inside,
    is_live,
    read_regular,
)
from pipeline.store.files.scanning import Document
from pipeline.store.history import generations
from pipeline.store.history.generations import FileChange, Generation


@dataclass(frozen=True, slots=True)
class Undone:
    """What `Store.undo` did: `paths` are the files brought back; `already` means it was undone before.

    Of them `removed` are not there any more, `restored` were not there, and `partly` are as before but for
    what came into them since. `reason` and `at` are those of the change that was undone, or with `again` done
    once more, since what was undone is an undo. `by` is the change set that did it, whose undo turns it round
    again.
    """

    run: str
    paths: tuple[str, ...]
    already: bool = False
    reason: str = ""
    at: datetime | None = None
    removed: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    again: bool = False
    by: str = ""
    partly: tuple[str, ...] = ()


def plan(
    root: Path, run: str, history: Sequence[Generation], written: Callable[[str], str | None]
) -> list[Restore]:
    """Return what undoes `run`, one of `history` (newest first).

    `written` tells the digest that Reverie last wrote at a path. Raises OvertakenError that names every file
    with a later edit, StoreError when the kept bytes are damaged.
    """
    chosen = generations.pick(history, run)
    later = _standing(history, chosen.number)
    restores: list[Restore] = []
    overtaken: list[FileChange] = []
    refused: dict[str, str] = {}
    causes: list[Generation] = []
    for change in chosen.files:
        current, mode, mtime = _present(root, change.path)
        present = None if current is None else digest(current)
        if present == change.before:
            last = None if change.index else _last(change, later)
            if last and _moved(change, last[0]):
                # It only looks undone: the memory lives on elsewhere, pinned or unpinned.
                causes.append(last[0])
                refused[change.path] = f"was moved by {title(last[0], history)}"
            elif last:
                overtaken.append(change)
            continue
        if _unsigned(change.path, present, later) == change.after:
            data = generations.content(root, run, change.before)
            restores.append(Restore(change.path, data, present, change.record, change.mode, change.mtime_ns))
            continue
        grown = _without_ours(root, run, change, current)
        if grown is not None:
            restores.append(Restore(change.path, grown, present, change.record, mode, mtime))
        elif not change.index:
            last = _last(change, later)
            causes += [last[0]] if last and last[1].after == present else []
            ours = present is not None and written(change.path) == present
            again = causes[-1] if causes and any(f.path == change.path for f in causes[-1].files) else None
            by = title(again, history) if again else ""
            refused[change.path] = _refusal_reason(change, current, by, ours=ours)
    if not refused and not any(restore.path in _memories(chosen) for restore in restores):
        # Nothing of it is left to take back: a later change moved on from it.
        causes += [last[0] for change in overtaken if (last := _last(change, later))]
        refused |= {
            change.path: f"was changed again by {title(cause, history)}"
            for change, cause in zip(overtaken, causes, strict=True)
        }
    if refused:
        raise _overtaken(root, chosen, history, refused, causes)
    # Files that come back stand before files that go, so that no text is ever in neither place.
    return sorted(restores, key=lambda item: item.data is None)


def undone(
    run: str,
    chosen: Generation,
    history: Sequence[Generation],
    restores: Sequence[Restore],
    applied: Applied,
    *,
    again: bool,
) -> Undone:
    """Return what `applied` of `restores`, asked for as `run`, did about the change `chosen` of `history`."""
    before = {file.path: file.before for file in chosen.files}
    whole = {
        item.path for item in restores if item.data is None or digest(item.data) == before.get(item.path)
    }
    known = generations.base_of(chosen, history)
    more = [] if applied.already else applied.paths
    paths = tuple(dict.fromkeys([*(item.path for item in restores), *more]))
    return Undone(
        run,
        paths,
        applied.already,
        known.reason,
        known.at,
        removed=tuple(item.path for item in restores if item.data is None),
        restored=tuple(item.path for item in restores if item.expected is None),
        again=again,
        by=generations.undo_id(chosen.run),
        partly=tuple(path for path in paths if path not in whole),
    )


def leaves_ours(root: Path, restores: Sequence[Restore], ours: Collection[str]) -> bool:
    """Whether a memory of ours is in the store after `restores`; `ours` are the paths that we wrote."""
    back = {restore.path for restore in restores}
    kept = [path for path in ours if path not in back and is_live(path)]
    return any((root / path).exists() for path in kept) or any(
        restore.record and restore.data is not None and is_live(restore.path) for restore in restores
    )


def without_block(
    root: Path,
    run: str,
    history: Sequence[Generation],
    restores: Sequence[Restore],
    index: str,
    taken_out: Callable[[bytes, bytes | None], bytes | None],
) -> list[Restore]:
    """Return what takes our block out of MEMORY.md, at the path `index`, if it had none before.

    That is for the undo of `run`, one of `history`, by `restores`, where no memory of ours is left. Nothing
    where one of them brings MEMORY.md back. `taken_out` gives it without block from its bytes and those
    before the block.
    """
    touched = {restore.path for restore in restores}
    if not index or index in touched:
        return []
    current, mode, mtime = _present(root, index)
    if current is None or not memory_index.has_block(current) or memory_index.unreadable(current):
        return []
    known, former = _before_block(root, generations.pick(history, run), history, index)
    if not known:
        return []
    found = [Restore(index, taken_out(current, former), digest(current), mode=mode, mtime_ns=mtime)]
    more = bytes_at(root, OVERFLOW)
    if OVERFLOW not in touched and more is not None and memory_index.OVERFLOW_MARK.encode() in more:
        found.append(Restore(OVERFLOW, None, digest(more)))
    return found


def _before_block(
    root: Path, chosen: Generation, history: Sequence[Generation], index: str
) -> tuple[bool, bytes | None]:
    """Return whether a change up to `chosen` began our block in the file `index`, and its bytes before."""
    touched = [
        (item, file)
        for item in sorted(history, key=lambda item: -item.number)
        for file in item.files
        if item.number <= chosen.number and file.path == index
    ]
    for at, (item, file) in enumerate(touched):
        try:
            if at and not memory_index.has_block(generations.content(root, item.run, file.after)):
                # Between this change and the next one it was begun by none that could be undone.
                return False, None
            before = generations.content(root, item.run, file.before)
        except StoreError:
            # The doctor names it. Who began the block can't be told any more, so it stays.
            return False, None
        if not memory_index.has_block(before):
            return True, before
    return False, None


def require_once(restores: Sequence[Restore], documents: Iterable[Document], title: str) -> None:
    """Raise ConflictError when a memory would come back that lives on elsewhere in a file of ours.

    A change between that is no longer kept had moved it. `title` names what is undone.
    """
    touched = {restore.path for restore in restores}
    living = {
        item.id: item for item in documents if item.id and not item.foreign and item.path not in touched
    }
    for restore in restores:
        if restore.data is None or restore.expected is not None or not is_live(restore.path):
            continue
        if not restore.record:
            continue  # It was never ours: a copy, say, which has only the id of the other.
        try:
            memory_id = document.parse(restore.data, restore.path).id
        except DocumentError:
            # No memory, so none that could be there twice.
            continue
        if memory_id in living:
            other = living[memory_id]
            raise ConflictError(
                f"undoing {title} would bring “{other.name}” back beside itself",
                file=other.path,
                fix=f"`reverie forget {other.name}` first if you want the former one.",
            )


def _without_ours(root: Path, run: str, change: FileChange, current: bytes | None) -> bytes | None:
    """Return a log without what the run added, when it only grew since; None for any other file."""
    if current is None or not change.path.startswith(f"{EPISODES}/"):
        return None
    before, after = (
        generations.content(root, run, change.before),
        generations.content(root, run, change.after),
    )
    if after is None or not current.startswith(after) or not after.startswith(before or b""):
        return None
    return (before or b"") + current[len(after) :]


def title(item: Generation, history: Sequence[Generation]) -> str:
    """Return a change of `history` as a person knows it: what it was, with its short id."""
    known = generations.base_of(item, history)
    short = generations.short_ids(history)[item.run if _is_undo(item) else known.run]
    word = "undo of " if _is_undo(item) and known is not item else ""
    return f"“{word}{known.reason}” ({short})" if known.reason else short


def _is_undo(item: Generation) -> bool:
    return generations.turns_of(item.run)[1] % 2 == 1


def _overtaken(
    root: Path,
    chosen: Generation,
    history: Sequence[Generation],
    refused: Mapping[str, str],
    causes: Sequence[Generation],
) -> OvertakenError:
    reasons = "; ".join(f"{path} {why}" for path, why in refused.items())
    return OvertakenError(
        f"undoing {title(chosen, history)} would lose what came after it: {reasons}",
        file=str(root),
        fix=_fix(chosen, causes, history),
        run=chosen.run,
        paths=tuple(refused),
        later="" if any(generations.is_arrival(item.run) for item in causes) else _newest(causes, history),
    )


def _fix(chosen: Generation, causes: Sequence[Generation], history: Sequence[Generation]) -> str:
    short = generations.short_ids(history)
    last = max(causes, key=lambda item: item.number, default=None)
    if last is not None and generations.is_arrival(last.run):
        return (
            "That came from others since. Change it as it is now, or take theirs back first, for all:"
            f" `reverie undo {_newest(causes, history)}`."
        )
    if causes:
        return f"Undo the later one first: `reverie undo {_newest(causes, history)}`."
    return (
        f"`reverie diff {short[chosen.run]}` shows what it did; put the named files back by hand where you "
        "want it."
    )


def _newest(causes: Sequence[Generation], history: Sequence[Generation]) -> str:
    """Return the short id by which the newest of `causes` is undone, "" where there is none."""
    if not causes:
        return ""
    newest = max(causes, key=lambda item: item.number)
    # What was done again is undone under the id it had at first.
    known = newest if _is_undo(newest) else generations.base_of(newest, history)
    return generations.short_ids(history)[known.run]


def _standing(history: Sequence[Generation], number: int) -> list[Generation]:
    """Return what of `history` came after `number` and still makes a difference.

    A change that was undone makes none, and neither does its undo, unless the change came before `number`.
    """
    numbers = {generations.turns_of(item.run): item.number for item in history}
    found = []
    for item in history:
        base, turns = generations.turns_of(item.run)
        cancels = turns % 2 == 1 and numbers.get((base, turns - 1), 0) > number
        if item.number > number and not item.undone and not cancels:
            found.append(item)
    return found


def _last(change: FileChange, later: Sequence[Generation]) -> tuple[Generation, FileChange] | None:
    """Return the newest of `later` that touched the file of `change`, with what it did to it."""
    touched = [(item, file) for item in later for file in item.files if file.path == change.path]
    return max(touched, key=lambda pair: pair[0].number, default=None)


def _unsigned(path: str, present: str | None, later: Sequence[Generation]) -> str | None:
    """Return what was at `path` before others only put a name to it: no edit is lost with a name."""
    for item in sorted(later, key=lambda item: -item.number):
        for file in item.files:
            if file.path == path and file.after == present and item.run.startswith(generations.SIGNED):
                present = file.before
    return present


def _moved(change: FileChange, later: Generation) -> bool:
    """Whether `later` moved the memory of `change` into the vault or out of it, where it is still live."""
    stem, pinned = PurePosixPath(change.path).stem, _in_vault(change)
    return any(
        file.before is None
        and file.after is not None
        and _in_vault(file) != pinned
        and PurePosixPath(file.path).stem.startswith(stem)
        for file in later.files
        if not file.index
    )


def _in_vault(change: FileChange) -> bool:
    return change.path.startswith(f"{VAULT}/")


def _memories(item: Generation) -> set[str]:
    """Return what a change is about: files other than indexes, and than the diary where there is more."""
    files = {file.path for file in item.files if not file.index}
    return {path for path in files if not path.startswith(f"{EPISODES}/")} or files


def _refusal_reason(change: FileChange, current: bytes | None, by: str, *, ours: bool) -> str:
    if by:
        return f"was changed again by {by}"
    if current is None:
        return "was removed since"
    if ours:
        return "was brought up to date by Reverie since, from a later session"
    return "was edited since" if change.after is not None else "is a new file"


def _present(root: Path, path: str) -> tuple[bytes | None, int, int]:
    file = inside(root, path)
    try:
        info = file.lstat()
        return read_regular(file, MAX_DERIVED)[0], info.st_mode & 0o7777, info.st_mtime_ns
    except FileNotFoundError:
        return None, 0o600, 0

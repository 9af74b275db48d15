"""Files of ours that somebody else changed or removed: a person in an editor, or Claude Code itself.

Nothing tells us at the time. A file whose bytes are not those we last wrote there was edited since; a kept
generation tells the same of the file it found, and when that was last written. Two edits with no change of
ours between them count as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from pipeline.core.errors import StoreError
from pipeline.store.files.layout import bytes_at
from pipeline.store.files.scanning import Snapshot
from pipeline.store.history import generations
from pipeline.store.history.generations import FileDiff, Generation
from pipeline.store.journal_entry import digest_of
from pipeline.store.ownership.written_log import WrittenLog


@dataclass(frozen=True, slots=True)
class HandEdit:
    """What somebody else did to the memory file at `path`.

    `ours` is the digest that we had written there, `theirs` that of what we found, None for no file, or none
    that can be read. `at` is the time of the file, None where there is none. `found_by` is the number of the
    change set that found it so, None when it still stands.
    """

    path: str
    word: Literal["edited", "removed"]
    ours: str
    theirs: str | None
    at: datetime | None
    found_by: int | None = None


def hand_edits(
    root: Path, snapshot: Snapshot, written: WrittenLog, history: Sequence[Generation]
) -> list[HandEdit]:
    """Return what somebody else did to files of ours, as far as `history` and what we wrote last tell."""
    found: dict[str, HandEdit] = {}
    for edit in (
        *_found_by(sorted(history, key=lambda item: item.number)),
        *_standing(root, snapshot, written),
    ):
        # What a pin moved or an undo brought back is the same edit once more.
        found.setdefault(edit.theirs or f"{edit.path} {edit.found_by}", edit)
    return list(found.values())


def what_changed(root: Path, edit: HandEdit, history: Iterable[Generation]) -> FileDiff | None:
    """Return the file before and after `edit`, None where one of them is not kept."""
    history = list(history)
    before, after = _bytes(root, edit.ours, history), None
    if edit.theirs is not None:
        after = bytes_at(root, edit.path) if edit.found_by is None else _bytes(root, edit.theirs, history)
    lost = before is None or (after is None and edit.word == "edited")
    return None if lost else FileDiff(edit.path, before, after)


def _found_by(history: Iterable[Generation]) -> Iterator[HandEdit]:
    for item in history:
        for file in item.files:
            if file.index or not file.record or file.before == file.record:
                continue
            known = file.mtime_ns if file.before else None
            at = None if known is None else datetime.fromtimestamp(known / 1e9, UTC)
            word: Literal["edited", "removed"] = "edited" if file.before else "removed"
            yield HandEdit(file.path, word, file.record, file.before, at, item.number)


def _standing(root: Path, snapshot: Snapshot, written: WrittenLog) -> Iterator[HandEdit]:
    present = {document.path: document.digest for document in snapshot.documents}
    changed = {path: ours for path, ours in written.digests()[1].items() if ours != present.get(path)}
    moved = set(present.values()) if changed else set()
    for path, ours in sorted(changed.items()):
        try:
            at = datetime.fromtimestamp((root / path).lstat().st_mtime, UTC)
        except (FileNotFoundError, NotADirectoryError):
            # One that lies elsewhere as it was has only been moved.
            if ours not in moved:
                yield HandEdit(path, "removed", ours, None, None)
            continue
        yield HandEdit(path, "edited", ours, present.get(path) or _digest(root, path), at)


def _digest(root: Path, path: str) -> str | None:
    try:
        return digest_of(root, path)
    except (OSError, StoreError):
        # A link or a folder in its place, or too large to be a memory.
        return None


def _bytes(root: Path, sha: str, history: Iterable[Generation]) -> bytes | None:
    """Return the bytes with digest `sha` from whichever generation holds them."""
    for item in history:
        if any(sha in (file.before, file.after) for file in item.files):
            return generations.content(root, item.run, sha)
    return None

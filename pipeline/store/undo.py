"""What brings a kept generation back, or why that would lose a later edit.

A file is restored when it still is what the change set left. One that is as before already needs nothing;
a log that only grew since keeps what was added; MEMORY.md, when someone changed it since, is rendered anew
around their lines. Anything else changed since is refused, and then nothing is undone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.errors import ConflictError
from pipeline.ids import digest
from pipeline.store import kept
from pipeline.store.layout import EPISODES, MAX_DERIVED, inside, read_regular
from pipeline.store.manifest import FileChange, Generation
from pipeline.store.plan import Restore


@dataclass(frozen=True, slots=True)
class Undone:
    """What `Store.undo` did: `paths` are the files brought back; `already` means it was undone before."""

    run: str
    paths: tuple[str, ...]
    already: bool = False


def plan(root: Path, run: str, generations: Sequence[Generation]) -> list[Restore]:
    """Return what undoes `run`, one of `generations` (newest first).

    Raises ConflictError that names every file with a later edit, StoreError when the kept bytes are
    damaged.
    """
    chosen = kept.pick(generations, run)
    later = [item for item in generations if item.number > chosen.number and not item.undone]
    restores: list[Restore] = []
    refused: list[str] = []
    for change in chosen.files:
        current, mode, mtime = _present(root, change.path)
        mark = None if current is None else digest(current)
        if mark == change.before:
            continue
        if mark == change.after:
            data = kept.content(root, run, change.before)
            restores.append(Restore(change.path, data, mark, change.record, change.mode, change.mtime_ns))
            continue
        grown = _without_ours(root, run, change, current)
        if grown is not None:
            restores.append(Restore(change.path, grown, mark, change.record, mode, mtime))
        elif not change.index:
            refused.append(f"{change.path} {_why(change, current, later)}")
    if refused:
        raise ConflictError(
            f"undoing {run} would lose a later edit: {'; '.join(refused)}",
            file=str(root),
            fix="Undo the later run first, or put the named files back by hand: `reverie diff` shows them.",
        )
    # Files that come back stand before files that go, so that no text is ever in neither place.
    return sorted(restores, key=lambda item: item.data is None)


def _without_ours(root: Path, run: str, change: FileChange, current: bytes | None) -> bytes | None:
    """Return a log without what the run added, when it only grew since; None for any other file."""
    if current is None or not change.path.startswith(f"{EPISODES}/"):
        return None
    before, after = kept.content(root, run, change.before), kept.content(root, run, change.after)
    if after is None or not current.startswith(after) or not after.startswith(before or b""):
        return None
    return (before or b"") + current[len(after) :]


def _why(change: FileChange, current: bytes | None, later: Sequence[Generation]) -> str:
    runs = [item.run for item in later if any(file.path == change.path for file in item.files)]
    if runs:
        return f"was changed again by {runs[-1]}"
    if current is None:
        return "was removed since"
    return "was edited since" if change.after is not None else "is a new file"


def _present(root: Path, path: str) -> tuple[bytes | None, int, int]:
    file = inside(root, path)
    try:
        info = file.lstat()
        return read_regular(file, MAX_DERIVED)[0], info.st_mode & 0o7777, info.st_mtime_ns
    except FileNotFoundError:
        return None, 0o600, 0

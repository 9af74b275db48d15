"""Planned changes to a store, and what came of them. Nothing here touches a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.domain.memory import Memory


@dataclass(frozen=True, slots=True)
class Put:
    """A memory file to create or replace.

    `expected` is the digest the file had when this was planned, None when there must be no file;
    `memory` is the memory as it will be read back, with its final name and path.
    """

    path: str
    data: bytes
    expected: str | None
    memory: Memory


@dataclass(frozen=True, slots=True)
class Retire:
    """A memory file to move to `target` in the archive, its bytes unchanged.

    `id` is the memory's own, `superseded_by` the id of the memory that takes its place, or empty.
    """

    path: str
    target: str
    expected: str
    reason: str
    id: str = ""
    superseded_by: str = ""


@dataclass(frozen=True, slots=True)
class Move:
    """A memory file to move within the live store, where it will hold `data`.

    `record` is the digest to keep as what we last wrote there, empty when the file is not ours;
    `memory` is the memory as it will be read back.
    """

    path: str
    target: str
    expected: str
    data: bytes
    record: str
    memory: Memory


@dataclass(frozen=True, slots=True)
class Restore:
    """A file to bring back as it was: `data` with its mode and time, or None for no file at all.

    `record` is the digest kept then as what we last wrote there, empty for a file that was not ours; without
    `mtime_ns` the file gets the time of its writing. `memory` is what `data` says at `path`, where whoever
    plans it has read it.
    """

    path: str
    data: bytes | None
    expected: str | None
    record: str = ""
    mode: int = 0o600
    mtime_ns: int | None = None
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Any other file of the store to create or replace; `expected` as in Put.

    Of a file to which several processes add, `again` plans the same for the bytes it has by now, None for no
    file; it returns None where nothing is left to be written.
    """

    path: str
    data: bytes
    expected: str | None
    again: Callable[[bytes | None], WriteFile | None] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class IndexWrite:
    """A rebuilt index file. Unlike other files it is rendered again when it changed meanwhile."""

    path: str
    data: bytes
    expected: str | None


Operation = Put | Retire | WriteFile | Move | Restore
Change = Operation | IndexWrite


def paths_of(operations: Sequence[Operation]) -> list[str]:
    """Return every path that `operations` write, move or remove."""
    found = [operation.path for operation in operations]
    return found + [operation.target for operation in operations if isinstance(operation, Move | Retire)]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Operations that happen together or not at all; the same `id` is applied once, ever.

    `at` is the moment the records give it; None means the time of the writing. Unless it may `begin` one, a
    MEMORY.md without a block of ours gets none.
    """

    id: str
    reason: str
    operations: Sequence[Operation]
    at: datetime | None = None
    begin: bool = True


@dataclass(frozen=True, slots=True)
class Applied:
    """What `Store.apply` did.

    `already` means this change set was applied before and nothing was written now. `paths` are the
    files written or moved. `conflicts` are paths that someone else wrote in the last moment: theirs
    stayed, ours is kept in ``.reverie/conflicts/``.
    """

    already: bool
    paths: list[str]
    conflicts: list[str] = field(default_factory=list)

"""Planned changes to a store, and what came of them. Nothing here touches a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

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
    """A memory file to move to `target` in the archive, its bytes unchanged."""

    path: str
    target: str
    expected: str
    reason: str


@dataclass(frozen=True, slots=True)
class WriteFile:
    """Any other file of the store to create or replace; `expected` as in Put."""

    path: str
    data: bytes
    expected: str | None


@dataclass(frozen=True, slots=True)
class IndexWrite:
    """A rebuilt index file. Unlike other files it is rendered again when it changed meanwhile."""

    path: str
    data: bytes
    expected: str | None


Operation = Put | Retire | WriteFile
Change = Operation | IndexWrite


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """Operations that happen together or not at all; the same `id` is applied once, ever."""

    id: str
    reason: str
    operations: Sequence[Operation]


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

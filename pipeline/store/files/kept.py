"""What the catalogue keeps of a memory's file, as values: it saves reading the file again."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import orjson

from pipeline.domain.memory import GUESSES, HUMAN_ONLY, Memory
from pipeline.store.files.layout import FileStamp

NEVER, MAY, IF_A_TOOLS = 0, 1, 2
"""Whether a memory may be dormant or archived; the last, where a tool of schema v3 wrote it."""
NO_PERSONS = (*sorted(GUESSES), "imported")
"""Origins of which no person's word is a part, unless a source says so."""
_TICK_NS = 100_000_000
_FIRST_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """What says without more what a file is; `seen_ns` is when it was read, `aliases` is JSON or "".

    `kind` is the name of its row in the registry of types, `origin` what its front matter says it is,
    `changed_us` when it was last written, else created (`micros`), `wording` a sum of its description: where
    that is another, the description is. `sleeps` is one of `NEVER`, `MAY` and `IF_A_TOOLS`.
    """

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    seen_ns: int
    digest: str
    own_id: str
    name: str
    title: str
    aliases: str
    retired: bool
    fenced: bool
    is_text: bool
    kind: str
    origin: str
    changed_us: int | None
    wording: int
    sleeps: int

    @property
    def stamp(self) -> FileStamp:
        """Return the stamp of the file when it was read."""
        return FileStamp(self.size, self.mtime_ns, self.ctime_ns)

    def tells_of(self, stamp: FileStamp) -> bool:
        """Whether a file with that stamp is the one that was read, with no change in the same tick."""
        same = (stamp.ctime_ns, stamp.mtime_ns, stamp.size) == (self.ctime_ns, self.mtime_ns, self.size)
        return same and is_settled(stamp.ctime_ns, self.seen_ns)


class Kept(NamedTuple):
    """What is given only where it is asked for; `front` is JSON, `line` and `rank` are those of MEMORY.md."""

    digest: str
    front: bytes
    preview: str
    line: str
    rank: tuple[bool, bool, float]


class Worth(NamedTuple):
    """What decides a memory's place in CORE.md.

    `kind` is the name of its row in the registry of types; `since_us` is when it was created, else updated,
    in microseconds since 1970, None where nobody knows.
    """

    path: str
    kind: str
    pinned: bool
    importance: float
    since_us: int | None


class End(NamedTuple):
    """A relation as one memory has it: what it names, its type in capitals, whether it leads there."""

    target: str
    type: str
    leads: bool
    strength: float


class Brief(NamedTuple):
    """What is told of a memory among many, and what it is related to: as JSON, "" for nothing."""

    title: str
    description: str
    relations: str

    @property
    def ends(self) -> tuple[End, ...]:
        """Return its relations, which many never ask for."""
        return tuple([End(*values) for values in orjson.loads(self.relations)]) if self.relations else ()


Keeper = Callable[[str], Kept | None]
"""Gives what is kept of the file at a path; None where nothing is."""


def is_settled(ctime_ns: int, seen_ns: int) -> bool:
    """Whether no change after `seen_ns` can leave the stamp of one at `ctime_ns`."""
    return ctime_ns + _TICK_NS < seen_ns


def micros(moment: datetime) -> int:
    """Return `moment` in microseconds since 1970."""
    return (moment - _FIRST_MOMENT) // timedelta(microseconds=1)


def sleeps_of(memory: Memory) -> int:
    """Return whether a file lets its memory sleep, by what it says itself: see `sleep.may_sleep`."""
    if memory.pinned or memory.type_row.host_class in HUMAN_ONLY:
        return NEVER
    if any(source.speaker == "person" for source in memory.sources):
        return NEVER
    if memory.origin:
        return MAY if memory.origin in NO_PERSONS else NEVER
    return IF_A_TOOLS


def wording_sum(description: str) -> int:
    """Return the sum of a description, however it is spaced."""
    return zlib.crc32(" ".join(description.split()).encode("utf-8", "backslashreplace"))


def worth_of(memory: Memory) -> Worth:
    """Return what decides the place of `memory` in CORE.md."""
    since = memory.created or memory.updated
    since_us = micros(since) if since else None
    return Worth(memory.path, memory.type_row.name, memory.pinned, memory.importance, since_us)


def mirror(front: dict[str, Any], head: Memory) -> dict[str, Any]:
    """Return the front matter with every key of schema v3 in its plain form."""
    return {
        **front,
        **({"id": head.id} if head.id else {}),
        "name": head.name,
        "description": head.description,
        "title": head.shown_title,
        "type": head.type,
        "tags": list(head.tags),
        "importance": head.importance,
        "confidence": head.confidence,
        "created": head.created.isoformat() if head.created else None,
        "updated": head.updated.isoformat() if head.updated else None,
        "relations": list(head.relations),
    }

"""Two more processes that decode transcripts and take the secrets out, while this one writes the ledger.

They are copies of this process, so that they start in a few milliseconds, and they end with the files they
were given. Of each file they send its entries in pieces through a pipe. What can't be sent (a file that is no
transcript, an error) is left to this process; if one of them dies or falls silent, `LostError` says so, and
the caller reads those files itself.
"""

from __future__ import annotations

import gc
import marshal
import os
import select
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, fields, replace
from functools import partial
from operator import attrgetter
from types import TracebackType
from typing import Any, Self

from pipeline.core import system
from pipeline.core.errors import InputError, ReverieError
from pipeline.domain.speech import BareLink, Entry, MemoryWrite
from pipeline.intake.clearing import Cleared, Item
from pipeline.intake.ingest import Here, Source, Task
from pipeline.transcript import Cursor

PROCESSES = 2
WORTH_IT = 12 << 20
"""Bytes that wait to be read, from which on it pays to start them."""
SILENCE_SECONDS = 120.0
_SIZE = struct.Struct("<Q")
_PIPE_BYTES = 1 << 20
_FIELDS = tuple(field.name for field in fields(Entry))
_VALUES = attrgetter(*_FIELDS)
_LINK_SIZE = len(BareLink.__annotations__)
_WRITTEN = _FIELDS.index("written")
_BEGUN, _PIECE, _END, _LEFT = "begun", "piece", "end", "left"


class LostError(ReverieError):
    """A process that decoded transcripts has died."""


def worth_it(waiting: int) -> bool:
    """Say whether more processes would help to read so many bytes on this machine."""
    return waiting >= WORTH_IT and _cores() > 1 and system.may_copy()


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class Decoders:
    """The processes for some files; as a context manager it leaves none behind."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        shares = _shares(tasks)
        self._turn = {task.key: number for number, share in enumerate(shares) for task in share}
        self._children = [_Child(share) for share in shares]

    def begin(self, task: Task) -> Source:
        """Return the reading of a file, which must be the next of its process. Raises what `Here` does."""
        child = self._children[self._turn[task.key]]
        kind, *values = child.receive()
        return Here(task) if kind == _LEFT else _There(child, task.cursor, *values)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for child in self._children:
            child.end()


def _shares(tasks: Sequence[Task]) -> list[list[Task]]:
    """Return the files of each process, in order, so that all have about as much to read."""
    shares: list[list[Task]] = [[] for _ in range(PROCESSES)]
    waiting = [0] * PROCESSES
    for task in tasks:
        least = waiting.index(min(waiting))
        shares[least].append(task)
        waiting[least] += task.waiting
    return [share for share in shares if share]


class _There:
    """A reading made by another process."""

    def __init__(self, child: _Child, cursor: Cursor, restarted: str) -> None:
        self._child = child
        self.restarted = restarted
        self.cursor = cursor
        self.bad: list[tuple[int, str]] = []
        self.type_counts: Mapping[str, int] = {}
        self.bytes_read = 0

    def cleared(self) -> Iterator[Cleared]:
        """Yield what the file tells."""
        while True:
            kind, *values = self._child.receive()
            if kind == _END:
                cursor, bad, self.type_counts, self.bytes_read = values
                self.cursor = Cursor(*cursor)
                self.bad += bad
                return
            items, secrets = values
            yield Cleared([_unpacked(item) for item in items], secrets)


class _Child:
    """A process that reads `tasks` in order, and the pipe that it writes to."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._pid, self._pipe = system.start_copy(partial(_serve, tasks), pipe_bytes=_PIPE_BYTES)

    def receive(self) -> tuple[Any, ...]:
        """Return the next message. Raises LostError when none comes."""
        size = _SIZE.unpack(self._read(_SIZE.size))[0]
        message: tuple[Any, ...] = marshal.loads(self._read(size))
        return message

    def _read(self, size: int) -> bytes:
        pieces: list[bytes] = []
        while size:
            ready, _, _ = select.select([self._pipe], [], [], SILENCE_SECONDS)
            piece = os.read(self._pipe, min(size, _PIPE_BYTES)) if ready else b""
            if not piece:
                raise LostError()
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def end(self) -> None:
        """End the process, which has nothing to lose."""
        os.close(self._pipe)
        system.end_copy(self._pid)


def _serve(tasks: Sequence[Task], out: int) -> None:
    """Read `tasks` and send what they tell; whatever is raised on the way ends this process."""
    gc.disable()
    with os.fdopen(out, "wb") as pipe:
        for task in tasks:
            for message in _messages(task):
                packed = marshal.dumps(message)
                pipe.write(_SIZE.pack(len(packed)))
                pipe.write(packed)
                pipe.flush()


def _messages(task: Task) -> Iterator[tuple[Any, ...]]:
    try:
        reading = Here(task)
    except (InputError, OSError):
        yield (_LEFT,)
        return
    yield (_BEGUN, reading.restarted)
    for items, secrets in reading.cleared():
        yield (_PIECE, [_packed(item) for item in items], secrets)
    yield (_END, astuple(reading.cursor), reading.bad, reading.type_counts, reading.bytes_read)


def _packed(item: Item) -> tuple[Any, ...]:
    if isinstance(item, BareLink):
        return tuple(item)
    values: tuple[Any, ...] = _VALUES(item)
    if item.written:
        written = tuple(map(astuple, item.written))
        return (*values[:_WRITTEN], written, *values[_WRITTEN + 1 :])
    return values


def _unpacked(values: tuple[Any, ...]) -> Item:
    if len(values) == _LINK_SIZE:
        return BareLink(*values)
    entry = Entry(*values)
    if entry.written:
        written = tuple(MemoryWrite(*item) for item in values[_WRITTEN])
        return replace(entry, written=written)
    return entry

"""Reading a transcript that another program is still writing, from where the last reading stopped.

Nothing complete is lost and nothing is read twice without need: the offset stands just behind a newline,
and a few bytes before it tell whether the file is still the one that was read. Files shrink, are replaced
and regrow after a rewind (real-material §4.3); then they are read from the beginning again.
"""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Generic, NamedTuple, TypeVar

from pipeline.core import clock
from pipeline.core.clock import parse_time
from pipeline.core.errors import ODD_DATA, InputError
from pipeline.core.ids import digest
from pipeline.domain.speech import BareLink, Entry
from pipeline.domain.tallies import tally
from pipeline.hooklib import jsonish
from pipeline.record import changing, field, record
from pipeline.safety.late import late
from pipeline.transcript import kinds, lines
from pipeline.transcript.files import unreadable
from pipeline.transcript.queued import Queue, enqueued
from pipeline.transcript.records import Context, called, entries_of, type_of
from pipeline.transcript.speech import content_of

if TYPE_CHECKING:
    from pipeline.transcript.quick import Glance

HEAD = 4096
TAIL = 256
BUFFER = 1 << 18
_KERNELS = ("/proc/", "/sys/")
_THOROUGH = 40 * HEAD
TOLERANCE = timedelta(days=1)
"""How far ahead of now a stamp may be: clocks differ, and a later one is no time."""
_LARGEST = 2**64
WORTH_A_GLANCE = 1 << 18
"""Bytes to read from which on the quick way through them has won the time that it takes to load."""
_PLACE = late(r"(\d+)\+(\d+)")


@record
class Cursor:
    """How far a transcript has been read, and enough to notice that it is no longer the same file.

    `offset` is in bytes, just after a newline or after a complete last record of a quiet file; `head` and
    `tail` are digests of the first HEAD and last TAIL bytes before it ("" = never read). `line` is the
    number of newlines passed, `at` the last usable time, `worked_at` the last one of work, `queue` the
    prompts still waiting for their copy, `dialogs` the records that ask something not answered yet; `working`
    says that a tool ran, or a question was open, at the end.
    """

    offset: int = 0
    head: str = ""
    tail: str = ""
    inode: int = 0
    size: int = 0
    mtime_ns: int = 0
    line: int = 0
    at: str = ""
    queue: str = ""
    worked_at: str = ""
    dialogs: str = ""
    working: bool = False

    def to_json(self) -> str:
        """Return the cursor as one JSON object."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Cursor:
        """Return the cursor `to_json` gave; any other text gives the beginning, which only costs time."""
        try:
            held = jsonish.loads(text)
        except ValueError:
            return cls()
        if not isinstance(held, dict):
            return cls()
        known = {f.name: held[f.name] for f in fields(cls) if f.name in held}
        sound = all(type(value) is type(getattr(START, name)) for name, value in known.items())
        cursor = cls(**known) if sound else cls()
        return cursor if cursor.plausible() else cls()

    def plausible(self) -> bool:
        """Say whether the values could be a file's: the ledger may have been damaged or edited."""
        numbers = (self.offset, self.inode, self.size, self.mtime_ns, self.line)
        stamps = [stamp for stamp in (self.at, self.worked_at) if stamp]
        return all(0 <= n < _LARGEST for n in numbers) and None not in map(parse_time, stamps)


START = Cursor()


class Seen(NamedTuple):
    """A record, or what is none, and the entries that came of it: what a second consumer of a pass gets."""

    piece: lines.Piece
    entries: list[Entry]


Item = TypeVar("Item", Entry, Entry | BareLink, Seen)


@changing
class Reading(Generic[Item]):
    """One pass over a transcript. Consume `entries` to the end, then look at the other fields.

    The file stays open until `entries` ends or is closed.
    `restarted` is "" or why the file was read from 0 again: ``shrunk``, ``replaced`` or ``rewound``.
    `bad` has (line number, reason) for complete lines that hold no record; `type_counts` counts every type
    seen, unknown ones included. Until `entries` is exhausted `cursor` is the one the pass began with, so a
    consumer that fails half-way has nothing to undo.
    """

    entries: Iterator[Item]
    cursor: Cursor
    restarted: str = ""
    bad: list[tuple[int, str]] = field(default_factory=list)
    type_counts: dict[str, int] = field(default_factory=Counter)
    bytes_read: int = 0


def _open(path: Path) -> BinaryIO:
    """Open `path`, which must be a plain file: opening a pipe would wait for ever.

    So would reading some of the kernel's own, such as ``/proc/kmsg``; others have no end or give errors only.
    """
    try:
        if os.path.realpath(path).startswith(_KERNELS):
            raise InputError(
                "a file of the kernel's, not a transcript",
                file=str(path),
                fix="Name a session file of Claude Code.",
            )
        if not stat.S_ISREG(path.stat().st_mode):
            found = "a directory" if path.is_dir() else "not a plain file"
            raise InputError(
                f"{found}, not a transcript", file=str(path), fix="Name a .jsonl session file of Claude Code."
            )
        return path.open("rb", buffering=BUFFER)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error


def read(
    path: Path, cursor: Cursor = START, *, quiet: bool = False, now: datetime | None = None
) -> Reading[Entry]:
    """Begin to read `path` after `cursor`.

    `quiet` says that nobody is writing to the file now: a complete last record without newline is taken,
    and queued prompts no longer wait for a copy. Stamps more than a day after `now` are no time. Entries
    carry speech as it was written, secrets included: the caller redacts. Raises FileNotFoundError when
    the file is gone, InputError for a directory or another format, UnreadableError when the system does
    not let us read it, which may also come while the entries are consumed.
    """
    return _begin(path, cursor, quiet=quiet, now=now, glance_from=_LARGEST)


def skim(
    path: Path,
    cursor: Cursor = START,
    *,
    quiet: bool = False,
    now: datetime | None = None,
    glance_from: int = WORTH_A_GLANCE,
) -> Reading[Entry | BareLink]:
    """Begin to read `path` as `read` does, with a bare link for each record in which nothing is kept.

    Of a record without words the entry may be given all the same: what is unusual is not skimmed, nor are
    fewer than `glance_from` bytes.
    """
    return _begin(path, cursor, quiet=quiet, now=now, glance_from=glance_from)


def trace(
    path: Path, cursor: Cursor = START, *, quiet: bool = False, now: datetime | None = None
) -> Reading[Seen]:
    """Begin to read `path` as `read` does, with each record beside the entries it gives, in their order.

    For who needs what entries don't keep: what tools were given and gave back. Prompts that no later record
    repeats are among the entries of the record that shows it, or nowhere. Where the cursor ends short of the
    file's size, the last line was still being written.
    """
    return _begin(path, cursor, quiet=quiet, now=now, glance_from=_LARGEST, kind=_Trace)


def _begin(
    path: Path,
    cursor: Cursor,
    *,
    quiet: bool,
    now: datetime | None,
    glance_from: int,
    kind: type[_Pass] | None = None,
) -> Reading[Any]:
    handle = _open(path)
    try:
        one_pass = (kind or _Pass)(handle, path, now or clock.from_environment().now(), glance_from)
        reading = one_pass.begin(cursor, quiet=quiet)
    except OSError as error:
        handle.close()
        raise unreadable(path, error) from error
    except BaseException:
        handle.close()
        raise
    return reading


class _Pass:
    """The moving parts of one reading: place in the file, the bytes just passed, and the context."""

    def __init__(self, handle: BinaryIO, path: Path, now: datetime, glance_from: int) -> None:
        self.handle = handle
        self.glance_from = glance_from
        self.path = path
        self.stat = os.fstat(handle.fileno())
        self.context = Context(session=path.stem, latest=now + TOLERANCE)
        self.queue = Queue()
        self.offset = 0
        self.line = 0
        self.head = b""
        self.tail = b""
        self.reading: Reading[Any] = Reading(iter(()), START)

    def begin(self, cursor: Cursor, *, quiet: bool) -> Reading[Any]:
        """Find out where to start, and return a reading whose entries are still to be made."""
        reading = self.reading
        reading.cursor = cursor
        reading.restarted = self._changed(cursor) if cursor.offset else ""
        if cursor.offset and not reading.restarted:
            self._resume(cursor)
        else:
            self.handle.seek(0)
            kinds.refuse_other_formats(self._peek(), self.path)
        reading.entries = self._run(quiet=quiet)
        return reading

    def _peek(self) -> bytes:
        peek = getattr(self.handle, "peek", None)
        return bytes(peek(HEAD)) if peek else b""

    def _read_at(self, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, around the buffer, which would fetch far more."""
        raw = os.pread(self.handle.fileno(), length, offset)
        self.reading.bytes_read += len(raw)
        return raw

    def _changed(self, cursor: Cursor) -> str:
        """Say why the file is no longer the one that `cursor` was in, or ""."""
        if self.stat.st_size < cursor.offset:
            return "shrunk"
        same_file = self.stat.st_ino == cursor.inode
        start = max(0, cursor.offset - TAIL)
        self.tail = self._read_at(start, cursor.offset - start)
        reason = "rewound" if same_file else "replaced"
        if digest(self.tail) != cursor.tail:
            # Other bytes under the same size: a rewind would have made the file shorter or longer.
            self.tail = b""
            return reason if self.stat.st_size != cursor.size else "replaced"
        touched = self.stat.st_size == cursor.size and self.stat.st_mtime_ns != cursor.mtime_ns
        if same_file and not touched and self.stat.st_size - cursor.offset < _THOROUGH:
            # It only grew by a little: the tail is proof enough, and the head costs another read.
            return ""
        if digest(self._read_at(0, min(cursor.offset, HEAD))) != cursor.head:
            self.tail = b""
            return "replaced" if touched else reason
        return ""

    def _resume(self, cursor: Cursor) -> None:
        self.offset, self.line, self.context.at = cursor.offset, cursor.line, cursor.at
        self.context.worked_at = cursor.worked_at
        if cursor.offset < HEAD:
            self.head = self._read_at(0, cursor.offset)
        self.queue.load(cursor.queue, self._fetch)
        for offset, length in _PLACE.findall(cursor.dialogs):
            piece = self._piece(int(offset), int(length))
            if piece is not None and piece.record is not None:
                blocks = content_of(piece.record, "assistant")
                self.context.dialogs.begin(blocks, piece.offset, piece.length)
                self.context.writes.begin(blocks, *called(piece.record, piece, self.context))
        self.context.dialogs.working = cursor.working
        self.handle.seek(cursor.offset)

    def _fetch(self, offset: int, length: int) -> Entry | None:
        """Read a queue operation again that an earlier pass left waiting."""
        piece = self._piece(offset, length)
        return enqueued(piece.record, piece, self.context) if piece and piece.record is not None else None

    def _piece(self, offset: int, length: int) -> lines.Piece | None:
        """Read the record at `offset` again, None when there is none."""
        if offset + length > self.stat.st_size:
            return None
        pieces = lines.parse(self._read_at(offset, length), offset, 0)
        return next((piece for piece in pieces if piece.record is not None), None)

    def _run(self, *, quiet: bool) -> Iterator[Any]:
        with self.handle:
            try:
                yield from self._lines(quiet=quiet)
            except OSError as error:
                raise unreadable(self.path, error) from error
            if quiet:
                yield from self._left()
            self.reading.cursor = self._cursor()

    def _left(self) -> Iterable[Any]:
        return self.queue.flush()

    def _lines(self, *, quiet: bool) -> Iterator[Any]:
        reading, counts, queue = self.reading, self.reading.type_counts, self.queue
        next_line, glance = self.handle.readline, self._glance()
        while raw := next_line(lines.MAX_LINE):
            if not raw.endswith(b"\n"):
                raw, size = lines.rest(raw, self.handle)
                reading.bytes_read += size
                if not raw.endswith(b"\n"):
                    if quiet and size == len(raw):
                        yield from self._last(raw)
                    return
                reading.bad.append((self.line + 1, f"longer than {lines.MAX_LINE} bytes"))
                self._pass(self._read_at(self.offset + size - TAIL, TAIL), size)
                self.line += 1
                continue
            reading.bytes_read += len(raw)
            found = glance(raw, self.offset, self.context) if glance else None
            if found is None:
                yield from self._parsed(raw)
            else:
                kind, kept, goes_on = found
                if kind in counts:
                    counts[kind] += 1
                else:
                    tally(counts, kind)
                if goes_on and queue.waits:
                    yield from queue.pass_over()
                if kept is not None:
                    yield kept
            self._pass(raw, len(raw))
            self.line += 1

    def _parsed(self, raw: bytes) -> Iterator[Any]:
        for piece in lines.parse(raw, self.offset, self.line + 1):
            yield from self._taken(piece)

    def _taken(self, piece: lines.Piece) -> Iterable[Any]:
        return self._entries(piece)

    def _glance(self) -> Callable[[bytes, int, Context], Glance | None] | None:
        """Return the quick look at a usual line, None where the rest of the file is not worth loading it."""
        if self.stat.st_size - self.offset < self.glance_from:
            return None
        from pipeline.transcript import quick

        return quick.glance

    def _last(self, raw: bytes) -> Iterator[Any]:
        """Yield the complete records of a last line without newline, and pass no more than them."""
        taken = 0
        for piece in lines.mend(raw, self.offset, self.line + 1, whole=False):
            taken = piece.offset + piece.length - self.offset
            yield from self._taken(piece)
        if taken:
            self._pass(raw[:taken], taken)

    def _entries(self, piece: lines.Piece) -> list[Entry]:
        """Return the entries of one piece, counting what it is.

        A record that is odd in a way not thought of becomes a bad line: it must not keep the rest of the
        file, and of all files, from being read.
        """
        record = piece.record
        if record is None:
            self.reading.bad.append((piece.line, piece.reason))
            return []
        try:
            return self._of_record(record, piece)
        except ODD_DATA as error:
            self.reading.bad.append((piece.line, f"can't be understood ({error})"))
            return []

    def _of_record(self, record: dict[str, Any], piece: lines.Piece) -> list[Entry]:
        kind = type_of(record)
        tally(self.reading.type_counts, kind)
        if kind == "queue-operation":
            return self.queue.operate(record, piece, self.context)
        return self.queue.hear(entries_of(record, piece, self.context))

    def _pass(self, raw: bytes, size: int) -> None:
        """Move behind `size` bytes, of which `raw` is at least the end."""
        if len(self.head) < HEAD and self.offset == len(self.head):
            self.head += raw[: HEAD - len(self.head)]
        self.tail = raw[-TAIL:] if len(raw) >= TAIL else (self.tail + raw)[-TAIL:]
        self.offset += size

    def _cursor(self) -> Cursor:
        before = self.reading.cursor
        head_known = not self.reading.restarted and before.offset >= HEAD
        return Cursor(
            offset=self.offset,
            head=before.head if head_known else digest(self.head),
            tail=digest(self.tail),
            inode=self.stat.st_ino,
            size=self.stat.st_size,
            mtime_ns=self.stat.st_mtime_ns,
            line=self.line,
            at=self.context.at,
            queue=self.queue.dump(),
            worked_at=self.context.worked_at,
            dialogs=self.context.dialogs.dump(),
            working=self.context.dialogs.any_open,
        )


class _Trace(_Pass):
    """A pass that gives each piece beside its entries."""

    def _taken(self, piece: lines.Piece) -> Iterable[Any]:
        return (Seen(piece, self._entries(piece)),)

    def _left(self) -> Iterable[Any]:
        return ()

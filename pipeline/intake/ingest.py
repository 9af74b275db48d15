"""Ingestion: from a transcript file to rows in the ledger, exactly once, redacted on the way.

    file_state → cursor → read → redact → one transaction: rows, branches, conversations, offset

A phase of its own beside extraction: it costs no model call, so it always runs in full, also for a history
of which only the newest part will be extracted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from pipeline.core import faults
from pipeline.core.clock import Clock
from pipeline.core.errors import InputError, UnreadableError
from pipeline.core.paths import speakable
from pipeline.intake.clearing import Cleared, Learned, clear, type_counts
from pipeline.intake.left_alone import why_left_alone
from pipeline.ledger import Ledger, files
from pipeline.ledger.entries import OvertakenError, commit_ingest
from pipeline.ledger.reimport import NOTHING, Changed
from pipeline.ledger.reimport import REASON as REIMPORTED
from pipeline.record import changing, record
from pipeline.transcript import Cursor, abandoned, skim

if TYPE_CHECKING:
    from pipeline.config import Settings

Result = TypeVar("Result")
_MOST_PASSES = 5


@changing
class Ingested:
    """What one pass over one file did; `skipped` is "" or why nothing was read.

    Not frozen, which would make it twice as dear: a second look over thousands of files makes one for each.
    """

    key: str
    path: Path | str
    new_rows: int = 0
    bad: int = 0
    skipped: str = ""
    restarted: str = ""
    bytes_read: int = 0
    offset: int = 0
    changed: Changed = NOTHING


def file_key(path: Path, roots: tuple[Path, ...] = ()) -> str:
    """Return the name of `path` in the ledger: relative to the first of `roots` that holds it.

    Elsewhere, and right in a root, it is the file's own folder and name, so that a backup tree and the live
    one share keys (seed 4, D-03). Raises InputError for a name that is not UTF-8.
    """
    real = speakable(path.resolve())
    for root in roots:
        if real.is_relative_to(root.resolve()) and real.parent != root.resolve():
            return real.relative_to(root.resolve()).as_posix()
    return f"{real.parent.name}/{real.name}"


class KnownFiles:
    """The files the ledger has, taken in one query, to tell which of thousands need no second look.

    `torn` says that one is half read, as a crash leaves it.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._files, self.torn = files.stamps(ledger)

    def unchanged(self, path: str | Path, stat: os.stat_result | None = None) -> Ingested | None:
        """Return the answer for a file that stands as it was read, found by its path; else None.

        None decides nothing: `ingest_file` then looks at the file by its key. `stat` is what the system
        just said of it.
        """
        known = self._files.get(path if type(path) is str else str(path))
        if known is None:
            return None
        try:
            stat = stat or os.stat(path)  # noqa: PTH116 - half of Path.stat's time
        except (ValueError, OSError):
            return None
        _, key, stamp, size = known
        if stamp != stat.st_mtime_ns or size != stat.st_size:
            return None
        return Ingested(key, path, 0, 0, "unchanged")


@record
class Task:
    """A file that is to be read on from `cursor`; `size` and `mtime_ms` are those of the look at it."""

    path: Path
    key: str
    cursor: Cursor
    size: int
    mtime_ms: int
    quiet: bool
    source: str
    begun_at: str = ""
    reimport: bool = False

    @property
    def waiting(self) -> int:
        """Return about how many bytes there are to read."""
        return max(0, self.size - self.cursor.offset)


class Source(Protocol):
    """One reading of a file, its own secrets taken out; the fields are true once `cleared` has ended."""

    @property
    def restarted(self) -> str:
        """Return "" or why the file is read from its first byte again."""
        ...

    @property
    def cursor(self) -> Cursor:
        """Return how far it was read."""
        ...

    @property
    def bad(self) -> list[tuple[int, str]]:
        """Return number and reason for each line that is no record."""
        ...

    @property
    def type_counts(self) -> Mapping[str, int]:
        """Return how many records of each type there were."""
        ...

    @property
    def bytes_read(self) -> int:
        """Return how many bytes were read."""
        ...

    def cleared(self) -> Iterator[Cleared]:
        """Yield what the file tells."""
        ...


class Here:
    """A reading made in this process. Raises what `skim` does."""

    def __init__(self, task: Task) -> None:
        self._reading = skim(task.path, task.cursor, quiet=task.quiet)
        self.bad = self._reading.bad

    @property
    def restarted(self) -> str:
        """Return "" or why the file is read from its first byte again."""
        return self._reading.restarted

    @property
    def cursor(self) -> Cursor:
        """Return how far it was read."""
        return self._reading.cursor

    @property
    def type_counts(self) -> Mapping[str, int]:
        """Return how many records of each type there were."""
        return type_counts(self._reading.type_counts)

    @property
    def bytes_read(self) -> int:
        """Return how many bytes were read."""
        return self._reading.bytes_read

    def cleared(self) -> Iterator[Cleared]:
        """Yield what the file tells."""
        return clear(self._reading.entries)


def ingest_file(
    ledger: Ledger,
    path: Path,
    *,
    key: str,
    settings: Settings,
    clock: Clock,
    quiet: bool = False,
    reimport: bool = False,
    asked_for: bool = False,
    source: str = "claude-code",
) -> Ingested:
    """Read what is new in `path` into `ledger` and return what was done.

    `quiet` says that nobody is writing any more, so that a last line without a newline is taken.
    `reimport` reads from the first byte again, and replaces what was read before; finished conversations
    stay so (D-C5). A file that is gone is marked so, once, and its rows are kept (D-C4). One of a project
    that is left alone is skipped, unless a person `asked_for` this very file. Raises InputError for no
    transcript, UnreadableError for one not ours to read.
    """

    def one_pass() -> Ingested:
        task = look_at(
            ledger,
            path,
            key=key,
            settings=settings,
            clock=clock,
            quiet=quiet,
            reimport=reimport,
            asked_for=asked_for,
            source=source,
        )
        if isinstance(task, Ingested):
            return task
        return take_in(ledger, task, Here, settings=settings, clock=clock)

    return until_kept(one_pass)


def until_kept(one_pass: Callable[[], Result]) -> Result:
    """Return what `one_pass` over a file gives, made anew while another process reads on in the same file."""
    for _ in range(_MOST_PASSES - 1):
        try:
            return one_pass()
        except OvertakenError:
            continue
    return one_pass()


def look_at(
    ledger: Ledger,
    path: Path,
    *,
    key: str,
    settings: Settings,
    clock: Clock,
    quiet: bool,
    reimport: bool,
    asked_for: bool = False,
    source: str = "claude-code",
) -> Task | Ingested:
    """Return what is to be read of `path`, or what was done where nothing is; see `ingest_file`."""
    state, stat = files.file_state(ledger, key), stat_of(path)
    if stat is None:
        return _note_gone(ledger, path, key, clock)
    is_gone = state is not None and state.gone
    if not asked_for and (why := why_left_alone(ledger, key, settings, path=path)):
        return Ingested(key, path, skipped=f"left alone: {why}")
    # A damaged cursor gives the beginning, where rows that are known already stay as they are.
    cursor = Cursor() if state is None or reimport else Cursor.from_json(state.cursor_json)
    same = cursor.size == stat.st_size and cursor.mtime_ns == stat.st_mtime_ns
    # A prompt that still waits for its copy is told on a quiet pass, though the file did not change.
    if same and cursor.offset == stat.st_size and not (quiet and cursor.queue) and not is_gone:
        return Ingested(key, path, skipped="unchanged")
    mtime_ms, begun_at = stat.st_mtime_ns // 1_000_000, state.cursor_json if state else ""
    again = reimport and bool(begun_at)
    return Task(path, key, cursor, stat.st_size, mtime_ms, quiet, source, begun_at, again)


def take_in(
    ledger: Ledger, task: Task, begin: Callable[[Task], Source], *, settings: Settings, clock: Clock
) -> Ingested:
    """Read what `task` says into `ledger`, as `begin` opens it, and return what was done."""
    key, path, size, mtime_ms = task.key, task.path, task.size, task.mtime_ms
    files.begin_ingest(ledger, key, str(path), source=task.source, size=size, mtime_ms=mtime_ms)
    faults.reach("ingest.begun")
    try:
        reading = begin(task)
    except FileNotFoundError:
        return _note_gone(ledger, path, key, clock)
    except InputError:
        files.refuse(ledger, key)
        raise
    try:
        return _committed(ledger, task, reading, settings=settings, clock=clock)
    except OvertakenError:
        files.refuse(ledger, key)
        raise


def _committed(ledger: Ledger, task: Task, reading: Source, *, settings: Settings, clock: Clock) -> Ingested:
    learned = Learned(ledger, clock)

    def restarted() -> str:
        return REIMPORTED if task.reimport else reading.restarted

    result = commit_ingest(
        ledger,
        task.key,
        learned.rid(reading.cleared()),
        settle=learned.settle,
        cursor_json=lambda: reading.cursor.to_json(),
        stamp=lambda: (reading.cursor.mtime_ns, reading.cursor.size),
        offset=lambda: reading.cursor.offset,
        size=task.size,
        mtime_ms=task.mtime_ms,
        restarted=restarted,
        bad=reading.bad,
        type_counts=lambda: reading.type_counts,
        abandoned=abandoned,
        gap_minutes=settings.extraction.conversation_gap_minutes,
        now=clock.now(),
        begun_at=task.begun_at,
    )
    return Ingested(
        task.key,
        task.path,
        result.new_rows,
        len(reading.bad),
        restarted=restarted(),
        bytes_read=reading.bytes_read,
        offset=reading.cursor.offset,
        changed=result.changed,
    )


def stat_of(path: Path) -> os.stat_result | None:
    """Return what the system knows of `path`, None when it is not there."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(
            f"can't be seen: {error.strerror or error}",
            file=str(path),
            fix="Check the path and its permissions.",
        ) from error


def note_gone(ledger: Ledger, path: Path, key: str, clock: Clock) -> Ingested | None:
    """Mark the file `key` gone if the ledger knows it by `path`; None where it does not, or it is there."""
    state = files.file_state(ledger, key)
    if state is None or stat_of(path) is not None:
        return None
    if state.path and state.path != str(path) and stat_of(Path(state.path)) is not None:
        return None
    return _note_gone(ledger, path, key, clock)


def _note_gone(ledger: Ledger, path: Path, key: str, clock: Clock) -> Ingested:
    first = files.mark_gone(ledger, key, clock.now())
    return Ingested(key, path, skipped="gone" if first else "gone before")

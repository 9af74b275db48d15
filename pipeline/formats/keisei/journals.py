"""Time journals: append-only files with one compact JSON object a line, as other programs write them too.

A line is written whole, behind a lock of its own file, and is on the disk before the call returns. What a
killed process or a full disk left of a line stays where it is and is named when the journal is read; the
next line begins on a line of its own. What happened later is a line of its own too, so of several records of
one thing the last counts; only `take_out` rewrites a journal, where a person has words deleted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from pipeline.core import jsonl, locks, paths, system
from pipeline.core.atomic import install, mode_for, write_temp
from pipeline.core.clock import iso
from pipeline.core.errors import InputError, LockError
from pipeline.record import record
from pipeline.transcript.files import unreadable

SESSIONS = "sessions.jsonl"
TASKS = "tasks.jsonl"
CLAIMS = "numeric-claims.jsonl"
TIERS = ("REAL", "FROM-JOURNAL", "ESTIMATE-HTC")
"""How well a claim is founded: measured, taken from a journal, guessed."""
LONGEST_LINE = 1 << 20
"""Bytes of a line that is read; a longer one is no record of a journal."""
_OTHERS_SECONDS = 10.0

Line = dict[str, Any]


def default_folder() -> Path:
    """Return the folder of journals that KeiSeiKit's own programs and recipes name."""
    return paths.config_dir() / "memory/time-metrics"


def stamp(epoch: float) -> str:
    """Return epoch seconds as ``2026-04-29T14:39:20Z``, the form of all journals."""
    return iso(datetime.fromtimestamp(int(epoch), UTC)).replace("+00:00", "Z")


@record
class Fault:
    """A line of a journal that is no record: its number from 1, and why."""

    file: Path
    line: int
    why: str

    def in_words(self) -> str:
        """Return where it stands and what is wrong with it, in one line."""
        return f"{self.file}:{self.line}: {self.why}"


def read(file: Path, faults: list[Fault] | None = None, *, kinds: Iterable[str] = ()) -> Iterator[Line]:
    """Yield the records of a journal in its order, all or those of some `kinds`; none where no file is.

    What is no record goes into `faults`. One line is held at a time. Raises UnreadableError when the system
    does not let us read.
    """
    wanted = frozenset(kinds)
    for _, line in numbered(file, faults):
        if not wanted or line.get("kind") in wanted:
            yield line


def numbered(file: Path, faults: list[Fault] | None = None) -> Iterator[tuple[int, Line]]:
    """Yield the records of a journal, each with the number of its line, as `read` does."""
    try:
        with file.open("rb") as source:
            for number, line, why in _lines(source):
                if line is not None:
                    yield number, line
                elif faults is not None:
                    faults.append(Fault(file, number, why))
    except FileNotFoundError:
        return
    except OSError as error:
        raise unreadable(file, error) from error


def _lines(source: BinaryIO) -> Iterator[tuple[int, Line | None, str]]:
    """Yield the number of each line that holds something, its record, and where it has none the reason."""
    number = 0
    while raw := source.readline(LONGEST_LINE):
        number += 1
        whole = raw.endswith(b"\n")
        if not whole and len(raw) == LONGEST_LINE:
            while raw and not raw.endswith(b"\n"):
                raw = source.readline(LONGEST_LINE)
            yield number, None, f"longer than {LONGEST_LINE} bytes, so it was passed over"
            continue
        if not raw.strip():
            continue
        try:
            value = json.loads(raw.decode())
        except (ValueError, RecursionError):
            torn = "the last line is torn: its writer was stopped. The next record starts a line of its own"
            yield number, None, "not JSON" if whole else torn
            continue
        yield number, *((value, "") if isinstance(value, dict) else (None, "not an object"))


class Writer:
    """A journal that this process alone may add to; see `writing`."""

    def __init__(self, file: Path, handle: int) -> None:
        self.file = file
        self._handle = handle

    def records(self, *kinds: str) -> Iterator[Line]:
        """Yield what the journal holds so far, all or of some kinds."""
        return read(self.file, kinds=kinds)

    def append(self, records: Iterable[Mapping[str, Any]]) -> int:
        """Add one line per record and return how many; all of them are on the disk then, or none is."""
        values = list(records)
        if not values:
            return 0
        before = os.fstat(self._handle).st_size
        rest = memoryview(self._line_end(before) + jsonl.dump(values))
        written = 0
        try:
            while rest:
                done = os.write(self._handle, rest)
                written, rest = written + done, rest[done:]
            os.fsync(self._handle)
        except OSError:
            # Only what is ours is taken back: another program's writer does not ask for the lock.
            if os.fstat(self._handle).st_size == before + written:
                os.ftruncate(self._handle, before)
            raise
        return len(values)

    def _line_end(self, size: int) -> bytes:
        """Return what ends a line that somebody left without its end."""
        if not size:
            return b""
        os.lseek(self._handle, size - 1, os.SEEK_SET)
        return b"" if os.read(self._handle, 1) == b"\n" else b"\n"


@contextmanager
def writing(file: Path) -> Iterator[Writer]:
    """Open a journal, made with its folder at the first use, for this process alone.

    Raises InputError for a link or a folder in its place, LockError where another process does not let go.
    """
    with _opened(file) as handle:
        yield Writer(file, handle)


@contextmanager
def alone(file: Path) -> Iterator[None]:
    """Keep others that ask for the lock of a journal from writing in it. Raises LockError."""
    with locks.lock(file.with_name(f".{file.name}.lock"), timeout=_OTHERS_SECONDS) as held:
        if not held:
            raise LockError("another process writes in it", file=str(file), fix="Try again in a moment.")
        yield


@contextmanager
def _opened(file: Path) -> Iterator[int]:
    with alone(file):
        try:
            handle = os.open(file, system.APPENDING, 0o600)
        except OSError as error:
            raise InputError(
                f"can't be written: {error.strerror or error}",
                file=str(file),
                fix="A journal is a plain file of your own; move away what is there.",
            ) from error
        try:
            yield handle
        finally:
            os.close(handle)


def take_out(file: Path, unwanted: Callable[[Line], bool]) -> int:
    """Take the `unwanted` records out of a journal and return how many; all else stays to the byte.

    The new file takes the old one's place at once, or not at all. Raises what `writing` raises.
    """
    if not any(map(unwanted, read(file))):
        return 0
    with _opened(file) as handle, os.fdopen(os.dup(handle), "rb") as source:
        source.seek(0)
        taken: list[bytes] = []
        temp = write_temp(file, _others(source, unwanted, taken), mode=mode_for(file))
        install(temp, file)
        # Another program, which does not ask for the lock, may have added to the old file meanwhile.
        late = source.read()
        if late:
            with file.open("ab") as out:
                out.write(late)
    return len(taken)


def _others(source: BinaryIO, unwanted: Callable[[Line], bool], taken: list[bytes]) -> Iterator[bytes]:
    """Yield the lines of a journal that stay, the longest in pieces; those that don't go into `taken`."""
    begins = True
    while raw := source.readline(LONGEST_LINE):
        # Beyond the longest line no record is read, so none is to be taken out.
        whole_line = begins and (raw.endswith(b"\n") or len(raw) < LONGEST_LINE)
        if whole_line and any(unwanted(line) for _, line, _ in _lines(BytesIO(raw)) if line is not None):
            taken.append(raw)
        else:
            yield raw
        begins = raw.endswith(b"\n")


def append(file: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Add one line per record to a journal and return how many."""
    with writing(file) as journal:
        return journal.append(records)


def last_of_each(records: Iterable[Line], key: Callable[[Line], object]) -> dict[object, Line]:
    """Return the last record of each key, in the order in which the keys first came."""
    found: dict[object, Line] = {}
    for line in records:
        found[key(line)] = line
    return found


def whole(value: object) -> int | None:
    """Return a whole number of seconds that another program wrote, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 2**53:
        return None
    return int(value)

"""Claude Code's own ``.consolidate-lock``, taken and respected.

The body is the holder's process number and the file's time is the last consolidation. The lock is held
while the file is under an hour old and that process lives. Whoever wants it writes its number and reads it
again; the last writer wins. After a failure the file is as it was before. Among our own processes the
ledger's lease decides; this file only keeps Claude Code and us apart, and a number says nothing about
another machine. Source: contract §4.5.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.core import system
from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.clock import SystemClock, iso
from pipeline.core.errors import StoreError
from pipeline.store.files.layout import read_regular
from pipeline.store.ownership.access import writing

CONSOLIDATE_LOCK = ".consolidate-lock"
_LOCK_SECONDS = 3_600
_SLACK_SECONDS = 2.0
"""How far a start time may lie after the lock's time; the kernel counts in hundredths from a rounded boot."""


@dataclass(slots=True)
class HeldLock:
    """The lock while we hold it; end it with `succeed` or `fail`."""

    file: Path
    before: bytes | None
    before_ns: int

    def still_ours(self) -> bool:
        """Whether nobody took the lock over since; ask again right before the store is changed."""
        return _read(self.file) == _own_body()

    def succeed(self, now: datetime) -> None:
        """Leave `now` as the time of the last consolidation.

        The body becomes empty, since our process may live on and would seem to hold the lock.
        """
        if self.still_ours():
            _write(self.file, b"", int(now.timestamp() * 1e9))

    def fail(self) -> None:
        """Put the file back as it was, or remove it if there was none; a new owner's file is left alone."""
        if not self.still_ours():
            return
        if self.before is None:
            with writing(self.file):
                self.file.unlink(missing_ok=True)
        else:
            _write(self.file, self.before, self.before_ns)


class ConsolidateLock:
    """The lock file of the store at `store_path`."""

    def __init__(self, store_path: Path) -> None:
        self.file = store_path / CONSOLIDATE_LOCK

    def last_consolidated(self) -> datetime | None:
        """Return when the store was last consolidated, by whomever, or None if it never was."""
        try:
            return datetime.fromtimestamp(self.file.lstat().st_mtime, UTC)
        except (FileNotFoundError, OverflowError, ValueError):
            return None

    def holder(self, now: datetime) -> str | None:
        """Return who holds the lock, in words, or None when it is free or ours."""
        pid = lock_holder(self.file, now)
        if pid is None:
            return None
        since = self.last_consolidated()
        return f"process {pid}, since {iso(since)}" if since else f"process {pid}"

    def acquire(self, now: datetime) -> HeldLock | None:
        """Take the lock, stamped `now`; None while another living process has it.

        Raises StoreError when the file can't be written.
        """
        if lock_holder(self.file, now) is not None:
            return None
        before = _read(self.file)
        before_ns = self.file.lstat().st_mtime_ns if before is not None else 0
        if not _claim(self.file, fresh=before is None, now=now):
            return None
        held = HeldLock(self.file, before, before_ns)
        # Nothing keeps two from claiming it at once; whose number is read afterwards has the lock.
        return held if held.still_ours() else None


def foreign_dream_running(store_path: Path, now: datetime) -> bool:
    """Whether another program's consolidation holds the store's ``.consolidate-lock``.

    A lock of our own process does not count. The file is only looked at.
    """
    return lock_holder(store_path / CONSOLIDATE_LOCK, now) is not None


def lock_holder(file: Path, now: datetime) -> int | None:
    """Return the number of the other process that holds lock `file`, or None when nobody does.

    Raises StoreError when it is no regular file or can't be read.

    It holds it while it lives and the file is under an hour old. A time up to an hour ahead (the clock
    was set back) counts as just now, one further ahead as no lock, so that none lasts over two hours. A
    process that started after the file's time only has the number of one that died.
    """
    try:
        stamp = file.lstat().st_mtime
        pid = int(read_regular(file)[0][:32].decode("ascii", "replace").strip())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        raise StoreError(
            f"can't tell whether Claude Code is consolidating: {error.strerror}",
            file=str(file),
            fix="Remove it, or make it a readable file.",
        ) from error
    if abs(now.timestamp() - stamp) >= _LOCK_SECONDS or pid <= 0 or pid == os.getpid():
        return None
    return pid if system.running(pid) and not _started_after(pid, stamp, now) else None


def _claim(file: Path, *, fresh: bool, now: datetime) -> bool:
    """Write our number; False when a file appeared that was not there a moment ago."""
    stamp = int(now.timestamp() * 1e9)
    if not fresh:
        _write(file, _own_body(), stamp)
        return True
    with writing(file):
        ensure_dir(file.parent)
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.OPEN, 0o600)
        except FileExistsError:
            return False
        with os.fdopen(handle, "wb") as out:
            out.write(_own_body())
        os.utime(file, ns=(stamp, stamp))
    return True


def _own_body() -> bytes:
    return str(os.getpid()).encode()


def _read(file: Path) -> bytes | None:
    with writing(file):
        try:
            return file.read_bytes()
        except FileNotFoundError:
            return None


def _write(file: Path, body: bytes, mtime_ns: int) -> None:
    with writing(file):
        write_atomic(file, body)
        os.utime(file, ns=(mtime_ns, mtime_ns))


def _started_after(pid: int, stamp: float, now: datetime) -> bool:
    """Whether process `pid` began after `stamp`; False where the system does not tell.

    Start times are the machine's: when `now` is not (a stopped clock), or the file's time lies ahead of
    it, they can't be compared.
    """
    present = SystemClock().now().timestamp()
    if abs(present - now.timestamp()) > _LOCK_SECONDS or stamp > present:
        return False
    try:
        boot = next(
            float(line.split()[1])
            for line in Path("/proc/stat").read_text("ascii").splitlines()
            if line.startswith("btime ")
        )
        # The second field is the program's name in brackets, which may hold anything.
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        started = boot + int(fields[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, StopIteration):
        return False
    return started > stamp + _SLACK_SECONDS

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
from pipeline.core.clock import iso
from pipeline.store.ownership.access import writing
from pipeline.store.ownership.host import CONSOLIDATE_LOCK, lock_holder


@dataclass(slots=True)
class Held:
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

    def acquire(self, now: datetime) -> Held | None:
        """Take the lock, stamped `now`; None while another living process has it.

        Raises StoreError when the file can't be written.
        """
        if lock_holder(self.file, now) is not None:
            return None
        before = _read(self.file)
        before_ns = self.file.lstat().st_mtime_ns if before is not None else 0
        if not _claim(self.file, fresh=before is None, now=now):
            return None
        held = Held(self.file, before, before_ns)
        return held if held.still_ours() else None


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

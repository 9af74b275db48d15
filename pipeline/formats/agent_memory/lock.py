"""One writer at a time: an advisory lock on ``.lock``, which stays, with its owner's process id and the time.

Removing the file would let two writers hold locks on different files, so it is never removed. Where a file
system has no locks, a second file made by `O_EXCL` stands for it; there a lock is stale if it is older than
30 seconds and its owner is dead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pipeline.core import locks, system
from pipeline.core.clock import SystemClock
from pipeline.core.errors import LockError
from pipeline.formats.agent_memory.errors import AgentMemoryError
from pipeline.formats.agent_memory.layout import FILE_MODE, LOCK
from pipeline.formats.agent_memory.schema import stamp

STALE_SECONDS = 30.0
_EXCLUSIVE = ".lock.exclusive"
_SHORTEST, _LONGEST = 0.0005, 0.02
"""Seconds between two tries, which grow: a write takes a few milliseconds."""


@contextmanager
def held(root: Path, *, timeout: float, advisory: bool = True) -> Iterator[None]:
    """Hold the lock of the folder. Raises STORAGE_ERROR where another process has it for `timeout` seconds.

    With `advisory` false, as on a file system without such locks, a file made exclusively stands for it.
    """
    handle = _taken(root / LOCK, timeout) if advisory else None
    if handle is None:
        with _made(root / _EXCLUSIVE, timeout):
            yield
        return
    with handle:
        # A full disk takes no note of the owner, and nothing hangs on it.
        with suppress(OSError):
            handle.seek(0)
            handle.write(_owner())
        try:
            yield
        finally:
            with suppress(OSError):
                handle.truncate(0)


def _taken(file: Path, timeout: float) -> IO[bytes] | None:
    """Return the lock file, locked and open; None where the file system has no locks."""
    deadline, wait = time.monotonic() + timeout, _SHORTEST
    try:
        while (handle := locks.try_lock(file)) is None:
            if wait == _SHORTEST and not locks.has_locks(file):
                return None
            if time.monotonic() > deadline:
                raise _busy(file, timeout)
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST)
    except LockError as error:
        raise AgentMemoryError("STORAGE_ERROR", str(error.args[0]), file=error.file, fix=error.fix) from error
    return handle


@contextmanager
def _made(file: Path, timeout: float) -> Iterator[None]:
    own, deadline, wait = _owner(), time.monotonic() + timeout, _SHORTEST
    while not _try_make(file, own):
        if is_stale(file):
            # By its name alone: of two that see it, one moves it away, and the other makes none of it.
            with suppress(FileNotFoundError):
                file.rename(file.with_name(f"{_EXCLUSIVE}.stale"))
            continue
        if time.monotonic() > deadline:
            raise _busy(file, timeout)
        time.sleep(wait)
        wait = min(wait * 2, _LONGEST)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _try_make(file: Path, own: bytes) -> bool:
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | system.OPEN, FILE_MODE)
    except FileExistsError:
        return False
    with os.fdopen(handle, "wb") as out:
        out.write(own)
    return True


def is_stale(file: Path, now: float | None = None) -> bool:
    """Whether a lock that was made exclusively is older than 30 seconds and its owner is dead."""
    try:
        words = file.read_bytes().split()
        made = file.stat().st_mtime
    except OSError:
        return False
    age = (SystemClock().now().timestamp() if now is None else now) - made
    owner = int(words[0]) if words and words[0].isdigit() else 0
    return age > STALE_SECONDS and not system.running(owner)


def _owner() -> bytes:
    return f"{os.getpid()} {stamp(SystemClock().now())}\n".encode()


def _busy(file: Path, timeout: float) -> AgentMemoryError:
    return AgentMemoryError(
        "STORAGE_ERROR",
        f"another process writes there, for more than {timeout:g} seconds",
        file=str(file),
        fix="Try again. The file says which process; never remove it.",
    )

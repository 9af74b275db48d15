"""Advisory file locks that answer instead of waiting for ever, and die with their process.

The only module that imports portalocker. Lock files are never unlinked: removing one while another
process waits on it lets two owners hold different inodes (checklist S-C3).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import portalocker

from pipeline.atomic import ensure_dir


def try_lock(path: Path) -> IO[bytes] | None:
    """Return an open, exclusively locked handle on `path`, or None while another process holds it.

    Close the handle to release. The owner's pid is written for a person to read; it decides nothing.
    """
    ensure_dir(path.parent)
    handle = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600), "r+b", 0)
    try:
        portalocker.lock(handle, portalocker.LOCK_EX | portalocker.LOCK_NB)
    except (portalocker.LockException, portalocker.AlreadyLocked):
        handle.close()
        return None
    handle.truncate(0)
    handle.write(f"{os.getpid()}\n".encode())
    return handle


@contextmanager
def lock(path: Path, *, timeout: float) -> Iterator[bool]:
    """Hold `path` exclusively; yields False when `timeout` seconds passed without getting it."""
    ensure_dir(path.parent)
    # portalocker would make the file with the umask's mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    guard = portalocker.Lock(
        str(path), "a", timeout=timeout, check_interval=0.02, flags=portalocker.LOCK_EX | portalocker.LOCK_NB
    )
    try:
        guard.acquire()
    except (portalocker.LockException, portalocker.AlreadyLocked):
        yield False
        return
    try:
        yield True
    finally:
        guard.release()

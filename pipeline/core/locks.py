"""Advisory file locks that answer instead of waiting for ever, and die with their process.

The only module that imports portalocker. Lock files are never unlinked: removing one while another
process waits on it lets two owners hold different inodes (checklist S-C3).
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO

from pipeline.core import system
from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import LockError, SpoolError
from pipeline.core.home import Home

_READ_ONLY = "The disk is mounted read-only. Mount it for writing, or work in a store on another disk."


def _portalocker() -> ModuleType:
    """Return portalocker, at the first lock: a worker that a hook started has its own from there."""
    import tempfile

    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        # On a full disk no folder passes Python's trial write, and portalocker asks for one when imported.
        tempfile.tempdir = str(Path.cwd())
    import portalocker

    return portalocker


def _open(path: Path, *, to_look: bool = False) -> int:
    """Open the lock file, made at the first use, and return its descriptor; `to_look` is content to read."""
    try:
        ensure_dir(path.parent)
        # Opening a pipe to write would wait for its reader, and a link may lead anywhere.
        if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        if to_look and path.exists() and not os.access(path, os.W_OK):
            return os.open(path, os.O_RDONLY | system.OPEN)
        return os.open(path, os.O_RDWR | os.O_CREAT | system.OPEN, 0o600)
    except OSError as error:
        raise LockError(
            f"the lock can't be used: {error.strerror or error}",
            file=str(path),
            fix=_READ_ONLY
            if error.errno == errno.EROFS
            else "Make it readable and writable for yourself, or remove it: it is made anew.",
        ) from error


def try_lock(path: Path) -> IO[bytes] | None:
    """Return an open, exclusively locked handle on `path`, or None while another process holds it.

    Close the handle to release. The owner's pid is written for a person to read; it decides nothing.
    Raises LockError when the file can't be opened.
    """
    portalocker = _portalocker()
    handle = os.fdopen(_open(path, to_look=True), "r+b", 0)
    try:
        portalocker.lock(handle, portalocker.LOCK_EX | portalocker.LOCK_NB)
    except (portalocker.LockException, portalocker.AlreadyLocked):
        handle.close()
        return None
    # A full or read-only disk takes no number, and nothing hangs on it.
    with suppress(OSError):
        handle.truncate(0)
        handle.write(f"{os.getpid()}\n".encode())
    return handle


def has_locks(path: Path) -> bool:
    """Whether the file system of `path` knows such locks at all, held or not; it is made where it is missing.

    Raises LockError when the file can't be opened.
    """
    portalocker = _portalocker()
    with os.fdopen(_open(path, to_look=True), "r+b", 0) as handle:
        try:
            portalocker.lock(handle, portalocker.LOCK_EX | portalocker.LOCK_NB)
        except portalocker.AlreadyLocked:
            return True
        except portalocker.LockException:
            return False
    return True


@contextmanager
def lock(path: Path, *, timeout: float) -> Iterator[bool]:
    """Hold `path` exclusively; yields False when `timeout` seconds passed without getting it.

    Raises LockError when the file can't be opened.
    """
    portalocker = _portalocker()
    # It would make the file with the umask's mode.
    os.close(_open(path))
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


@contextmanager
def handed_on(path: Path, *, timeout: float) -> Iterator[int | None]:
    """Hold `path` as `lock` does; yields a descriptor for a child to inherit, None where it is not had.

    A child that has it holds the lock, too, also where it outlives this process.
    """
    portalocker = _portalocker()
    end = time.monotonic() + timeout
    while (handle := try_lock(path)) is None and time.monotonic() < end:
        time.sleep(0.02)
    if handle is None:
        yield None
        return
    try:
        yield handle.fileno()
    finally:
        portalocker.unlock(handle)
        handle.close()


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock at `path`. Makes nothing, and raises as `try_lock` does."""
    if not path.exists():
        return False
    handle = try_lock(path)
    if handle is None:
        return True
    handle.close()
    return False


def worker_alive(home: Path) -> bool:
    """Return whether a worker holds the lock of `home`. Makes nothing.

    The lock is an advisory one on ``worker.lock`` that belongs to the open file. A hook that starts a worker
    (``hooks/start_worker.py``) takes it first and lets the worker inherit it, so at no moment can two be
    started; the system drops it when the worker ends, however it ends. What the file says does not matter.
    The answer is got by taking the lock for an instant; a hook that asks in that very instant leaves its
    event for the next. Raises SpoolError when the lock file can't be used (it is a directory, say).
    """
    file = Home(home).worker_lock
    if not file.exists():
        return False
    try:
        return is_held(file)
    except LockError as error:
        raise SpoolError(f"{file.name}: {error.args[0]}", file=error.file, fix=error.fix) from error

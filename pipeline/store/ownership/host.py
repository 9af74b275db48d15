"""Signs that Claude Code itself is at work in the store."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from pipeline.core.clock import SystemClock
from pipeline.core.errors import StoreError
from pipeline.core.system import running
from pipeline.store.files.layout import read_regular

CONSOLIDATE_LOCK = ".consolidate-lock"
_LOCK_SECONDS = 3_600
_SLACK_SECONDS = 2.0
"""How far a start time may lie after the lock's time; the kernel counts in hundredths from a rounded boot."""


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
    return pid if running(pid) and not _started_after(pid, stamp, now) else None


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

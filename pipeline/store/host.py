"""Signs that Claude Code itself is at work in the store."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

CONSOLIDATE_LOCK = ".consolidate-lock"
_LOCK_SECONDS = 3_600


def foreign_dream_running(store_path: Path, now: datetime) -> bool:
    """Whether another program's consolidation holds the store's ``.consolidate-lock``.

    It does while the process whose number is in the file lives and the file is under an hour old. A
    lock of our own process does not count. The file is only looked at.
    """
    file = store_path / CONSOLIDATE_LOCK
    try:
        age = now.timestamp() - file.stat().st_mtime
        pid = int(file.read_bytes()[:32].decode("ascii", "replace").strip())
    except (FileNotFoundError, ValueError):
        return False
    if age >= _LOCK_SECONDS or pid <= 0 or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True

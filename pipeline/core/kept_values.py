"""A file of values that one of us made and may lose: JSON below its own digest, for this user alone.

A file that is torn, too long or may be another's counts for nothing, and the next who looks makes it anew.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

from pipeline.core import system
from pipeline.core.atomic import write_atomic
from pipeline.hooklib.digests import sha256

MOST_BYTES = 256 << 10


def read(file: Path) -> dict[str, Any]:
    """Return all that is kept in `file`, {} where that is not exactly what one of us wrote."""
    try:
        value = json.loads(kept(file, MOST_BYTES))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def add(file: Path, key: str, value: object, *, most: int) -> None:
    """Keep `value` under `key` in `file`, and of what is there before the latest, `most` in all."""
    others = [item for item in read(file).items() if item[0] != key]
    raw = json.dumps(dict([*others[max(0, len(others) - most + 1) :], (key, value)])).encode()
    keep(file, raw)


def kept(file: Path, most: int) -> bytes:
    """Return what `keep` left in `file`; nothing if it is torn, longer than `most`, or maybe another's."""
    flags = os.O_RDONLY | system.NO_LINK | system.OPEN | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(file, flags)
        try:
            raw = os.read(handle, most) if _is_private(os.fstat(handle)) else b""
        finally:
            os.close(handle)
    except OSError:
        return b""
    digest, _, data = raw.partition(b"\n")
    return data if digest == sha256(data).encode() else b""


def keep(file: Path, data: bytes) -> None:
    """Keep `data` in `file` below its digest, where that can be written."""
    # Without it the next one is slower, and what keeps it from being written, others tell.
    with suppress(OSError):
        if file.exists() and not _is_private(file.lstat()):
            file.unlink()
        write_atomic(file, sha256(data).encode() + b"\n" + data)


def _is_private(info: os.stat_result) -> bool:
    """Whether a file is ours and nobody else's, as far as the system tells."""
    if not stat.S_ISREG(info.st_mode):
        return False
    return os.name == "nt" or (info.st_uid == os.geteuid() and not info.st_mode & 0o077)

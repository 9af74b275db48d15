"""What sets this run of this machine, and this process, apart from every other.

A process number alone says little: after a boot, or after enough processes, it is somebody else's.
Standard library only; nothing is written.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from pipeline.core.system import running

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """Return ``<boot>@<host>``: the same until the machine is booted, and no other machine's.

    <boot> is the kernel's own identifier (Linux, macOS), and empty where the system has none: then a boot
    can't be told, and only the time a lease runs for ends it.
    """
    from socket import gethostname

    return f"{_linux_boot() or _mac_boot()}@{gethostname()}"


def process_name() -> str:
    """Return ``<pid>.<start>.<random>`` for the running process; `lives` tells whether it still runs.

    <start> is in the kernel's own unit and empty where it can't be told. Each call returns another name.
    """
    return f"{os.getpid()}.{_started(os.getpid())}.{uuid.uuid4().hex[:8]}"


def lives(name: str) -> bool:
    """Whether the process that `process_name` named on this boot of this machine is alive.

    A process that only got the same number later does not count. True for what is no such name and for
    what can't be asked: when in doubt somebody is at work.
    """
    pid, _, rest = name.partition(".")
    started = rest.partition(".")[0]
    if not pid.isascii() or not pid.isdigit():
        return True
    if not running(int(pid)):
        return False
    now = _started(int(pid))
    return not started or not now or started == now


def _linux_boot() -> str:
    try:
        return _BOOT_ID.read_text("ascii").strip()
    except OSError:
        return ""


def _mac_boot() -> str:
    if os.uname().sysname != "Darwin" if hasattr(os, "uname") else True:
        return ""
    # Deferred: only this system has no file to read.
    import ctypes

    text = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(text))
    failed = ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", text, ctypes.byref(size), None, 0)
    return "" if failed else text.value.decode("ascii", "replace")


def _started(pid: int) -> str:
    try:
        # The second field is the program's name in brackets, which may hold anything.
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""

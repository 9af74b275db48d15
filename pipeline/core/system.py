"""What Linux, macOS and Windows do differently about files, processes and groups of them: one place to look.

Standard library only and cheap to import, since hooks' modules use it too. Functions that must do another
thing elsewhere take the `system` they are for (as in `sys.platform`) and, on Windows, its `kernel`, so that
every branch can be tried on any system.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

OPEN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
"""Flags of every `os.open`: bytes as they are (Windows would turn line ends), nothing a child inherits."""
NO_LINK = getattr(os, "O_NOFOLLOW", 0)
"""Refuse a link; Windows has no such flag, and makes links only for who is privileged."""
NO_WAIT = getattr(os, "O_NONBLOCK", 0)
"""Do not wait for the other end of a pipe; Windows has no pipes among files."""
APPENDING = os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_LINK | NO_WAIT | OPEN
"""Flags of a file of lines that is added to, and made at the first."""

# Windows' names for these are CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, â¦
_NEW_GROUP = 0x200
_NO_WINDOW = 0x0800_0000
_ASK_ONLY = 0x1000
_STILL_ACTIVE = 259
_ACCESS_DENIED = 5


def is_windows(system: str = sys.platform) -> bool:
    """Whether `system` is Windows."""
    return system == "win32"


def running(pid: int, *, system: str = sys.platform, kernel: Any = None) -> bool:
    """Whether a process has the number `pid`, be it ours or another person's; it is only asked.

    On Windows `kernel` is kernel32. `os.kill(pid, 0)` would end the process there.
    """
    if pid <= 0:
        return False
    if is_windows(system):
        return _running_on_windows(pid, kernel or _kernel())
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def grouped(*, system: str = sys.platform) -> dict[str, Any]:
    """Return Popen's arguments for a child that can be ended with its own children, and without a window."""
    if is_windows(system):
        return {"creationflags": _NEW_GROUP | _NO_WINDOW}
    return {"start_new_session": True}


def end_group(pid: int, *, force: bool) -> None:
    """Ask the group of the child `pid` to end, or end it by `force`; a group that is gone is fine.

    For systems with process groups; on others run what `ending` returns.
    """
    import signal

    try:
        os.killpg(pid, signal.SIGKILL if force else signal.SIGTERM)
    except (ProcessLookupError, PermissionError):
        # Nobody is left in the group; macOS says so with EPERM when only zombies are.
        return


def ending(pid: int, *, force: bool, system: str = sys.platform) -> list[str]:
    """Return the command that ends the child `pid` and its children where no process groups are, else []."""
    if not is_windows(system):
        return []
    return ["taskkill", "/T", *(["/F"] if force else []), "/PID", str(pid)]


def end_by(number: int) -> None:
    """End this process by a signal, as another process was ended, without a core of its own."""
    import resource
    import signal

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def may_copy(system: str = sys.platform) -> bool:
    """Whether this process may be copied with `start_copy`.

    Windows can't; elsewhere than on Linux the system's own libraries may not outlive it beside other threads.
    """
    import threading

    return hasattr(os, "fork") and (system == "linux" or threading.active_count() == 1)


def start_copy(work: Callable[[int], None], *, pipe_bytes: int) -> tuple[int, int]:
    """Copy this process and let the copy do `work`, given where to write, and end.

    Returns the copy's number and where to read what it writes, of which about `pipe_bytes` may wait.
    """
    source, out = os.pipe()
    _widen(source, pipe_bytes)
    pid = os.fork()
    if pid:
        os.close(out)
        return pid, source
    # Nothing that this process has begun may be ended by its copy: no handler runs, no buffer is written.
    code = 1
    try:
        os.close(source)
        work(out)
        code = 0
    finally:
        os._exit(code)


def end_copy(pid: int) -> None:
    """End a copy, whatever it does, and wait until it is gone."""
    import signal

    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def _widen(pipe: int, size: int) -> None:
    import fcntl

    request = getattr(fcntl, "F_SETPIPE_SZ", None)
    if request is not None:
        try:
            fcntl.fcntl(pipe, request, size)
        except OSError:
            return  # More than this person's processes may have: what fits, fits.


def keep_private(handle: int, mode: int) -> None:
    """Give an open file its `mode`, where files have one; elsewhere the folder of the person protects it."""
    if hasattr(os, "fchmod"):
        os.fchmod(handle, mode)


def syncs_folders(system: str = sys.platform) -> bool:
    """Whether a folder can be opened and fsynced, which makes a rename in it durable."""
    return not is_windows(system)


def _kernel() -> Any:
    # Deferred: only Windows asks for it.
    import ctypes

    library = getattr(ctypes, "WinDLL")("kernel32", use_last_error=True)  # noqa: B009 - not on other systems
    library.OpenProcess.restype = ctypes.c_void_p
    return library


def _running_on_windows(pid: int, kernel: Any) -> bool:
    import ctypes

    handle = kernel.OpenProcess(_ASK_ONLY, False, pid)
    if not handle:
        return bool(kernel.GetLastError() == _ACCESS_DENIED)
    code = ctypes.c_ulong()
    try:
        return bool(kernel.GetExitCodeProcess(handle, ctypes.byref(code))) and code.value == _STILL_ACTIVE
    finally:
        kernel.CloseHandle(handle)

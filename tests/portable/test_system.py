"""The branches of other systems, tried on this one: each function is told which system it is for."""

import ctypes
import os
import subprocess
import sys
from typing import Any

import pytest

from pipeline.core import system


class Kernel:
    """Answers as kernel32 does for the processes in `codes` (number to exit code) and `foreign` ones."""

    def __init__(self, codes: dict[int, int], foreign: tuple[int, ...] = ()) -> None:
        self.codes, self.foreign = codes, foreign
        self.closed: list[int] = []
        self._asked = 0

    def OpenProcess(self, access: int, inherit: bool, pid: int) -> int:
        self._asked = pid
        return pid * 16 if pid in self.codes else 0

    def GetLastError(self) -> int:
        return 5 if self._asked in self.foreign else 87

    def GetExitCodeProcess(self, handle: int, code: Any) -> bool:
        code._obj.value = self.codes[handle // 16]
        return True

    def CloseHandle(self, handle: int) -> None:
        self.closed.append(handle)


def ended() -> int:
    """Return the number of a process that is gone."""
    child = subprocess.Popen([sys.executable, "-c", "pass"])
    child.wait()
    return child.pid


@pytest.mark.parametrize(
    ("pid", "alive"),
    [(os.getpid(), True), (0, False), (-1, False), (2**40, False)],
    ids=["own", "zero", "negative", "too big"],
)
def test_a_process_is_running_or_not(pid: int, alive: bool) -> None:
    assert system.running(pid) is alive


def test_a_process_that_ended_is_not_running() -> None:
    assert not system.running(ended())


@pytest.mark.parametrize(("pid", "alive"), [(7, True), (8, False), (9, True), (10, False), (0, False)])
def test_windows_is_asked_and_never_signals(pid: int, alive: bool) -> None:
    kernel = Kernel({7: 259, 8: 1}, foreign=(9,))
    assert system.running(pid, system="win32", kernel=kernel) is alive
    assert kernel.closed == [number * 16 for number in (pid,) if number in kernel.codes]


def test_a_code_is_read_as_windows_writes_it() -> None:
    code = ctypes.c_ulong()
    assert Kernel({7: 259}).GetExitCodeProcess(7 * 16, ctypes.byref(code))
    assert code.value == 259


def test_a_group_is_ended_by_a_signal_or_by_taskkill() -> None:
    assert system.ending(12, force=True, system="darwin") == []
    assert system.ending(12, force=True, system="win32") == ["taskkill", "/T", "/F", "/PID", "12"]
    assert system.ending(12, force=False, system="win32") == ["taskkill", "/T", "/PID", "12"]
    assert system.grouped(system="win32") == {"creationflags": 0x08000200}


def test_ending_a_group_ends_the_child_and_is_content_when_it_is_gone() -> None:
    line = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(line, stdin=subprocess.PIPE, **system.grouped())
    system.end_group(child.pid, force=True)
    assert child.wait() == -9
    child.stdin.close()
    system.end_group(child.pid, force=True)
    assert not system.running(child.pid)


def test_only_windows_syncs_no_folders() -> None:
    assert [system.syncs_folders(name) for name in ("linux", "darwin", "win32")] == [True, True, False]

"""What whole processes cost: wall time, processor time and memory of one and of all that it waits for.

That is what a person waits for and pays: the interpreter's start, imports and exit are in it. Processor time
is user and system time of the process tree as the kernel counts it (`os.wait4`).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measure import Ratio

PYTHON = os.path.realpath(sys.executable)
BARE = (PYTHON, "-I", "-S", "-c", "pass")
"""The floor of hooks and commands: an interpreter that starts and ends, without a virtual environment."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one run of a process took: seconds of wall and processor time, peak memory in MB, its output.

    The peak is never less than what the measuring process holds: the kernel counts from before the start.
    """

    wall: float
    cpu: float
    peak_mb: float
    out: bytes


@dataclass(frozen=True, slots=True)
class Command:
    """A process to run: its arguments, environment and folder, and what it is given on stdin."""

    argv: Sequence[str]
    env: Mapping[str, str] | None = None
    given: bytes = b""
    cwd: str | Path | None = None


def spend(command: Command) -> Spent:
    """Run `command` to its end; a failure raises with what it said."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            command.argv, env=command.env, cwd=command.cwd, stdin=subprocess.PIPE, stdout=out, stderr=err
        )
        assert child.stdin is not None
        child.stdin.write(command.given)
        child.stdin.close()
        _, status, used = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            said = err.read().decode("utf-8", "replace")
            raise RuntimeError(f"{' '.join(command.argv)} ended with {child.returncode}: {said}")
        peak = used.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        return Spent(wall, used.ru_utime + used.ru_stime, peak, out.read())


def alternate(
    subject: Callable[[int], Command],
    floor: Callable[[int], Command] = lambda _: Command(BARE),
    *,
    rounds: int,
) -> Ratio:
    """Run subject and floor in turn and compare their medians; each gets the number of its round.

    One round more, the first, warms the disk's cache and does not count.
    """
    mine: list[Spent] = []
    bare: list[Spent] = []
    for number in range(rounds + 1):
        mine.append(spend(subject(number)))
        bare.append(spend(floor(number)))
    return ratio(mine[1:], bare[1:])


def ratio(mine: Sequence[Spent], bare: Sequence[Spent]) -> Ratio:
    """Compare the medians of two lists of runs."""
    wall, wall0 = (statistics.median(one.wall for one in runs) for runs in (mine, bare))
    cpu, cpu0 = (statistics.median(one.cpu for one in runs) for runs in (mine, bare))
    return Ratio(wall / wall0, cpu / cpu0, wall * 1e3, wall0 * 1e3, len(mine), cpu * 1e3, cpu0 * 1e3)

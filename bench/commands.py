"""What commands cost, as whole processes with all they import: ``python -m bench.commands [rounds]``.

The floor is ``python -I -S -c pass`` of the interpreter behind the environment, not its launcher in ``bin``.
Each round runs every command once and the floor once, in turn. The ratios are of medians, of processor time
and of wall time. Bytecode is written first, as it is where Reverie is installed. Exit code 1 when a row
misses its target.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
START = ("-c", "import sys; sys.argv[0] = 'reverie'; from _reverie_start import run; run()")


class Row(NamedTuple):
    """A command, how many memories its store has, and the ratio of processor time wanted."""

    words: tuple[str, ...]
    memories: int
    target: float | None = None


ROWS = (
    Row(("--help",), 100, 8),
    Row(("--version",), 100, 8),
    Row(("status",), 100, 8),
    Row(("statusline",), 100, 8),
    Row(("list", "--help"), 100),
    Row(("list",), 100),
    Row(("list",), 1_000),
    Row(("config",), 100),
    Row(("history",), 100),
    Row(("conversations",), 100),
    Row(("search", "linter"), 1_000),
)


def memory(number: int) -> str:
    """Return a memory file as Reverie writes them."""
    head = f"name: rule-{number}\ndescription: Run linter {number} before a commit.\ntype: feedback\n"
    return f"---\n{head}---\n\nRun linter {number} before a commit. {'It finds what review misses. ' * 20}\n"


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a person whose folder is `home`."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "REVERIE_NO_LIVE_CALLS": "1",
    }


def measured(command: list[str], cwd: Path, env: dict[str, str]) -> tuple[float, float]:
    """Run `command` and return its processor time and its wall time, in milliseconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu * 1e3, wall * 1e3


def prepared(folder: Path, count: int) -> tuple[Path, dict[str, str]]:
    """Make a home and a project with `count` memories, indexed; return the project and the environment."""
    home = folder / str(count)
    project = home / "project"
    project.mkdir(parents=True)
    store = home / ".claude" / "projects" / str(project).replace("/", "-").replace("_", "-") / "memory"
    store.mkdir(parents=True)
    for number in range(count):
        (store / f"rule-{number}.md").write_text(memory(number), "utf-8")
    env = environment(home)
    subprocess.run([sys.executable, *START, "reindex"], cwd=project, env=env, capture_output=True, check=True)
    return project, env


def main() -> int:
    """Measure and print the table; return the exit code."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    bare = [os.path.realpath(sys.executable), "-I", "-S", "-c", "pass"]
    folder = Path(tempfile.mkdtemp(prefix="reverie-bench-"))
    try:
        homes = {count: prepared(folder, count) for count in {row.memories for row in ROWS}}
        commands = [[sys.executable, *START, *row.words] for row in ROWS]
        times: list[list[tuple[float, float]]] = [[] for _ in ROWS]
        floor = []
        for turn in range(rounds + 1):
            floor += [measured(bare, folder, environment(folder))] if turn else []
            for at, row in enumerate(ROWS):
                found = measured(commands[at], *homes[row.memories])
                times[at] += [found] if turn else []  # the first writes the bytecode
    finally:
        shutil.rmtree(folder)
    return told(floor, times)


def told(floor: list[tuple[float, float]], times: list[list[tuple[float, float]]]) -> int:
    """Print the table; return 1 when a row misses its target."""
    cpu0, wall0 = (statistics.median(values) for values in zip(*floor, strict=True))
    print(f"bare: {cpu0:.1f} ms CPU, {wall0:.1f} ms wall, medians of {len(floor)}")
    print(f"{'command':<24}{'memories':>9}{'CPU ms':>9}{'x bare':>8}{'wall x':>8}{'target':>8}")
    missed = 0
    for row, found in zip(ROWS, times, strict=True):
        cpu, wall = (statistics.median(values) for values in zip(*found, strict=True))
        short = row.target is not None and cpu / cpu0 > row.target
        missed += short
        wanted = f"{row.target:g}{' missed' if short else ''}" if row.target else ""
        words = " ".join(row.words)
        print(f"{words:<24}{row.memories:>9,}{cpu:>9.1f}{cpu / cpu0:>8.1f}{wall / wall0:>8.1f}{wanted:>8}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

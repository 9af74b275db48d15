"""Stop hook against a bare interpreter start, in alternation on the same machine.

Prints medians and their ratio: ``python -m bench.hooks [rounds]``. A stand-in holds the worker lock, as a
live worker does, so that the figure is what a turn costs while one works.
"""

from __future__ import annotations

import fcntl
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import Ratio

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
FLOOR = "python -I -S -c pass"
CAPTURE = "python -I -S capture.py Stop"
LAUNCHER = "sh run Stop"
PAYLOAD = (
    b'{"session_id":"bench","transcript_path":"/x","hook_event_name":"Stop","last_assistant_message":"%s"}'
    % (b"done " * 200)
)


def once(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, input=PAYLOAD, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the seconds each command took, round by round; the first is the floor."""
    python = os.path.realpath(sys.executable)
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "REVERIE_HOME": home, "REVERIE_PYTHON_HOOK": python}
        rows = {
            FLOOR: [python, "-I", "-S", "-c", "pass"],
            CAPTURE: [python, "-I", "-S", str(HOOKS / "capture.py"), "Stop"],
            LAUNCHER: ["sh", str(HOOKS / "run"), "Stop"],
        }
        times: dict[str, list[float]] = {name: [] for name in rows}
        with open(os.path.join(home, "worker.lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for _ in range(rounds):
                for name, command in rows.items():
                    times[name].append(once(command, env))
    return times


def ratio(rounds: int, name: str) -> Ratio:
    """Compare one of the commands with a bare interpreter."""
    times = measure(rounds)
    middle, floor = statistics.median(times[name]), statistics.median(times[FLOOR])
    return Ratio(middle / floor, None, middle * 1e3, floor * 1e3, rounds)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    times = measure(rounds)
    floor = statistics.median(times[FLOOR])
    print(f"{'hook':32}{'median ms':>10}{'ratio':>8}   ({rounds} rounds, target 1.5 for capture.py)")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"{name:32}{middle * 1000:10.2f}{middle / floor:8.2f}")


if __name__ == "__main__":
    main()

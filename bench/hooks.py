"""Stop hook against a bare interpreter start, in alternation on the same machine.

Prints medians and their ratio: ``python bench/hooks.py [rounds]``. A stand-in holds the worker lock, as a
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

HOOKS = Path(__file__).resolve().parent.parent / "hooks"
PAYLOAD = (
    b'{"session_id":"bench","transcript_path":"/x","hook_event_name":"Stop","last_assistant_message":"%s"}'
    % (b"done " * 200)
)


def once(command: list[str], env: dict[str, str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, input=PAYLOAD, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    python = os.path.realpath(sys.executable)
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": "/usr/bin:/bin", "HOME": home, "REVERIE_HOME": home, "REVERIE_PYTHON_HOOK": python}
        rows = {
            "python -I -S -c pass": [python, "-I", "-S", "-c", "pass"],
            "python -I -S capture.py Stop": [python, "-I", "-S", str(HOOKS / "capture.py"), "Stop"],
            "sh run Stop": ["sh", str(HOOKS / "run"), "Stop"],
        }
        times: dict[str, list[float]] = {name: [] for name in rows}
        with open(os.path.join(home, "worker.lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for _ in range(rounds):
                for name, command in rows.items():
                    times[name].append(once(command, env))
    floor = statistics.median(times["python -I -S -c pass"])
    print(f"{'hook':32}{'median ms':>10}{'ratio':>8}   ({rounds} rounds, target 1.5 for capture.py)")
    for name, taken in times.items():
        middle = statistics.median(taken)
        print(f"{name:32}{middle * 1000:10.2f}{middle / floor:8.2f}")


if __name__ == "__main__":
    main()

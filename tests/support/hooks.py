"""Running the hook as the host does, with a stand-in for the worker that can be seen and ended."""

import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
LIMIT = 20
"""Seconds after which something that should have ended counts as hanging."""

FAKE_WORKER = """#!/bin/sh
case $1 in -E) exit 0 ;; esac  # asked whether it has the packages
echo $$ >>"$REVERIE_HOME/started"
printf '%s\\n' "$@" >"$REVERIE_HOME/arguments"
env >"$REVERIE_HOME/variables"
pwd -P >"$REVERIE_HOME/directory"
cut -d' ' -f6 /proc/$$/stat >"$REVERIE_HOME/session"
echo "made-up complaint" >&2
echo started >"$REVERIE_HOME/ready"
read -r line <"$REVERIE_HOME/release"
"""


@dataclass
class Stage:
    """A home, and a fake worker that says when it runs and stays until it is released."""

    home: Path
    env: dict[str, str]

    def command(self, event: str = "Stop") -> list[str]:
        return [sys.executable, "-I", "-S", str(HOOKS / "capture.py"), event]

    def run(self, data: bytes, event: str = "Stop", *, launcher: bool = False) -> None:
        """Run the hook to its end; it must succeed in silence."""
        command = ["sh", str(HOOKS / "run"), event] if launcher else self.command(event)
        done = subprocess.run(command, input=data, env=self.env, capture_output=True, timeout=LIMIT)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")

    def spooled(self) -> list[Path]:
        return sorted((self.home / "spool").glob("*.json"))

    def lines(self, name: str) -> list[str]:
        path = self.home / name
        return path.read_text().splitlines() if path.exists() else []

    def await_worker(self) -> int:
        """Wait until the fake worker says that it runs; return its process id."""
        ready = os.open(self.home / "ready", os.O_RDWR)
        try:
            assert select.select([ready], [], [], LIMIT)[0], "no worker was started"
            assert os.read(ready, 100) == b"started\n"
        finally:
            os.close(ready)
        return int(self.lines("started")[-1])

    def release(self) -> None:
        """Let the fake worker end, whether or not it waits yet."""
        with open(os.open(self.home / "release", os.O_RDWR | os.O_NONBLOCK), "wb", 0) as fifo:
            fifo.write(b"go\n" * 50)
            with open(os.open(self.home / "worker.lock", os.O_RDWR), "rb") as lock:
                wait_for_lock(lock.fileno())


def wait_for_lock(handle: int) -> None:
    """Block until nobody holds the lock; `timeout` ends a wait that would never end."""
    subprocess.run(["flock", str(handle)], pass_fds=(handle,), timeout=LIMIT, check=True)

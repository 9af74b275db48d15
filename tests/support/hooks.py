"""Running the hook as the host does, with a stand-in for the worker that can be seen and ended."""

import fcntl
import json
import os
import re
import select
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
LIMIT = 60
"""Seconds after which something that should have ended counts as hanging."""

FAKE_WORKER = """#!/bin/sh
case $1 in -E) exit 0 ;; -I) exec {python} "$@" ;; esac  # asked whether it has the packages; run as a hook
echo $$ >>"$REVERIE_HOME/started"
printf '%s\\n' "$@" >"$REVERIE_HOME/arguments"
env >"$REVERIE_HOME/variables"
pwd -P >"$REVERIE_HOME/directory"
cut -d' ' -f6 /proc/$$/stat >"$REVERIE_HOME/session"
echo "made-up complaint" >&2
echo started >"$REVERIE_HOME/ready"
read -r line <"$REVERIE_HOME/release"
""".replace("{python}", shlex.quote(sys.executable))
IDLE = f"""#!/bin/sh
case $1 in -I) exec {shlex.quote(sys.executable)} "$@" ;; esac
"""
"""A Python that runs hooks; as a worker it ends at once."""


def note_python(home: Path, script: str = IDLE) -> Path:
    """Make `script` the Python of the hooks whose home is `home`, as a command notes it; return its place."""
    place = home.parent / ("idle-python" if script == IDLE else "fake-python")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.write_text(script, encoding="utf-8")
    place.chmod(0o755)
    (home / "python").write_text(f"{place}\n", encoding="utf-8")
    return place


def settings_of(env: dict[str, str], below: dict[str, Any] | None = None) -> str:
    """Return as ``config.toml`` what the ``REVERIE_*__*`` variables of `env` say: hooks hand none of them on.

    The other variables of the name are named in it, so that the worker gets them. `below` are settings that
    hold where no variable says otherwise, as read from such a file.
    """
    sections: dict[str, dict[str, str]] = {}
    for section, values in (below or {}).items():
        sections[section] = {key: json.dumps(value) for key, value in values.items()}
    for name, value in env.items():
        section, separator, key = name.removeprefix("REVERIE_").lower().partition("__")
        if name.startswith("REVERIE_") and separator:
            plain = value if re.fullmatch(r"[\d.]+|true|false|\[.*\]", value) else json.dumps(value)
            sections.setdefault(section, {})[key] = plain
    others = [name for name in env if name.startswith("REVERIE_") and "__" not in name]
    model = sections.setdefault("model", {})
    own = json.loads(model.get("pass_env", "[]"))
    own = own.replace(",", " ").split() if isinstance(own, str) else own
    model["pass_env"] = json.dumps(list(dict.fromkeys([*own, *others])))
    return "".join(
        f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
        for name, values in sections.items()
    )


def note_home(config: Path, home: Path) -> None:
    """Say in the client's folder `config` that Reverie's home is `home`, as `reverie install` does."""
    config.mkdir(parents=True, exist_ok=True)
    (config / "reverie.home").write_text(f"{home}\n", encoding="utf-8")


@contextmanager
def worker_at_work(home: Path) -> Iterator[None]:
    """Hold the worker's lock, as one that is alive does: no hook starts another."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (home / "worker.lock").is_dir():
        yield
        return
    with open(os.open(home / "worker.lock", os.O_RDWR | os.O_CREAT, 0o600), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


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

"""Starting the worker from a command, asking whether one is alive, and running the system's own programs.

The worker lock is an advisory lock on ``<home>/worker.lock`` that belongs to the open file. Whoever starts
a worker takes it first and lets the worker inherit it, so at no moment can two be started; the system
drops it when the worker ends, however it ends. What the file says, or whether it is empty or damaged,
does not matter. ``hooks/start_worker.py`` does the same without this package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from pipeline.core import system
from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import InputError, LockError, SpoolError
from pipeline.core.locks import try_lock
from pipeline.core.paths import PACKAGE, SENTINEL

_TOOL_SECONDS = 30.0

_started: list[subprocess.Popen[bytes]] = []
"""Workers this process started, kept so that those that ended can be reaped."""


def lock_path(home: Path) -> Path:
    """Return the file that a live worker holds locked."""
    return home / "worker.lock"


def worker_alive(home: Path) -> bool:
    """Return whether a worker holds the lock of `home`. Makes nothing.

    The answer is got by taking the lock for an instant; a hook that asks in that very instant leaves its
    event for the next. Raises SpoolError when the lock file can't be used (it is a directory, say).
    """
    if not lock_path(home).exists():
        return False
    handle = _try(home)
    if handle is None:
        return True
    handle.close()
    return False


def ensure_worker(home: Path) -> bool:
    """Start a worker for `home` unless one is alive; return whether this call started one.

    The worker runs under this interpreter (or ``$REVERIE_PYTHON``) with this very package, in its own
    session, with `home` as its directory, stdin and stdout on the null device, stderr in
    ``logs/worker.log``. Raises SpoolError when the lock or the log can't be opened or the interpreter
    can't be started.
    """
    _started[:] = [worker for worker in _started if worker.poll() is None]
    ensure_dir(home)
    handle = _try(home)
    if handle is None:
        return False
    with handle:
        if not system.passes_locks():
            # The child takes it itself; of two that are started meanwhile one finds it held and leaves.
            handle.close()
        try:
            _started.append(_spawn(home.resolve(), None if handle.closed else handle.fileno()))
        except OSError as error:
            raise SpoolError(
                f"the worker can't be started: {error.strerror or error}",
                file=str(error.filename or home),
                fix="See that Reverie's home is writable and its Python still exists.",
            ) from error
    return True


def run_tool(command: Sequence[str], *, given: str = "") -> tuple[int, str, str]:
    """Run one of the system's own programs with `given` on its input; return exit status, output, errors.

    Raises InputError when it is not there or does not end within half a minute.
    """
    try:
        done = subprocess.run(
            command,
            input=given.encode("utf-8", "surrogateescape"),
            capture_output=True,
            check=False,
            timeout=_TOOL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"{command[0]} can't be used: {error}", fix=f"See that {command[0]} works in a terminal."
        ) from error
    # Escaped, so that what is read and given back (a crontab) keeps every byte.
    out, err = (text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))
    return done.returncode, out, err


def _try(home: Path) -> IO[bytes] | None:
    try:
        return try_lock(lock_path(home))
    except LockError as error:
        raise SpoolError(f"worker.lock: {error.args[0]}", file=error.file, fix=error.fix) from error


def _spawn(home: Path, lock: int | None, *, breakaway: bool = True) -> subprocess.Popen[bytes]:
    python = os.environ.get("REVERIE_PYTHON") or sys.executable
    log = ensure_dir(home / "logs") / "worker.log"
    error_log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | system.OPEN, 0o600)
    try:
        return subprocess.Popen(
            [python, "-m", "pipeline.worker", *(() if lock is None else ("--lock-fd", str(lock)))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=error_log,
            cwd=home,
            env=_environment(home),
            **system.detached(lock, breakaway=breakaway),
        )
    except PermissionError:
        if not breakaway or not system.is_windows():
            raise
        return _spawn(home, lock, breakaway=False)
    finally:
        os.close(error_log)


def _environment(home: Path) -> dict[str, str]:
    """Return the worker's environment: this package first, the caller's own modules not at all."""
    values = {name: value for name, value in os.environ.items() if name not in (SENTINEL, "PYTHONHOME")}
    values["REVERIE_HOME"] = str(home)
    values["PYTHONSAFEPATH"] = "1"
    values["PYTHONPATH"] = str(PACKAGE.parent)
    config = values.get("CLAUDE_CONFIG_DIR")
    if config:
        values["CLAUDE_CONFIG_DIR"] = str(Path(config).expanduser().absolute())
    return values

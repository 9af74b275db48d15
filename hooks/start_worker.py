"""Start a worker that inherits the lock the hook has just taken.

The lock belongs to the open file, not to the process, so it passes to the worker without a moment in
which a second hook could take it. The worker gets its own session, no descriptor of the host's (a pipe
kept open makes Claude Code wait), Reverie's home as its directory, and SIGINT back, which the hook ignores.
"""

from __future__ import annotations

import os
import sys
from _signal import SIG_DFL, SIGINT, signal

from capture import make_dirs

LOG_LIMIT = 1 << 20
DETACHED, BREAKAWAY = 0x8 | 0x200, 0x0100_0000  # no console and a group of its own; out of the host's job


def start(home: str, lock: int) -> int:
    """Start the worker and return its process id. Raises OSError when the interpreter can't be run.

    Where no Python is known that has the packages, ``prepare_worker.py`` is started in its place, which
    looks for one, since that takes longer than a session may wait.
    """
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    log = home + "/logs/worker.log"
    make_dirs(home + "/logs")
    python, path = interpreter(home, root, log)
    if os.path.exists(log) and os.path.getsize(log) > LOG_LIMIT:
        os.replace(log, log + ".1")
    arguments = [python, "-m", "pipeline.worker"]
    if not python:
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prepare_worker.py")
        arguments = [sys.executable, "-I", "-S", script, home]
    values = environment(home, path)
    os.chdir(home)
    if os.name == "nt":
        os.close(lock)
        return spawn_on_windows(arguments if python else [*arguments, "-1"], values, log)
    close_on_exec(lock)
    worker = spawn([*arguments, *(["--lock-fd"] if python else []), str(lock)], values, log)
    os.ftruncate(lock, 0)
    os.pwrite(lock, b"%d\n" % worker, 0)  # for a person to read; the lock itself decides
    return worker


def environment(home: str, path: str) -> dict[str, str]:
    """Return the worker's environment.

    A project's PYTHONPATH may hold another package named ``pipeline``, so it does not reach the worker;
    nor does the sentinel, which marks the worker's own children. Relative places become absolute since
    the worker runs elsewhere.
    """
    left_out = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "REVERIE_INSIDE")
    values = {name: value for name, value in os.environ.items() if name not in left_out}
    values.update({"REVERIE_HOME": home, "PYTHONSAFEPATH": "1"})
    config = values.get("CLAUDE_CONFIG_DIR")
    if config and config[0] != "~":
        values["CLAUDE_CONFIG_DIR"] = os.path.abspath(config)
    if path:
        values["PYTHONPATH"] = path
    return values


def interpreter(home: str, root: str, log: str) -> tuple[str, str]:
    """Return the Python for the worker and what its PYTHONPATH should be ("" for an installed package).

    Both are "" where none is known, or the one that is known lacked a package the last time.
    """
    named = os.environ.get("REVERIE_PYTHON")
    if named:
        return named, ""
    noted = first_line(home + "/python")
    if runnable(noted) and not lacked_a_package(log) and is_up_to_date(home, root, noted):
        return noted, beside(root)
    for own in (root + "/.venv/bin/python", root + "/.venv/Scripts/python.exe"):
        if runnable(own):
            return own, beside(root)
    return "", ""


def beside(root: str) -> str:
    """Return `root` if the package lies there, as it does in a checkout and in a plugin, else ""."""
    return root if os.path.isdir(root + "/pipeline") else ""


def lacked_a_package(log: str) -> bool:
    """Whether the last that a worker said is that a module is missing in its Python."""
    try:
        handle = os.open(log, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return False
    try:
        os.lseek(handle, max(0, os.fstat(handle).st_size - 600), os.SEEK_SET)
        last = os.read(handle, 600).strip().rpartition(b"\n")[2]
    except OSError:
        return False
    finally:
        os.close(handle)
    return last.startswith((b"ModuleNotFoundError: ", b"ImportError: ")) or b"No module named" in last


def is_up_to_date(home: str, root: str, python: str) -> bool:
    """Whether `python`, if it is of the environment that Reverie made, was made for this version of it."""
    own = home + "/environment/"
    return not python.startswith(own) or not beside(root) or first_line(own + "made-for") == root


def first_line(path: str) -> str:
    """Return the first line of the file `path`, or "" when there is none to read."""
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(handle, 4096).partition(b"\n")[0]).strip()
    except OSError:
        return ""
    finally:
        os.close(handle)


def runnable(path: str) -> bool:
    """Say whether `path` is absolute and a program we may run."""
    return os.path.isabs(path) and os.path.isfile(path) and os.access(path, os.X_OK)


def close_on_exec(lock: int) -> None:
    """Let only the lock pass to the worker, whatever descriptors the host left open to us."""
    for name in os.listdir("/dev/fd"):
        number = int(name)
        if number > 2 and number != lock:
            try:
                os.set_inheritable(number, False)
            except OSError:
                continue  # the listing's own descriptor, closed by now
    os.set_inheritable(lock, True)


def spawn(arguments: list[str], values: dict[str, str], log: str) -> int:
    """Start `arguments` in a new session with stdin and stdout on /dev/null and stderr in `log`."""
    try:
        return os.posix_spawn(
            arguments[0],
            arguments,
            values,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=(SIGINT,),
        )
    except (NotImplementedError, AttributeError):  # Python 3.7 has no such function
        return fork(arguments, values, log)


def spawn_on_windows(arguments: list[str], values: dict[str, str], log: str) -> int:
    """Start `arguments` apart from the console and, if allowed, from the job the host ends."""
    import subprocess

    for flags in (DETACHED | BREAKAWAY, DETACHED):
        try:
            with open(log, "ab") as errors:
                worker = subprocess.Popen(
                    arguments,
                    env=values,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    creationflags=flags,
                )
        except PermissionError:
            continue  # the job lets nobody leave
        return worker.pid
    return 0


def fork(arguments: list[str], values: dict[str, str], log: str) -> int:
    """Do the same where posix_spawn knows no new sessions (older macOS)."""
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        signal(SIGINT, SIG_DFL)
        quiet = os.open(os.devnull, os.O_RDWR)
        for number, source in (
            (0, quiet),
            (1, quiet),
            (2, os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)),
        ):
            os.dup2(source, number)
        os.execve(arguments[0], arguments, values)
    finally:
        os._exit(127)

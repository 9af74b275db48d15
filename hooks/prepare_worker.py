"""Find the Python for the worker, or make an environment for it, once; then become the worker.

Started by ``start_worker.py``, detached, where no interpreter is noted that can be trusted, as
``python -I -S prepare_worker.py HOME LOCK`` with the locked ``worker.lock`` as descriptor LOCK. Nobody waits
for it. It runs under the Python of the hook, which may be too old for the package, and uses the standard
library alone. What it is at stands in ``<home>/setup``: a line for programs, a line for the person.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from _signal import SIGKILL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(HERE)
import spooling  # noqa: E402
import start_worker  # noqa: E402

DAY = 86_400
STEP_SECONDS = 1_200  # for one command of the setup; one that hangs longer is ended
NO_PYTHON = -1  # in place of the number of tries: it may be tried as soon as there is one
LOCKS: list[int] = []
"""The descriptor of the lock of a setup that is going on."""
TRIES = 3  # times a day that a setup which was cut off is begun anew
READ_DEPENDENCIES = (
    "import sys, tomllib; print(*tomllib.load(open(sys.argv[1], 'rb'))['project']['dependencies'], sep='\\n')"
)
CAUSES = (
    ("Temporary failure in name resolution", "no network"),
    ("Name or service not known", "no network"),
    ("nodename nor servname", "no network"),
    ("dns error", "no network"),
    ("Failed to establish a new connection", "no network, or no way to the package index"),
    ("Connection refused", "no way to the package index"),
    ("ProxyError", "the proxy does not answer"),
    ("CERTIFICATE_VERIFY_FAILED", "the package index has a certificate that is not trusted here"),
    ("No matching distribution", "the package index lacks a package"),
    ("No space left", "the disk is full"),
    ("Permission denied", "a folder can't be written"),
    ("timed out", "it took too long"),
    ("ensurepip is not", "Python's venv module is not complete (on Debian: apt install python3-venv)"),
    ("No module named venv", "Python's venv module is missing"),
    ("No module named pip", "pip is missing, and so is uv"),
)
"""What the log says, the likeliest cause first, and what a person is told of it."""


class SetupError(Exception):
    """The environment can't be made; the message is for a person."""


class NoPythonError(SetupError):
    """There is no Python that the package could run under."""


def main() -> None:
    """Do what the module says, for the home and the lock that the arguments name."""
    home, lock = sys.argv[1], int(sys.argv[2])
    root = os.path.dirname(HERE)
    spooling.without_failing("setup", lambda: prepare(home, root, lock))


def prepare(home: str, root: str, lock: int) -> None:
    """Become the worker, after a setup if there has to be one."""
    python = find(home, root)
    own = python.startswith(home + "/environment/")
    if own and start_worker.lacked_a_package(home + "/logs/worker.log"):
        python = ""  # whatever it looks like, the worker could not run under it
    elif own and not start_worker.is_up_to_date(home, root, python):
        bring_up_to_date(home, root)
    if not python:
        if os.path.exists(home + "/python"):
            os.unlink(home + "/python")  # it is none that can be used
        if lock >= 0:
            os.close(lock)  # who installs by hand meanwhile can start a worker
            lock = -1
        python = set_up(home, root)
    if python:
        note(home, python)
        become_worker(home, python, start_worker.beside(root), lock)


def find(home: str, root: str) -> str:
    """Return a Python that has the packages, by the rule of ``pythons``; "" when there is none."""
    script = '. "$1"; shift; find_python "$@"'
    shell = shutil.which("sh") or "/bin/sh"
    if not os.path.exists(shell):  # Windows
        own = [home + "/environment/Scripts/python.exe", sys.executable]
        return next((python for python in own if os.path.exists(python) and has_packages(python)), "")
    command = [shell, "-c", script, "sh", HERE + "/pythons", home, root, sys.executable]
    return run(command)[1].strip()


def has_packages(python: str) -> bool:
    return run([python, "-E", "-P", "-c", "import typer, pydantic, orjson, frontmatter, portalocker"])[0] == 0


def set_up(home: str, root: str) -> str:
    """Make the environment and return its Python; "" when that may not be, is at work, or failed."""
    if not os.path.isfile(root + "/pyproject.toml") or not os.path.isdir(root + "/pipeline"):
        report(home, "failed", "Reverie's packages are gone; install it again: pipx install reverie.")
        return ""
    by_hand = f"pipx install '{root}'"
    if not allowed(home):
        text = "Reverie learns nothing: its packages are missing, and worker.own_environment lets it"
        report(home, "off", f"{text} install none. By hand: {by_hand}")
        return ""
    handle = os.open(home + "/setup.lock", os.O_RDWR | os.O_CREAT | spooling.BINARY, 0o600)
    if not (spooling.taken_on_windows(handle) if os.name == "nt" else spooling.taken(handle)):
        return ""
    LOCKS.append(handle)
    tries = tries_left(home, root)
    if not tries:
        return ""
    text = "Reverie sets itself up in the background (once, a minute or two). What you say meanwhile is kept."
    report(home, "working", text, tries, root)
    try:
        python = make_environment(home, root)
    except NoPythonError as error:
        text = f"Reverie learns nothing yet: {error}. It goes on by itself once there is one"
        report(home, "failed", text, NO_PYTHON, root)
        return ""
    except (SetupError, OSError) as error:
        why = str(error) if isinstance(error, SetupError) else spooling.describe(error)
        again = f"It tries again tomorrow; by hand: {by_hand} (log: {home}/logs/setup.log)"
        report(
            home,
            "failed",
            f"Reverie learns nothing yet, as it could not set itself up: {why}. {again}",
            0,
            root,
        )
        return ""
    report(
        home, "done", "Reverie is set up and learns from your sessions from now on: /reverie:status", 0, root
    )
    return python


def allowed(home: str) -> bool:
    """Whether it may install for itself: ``worker.own_environment``, and a mode that is not off.

    What is no plain yes or no counts as no: somebody wanted something else than the default.
    """
    yes = all(
        value.lower() in ("true", "1", "yes", "on", "y", "t")
        for value in set_in(home, "own_environment") or ["true"]
    )
    return yes and "off" not in set_in(home, "mode")


def set_in(home: str, key: str) -> list[str]:
    """Return what the lines of ``config.toml`` set `key` to, wherever that stands.

    The file is looked through line by line, as the Python of a hook may be too old to read TOML. The key may
    stand under its heading, dotted, quoted or in braces: no other section has one of that name.
    """
    text = "\n".join(line.partition("#")[0] for line in text_of(home + "/config.toml").split("\n"))
    found = re.findall(r"(?m)(?:^|[\s.{,\ufeff])[\"']?" + key + r"[\"']?[ \t]*=[ \t]*([\"']?)(.*)", text)
    return [re.split(quote or r"[\s,}]", rest)[0] for quote, rest in found]


def tries_left(home: str, root: str) -> int:
    """Return which try of the day this is, 0 when there may be none: after a failure, one a day."""
    words = text_of(home + "/setup").partition("\n")[0].split(" ", 3)
    if len(words) < 4 or words[3] != root:
        return 1  # another version of the plugin may do better
    state, at, tries = words[0], words[1], words[2]
    recent = at.isdigit() and 0 <= time.time() - int(at) < DAY
    if state == "failed" and recent:
        return 1 if tries == str(NO_PYTHON) and base_python() else 0
    if state != "working" or not recent:
        return 1
    count = int(tries) + 1 if tries.isdigit() else 1
    return count if count <= TRIES else 0


def report(home: str, state: str, text: str, tries: int = 0, root: str = "") -> None:
    """Say in ``<home>/setup`` what is going on; unchanged, the file keeps its time."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    before = text_of(home + "/setup")
    if (
        before.startswith(state + " ")
        and before.endswith(f"\n{plain}\n")
        and state in ("off", "failed")
        and not root
    ):
        return
    write(home + "/setup", f"{state} {int(time.time())} {tries} {root}\n{plain}\n")


def make_environment(home: str, root: str) -> str:
    """Make ``<home>/environment`` with the package's dependencies in it and return its Python."""
    log = home + "/logs/setup.log"
    spooling.make_dirs(home + "/logs")
    with open(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
        out.write(time.strftime("%Y-%m-%dT%H:%M:%SZ\n", time.gmtime()).encode())
    place = home + "/environment"
    base, uv = base_python(), find_uv()
    if not base and not uv:
        found = ".".join(map(str, sys.version_info[:3]))
        raise NoPythonError(f"it needs Python 3.11 or newer and found none but {found} ({sys.executable})")
    ways = [with_uv] if uv else []
    ways += [with_venv, with_pip_from_outside] if base else []
    for way in ways:
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place, 0o700)
        if way(uv or base, base, place, root, log):
            os.chmod(place, 0o700)
            with open(
                os.open(place + "/made-for", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
            ) as out:
                out.write(os.fsencode(root + "\n"))
            return python_in(place)
    shutil.rmtree(place, ignore_errors=True)
    raise SetupError(cause_in(log))


def bring_up_to_date(home: str, root: str) -> None:
    """Add what this version of the package needs and the one before it did not; what is there is kept."""
    log, place, uv = home + "/logs/setup.log", home + "/environment", find_uv()
    install = [uv, "pip", "install", "--python", python_in(place)] if uv else [python_in(place), *PIP_INSTALL]
    logged([*install, *dependencies(place, root)], log)
    # Also where that failed: should something be missing, the worker says so, and it is made anew.
    write(place + "/made-for", root + "\n")


def with_uv(uv: str, base: str, place: str, root: str, log: str) -> bool:
    """Make it with uv, which may bring a Python of its own where there is none of 3.11 or newer."""
    made = logged([uv, "venv", "--no-project", "--python", base or ">=3.11", place], log)
    install = [uv, "pip", "install", "--python", python_in(place)]
    return made and logged([*install, *dependencies(place, root)], log)


def with_venv(uv: str, base: str, place: str, root: str, log: str) -> bool:
    if not logged([base, "-m", "venv", place], log):
        return False
    return logged([python_in(place), *PIP_INSTALL, *dependencies(place, root)], log)


def with_pip_from_outside(uv: str, base: str, place: str, root: str, log: str) -> bool:
    """Make it where the venv module brings no pip, but the Python itself has one (Debian)."""
    if not logged([base, "-m", "venv", "--without-pip", place], log):
        return False
    pip = [base, "-m", "pip", "--python", python_in(place), *PIP_INSTALL[2:]]
    return logged([*pip, *dependencies(place, root)], log)


PIP_INSTALL = ("-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off")


def dependencies(place: str, root: str) -> list[str]:
    """Return what the package needs, by its own pyproject.toml."""
    code, out = run([python_in(place), "-I", "-c", READ_DEPENDENCIES, root + "/pyproject.toml"])
    if code or not out.strip():
        raise SetupError("pyproject.toml can't be read")
    return out.split("\n")[:-1]


def python_in(place: str) -> str:
    return place + ("/Scripts/python.exe" if os.name == "nt" else "/bin/python")


def base_python() -> str:
    """Return a Python of 3.11 or newer to make an environment of, "" when there is none."""
    shell = shutil.which("sh") or "/bin/sh"
    listed = run([shell, "-c", '. "$1"; any_python', "sh", HERE + "/pythons"])[1].split("\n")
    for python in [sys.executable, *listed]:
        if (
            python
            and run([python, "-E", "-P", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"])[0] == 0
        ):
            return python
    return ""


def find_uv() -> str:
    user = os.path.expanduser("~")
    more = [user + "/.local/bin", user + "/.cargo/bin", "/opt/homebrew/bin", "/usr/local/bin"]
    return shutil.which("uv", path=os.pathsep.join([os.environ.get("PATH", ""), *more])) or ""


def cause_in(log: str) -> str:
    text = text_of(log)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    last = lines[-1][:160] if lines else "no reason was given"
    return next((cause for sign, cause in CAUSES if sign in text), last).rstrip(".")


def logged(command: list[str], log: str) -> bool:
    """Run `command` with all it says in the file `log`; return whether it ended well in time."""
    with open(log, "ab") as out:
        out.write(os.fsencode("$ " + " ".join(command) + "\n"))
        out.flush()
        try:
            return completed(command, STEP_SECONDS, out, out)[0] == 0
        except subprocess.TimeoutExpired:
            out.write(b"timed out\n")
        except OSError as error:
            out.write(os.fsencode(f"{error.strerror}: {command[0]}\n"))
    return False


def run(command: list[str]) -> tuple[int, str]:
    """Run `command` for a minute at most; return how it ended and what it printed."""
    try:
        code, out = completed(command, 60, subprocess.PIPE, subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return 1, ""
    return code, os.fsdecode(out or b"")


def completed(
    command: list[str], seconds: int, out: IO[bytes] | int, err: IO[bytes] | int
) -> tuple[int, Any]:
    """Run `command` in a session of its own; one that takes longer is ended with all it started.

    It holds the lock of the setup too, should this process be killed: nobody else writes where it still does.
    """
    posix = os.name != "nt"
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        env=clean(),
        start_new_session=posix,
        pass_fds=LOCKS if posix else (),
    )
    try:
        printed = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        if posix:
            os.killpg(process.pid, SIGKILL)
        else:
            process.kill()
        process.communicate()
        raise
    return process.returncode, printed


def clean() -> dict[str, str]:
    """Return the environment for pip and uv: that of this process, which is clean, and the way out of it.

    pip and uv have files of their own where a person names an index; no variable reaches them.
    """
    left_out = ("PYTHONPATH", "PYTHONSAFEPATH", "REVERIE_SEEN")
    values = {name: value for name, value in os.environ.items() if name not in left_out}
    home = values.get("REVERIE_HOME", "")
    for key, names in start_worker.NETWORK:
        for value in set_in(home, key)[-1:] if home else ():
            values.update(dict.fromkeys(names, value))
    return values


def note(home: str, python: str) -> None:
    """Note `python` for hooks and commands; what failed before is over."""
    if spooling.first_line(home + "/python") != python:
        write(home + "/python", python + "\n")
    if not text_of(home + "/setup").startswith("done ") and os.path.exists(home + "/setup"):
        os.unlink(home + "/setup")


def become_worker(home: str, python: str, path: str, lock: int) -> None:
    """Run the worker in place of this process, unless another one is alive by now."""
    if lock < 0:
        lock = os.open(home + "/worker.lock", os.O_RDWR | os.O_CREAT | spooling.BINARY, 0o600)
        if not (spooling.taken_on_windows(lock) if os.name == "nt" else spooling.taken(lock)):
            return
    values = start_worker.environment(home, path)
    arguments = [python, "-m", "pipeline.worker"]
    # So that its last line no longer says that the worker before lacked a package.
    os.write(2, f"the worker's Python is {python}\n".encode("utf-8", "replace"))
    if os.name == "nt":
        os.close(lock)
        start_worker.spawn_on_windows(arguments, values, home + "/logs/worker.log")
        return
    os.set_inheritable(lock, True)
    os.execve(python, [*arguments, "--lock-fd", str(lock)], values)


def write(file: str, text: str) -> None:
    """Put `text` in place of what `file` holds: nobody reads a half of it."""
    folder, name = os.path.split(file)
    temp = f"{folder}/.{name}.reverie-tmp-{os.getpid()}"
    rest = os.fsencode(text)
    handle = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | spooling.BINARY, 0o600)
    try:
        try:
            while rest:
                rest = rest[os.write(handle, rest) :]
        finally:
            os.close(handle)
        os.replace(temp, file)
    except OSError:
        os.unlink(temp)
        raise


def text_of(file: str) -> str:
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | spooling.BINARY)
    except OSError:
        return ""
    with open(handle, encoding="utf-8", errors="surrogateescape") as opened:
        try:
            return opened.read(1 << 20) if os.path.isfile(handle) else ""
        except OSError:
            return ""


if __name__ == "__main__":
    main()

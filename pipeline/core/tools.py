"""Running the system's own programs: schedulers, another Python."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from pipeline.core import signals, system
from pipeline.core.errors import InputError
from pipeline.hooklib import places

_TOOL_SECONDS = 30.0
_OWN = ("HOME", "PATH", "USER", "LOGNAME", "SSH_AUTH_SOCK", "TMPDIR", "SYSTEMROOT")
_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")


def background_path() -> str:
    """Return a PATH for what runs without a person's shell: the system's, and where the tools needed are."""
    found = [shutil.which(name) for name in ("claude", "node", "uv")]
    tools = [str(Path(tool).absolute().parent) for tool in found if tool]
    return os.pathsep.join(dict.fromkeys((*tools, *_SYSTEM_PATH)))


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


def own_variables() -> dict[str, str]:
    """Return the variables that a program of the system needs to work for this person, and no others."""
    return {name: value for name in _OWN if (value := os.environ.get(name))}


class TookTooLongError(InputError):
    """The program did not end, or said nothing, for longer than it was given; it was ended."""


def run_bytes(
    command: Sequence[str],
    *,
    given: bytes,
    environment: Mapping[str, str],
    seconds: float,
    keep: Sequence[int] = (),
) -> tuple[int, bytes, bytes]:
    """Run `command` with `given` on its input and no variables but `environment`, as `run_tool` does.

    What it started ends with it. It inherits the descriptors `keep`, as a lock that outlives us. Raises
    InputError when it is not there, TookTooLongError when it does not end within `seconds`.
    """
    with _started(command, environment, given=subprocess.PIPE, keep=keep) as process:
        try:
            out, err = process.communicate(given, timeout=seconds)
        except subprocess.TimeoutExpired as error:
            raise _too_long(command, f"did not end within {seconds:.0f} seconds") from error
    return process.returncode, out, err


def run_heard(
    command: Sequence[str], *, environment: Mapping[str, str], silent: float, seconds: float
) -> tuple[int, bytes, bytes]:
    """Run `command` as `run_bytes` does, for as long as it goes on telling of its progress.

    Raises TookTooLongError when it says nothing for `silent` seconds, or takes more than `seconds`.
    """
    output: dict[str, bytes] = {"out": b"", "err": b""}
    heard = [time.monotonic()]

    def listen(name: str, pipe: IO[bytes]) -> None:
        while piece := os.read(pipe.fileno(), 65536):
            output[name] += piece
            heard[0] = time.monotonic()

    end = heard[0] + seconds
    with _started(command, environment, given=subprocess.DEVNULL) as process:
        pipes = (("out", process.stdout), ("err", process.stderr))
        threads = [threading.Thread(target=listen, args=pair, daemon=True) for pair in pipes]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            now = time.monotonic()
            if now >= end or now >= heard[0] + silent:
                what = f"did not end within {seconds:.0f}" if now >= end else f"said nothing for {silent:.0f}"
                _end(process)
                for thread in threads:
                    thread.join(_TOOL_SECONDS)
                raise _too_long(command, f"{what} seconds")
            for thread in threads:
                thread.join(max(0.0, min(end, heard[0] + silent) - time.monotonic()))
    return process.returncode, output["out"], output["err"]


@contextmanager
def _started(
    command: Sequence[str], environment: Mapping[str, str], *, given: int, keep: Sequence[int] = ()
) -> Iterator[subprocess.Popen[bytes]]:
    """Start `command`; at the end of the block it has ended, by force where it has not by itself."""
    pipe = subprocess.PIPE
    options = system.grouped()
    if keep and not system.is_windows():
        options["pass_fds"] = tuple(keep)
    try:
        process = subprocess.Popen(command, stdin=given, stdout=pipe, stderr=pipe, env=environment, **options)
    except OSError as error:
        raise InputError(
            f"{command[0]} can't be used: {error}", fix=f"See that {command[0]} works in a terminal."
        ) from error
    ended = False
    try:
        yield process
        process.wait(timeout=_TOOL_SECONDS)
        ended = True
    except subprocess.TimeoutExpired as error:
        raise _too_long(command, f"did not end within {_TOOL_SECONDS:.0f} seconds") from error
    finally:
        if not ended:
            _end(process)
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    by_command = system.ending(process.pid, force=True)
    if by_command:
        run_tool(by_command)
    else:
        system.end_group(process.pid, force=True)
    process.wait()


def _too_long(command: Sequence[str], what: str) -> TookTooLongError:
    return TookTooLongError(
        f"{command[0]} can't be used: it {what}", fix=f"See that {command[0]} works in a terminal."
    )


def run_through(command: Sequence[str]) -> int:
    """Run `command` on the streams of this process, and return its exit status, negative for a signal's.

    Signals that ask this process to end go to the command instead. Raises OSError when it can't be started.
    """
    child: list[subprocess.Popen[bytes]] = []
    early: list[int] = []

    def pass_on(number: int, _: object) -> None:
        for running in child:
            running.send_signal(number)
        if not child:
            early.append(number)

    with signals.signals_to(pass_on):
        child.append(subprocess.Popen(command))
        for number in early:
            child[0].send_signal(number)
        return child[0].wait()


def edit_text(text: str) -> str:
    """Let a person change `text` as `edit_bytes` does; its lines end as Python has them."""
    edited = edit_bytes(text.encode("utf-8"), "give the text by --text")
    return edited.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def edit_bytes(data: bytes, otherwise: str) -> bytes:
    """Let a person change `data` in the editor of their own, ``$VISUAL`` or ``$EDITOR``, else ``vi``.

    Raises InputError when the editor is not there, says that it failed, or leaves no file; then nothing was
    changed. `otherwise` says what else they can do.
    """
    command = _editor(otherwise)
    with tempfile.TemporaryDirectory(prefix="reverie-edit-") as folder:
        file = Path(folder) / "memory.md"
        try:
            file.write_bytes(data)
            code = subprocess.run([*command, str(file)], check=False).returncode
        except OSError as error:
            raise InputError(
                f"the editor {command[0]} can't be started: {error.strerror}",
                fix=f"Set EDITOR, or {otherwise}.",
            ) from error
        if code:
            how = f"ended with {code}" if code > 0 else f"was ended (signal {-code})"
            raise InputError(f"the editor {command[0]} {how}, so nothing was changed", fix="Try again.")
        try:
            return file.read_bytes()
        except FileNotFoundError as error:
            raise InputError(
                f"the editor {command[0]} left no file, so nothing was changed",
                fix=f"Try again, or {otherwise}.",
            ) from error
        except OSError as error:
            raise InputError(
                f"what the editor {command[0]} left can't be read: {error.strerror}",
                fix=f"Try again, or {otherwise}.",
            ) from error


def _editor(otherwise: str) -> list[str]:
    for name in ("VISUAL", "EDITOR"):
        words = places.variable(name)
        try:
            command = shlex.split(words)
        except ValueError as error:
            raise InputError(
                f"{name} is {words!r}, which is no command: a quotation mark has no other",
                fix=f"Set {name} anew, or {otherwise}.",
            ) from error
        if command:
            return command
    return ["vi"]

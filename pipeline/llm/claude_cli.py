"""A subscriber's own ``claude -p`` as a provider: found, locked down, run with a hard limit, ended for sure.

The only module of this package that imports subprocess. Standard streams are files, never pipes, so a
grandchild that keeps one open can't make us wait; and the child leads its own process group, all of which
is killed when the call is over, however it ended.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.core import system
from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.errors import (
    BusyError,
    ModelError,
    TimedOutError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.core.home import Home
from pipeline.core.locks import try_lock
from pipeline.hooklib import jsonish
from pipeline.llm import claude_call, claude_result, logins
from pipeline.llm.claude_program import INSTALL, missing
from pipeline.llm.live_guard import forbid_live
from pipeline.llm.request import RawReply, Request

if TYPE_CHECKING:
    from pipeline.config import ModelSettings

_HELP_SECONDS = 30.0
_BUSY_SECONDS = 5.0


class ClaudeCliProvider:
    """Asks the client at `program`.

    `home` is Reverie's home, where its lock and its working directory are. A client that is out of time has
    `grace_seconds` between SIGTERM and SIGKILL.
    """

    name = "claude-cli"

    def __init__(
        self, program: Path, settings: ModelSettings, *, home: Path, grace_seconds: float = 2.0
    ) -> None:
        self._program = program
        self._settings = settings
        self._home = Home(home)
        self._grace = grace_seconds

    def send(self, request: Request, schema: dict[str, Any]) -> RawReply:
        """Return the client's reply to one request.

        One call runs at a time on this machine: another one's lock raises BusyError. Raises
        TimedOutError at ``model.timeout_seconds``, UnavailableError when the program is missing or too
        old, and what `claude_result` finds in its answer.
        """
        forbid_live("the claude-cli provider", named_program=bool(self._settings.claude_path))
        held = try_lock(self._home.claude_lock)
        if held is None:
            raise BusyError(
                "Another claude call is running.", retry_after=_BUSY_SECONDS, fix="Nothing to do: it waits."
            ).unsent()
        with held:
            return self._send(request, schema)

    def _send(self, request: Request, schema: Mapping[str, Any]) -> RawReply:
        folder = ensure_dir(self._home.claude_folder)
        env = claude_call.environment(self._program, self._settings)
        call = claude_call.invocation(
            self._program,
            self._flags(folder, env),
            request,
            schema,
            folder,
            alias=logins.names_models_itself(env),
        )
        try:
            for path, data in call.files.items():
                write_atomic(path, data)
            out, err, code = self._run(
                call.argv, call.stdin, folder, env, seconds=self._settings.timeout_seconds
            )
        finally:
            for path in call.files:
                path.unlink(missing_ok=True)
        try:
            return claude_result.read_result(out, err, code, request)
        except ModelError as error:
            error.hide(logins.secrets(self._settings))
            if not isinstance(error, UnauthorisedError):
                raise
            explained = logins.explained(error, self._settings, self._home.config)
            explained.usage, explained.sent = error.usage, error.sent
            raise explained from error

    def _flags(self, folder: Path, env: Mapping[str, str]) -> frozenset[str]:
        """Return the newer options this program knows, asking it once for each version of the file."""
        cache_file = self._home.claude_flags
        program_identity = self._program_identity()
        known = _read_flags(cache_file, program_identity)
        if known is None:
            out, err, code = self._run(
                (str(self._program), "--help"), b"", folder, env, seconds=_HELP_SECONDS
            )
            known = claude_call.flags_in(out)
            if code == 0 and known:
                write_atomic(
                    cache_file, json.dumps({"program": program_identity, "flags": sorted(known)}).encode()
                )
            elif code != 0:
                claude_result.raise_failure(out, err, code)
        return known

    def _program_identity(self) -> list[Any]:
        try:
            facts = self._program.stat()
        except OSError as error:
            raise missing(self._settings) from error
        return [str(self._program), facts.st_mtime_ns, facts.st_size]

    def _run(
        self, argv: Sequence[str], stdin: bytes, cwd: Path, env: Mapping[str, str], *, seconds: float
    ) -> tuple[str, str, int]:
        """Run `argv` for at most `seconds`; return its output, its error output and its exit code."""
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin)
            given.seek(0)
            try:
                child = subprocess.Popen(
                    argv, stdin=given, stdout=out, stderr=err, cwd=cwd, env=env, **system.grouped()
                )
            except OSError as error:
                raise UnavailableError(f"{argv[0]} can't be run: {error}", fix=INSTALL).unsent() from error
            try:
                code = child.wait(seconds)
            except subprocess.TimeoutExpired as error:
                raise TimedOutError(
                    f"claude gave no answer in {seconds:g} s.", fix="Raise model.timeout_seconds."
                ) from error
            finally:
                _end(child, self._grace)
            out.seek(0)
            err.seek(0)
            return out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace"), code


def _end(child: subprocess.Popen[bytes], grace: float) -> None:
    """End the child's whole process group; politely first when the child itself still runs."""
    if child.poll() is None:
        _stop(child.pid, force=False)
        # It may ignore SIGTERM; what follows can't be ignored.
        with suppress(subprocess.TimeoutExpired):
            child.wait(grace)
    _stop(child.pid, force=True)
    child.wait()


def _stop(pid: int, *, force: bool) -> None:
    command = system.ending(pid, force=force)
    if command:
        subprocess.run(command, check=False, capture_output=True)
    else:
        system.end_group(pid, force=force)


def _read_flags(cache_file: Path, program_identity: Sequence[Any]) -> frozenset[str] | None:
    try:
        value = jsonish.loads(jsonish.decode(cache_file.read_bytes()))
    except (OSError, ValueError):
        # None yet, or damaged: it is a cache and will be written anew.
        return None
    if not isinstance(value, dict) or value.get("program") != list(program_identity):
        return None
    return frozenset(str(flag) for flag in value.get("flags", ()))

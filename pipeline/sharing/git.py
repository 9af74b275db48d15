"""Git as a program: what it is told, which remotes it may speak to, and what its answers mean."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import urlsplit

from pipeline.core import locks, network
from pipeline.core.errors import InputError, ReverieError
from pipeline.core.tools import TookTooLongError, own_variables, run_bytes, run_heard
from pipeline.hooklib.plain import lines_of
from pipeline.safety.redaction import has_secret

CALL_SECONDS = 30.0
NET_SECONDS = 3600.0
SILENT_SECONDS = 60.0
"""How long a remote may say nothing; as long as something comes, a slow line may take its time."""
_WAIT_SECONDS = 30.0
_SET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GCM_INTERACTIVE": "never",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20 -oServerAliveInterval=20",
    "GIT_PAGER": "cat",
    "GIT_OPTIONAL_LOCKS": "0",
    "LC_ALL": "C",
}
_OPTIONS = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.quotePath": "false",
    "gc.auto": "0",
    "gc.autoDetach": "false",
    "commit.gpgSign": "false",
    "push.gpgSign": "false",
    "push.recurseSubmodules": "no",
    "submodule.recurse": "false",
    "transfer.fsckObjects": "true",
    "fetch.writeCommitGraph": "false",
}
_PROTOCOL = re.compile(r"(https|ssh|file|http|git)://")
_SHORT = re.compile(r"[\w.-]+@[\w.-]+:")
_ONLY_HERE = ("http", "git")
"""Kinds that hide nothing on their way: for what listens on this machine, such as the end of a tunnel."""
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_USER = re.compile(r"(://)[^/\s@]+@")
_TOKEN = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~%+-]{20,}")
_PROGRESS = re.compile(r"(remote: )?(\w+ (objects|deltas|connectivity)|Delta compression|Total \d)")
_MEANINGS = (
    (
        re.compile(r"could not read (username|password)|askpass|authentication failed", re.IGNORECASE),
        "it asks for a name and a password, and git knows none that it takes; nobody can be asked here",
    ),
    (
        re.compile(r"permission denied \(|host key verification failed", re.IGNORECASE),
        "ssh was not let in: {words}",
    ),
    (re.compile(r"cannot run ssh|\bssh: (command )?not found|exec ssh"), "there is no ssh on this machine"),
)


class SyncError(ReverieError):
    """The memories can't be kept in step with other machines now; all else goes on."""


class OfflineError(SyncError):
    """The remote can't be reached, or does not let us in."""


class RefusedError(SyncError):
    """The remote is not joined: its history was rewritten or cut, or it holds something else."""


def run(*words: str, given: bytes = b"", seconds: float = CALL_SECONDS) -> tuple[int, bytes, str]:
    """Run git with `words`; return its exit status, output and errors."""
    code, out, err = run_bytes(_command(words), given=given, environment=_variables(""), seconds=seconds)
    return code, out, err.decode("utf-8", "replace")


def run_alone(
    *words: str, lock: Path, given: bytes = b"", seconds: float = CALL_SECONDS
) -> tuple[int, bytes, str]:
    """Run git as `run` does, once no other that was started so with `lock` is alive.

    A git outlives a process that was killed, and would write beside the next one. Raises SyncError where one
    does not come to its end.
    """
    with locks.handed_on(lock, timeout=_WAIT_SECONDS) as held:
        if held is None:
            raise SyncError("a git that was left alone is still at work", file=str(lock), fix="Try again.")
        if not words:
            return 0, b"", ""
        code, out, err = run_bytes(
            _command(words), given=given, environment=_variables(""), seconds=seconds, keep=(held,)
        )
    return code, out, err.decode("utf-8", "replace")


def run_far(remote: str, *words: str) -> tuple[int, bytes, str]:
    """Run git with `words`, which speak to `remote`. Raises OfflineError when nothing comes from there."""
    kind = _PROTOCOL.match(remote)
    protocol = kind[1] if kind else "ssh" if _SHORT.match(remote) else "file"
    try:
        code, out, err = run_heard(
            _command(words), environment=_variables(protocol), silent=SILENT_SECONDS, seconds=NET_SECONDS
        )
    except TookTooLongError as error:
        raise OfflineError(
            f"the remote does not answer: {str(error).partition(': it ')[2] or error}",
            file=remote,
            fix="Nothing is lost: what is new waits, and goes with the next sync that gets there.",
        ) from error
    return code, out, err.decode("utf-8", "replace")


def _command(words: tuple[str, ...]) -> list[str]:
    return ["git", *(part for key, value in _OPTIONS.items() for part in ("-c", f"{key}={value}")), *words]


def _variables(protocol: str) -> dict[str, str]:
    return {**own_variables(), **network.passed_on(), **_SET, "GIT_ALLOW_PROTOCOL": protocol or "file"}


# -- answers ----------------------------------------------------------------------------------------


def last_words(err: str) -> str:
    """Return what git said last, on one line, without the name in an address."""
    lines = [line.strip() for line in lines_of(err) if line.strip() and not line.startswith("hint:")]
    begins = ("fatal:", "error:", "ERROR", "remote:", "!")
    lines = [line for line in lines if not _PROGRESS.match(line)]
    chosen = [line for line in lines if line.startswith(begins)] or lines
    words = chosen[0].removeprefix("fatal: ").removeprefix("error: ") if chosen else ""
    return _USER.sub(r"\1", words)[:200]


def trouble(err: str) -> str:
    """Return what is the matter with a remote, from what git said of it."""
    meaning = next((words for pattern, words in _MEANINGS if pattern.search(err)), "{words}")
    return meaning.replace("{words}", last_words(err)) or "git says nothing about it"


# -- remotes ----------------------------------------------------------------------------------------


def make_remote(folder: Path, branch: str) -> None:
    """Make an empty repository for others at `folder`, in which `branch` is the one."""
    code, _, err = run("init", "--quiet", "--bare", "--template=", str(folder))
    if code == 0:
        code, _, err = run("--git-dir", str(folder), "symbolic-ref", "HEAD", branch)
    if code:
        raise InputError(
            f"no repository can be made there: {last_words(err)}",
            file=str(folder),
            fix="Name another folder.",
        )


def show_branch(folder: Path, branch: str) -> None:
    """Let the repository at `folder` name `branch` where it names one that is not there.

    So a clone of it has files, also where ``git init --bare`` chose another name.
    """
    own = ("--git-dir", str(folder))
    if run(*own, "rev-parse", "--verify", "--quiet", "HEAD")[0] == 0:
        return
    if run(*own, "rev-parse", "--verify", "--quiet", branch)[0] == 0:
        # Who may not write that may still sync.
        run(*own, "symbolic-ref", "HEAD", branch)


def is_repository(folder: Path) -> bool:
    """Whether there is a git repository at `folder`, bare or not."""
    return any((inner / "HEAD").is_file() for inner in (folder, folder / ".git"))


def remote_named(named: str) -> str:
    """Return the remote that a person named: an address, or a folder's whole path.

    Raises InputError for what git would take for something else, and for an address with a secret in it,
    which is not repeated.
    """
    if _has_credential(named):
        raise InputError(
            "there is a secret in that address, which would stand in a file",
            fix="Leave it out; let git's credential helper, or an ssh key, know it.",
        )
    kind = _PROTOCOL.match(named)
    if kind and kind[1] in _ONLY_HERE and urlsplit(named).hostname not in _LOOPBACK:
        raise InputError(
            f"{kind[1]}:// hides nothing on its way, so it is used for this machine alone",
            file=named,
            fix="Name it by https:// or ssh://.",
        )
    if kind or _SHORT.match(named):
        return named
    if not named or named.startswith("-") or re.match(r"[a-z][a-z0-9+.-]*:", named, re.IGNORECASE):
        raise InputError(
            f"{named!r} is no folder, nor an address that is used here",
            fix="Name a folder, https://…, ssh://… or user@host:path.",
        )
    return str(Path(named).expanduser().absolute())


def _has_credential(named: str) -> bool:
    """Whether there is a secret in the address `named`; a name that looks like a token is one."""
    if has_secret(named):
        return True
    before, at, _ = named.partition("://")[2].partition("/")[0].rpartition("@")
    if "://" not in named and not named.startswith(("/", "~", ".")):
        before, at, _ = named.partition("/")[0].rpartition("@")
    name, _, password = before.partition(":")
    is_ssh = named.startswith("ssh://")
    return bool(at) and bool(password or (not is_ssh and _TOKEN.fullmatch(name)))

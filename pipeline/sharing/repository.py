"""The repository in which revisions travel: git as a program, without a work tree and without hooks.

Only records that nobody else has are ever added, and `memories/` is made anew from them: git never merges a
text. What others sent is joined by a commit with two parents.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from pipeline.core import network
from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import InputError, ReverieError
from pipeline.core.tools import own_variables, run_bytes
from pipeline.hooklib.plain import lines_of
from pipeline.safety.redaction import has_secret
from pipeline.sharing.revisions import MOST_BYTES

BRANCH = "refs/heads/main"
INCOMING = "refs/reverie/incoming"
_CALL_SECONDS = 30.0
_NET_SECONDS = 300.0
_SET = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS": "false",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20",
    "GIT_ALLOW_PROTOCOL": "file:https:ssh",
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
_MOVED = re.compile(
    r"fetch first|non-fast-forward|failed to update ref|cannot lock ref|stale info|incorrect old value"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_EMPTY = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_SHALLOW = re.compile(r"shallow", re.IGNORECASE)
_GC_EVERY = 50
"""Commits after which what they left lying about is packed."""


class SyncError(ReverieError):
    """The memories can't be kept in step with other machines now; all else goes on."""


class OfflineError(SyncError):
    """The remote can't be reached, or does not let us in."""


class RefusedError(SyncError):
    """The remote is not joined: its history was rewritten or cut, or it holds something else."""


@dataclass(frozen=True, slots=True)
class Repository:
    """The bare repository at `path`, which is only ours; `remote` is where it is sent and fetched.

    `odd` has what was wrong with what others sent, as a fetch has seen it, "" where that is mended; `people`
    who works on which machine, and `names` what this person is called there, or was, the present one first.
    No record goes out that is larger than `most` bytes.
    """

    most: ClassVar[int] = MOST_BYTES

    path: Path
    remote: str
    odd: dict[str, str] = field(default_factory=dict, kw_only=True)
    people: dict[str, str] = field(default_factory=dict, kw_only=True)
    names: list[str] = field(default_factory=list, kw_only=True)

    def make(self) -> None:
        """Make the repository where there is none, and put away what a git that was killed left in it."""
        if not (self.path / "HEAD").is_file():
            ensure_dir(self.path.parent)
            self._call("init", "--quiet", "--bare", "--template=", str(self.path), here=False)
            self._call("symbolic-ref", "HEAD", BRANCH)
        self._clear()

    def _clear(self) -> None:
        # Whoever calls holds our own lock, so no git of ours is alive. One that was killed left these.
        for left in (*self.path.glob("*.lock"), *(self.path / "refs").rglob("*.lock")):
            left.unlink(missing_ok=True)

    # -- looking ------------------------------------------------------------------------------------

    def tip(self, ref: str = BRANCH) -> str:
        """Return the commit that `ref` names, "" for none."""
        try:
            name = (self.path / ref).read_text("ascii").strip()
        except FileNotFoundError:
            name = ""  # None, or packed with others.
        if _COMMIT.fullmatch(name):
            return name
        code, out, _ = self._run("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        return out.decode().strip() if code == 0 else ""

    def has(self, ancestor: str, commit: str) -> bool:
        """Whether `commit` was made on top of `ancestor`."""
        if not ancestor or ancestor == commit:
            return True
        return self._run("merge-base", "--is-ancestor", ancestor, commit)[0] == 0

    def newest(self, *commits: str) -> list[str]:
        """Return those of two `commits`, "" for none, that the other does not come from."""
        found = [item for item in dict.fromkeys(commits) if item]
        return [item for item in found if not any(other != item and self.has(item, other) for other in found)]

    def count(self, since: str, until: str) -> int:
        """Return how many commits `until` has that `since` has not."""
        names = [until, f"^{since}"] if since else [until]
        return int(self._call("rev-list", "--count", *names)) if until else 0

    def files(self, commit: str, *below: str) -> dict[str, str]:
        """Return path → blob of the files of `commit`, or of those `below` some folders of it."""
        if not commit:
            return {}
        out = self._call("ls-tree", "-r", "-z", commit, "--", *below)
        found = {}
        for line in out.split(b"\0"):
            if line:
                about, _, path = line.partition(b"\t")
                mode, kind, blob = about.decode().split()
                if kind == "blob" and mode in ("100644", "100755"):
                    found[path.decode("utf-8", "surrogateescape")] = blob
        return found

    def read(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the bytes of `blobs`; one that is not there is left out."""
        wanted = list(dict.fromkeys(blobs))
        if not wanted:
            return {}
        out = self._call("cat-file", "--batch", given="\n".join(wanted).encode() + b"\n")
        found, at = {}, 0
        for blob in wanted:
            end = out.index(b"\n", at)
            words = out[at:end].split()
            at = end + 1
            if len(words) == 3:
                size = int(words[2])
                found[blob] = out[at : at + size]
                at += size + 1
        return found

    # -- changing -----------------------------------------------------------------------------------

    def commit(
        self,
        parents: list[str],
        files: Mapping[str, bytes | str | None],
        message: str,
        *,
        now: int,
        ref: str = BRANCH,
    ) -> str:
        """Add a commit on `parents`: the files of the first but for `files`; return its name. `ref` names it.

        A file is its bytes, the name of a blob that is there, or None for none any more.
        """
        parts = [b"feature done\n", f"commit {ref}\n".encode()]
        parts.append(f"committer Reverie <reverie@localhost> {now} +0000\n".encode())
        text = message.encode()
        parts += [b"data %d\n" % len(text), text, b"\n"]
        if parents:
            parts.append(f"from {parents[0]}\n".encode())
            parts += [f"merge {parent}\n".encode() for parent in parents[1:]]
        for path, data in sorted(files.items()):
            parts += _line(path, data)
        parts.append(b"done\n")
        # Without --force a branch never loses what it had.
        self._call("fast-import", "--quiet", "--done", "--date-format=raw", given=b"".join(parts))
        return self.tip(ref)

    def move(self, commit: str, *, ref: str = BRANCH) -> None:
        """Let `ref` name `commit`."""
        self._call("update-ref", ref, commit)

    def tidy(self) -> None:
        """Pack what many commits left lying about, now and then, and remove what killed ones left."""
        loose = sum(1 for _ in (self.path / "objects").glob("[0-9a-f][0-9a-f]/*"))
        packs = sum(1 for _ in (self.path / "objects/pack").glob("*.pack"))
        if loose > 40 * _GC_EVERY or packs > _GC_EVERY:
            for left in (*self.path.glob("objects/*/tmp_*"), *self.path.glob("fast_import_crash_*")):
                left.unlink(missing_ok=True)
            self._call("gc", "--quiet", "--prune=now", seconds=_NET_SECONDS)

    # -- the remote ---------------------------------------------------------------------------------

    def fetch(self) -> str:
        """Return the newest commit of the remote, fetched, "" where it has none yet.

        Raises OfflineError where it can't be reached, RefusedError where its history is cut short.
        """
        code, _, err = self._run(
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules"),
            *("--no-auto-gc", self.remote, f"+{BRANCH}:{INCOMING}"),
            seconds=_NET_SECONDS,
        )
        if _SHALLOW.search(err) or (self.path / "shallow").exists():
            raise RefusedError(
                "the remote is a shallow clone, which has not all that was sent to it",
                file=self.remote,
                fix="Let `git fetch --unshallow` complete it, or name the repository it was cloned from.",
            )
        if code and _EMPTY.search(err):
            return ""
        if code:
            raise OfflineError(
                f"the remote can't be read: {_last_words(err)}",
                file=self.remote,
                fix="Nothing is lost: what is new waits, and goes with the next sync that gets there.",
            )
        return self.tip(INCOMING)

    def push(self) -> bool:
        """Send the branch; False where the remote has moved on meanwhile. Raises OfflineError as `fetch`."""
        code, out, err = self._run(
            "push", "--porcelain", "--quiet", self.remote, f"{BRANCH}:{BRANCH}", seconds=_NET_SECONDS
        )
        if code == 0:
            return True
        answer = out.decode("utf-8", "replace") + err
        if _MOVED.search(answer):
            return False
        raise OfflineError(
            f"the remote took nothing: {_last_words(err) or _last_words(answer)}",
            file=self.remote,
            fix="Nothing is lost: it goes with the next sync. See that you may write there.",
        )

    def note(self, *, waiting: int) -> None:
        """Tell the others how far this machine is, where there is a place for that. Raises OfflineError."""

    # -- git ----------------------------------------------------------------------------------------

    def _call(
        self, *words: str, given: bytes = b"", here: bool = True, seconds: float = _CALL_SECONDS
    ) -> bytes:
        code, out, err = self._run(*words, given=given, here=here, seconds=seconds)
        if code:
            raise SyncError(
                f"git {words[0]} failed: {_last_words(err) or f'it ended with {code}'}",
                file=str(self.path),
                fix="Delete that folder: it is made anew from the remote and the memories here.",
            )
        return out

    def _run(
        self, *words: str, given: bytes = b"", here: bool = True, seconds: float = _CALL_SECONDS
    ) -> tuple[int, bytes, str]:
        return _git(*(("--git-dir", str(self.path)) if here else ()), *words, given=given, seconds=seconds)


def make_remote(folder: Path) -> None:
    """Make an empty repository for others at `folder`."""
    code, _, err = _git("init", "--quiet", "--bare", "--template=", str(folder), seconds=_CALL_SECONDS)
    if code == 0:
        code, _, err = _git("--git-dir", str(folder), "symbolic-ref", "HEAD", BRANCH, seconds=_CALL_SECONDS)
    if code:
        raise InputError(
            f"no repository can be made there: {_last_words(err)}",
            file=str(folder),
            fix="Name another folder.",
        )


def is_repository(folder: Path) -> bool:
    """Whether there is a git repository at `folder`, bare or not."""
    return any((inner / "HEAD").is_file() for inner in (folder, folder / ".git"))


def remote_named(named: str) -> str:
    """Return the remote that a person named: an address, or a folder's whole path.

    Raises InputError for what git would take for something else, and for an address with a secret in it.
    """
    if has_secret(named) or (("://" in named) and urlsplit(named).password):
        raise InputError(
            "there is a secret in that address, which would stand in a file",
            fix="Leave it out; let git's credential helper, or an ssh key, know it.",
        )
    is_address = re.match(r"(https|ssh|file)://", named) or re.match(r"[\w.-]+@[\w.-]+:", named)
    if is_address:
        return named
    if not named or named.startswith("-") or re.match(r"[a-z][a-z0-9+.-]*:", named, re.IGNORECASE):
        raise InputError(
            f"{named!r} is no folder, nor an address that is used here",
            fix="Name a folder, https://…, ssh://… or user@host:path.",
        )
    return str(Path(named).expanduser().absolute())


def _git(*words: str, given: bytes = b"", seconds: float) -> tuple[int, bytes, str]:
    options = [part for key, value in _OPTIONS.items() for part in ("-c", f"{key}={value}")]
    variables = {**own_variables(), **network.passed_on(), **_SET}
    code, out, err = run_bytes(["git", *options, *words], given=given, environment=variables, seconds=seconds)
    return code, out, err.decode("utf-8", "replace")


def _line(path: str, data: bytes | str | None) -> list[bytes]:
    name = path.encode("utf-8", "surrogateescape")
    if name.startswith(b'"') or b"\n" in name:
        name = b'"' + name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    if data is None:
        return [b"D ", name, b"\n"]
    if isinstance(data, str):
        return [f"M 100644 {data} ".encode(), name, b"\n"]
    return [b"M 100644 inline ", name, b"\n", b"data %d\n" % len(data), data, b"\n"]


def _last_words(err: str) -> str:
    """Return what git said last, on one line."""
    lines = [line.strip() for line in lines_of(err) if line.strip() and not line.startswith("hint:")]
    begins = ("fatal:", "error:", "ERROR", "remote:", "!")
    chosen = [line for line in lines if line.startswith(begins)] or lines
    return chosen[0].removeprefix("fatal: ").removeprefix("error: ")[:200] if chosen else ""


def blob_of(data: bytes | None) -> str:
    """Return what git calls a file with these bytes, "" for none."""
    if data is None:
        return ""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

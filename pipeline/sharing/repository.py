"""The repository in which revisions travel: git as a program, without a work tree and without hooks.

Only records that nobody else has are ever added, and `memories/` is made anew from them: git never merges a
text. What others sent is joined by a commit with two parents.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from pipeline.core.atomic import ensure_dir
from pipeline.sharing import git
from pipeline.sharing.git import OfflineError, RefusedError, SyncError
from pipeline.sharing.revisions import MOST_BYTES

BRANCH = "refs/heads/main"
INCOMING = "refs/reverie/incoming"
MEMORIES, README_FILE = "memories", "README.md"
README = """# Memories

Kept in step by Reverie. `memories/` is what they say now, made from the records in `revisions/` and
`forgotten/`: change nothing by hand. Who can read this repository can read all that was ever in it; who can
write it can change the memories of all who sync with it.
"""
_MOVED = re.compile(
    r"fetch first|non-fast-forward|failed to update ref|cannot lock ref|stale info|incorrect old value"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_EMPTY = re.compile(r"couldn't find remote ref", re.IGNORECASE)
_SHALLOW = re.compile(r"from a shallow repository|shallow (roots|update|file)", re.IGNORECASE)
_LOCKED = re.compile(r"cannot lock ref|unable to create '[^']*\.lock'", re.IGNORECASE)
_LOCK_WAITS = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Seconds between the tries of a fetch that another one of ours keeps from its end."""
_GC_SECONDS = 300.0
_GC_EVERY = 50
"""Commits after which what they left lying about is packed."""


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
    _above: dict[tuple[str, str], bool] = field(default_factory=dict, init=False, repr=False)
    _listed: dict[str, dict[str, str]] = field(default_factory=dict, init=False, repr=False)
    _no_files: dict[str, list[str]] = field(default_factory=dict, init=False, repr=False)
    people: dict[str, str] = field(default_factory=dict, kw_only=True)
    names: list[str] = field(default_factory=list, kw_only=True)

    def make(self) -> None:
        """Make the repository where there is none, and put away what a git that was killed left in it."""
        if not all((self.path / name).exists() for name in ("HEAD", "config", "objects/pack")):
            ensure_dir(self.path.parent)
            self._change("init", "--quiet", "--bare", "--template=")
            self._change("symbolic-ref", "HEAD", BRANCH)
        self._clear()

    def _clear(self) -> None:
        # Whoever calls holds our own lock, so no git of ours is to be alive. One that was killed left these.
        found = [*self.path.glob("*.lock"), *(self.path / "refs").rglob("*.lock")]
        if found:
            git.run_alone(lock=self._lock)
        for left in (*self.path.glob("*.lock"), *(self.path / "refs").rglob("*.lock")):
            left.unlink(missing_ok=True)

    # -- looking ------------------------------------------------------------------------------------

    def tip(self, ref: str = BRANCH) -> str:
        """Return the commit that `ref` names, "" for none."""
        try:
            name = (self.path / ref).read_text("ascii").strip()
        except FileNotFoundError:
            name = ""  # None, or packed with others.
        if _COMMIT.fullmatch(name) or not (name or (self.path / "packed-refs").exists()):
            return name
        own = ("--git-dir", str(self.path))
        code, out, _ = git.run(*own, "rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")
        return out.decode().strip() if code == 0 else ""

    def has(self, ancestor: str, commit: str) -> bool:
        """Whether `commit` was made on top of `ancestor`."""
        if not ancestor or ancestor == commit:
            return True
        asked = (ancestor, commit)
        if asked not in self._above:
            own = ("--git-dir", str(self.path))
            self._above[asked] = git.run(*own, "merge-base", "--is-ancestor", *asked)[0] == 0
        return self._above[asked]

    def knows(self, commit: str) -> bool:
        """Whether `commit` is there."""
        own = ("--git-dir", str(self.path))
        return git.run(*own, "cat-file", "-e", f"{commit}^{{commit}}")[0] == 0

    def newest(self, *commits: str) -> list[str]:
        """Return those of two `commits`, "" for none, that the other does not come from."""
        found = [item for item in dict.fromkeys(commits) if item]
        if len(found) < 2 or self.has(found[1], found[0]):
            return found[:1]
        return found[1:] if self.has(found[0], found[1]) else found

    def count(self, since: str, until: str) -> int:
        """Return how many commits `until` has that `since` has not."""
        names = [until, f"^{since}"] if since else [until]
        return int(self._call("rev-list", "--count", *names)) if until else 0

    def files(self, commit: str, *below: str) -> dict[str, str]:
        """Return path → blob of the files of `commit`, or of those `below` some folders of it."""
        if not commit:
            return {}
        if not below and commit in self._listed:
            return self._listed[commit]
        out = self._call("ls-tree", "-r", "-z", commit, "--", *below)
        found, others = {}, []
        for line in filter(None, out.split(b"\0")):
            about, _, raw = line.partition(b"\t")
            path = raw.decode("utf-8", "surrogateescape")
            mode, kind, blob = about.decode().split()
            if kind == "blob" and mode in ("100644", "100755"):
                found[path] = blob
            else:
                others.append(path)
        if not below:
            self._listed[commit], self._no_files[commit] = found, others
        return found

    def links(self, commit: str, folder: str) -> list[str]:
        """Return what lies in a `folder` of `commit` and is no file: links, and other repositories."""
        self.files(commit)
        return [path for path in self._no_files.get(commit, ()) if path.startswith(f"{folder}/")]

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
        self._change("fast-import", "--quiet", "--done", "--date-format=raw", given=b"".join(parts))
        return self.tip(ref)

    def move(self, commit: str, *, ref: str = BRANCH) -> None:
        """Let `ref` name `commit`."""
        self._change("update-ref", ref, commit)

    def tidy(self) -> None:
        """Pack what many commits left lying about, now and then, and remove what killed ones left."""
        loose = sum(1 for _ in (self.path / "objects").glob("[0-9a-f][0-9a-f]/*"))
        packs = sum(1 for _ in (self.path / "objects/pack").glob("*.pack"))
        if loose > 40 * _GC_EVERY or packs > _GC_EVERY:
            for left in (*self.path.glob("objects/*/tmp_*"), *self.path.glob("fast_import_crash_*")):
                left.unlink(missing_ok=True)
            # What a fetch that was left alone has brought stays until it is named.
            self._change("gc", "--quiet", "--prune=1.hour.ago", seconds=_GC_SECONDS)

    # -- the remote ---------------------------------------------------------------------------------

    def fetch(self) -> str:
        """Return the newest commit of the remote, fetched, "" where it has none yet.

        Raises OfflineError where it can't be reached, RefusedError where its history is cut short.
        """
        code, err = self._fetched()
        for seconds in _LOCK_WAITS:
            # A fetch of ours whose sync died may still be at its end.
            if not code or not _LOCKED.search(err):
                break
            time.sleep(seconds)
            code, err = self._fetched()
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
                f"the remote can't be read: {git.trouble(err)}",
                file=self.remote,
                fix="Nothing is lost: what is new waits, and goes with the next sync that gets there.",
            )
        return self.tip(INCOMING)

    def _fetched(self) -> tuple[int, str]:
        own = ("--git-dir", str(self.path), "fetch", "--quiet", "--progress", "--no-tags")
        more = ("--no-write-fetch-head", "--no-recurse-submodules", "--no-auto-gc")
        code, _, err = git.run_far(self.remote, *own, *more, self.remote, f"+{BRANCH}:{INCOMING}")
        return code, err

    def push(self) -> bool:
        """Send the branch; False where the remote has moved on meanwhile. Raises OfflineError as `fetch`."""
        own = ("--git-dir", str(self.path))
        code, out, err = git.run_far(
            self.remote,
            *own,
            "push",
            "--porcelain",
            "--quiet",
            "--progress",
            self.remote,
            f"{BRANCH}:{BRANCH}",
        )
        if code == 0:
            return True
        answer = out.decode("utf-8", "replace") + err
        if _MOVED.search(answer):
            return False
        raise OfflineError(
            f"the remote took nothing: {git.trouble(err or answer)}",
            file=self.remote,
            fix="Nothing is lost: it goes with the next sync. See that you may write there.",
        )

    def note(self, *, waiting: int) -> None:
        """Tell the others how far this machine is, where there is a place for that. Raises OfflineError."""

    # -- git ----------------------------------------------------------------------------------------

    def _call(self, *words: str, given: bytes = b"") -> bytes:
        return self._sound(words, *git.run("--git-dir", str(self.path), *words, given=given))

    def _change(self, *words: str, given: bytes = b"", seconds: float = git.CALL_SECONDS) -> None:
        """Let git write in the repository, when none that was left alone does."""
        own = ("--git-dir", str(self.path), *words)
        self._sound(words, *git.run_alone(*own, lock=self._lock, given=given, seconds=seconds))

    def _sound(self, words: tuple[str, ...], code: int, out: bytes, err: str) -> bytes:
        if code:
            raise SyncError(
                f"git {words[0]} failed: {git.last_words(err) or f'it ended with {code}'}",
                file=str(self.path),
                fix="Delete that folder: it is made anew from the remote and the memories here.",
            )
        return out

    @property
    def _lock(self) -> Path:
        return self.path.with_name("git.lock")


def _line(path: str, data: bytes | str | None) -> list[bytes]:
    name = path.encode("utf-8", "surrogateescape")
    if name.startswith(b'"') or b"\n" in name:
        name = b'"' + name.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
    if data is None:
        return [b"D ", name, b"\n"]
    if isinstance(data, str):
        return [f"M 100644 {data} ".encode(), name, b"\n"]
    return [b"M 100644 inline ", name, b"\n", b"data %d\n" % len(data), data, b"\n"]


def blob_of(data: bytes | None) -> str:
    """Return what git calls a file with these bytes, "" for none."""
    if data is None:
        return ""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

"""What Reverie itself wrote, as path and digest: ``.reverie/written.jsonl``, append-only.

A memory is *ours* when its bytes are the ones we last wrote there; *hand-edited* when we wrote the file
but its bytes differ; *foreign* when we never wrote it.
"""

from __future__ import annotations

import stat
import zlib
from collections.abc import Callable, Iterable, Set
from pathlib import Path
from typing import NamedTuple

import orjson

from pipeline.core import jsonl
from pipeline.core.atomic import write_atomic
from pipeline.core.errors import StoreError
from pipeline.hooklib.ownership import EDITED, OTHER, OURS, TEAMS, WRITTEN
from pipeline.store.files.scanning import Document


class Appended(NamedTuple):
    """Digests by path, "" for a file that left, that were added to a log, and its stamps before and after."""

    before: str
    after: str
    digests: dict[str, str]


class WrittenLog:
    """The log of the store at `root`: read once, and again whenever its file has another size.

    Of a `team`'s store it bears out nothing, since others can write it too; it only tells what changed.
    """

    def __init__(self, root: Path, *, team: bool = False) -> None:
        self.look_up: Callable[[str, str], str | None] = _nowhere
        """Gives the digest at a path from where the log of that stamp was noted, "" for none, else None."""
        self.appended: list[Appended] = []
        """What was added here and is noted nowhere yet."""
        self._file = root / WRITTEN
        self._team = team
        self._size, self._sum = -1, 0
        self._digests: dict[str, str] = {}
        self._all: frozenset[str] = frozenset()
        self._lines = 0

    def digest(self, path: str) -> str | None:
        """Return the digest of what we last wrote at `path`, or None when we never did."""
        if self._bytes_there() != self._size:
            found = self.look_up(path, self.stamp())
            if found is not None:
                return found or None
        self._load()
        return self._digests.get(path)

    def digests(self) -> tuple[str, dict[str, str]]:
        """Return all digests by path, and the stamp of the log that has them."""
        stamp = self.stamp()
        self._load()
        return stamp, self._digests

    def stamp(self) -> str:
        """Return what is another text as soon as the log is another, or longer."""
        try:
            info = self._file.lstat()
        except FileNotFoundError:
            return "-"
        return f"{info.st_ino} {info.st_size} {info.st_mtime_ns}"

    def paths(self) -> Set[str]:
        """Return every path we wrote and did not retire."""
        self._load()
        return self._digests.keys()

    def is_as_written(self, document: Document, *, of_team: bool = False) -> bool:
        """Whether this file went through Reverie's hands and nobody else changed it since.

        In a team's folder others may write the log too, so it counts for one only where that is asked for.
        """
        return (of_team or not self._team) and self.digest(document.path) == document.digest

    def hand(self, document: Document) -> str:
        """Return whose the file of `document` is (`hooklib.ownership`); ours also where it was moved."""
        self._load()
        return self._hand(document)

    def _hand(self, document: Document) -> str:
        if self._team:
            return TEAMS
        if document.digest in self._all:
            return OURS
        return EDITED if document.path in self._digests else OTHER

    def tell(self, documents: Iterable[Document]) -> None:
        """Say of each of `documents` whether it is foreign, and whose it is."""
        self._load()
        paths, ours = self._digests, self._all
        for document in documents:
            document.foreign = document.path not in paths
            # Nearly always ours.
            is_ours = document.digest in ours and not self._team
            document.hand = OURS if is_ours else self._hand(document)

    def is_ours(self, document: Document) -> bool:
        """Whether Reverie wrote this file of itself, not at a person's word, and nobody changed it since."""
        return document.head.origin != "hand-written" and self.is_as_written(document)

    def append(self, records: Iterable[tuple[str, str]]) -> None:
        """Add path and digest pairs; an empty digest says that the file is no longer there."""
        values = list(records)
        if values:
            # A file that is no regular one must be refused before anything is written to it.
            self._bytes_there()
            before = self.stamp()
            jsonl.append(self._file, values)
            self.appended.append(Appended(before, self.stamp(), dict(values)))

    def compact(self) -> None:
        """Rewrite the record with one line per path, once most of its lines are outdated."""
        self._load()
        if self._lines > 2 * len(self._digests) + 50:
            write_atomic(self._file, jsonl.dump(sorted(self._digests.items())))

    def _bytes_there(self) -> int:
        try:
            info = self._file.lstat()
        except FileNotFoundError:
            return 0
        if not stat.S_ISREG(info.st_mode):
            raise StoreError(
                "not a regular file",
                file=str(self._file),
                fix="Move it away; the memories then count as hand-edited until they are written again.",
            )
        return info.st_size

    def _load(self) -> None:
        size = self._bytes_there()
        if size == self._size:
            return
        raw = self._file.read_bytes() if size else b""
        # Of a log that only grew the lines are known that were there.
        known = raw[: max(0, self._size)]
        if not known.endswith(b"\n") or zlib.crc32(known) != self._sum or len(known) != self._size:
            known, self._digests, self._lines = b"", {}, 0
        self._digests = dict(self._digests)  # Who has the former ones keeps them as they were.
        self._read(raw[len(known) :])
        self._size, self._sum = len(raw), zlib.crc32(raw)
        self._all = frozenset(self._digests.values())

    def _read(self, raw: bytes) -> None:
        # A torn or odd line: its file then counts as hand-edited, which only makes us careful.
        for line in raw.split(b"\n"):
            try:
                value = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            self._lines += 1
            if type(value) is not list or len(value) != 2:
                continue
            path, digest = value
            if type(path) is str and type(digest) is str:
                if digest:
                    self._digests[path] = digest
                else:
                    self._digests.pop(path, None)


def was_written(root: Path, path: str, digest: str) -> bool:
    """Whether we wrote bytes of that `digest` at `path` of the store at `root`, as far as lines are kept."""
    try:
        raw = (root / WRITTEN).read_bytes()
    except FileNotFoundError:
        return False
    return [path, digest] in jsonl.parse(raw).values


def _nowhere(path: str, stamp: str) -> str | None:
    return None

"""What Reverie itself wrote, as path and digest: ``.reverie/written.jsonl``, append-only.

A memory is *ours* when its bytes are the ones we last wrote there; *hand-edited* when we wrote the file
but its bytes differ; *foreign* when we never wrote it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Set
from pathlib import Path

import orjson

from pipeline.core import system
from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.errors import StoreError


class Written:
    """The record of one store; read once, then kept in step with what is appended."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._size = -1
        self._digests: dict[str, str] = {}
        self._lines = 0

    def digest(self, path: str) -> str | None:
        """Return the digest of what we last wrote at `path`, or None when we never did."""
        self._load()
        return self._digests.get(path)

    def paths(self) -> Set[str]:
        """Return every path we wrote and did not retire."""
        self._load()
        return self._digests.keys()

    def append(self, records: Iterable[tuple[str, str]]) -> None:
        """Add path and digest pairs; an empty digest says that the file is no longer there."""
        lines = [orjson.dumps(record) + b"\n" for record in records]
        if not lines:
            return
        self._load()
        ensure_dir(self._file.parent)
        handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_APPEND | system.OPEN, 0o600)
        with os.fdopen(handle, "ab") as out:
            # A line torn by a power loss must not swallow the next one.
            out.write((b"\n" if self._torn() else b"") + b"".join(lines))
            out.flush()
            os.fsync(out.fileno())

    def compact(self) -> None:
        """Rewrite the record with one line per path, once most of its lines are outdated."""
        self._load()
        if self._lines > 2 * len(self._digests) + 50:
            data = b"".join(orjson.dumps(item) + b"\n" for item in sorted(self._digests.items()))
            write_atomic(self._file, data)

    def _torn(self) -> bool:
        if not self._size:
            return False
        with self._file.open("rb") as opened:
            opened.seek(-1, os.SEEK_END)
            return opened.read(1) != b"\n"

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
        self._size, self._digests, self._lines = size, {}, 0
        for line in self._file.read_bytes().splitlines() if size else ():
            try:
                path, digest = orjson.loads(line)
            except (ValueError, TypeError):
                # A torn line: its file then counts as hand-edited, which only makes us careful.
                continue
            self._lines += 1
            if not isinstance(path, str) or not isinstance(digest, str):
                continue
            if digest:
                self._digests[path] = digest
            else:
                self._digests.pop(path, None)

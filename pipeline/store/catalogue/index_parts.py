"""Where the entry of each memory stands in ``_index.json``, so that one that did not change is copied.

It is kept in ``.reverie/index-parts`` with the stamp of the file that it tells of, and can be thrown away.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import orjson

from pipeline.core.atomic import write_atomic
from pipeline.core.errors import StoreError
from pipeline.store.catalogue import database
from pipeline.store.files.layout import MAX_DERIVED, PRIVATE, read_regular
from pipeline.store.files.scanning import Document

FILE = f"{PRIVATE}/index-parts"
_FORM = f"1.{database.MADE_AS}"
CHUNK = 1 << 20
_END = b"}}"


class PartKey(NamedTuple):
    """Of two entries with the same part the bytes are the same."""

    path: str
    key: str
    digest: str
    has_own_id: bool

    @classmethod
    def of(cls, item: Document, key: str) -> PartKey:
        """Return that of the entry of `item` under `key`."""
        return cls(item.path, key, item.digest, item.id == item.own_id)


@dataclass(slots=True)
class Parts:
    """The entries of a file, by their keys: where each begins behind the first, and how long it is."""

    places: dict[PartKey, tuple[int, int]] = field(default_factory=dict)
    size: int = 0
    """How long all entries are, each with the bracket or comma before it."""

    def add(self, part: PartKey, size: int) -> None:
        """Put an entry at the end; `size` counts its key and what stands before it."""
        self.places[part] = (self.size, size)
        self.size += size

    def keep(self, root: Path, stamp: str) -> None:
        """Keep them as those of the file with `stamp`."""
        if (root / PRIVATE).is_dir():
            rows = orjson.dumps([[*part, size] for part, (_, size) in self.places.items()])
            head = orjson.dumps([_FORM, stamp, zlib.crc32(rows)])
            write_atomic(root / FILE, head + b"\n" + rows)


def kept(root: Path, stamp: str) -> Parts:
    """Return those of the file with `stamp`, none where they are not known for certain."""
    found = Parts()
    try:
        head, _, rows = read_regular(root / FILE, MAX_DERIVED)[0].partition(b"\n")
        if orjson.loads(head) == [_FORM, stamp, zlib.crc32(rows)]:
            # A sum in place of a look at every value: what has it was written here.
            for path, key, digest, has_own_id, size in orjson.loads(rows):
                found.add(PartKey(path, key, digest, has_own_id), size)
    except (OSError, StoreError, ValueError):
        return Parts()
    return found


class Copy:
    """Copies entries from the file that `parts` tell of; those that stand side by side at one go."""

    def __init__(self, file: Path, parts: Parts) -> None:
        self._file = file
        self._parts = parts
        self._begin = self._end = 0
        self._gap = b"{"

    def gap(self) -> bytes:
        """Return what stands before the entry that comes next."""
        gap, self._gap = self._gap, b","
        return gap

    def size_of(self, part: PartKey) -> int:
        """Return how long the entry of `part` is in the file, 0 where it is not there."""
        return self._parts.places.get(part, (0, 0))[1]

    def take(self, part: PartKey) -> Iterator[bytes]:
        """Take the entry of `part` to be copied; yield those before it, where it does not follow them."""
        start, size = self._parts.places[part]
        if start != self._end:
            yield from self.flush()
            self._begin = start
        self._end = start + size

    def flush(self) -> Iterator[bytes]:
        """Yield what was taken and is not copied yet."""
        if self._begin == self._end:
            return
        yield self.gap()
        with self._file.open("rb") as old:
            # What stands before the first of them is another where it comes to stand elsewhere.
            old.seek(-len(_END) - self._parts.size + self._begin + 1, os.SEEK_END)
            left = self._end - self._begin - 1
            while left:
                chunk = old.read(min(left, CHUNK))
                if not chunk:
                    raise StoreError("became shorter while it was read", file=str(self._file), fix="Retry.")
                left -= len(chunk)
                yield chunk
        self._begin = self._end

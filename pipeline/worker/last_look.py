"""Whether a store is as it was when what is derived from it was last made: told without opening it.

Most turns write nothing. So a pass takes the *imprint* of each store that was at work: a digest of the
stamps of its memory files, of what lies beside them, and of what else derived files depend on, the day
included. It is kept in the search index, for the index and for the files in the store; both are disposable,
and so is it. An imprint that is gone or another costs one look at everything: so a change by anybody is seen,
and what a dead worker owed is made up for.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import __version__
from pipeline.core import zone
from pipeline.core.clock import Clock, SystemClock
from pipeline.hooklib import memory_format, ownership, places
from pipeline.ledger import Ledger, file_writes
from pipeline.recall.live import store_files
from pipeline.search import index_reader
from pipeline.search.ticks import TICK_NS, is_hot

if TYPE_CHECKING:
    from pipeline.config import Settings

FILES, INDEX = "files_as_of", "index_as_of"
"""The notes of a search index that have the imprints: of the files made in the store, and of its own."""
_DERIVED = (memory_format.INDEX, memory_format.OVERFLOW, memory_format.CORE)
_KNOWN = (ownership.WRITTEN, *(f"{places.PRIVATE}/{name}" for name in ("identities.jsonl", "cues.json")))
"""What Reverie knows of the files and their words."""
_THERE = ("_index.json", f"{places.PRIVATE}/intent.json")
"""Files of which it counts only whether they are there."""


class LastLook:
    """The imprints of the stores of one home, as they were kept and as they are now."""

    def __init__(self, home: Path, settings: Settings, clock: Clock, ledger: Ledger) -> None:
        self._home = home
        self._clock = clock
        self._ledger = ledger
        rules = (settings.store.model_dump(), settings.embeddings.model_dump(), settings.dream.generations)
        self._made_by = f"{__version__} {rules}"

    def is_in_step(self, store_path: Path, *notes: str) -> bool:
        """Whether nothing has changed since the imprints called `notes` were kept, as where no store is."""
        if not store_path.is_dir():
            return True
        kept = self._kept(store_path)
        if any(name not in kept for name in notes):
            return False
        try:
            now = self.imprint(store_path, files_of(store_path))
        except OSError:
            return False  # Opening it says what is wrong.
        return all(kept[name] == now for name in notes)

    def imprint(self, store_path: Path, files: str) -> str:
        """Return the imprint of the store at `store_path` whose memory files were as `files_of` has it."""
        root = os.path.realpath(store_path)
        beside = [_stamp(f"{root}/{name}") for name in (*_DERIVED, *_KNOWN)]
        there = [os.path.lexists(f"{root}/{name}") for name in _THERE]
        called = file_writes.count_below(self._ledger, dict.fromkeys((str(store_path), root)))
        day = zone.day(self._clock.now())
        return _digest(f"{self._made_by} {day} {called} {beside} {there} {files}") if files else ""

    def has_new_folder_times(self, store_path: Path) -> bool:
        """Whether a folder of the store was written in, though no memory, since its index was made.

        A hook then has to list it anew at each prompt.
        """
        root = os.path.realpath(store_path)
        try:
            with index_reader.Reader(self._index_of(store_path)) as reader:
                known = reader.folders()
        except index_reader.NoIndexError:
            return False
        return any(store_files.folder_stamp(root, folder) != times for folder, times in known.items())

    def digests(self, store_path: Path) -> Counter[str]:
        """Return how often the search index of a store has which digest of a memory's bytes."""
        try:
            with index_reader.Reader(self._index_of(store_path)) as reader:
                return Counter(reader.digests())
        except index_reader.NoIndexError:
            return Counter()

    def _kept(self, store_path: Path) -> dict[str, str]:
        try:
            with index_reader.Reader(self._index_of(store_path)) as reader:
                return reader.notes()
        except index_reader.NoIndexError:
            return {}

    def _index_of(self, store_path: Path) -> str:
        return index_reader.index_path(str(self._home), str(store_path))


def files_of(store_path: Path) -> str:
    """Return a digest of the stamps of all memory files of a store. Raises OSError."""
    return _digest_of(store_files.listing(os.path.realpath(store_path)))


def settled_files_of(store_path: Path) -> str:
    """Return what `files_of` does once each later change must leave other stamps; "" if none can tell."""
    for wait in (1.5 * TICK_NS / 1e9, 0.0):
        found = store_files.listing(os.path.realpath(store_path))
        newest = max((stamp[2] for stamp in found.values()), default=0)
        if not is_hot(newest, int(SystemClock().now().timestamp() * 1e9)):
            return _digest_of(found)
        time.sleep(wait)
    return ""


def _digest_of(listing: dict[str, store_files.Stamp]) -> str:
    # As bytes that are the same for the same values, in a third of the time that text takes.
    return hashlib.sha256(marshal.dumps(sorted(listing.items()), 2)).hexdigest()


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        info = os.lstat(path)
    except OSError:
        return None
    return info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()

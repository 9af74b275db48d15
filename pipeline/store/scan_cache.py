"""Looks at one store again and again, reading only the files that changed since the last look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from pipeline.core.clock import SystemClock
from pipeline.domain.authorship import By
from pipeline.hooklib.ownership import OURS
from pipeline.store.derived.memory_index_writer import MemoryIndexWriter
from pipeline.store.files import scanning
from pipeline.store.files.scanning import Document, Snapshot
from pipeline.store.ownership import twins
from pipeline.store.ownership.identities import Identities
from pipeline.store.ownership.permission import is_adoptable
from pipeline.store.ownership.written_log import WrittenLog


class Scanner:
    """What this process knows of the files of the store at `root`."""

    def __init__(
        self, root: Path, written: WrittenLog, identities: Identities, index: MemoryIndexWriter
    ) -> None:
        self._root = root
        self._written = written
        self._identities = identities
        self._index = index
        self._trusted: dict[str, Document] | None = None
        self._seen: dict[str, Document] | None = None

    def scan(self) -> Snapshot:
        """Return every memory and every problem; only files that changed are read again."""
        if self._trusted is None:
            self._trusted = scanning.from_index(self._root)
        now = SystemClock().now().timestamp()
        snapshot = scanning.scan(self._root, self._trusted)
        ours = self._written.paths()
        present = {document.path for document in snapshot.documents}
        for document in snapshot.documents:
            document.foreign = document.path not in ours
            document.hand = self._written.hand(document)
            if document.hand == OURS and document.own_id:
                document.identity = None
            else:
                document.identity = self._identities.of(document.path, document.digest, present)
        twins.part(self._root, snapshot.documents, self._written, self._identities)
        snapshot.problems += self._index.problems()
        self._trusted = scanning.trusted(snapshot.documents, int(now * 1e9))
        self.remember(snapshot)
        return snapshot

    def look_over(self) -> tuple[list[str], Counter[By]]:
        """Return what `Snapshot.left_out` does, and how many files wait for a yes to all, by who wrote them.

        Nothing is made of the files that are ours and unchanged. Copies are not counted, nor files of which
        nobody looked yet who wrote them.
        """
        found, entries = scanning.look_for_faults(self._root)
        found.problems += self._index.problems()
        ours = self._written.paths()
        others = [item for item in found.documents if item.path not in ours]
        try:
            others += [Document.from_entry(self._root, item) for item in entries if item["path"] not in ours]
        except scanning.NO_INDEX:
            others = []  # An odd index is made anew with the next change, and then they are counted.
        waiting = Counter[By]()
        for document in others:
            known = self._identities.known(document.path)
            if known is not None and known.digest == document.digest:
                document.hand, document.identity = self._written.hand(document), known
                waiting[known.by] += is_adoptable(document, self._written)
        return found.left_out(), +waiting

    def glance(self) -> Snapshot:
        """Return the store by its file names; what this object saw before is not looked at again.

        Good enough for an index or a free name; every file that is changed is compared on its own.
        """
        return self.scan() if self._seen is None else scanning.scan(self._root, self._seen, glance=True)

    def remember(self, snapshot: Snapshot, *, but: Collection[str] = ()) -> None:
        """Let the next `glance` take the documents of `snapshot` as seen, but those at `but`."""
        self._seen = {item.path: item for item in snapshot.documents if item.path not in but}

    def forget(self) -> None:
        """Look at every file anew at the next `glance`: somebody else's change set was found."""
        self._seen = None

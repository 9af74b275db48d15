"""One look at all files of a store, and what it starts from: the last one, or what the catalogue has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.store.catalogue.asking import Texts
from pipeline.store.files.kept import Row, is_settled
from pipeline.store.files.layout import FileStamp
from pipeline.store.files.scanning import Document, Snapshot


@dataclass(slots=True)
class Look:
    """One look at all files: how it began, and what it has found so far."""

    snapshot: Snapshot
    folders: dict[str, tuple[int, int]]
    seen_ns: int
    texts: Texts
    order: list[str]
    rows: dict[str, Row] = field(default_factory=dict)
    """What the catalogue has of each file, where it was asked."""
    known: Mapping[str, Document] = field(default_factory=dict)
    """Documents that need no more than a look at the stamps of their files."""
    read: list[Document] = field(default_factory=list)
    """Documents that the catalogue does not have as they are."""
    state: tuple[str, int] | None = None
    """That of the catalogue, where it was asked for its rows or need not be."""
    in_step: bool = False
    """Whether the catalogue has all that the last look found: its rows are not read again."""
    all_known: bool = False
    """Whether there is nothing but what the last look found, all of it as it was."""
    spare: int = 0
    """So many bytes of files may stay at hand."""

    def take_up(self, root: Path, rows: Iterable[Row], *, knows: bool) -> None:
        """Take in what the catalogue has; where nothing is known yet this look `knows` all that it tells."""
        self.rows = {row.path: row for row in rows}
        if knows:
            settled = [row for row in self.rows.values() if is_settled(row.ctime_ns, row.seen_ns)]
            self.known = {row.path: Document.from_row(root, row, self.texts) for row in settled}
            self.order += sorted(self.known)

    def row(self, path: str, stamp: FileStamp) -> Row | None:
        """Return what the catalogue has of the file at `path`, None where it had another stamp."""
        row = self.rows.get(path)
        return row if row is not None and row.tells_of(stamp) else None

    def settled(self) -> Mapping[str, Document]:
        """Return the documents it found that the next look need not read again unless their stamps change."""
        if self.all_known:
            return self.known
        documents, seen_ns = self.snapshot.documents, self.seen_ns
        return {item.path: item for item in documents if is_settled(item.stamp.ctime_ns, seen_ns)}

    def leave(self, documents: Iterable[Document]) -> None:
        """Leave what was read to the catalogue, but for bytes that may stay at hand."""
        for item in documents:
            stays = item.stamp.size <= self.spare
            self.spare -= item.stamp.size if stays else 0
            item.leave_to(self.texts, but_bytes=stays)

"""What the catalogue keeps of each memory for a map of all: how it is called, and what it is related to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from pipeline.hooklib.front_matter import share_of
from pipeline.store.catalogue.sums import row_sum
from pipeline.store.files.kept import Brief, End
from pipeline.store.files.scanning import Document
from pipeline.store.graph.edge_file import STRENGTH
from pipeline.store.graph.relations import OUTGOING, key_of
from pipeline.store.graph.traversal import relations_of


def of(document: Document) -> Brief:
    """Return the brief of `document`, by its front matter."""
    ends = []
    for link in relations_of(document):
        target, kind, direction = key_of(link)
        share = share_of(link.get("strength"), STRENGTH)
        ends.append(End(target, kind.upper(), direction == OUTGOING, share))
    head = document.head
    return Brief(
        head.shown_title, head.description, orjson.dumps([*map(tuple, ends)]).decode() if ends else ""
    )


def rows(documents: Iterable[Document]) -> Iterator[tuple[Any, ...]]:
    """Yield the row of each of `documents`, with its sum."""
    for document in documents:
        brief = of(document)
        row = (document.path, *brief)
        yield (*row, row_sum(row))


def as_kept(target: str) -> str:
    """Return what stands in the row of who is related to `target`."""
    return orjson.dumps(target).decode()


def sound(found: Iterable[Sequence[Any]]) -> dict[str, tuple[str, Brief]]:
    """Return by path the digest and the brief that rows have, but for damaged ones."""
    return {
        path: (sha, Brief(title, description, ends))
        for path, sha, title, description, ends, total in found
        if row_sum((path, title, description, ends)) == total
    }

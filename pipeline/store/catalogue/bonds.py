"""What the catalogue keeps of each memory's relations: a map of all is made without any front matter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import orjson

from pipeline.hooklib.front_matter import share_of
from pipeline.store.catalogue.sums import row_sum
from pipeline.store.files.scanning import Document
from pipeline.store.graph.edge_file import STRENGTH
from pipeline.store.graph.relations import OUTGOING, key_of
from pipeline.store.graph.traversal import relations_of


class End(NamedTuple):
    """A relation as one memory has it: what it names, its type in capitals, whether it leads there."""

    target: str
    type: str
    leads: bool
    strength: float


def of(document: Document) -> list[End]:
    """Return the relations in the front matter of `document`."""
    found = []
    for link in relations_of(document):
        target, kind, direction = key_of(link)
        share = share_of(link.get("strength"), STRENGTH)
        found.append(End(target, kind.upper(), direction == OUTGOING, share))
    return found


def columns(document: Document) -> tuple[str, int]:
    """Return the relations of `document` as the catalogue has them, "" for none, and their sum."""
    found = of(document)
    text = orjson.dumps([*map(tuple, found)]).decode() if found else ""
    return text, row_sum((document.path, text))


def sound(rows: Iterable[Sequence[Any]]) -> dict[str, tuple[str, list[End]]]:
    """Return by path the digest and the relations that `rows` have, without those that are damaged."""
    found = {}
    for path, sha, text, total in rows:
        if row_sum((path, text)) == total:
            found[path] = sha, [End(*values) for values in orjson.loads(text)]
    return found

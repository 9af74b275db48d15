"""Walks from memory to memory along their relations, read at either end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pipeline.hooklib.front_matter import share_of, text_of
from pipeline.store.files.scanning import Document
from pipeline.store.graph.edge_file import STRENGTH
from pipeline.store.graph.links import Ends
from pipeline.store.graph.relations import Link, key_of, mirrored

_ONE_BY_ONE = 8
"""Memories of one round that are looked for by their ids; from then on all relations are read."""


class Naming(Protocol):
    """Whoever finds the documents of which a relation leads somewhere; a store's `Sieve` does."""

    def saying(self, documents: Iterable[Document], word: str) -> set[str]:
        """Return the paths of those whose front matter may have `word`."""
        ...

    def naming(self, documents: Iterable[Document], target: str) -> set[str]:
        """Return the paths of those of which a relation may lead to what `target` names."""
        ...


@dataclass(frozen=True, slots=True)
class Step:
    """One memory that was reached, from `via` by a relation, after `steps` of them."""

    document: Document
    via: Document
    type: str
    direction: str
    strength: float
    context: str
    edge_id: str
    steps: int


class Graph:
    """The relations of `documents`, all memories of a store; `sieve` finds the few that name one."""

    def __init__(self, documents: Sequence[Document], sieve: Naming) -> None:
        self._documents = documents
        self._sieve = sieve
        self._ends = Ends(documents)
        self._all: dict[str, list[tuple[Document, Link]]] | None = None

    def around(self, start: Document, types: set[str], direction: str, depth: int) -> list[Step]:
        """Return what `start` leads to within `depth` relations of `types` (none: all), nearest first.

        Each memory comes once, by the strongest of the shortest ways.
        """
        seen = {start.path}
        found: list[Step] = []
        at = [start]
        for steps in range(1, depth + 1):
            reached: dict[str, Step] = {}
            for step in self._round(at, types, direction, steps):
                path = step.document.path
                known = reached.get(path)
                if path not in seen and (known is None or step.strength > known.strength):
                    reached[path] = step
            if not reached:
                break
            seen |= reached.keys()
            ordered = sorted(reached.values(), key=lambda step: (-step.strength, step.document.path))
            found += ordered
            at = [step.document for step in ordered]
        return found

    def _round(self, at: Sequence[Document], types: set[str], direction: str, steps: int) -> Iterator[Step]:
        for document in at:
            for other, link, seen_from in self._links(document, all_at_once=len(at) > _ONE_BY_ONE):
                _, type_name, _ = key_of(link)
                wanted = not types or type_name.upper() in types
                if wanted and direction in ("both", seen_from):
                    yield Step(
                        other,
                        document,
                        type_name,
                        seen_from,
                        share_of(link.get("strength"), STRENGTH),
                        text_of(link.get("context")),
                        text_of(link.get("edge_id")),
                        steps,
                    )

    def _links(self, document: Document, *, all_at_once: bool) -> Iterator[tuple[Document, Link, str]]:
        """Yield the relations of `document`, those that only the other end has among them."""
        for link in relations_of(document):
            target, _, direction = key_of(link)
            other = self._ends.of(target)
            if other is not None:
                yield other, link, direction
        for other, back in self._leading_to(document, all_at_once=all_at_once):
            yield other, back, mirrored(key_of(back)[2])

    def _leading_to(self, document: Document, *, all_at_once: bool) -> Iterator[tuple[Document, Link]]:
        if all_at_once or self._all is not None:
            yield from self._everything().get(document.path, ())
            return
        names = [name for name in (document.id, document.own_id) if name]
        paths = {path for name in dict.fromkeys(names) for path in self._sieve.naming(self._documents, name)}
        for other in self._documents:
            if other.path in paths and other.path != document.path:
                for link in relations_of(other):
                    if key_of(link)[0] in names:
                        yield other, link

    def _everything(self) -> dict[str, list[tuple[Document, Link]]]:
        if self._all is None:
            self._all = {}
            paths = self._sieve.saying(self._documents, '"target"')
            for other in self._documents:
                for link in relations_of(other) if other.path in paths else ():
                    end = self._ends.of(key_of(link)[0])
                    if end is not None and end.path != other.path:
                        self._all.setdefault(end.path, []).append((other, link))
        return self._all


def relations_of(document: Document) -> list[dict[str, Any]]:
    """Return the relations in the front matter of `document`, as JSON has them."""
    given = document.front.get("relations")
    return [link for link in given if isinstance(link, dict)] if isinstance(given, list) else []

"""The order in which a search tells what it found: pure functions over what the index answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.search.index_reader import Reader, Row, is_lone
from pipeline.text import stems
from pipeline.text.tokens import terms

if TYPE_CHECKING:
    from pipeline.text.stems import Forms


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory found: `share` is how much of the question it holds, 0 to 1, rare words weighing more.

    `worth` is what the order goes by: the share times BM25, so that of two memories that hold as much the
    one comes first that is about it.
    """

    path: str
    share: float
    worth: float


class Asked:
    """A question as one index is asked it: its terms, other stems of them, and what each of them weighs.

    Who asks has taken out of it what nobody sees (`safety.invisible.visible`), once for all indexes.
    """

    def __init__(self, question: str, reader: Reader) -> None:
        self._reader = reader
        self.forms: Forms
        self.forms, small = stems.asked(question, reader.languages())
        every = terms(question)
        self.terms = [term for term in every if term not in small] or every
        total = reader.count()
        self.weights = {
            term: math.log(1 + total / max(1, reader.document_count(term, self.forms.get(term, ()))))
            for term in self.terms
        }
        """A term that fewer memories hold weighs more."""

    @property
    def words(self) -> set[str]:
        """The terms and their stems: what to look for in a text."""
        return {*self.terms, *(form for found in self.forms.values() for form in found)}

    def candidates(self, limit: int) -> list[Row]:
        """Return up to `limit` memories that hold something of it, the best first by BM25."""
        return self._reader.candidates(self.terms, limit, self.forms)

    def scores(self, limit: int) -> dict[str, float]:
        """Return path and BM25 of what `candidates` returns; no row is read."""
        return self._reader.scores(self.terms, limit, self.forms)

    def held(self, row: Row) -> set[str]:
        """Return the terms of `row`, with those of the question that it holds by their stems."""
        fields = stems.met(row.fields, row.stems, self.forms) if self.forms else row.fields
        return set(" ".join(fields).split())


def ranked(
    scores: Mapping[str, float], held: Callable[[str], set[str]], weights: Mapping[str, float]
) -> list[Ranked]:
    """Return the memories of `scores` (path to BM25, best first) in their order, the best first.

    `held` gives the terms of the memory at a path. Equal ones stay as `scores` has them.
    """
    found = []
    for path, score in scores.items():
        share = share_of(held(path), weights)
        found.append(Ranked(path, share, share * score))
    found.sort(key=lambda item: (-item.worth, -item.share))
    return found


def share_of(held: set[str], weights: Mapping[str, float]) -> float:
    """Return how much of a question with these `weights` a memory with the terms `held` has, 0 to 1."""
    found = [term for term in weights if term in held or (is_lone(term) and _begins(term, held))]
    whole = math.fsum(weights.values())
    return math.fsum(weights[term] for term in found) / whole if whole else 0.0


def _begins(term: str, held: set[str]) -> bool:
    return any(other.startswith(term) for other in held)

"""How alike two texts are by their words, rare ones weighing more: the cosine of the two sets."""

from __future__ import annotations

import math
from collections.abc import Collection

from pipeline.search.index_reader import Lookup

_LEAST_WEIGHT = math.log(2) ** 2
"""What a word weighs that is in every document."""
_ROUNDED = 1e-6


class Likeness:
    """Compares documents with the words `asked`, by the counts of `lookup` among `total` documents.

    What is below `floor` counts as 0, which as a rule takes few counts.
    """

    def __init__(self, asked: set[str], lookup: Lookup, total: int, floor: float) -> None:
        self._asked = asked
        self._lookup = lookup
        self._total = total
        self._floor = floor
        self._own = self._weight(asked)

    def of(self, held: set[str]) -> float:
        """Return how alike a document is that holds the words `held`: 1 for the same set, 0 for none."""
        shared = self._weight(self._asked & held)
        if self._own and self._floor > _ROUNDED and self._outweigh(held - self._asked, shared):
            return 0.0
        norms = self._own * self._weight(held)
        return round(shared / math.sqrt(norms), 6) if norms else 0.0

    def _outweigh(self, others: set[str], shared: float) -> bool:
        """Whether a document has so much in `others`, the words not asked for, that it is below the floor."""
        room = (shared / (self._floor - _ROUNDED)) ** 2 / self._own - shared - _LEAST_WEIGHT * len(others)
        for term in sorted(others):
            if room < 0:
                break
            room -= self._weight((term,)) - _LEAST_WEIGHT
        return room < 0

    def _weight(self, words: Collection[str]) -> float:
        count = self._lookup.count
        return math.fsum(math.log(1 + self._total / max(1, count(term))) ** 2 for term in words)

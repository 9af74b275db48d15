"""Which vectors are most like one: the cosine, which for unit vectors is a sum of products.

With numpy (which comes with wordllama) 10,000 are compared in a few milliseconds; without it the same is
done in Python.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_DIGITS = 4
"""Decimals of a cosine: fewer than the last bits in which two ways of adding up differ."""


class Nearest:
    """Unit vectors by key, to be asked again and again."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._keys = sorted(vectors)
        self._rows = [vectors[key] for key in self._keys]
        numpy = _numpy()
        self._matrix = numpy.array(self._rows, dtype="float64") if numpy and self._rows else None

    def scores(self, vector: Sequence[float]) -> dict[str, float]:
        """Return the cosine (-1 to 1) of every key's vector with `vector`, which must be as long."""
        if self._matrix is None:
            found = [_product(row, vector) for row in self._rows]
        else:
            found = (self._matrix @ vector).tolist()
        return {key: round(score, _DIGITS) for key, score in zip(self._keys, found, strict=True)}

    def nearest(self, vector: Sequence[float], limit: int, floor: float = 0.0) -> list[tuple[str, float]]:
        """Return up to `limit` keys with a cosine of at least `floor`, best first, equal ones by key."""
        found = sorted(self.scores(vector).items(), key=lambda pair: (-pair[1], pair[0]))
        return [(key, score) for key, score in found[:limit] if score >= floor]


def _product(first: Sequence[float], second: Sequence[float]) -> float:
    return sum(left * right for left, right in zip(first, second, strict=True))


def _numpy() -> Any:
    try:
        # Takes 60 ms to load, and comes with the extra only.
        import numpy
    except ImportError:
        return None
    return numpy

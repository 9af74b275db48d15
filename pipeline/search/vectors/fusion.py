"""Two rankings made one: what the words say, and what the vectors say."""

from __future__ import annotations

from collections.abc import Mapping

WEIGHT = 0.3
"""Share of the vectors in the sum; on the prompts of `bench.recall` it changes the order little."""
FLOOR = 0.3
"""Least cosine that counts for anything (seed 2, retrieval defaults)."""


def fuse(
    words: Mapping[str, float], cosines: Mapping[str, float], *, weight: float = WEIGHT, floor: float = FLOOR
) -> dict[str, float]:
    """Return one score (0 to 1) per key of either ranking, highest first, equal ones by key.

    Both are brought to 0..1 first: scores of words as a share of the best, cosines as how far they reach
    above `floor`. A `weight` of 0 leaves the order of the words as it is, with those that only vectors found
    at the end.
    """
    best = max(words.values(), default=0.0)
    room = max(1.0 - floor, 1e-9)
    fused = {}
    for key in words.keys() | {key for key, cosine in cosines.items() if cosine > floor}:
        by_words = max(0.0, words.get(key, 0.0)) / best if best > 0 else 0.0
        by_vector = max(0.0, cosines.get(key, 0.0) - floor) / room
        fused[key] = round((1.0 - weight) * by_words + weight * by_vector, 6)
    return dict(sorted(fused.items(), key=lambda pair: (-pair[1], pair[0])))

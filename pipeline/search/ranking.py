"""The order in which a search tells what it found: pure functions over what the index answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.search.index_reader import is_lone


@dataclass(frozen=True, slots=True)
class Ranked:
    """A memory found: `share` is how much of the question it holds, 0 to 1, rare words weighing more.

    `worth` is what the order goes by: the share times BM25, so that of two memories that hold as much the
    one comes first that is about it.
    """

    path: str
    share: float
    worth: float


def weights(asked: Sequence[str], total: int, documents: Callable[[str], int]) -> dict[str, float]:
    """Return what each term of a question weighs, by how many of `total` memories hold it."""
    return {term: math.log(1 + total / max(1, documents(term))) for term in asked}


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

"""What every embedder gives: unit vectors, one per text, all of one length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

from pipeline.core.errors import EmbeddingError

BATCH = 50
"""Texts in one question to a provider (seed 2, C-09)."""
MAX_CHARS = 4_000
"""Characters of one text that count: the vector of a long text hardly changes with its end."""


class Embedder(Protocol):
    """Turns texts into vectors.

    `name` is the provider's word in the settings, `model` what it calls its model. `dim` is the length of
    its vectors, 0 while a remote one has not answered yet.
    """

    @property
    def name(self) -> str:
        """Return the provider's name."""
        ...

    @property
    def model(self) -> str:
        """Return the model's name."""
        ...

    @property
    def dim(self) -> int:
        """Return how many numbers a vector has."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a unit vector for each of `texts`, in their order. Raises EmbeddingError."""
        ...


def unit_vectors(raw: Any, *, count: int, dim: int, provider: str) -> list[list[float]]:
    """Return what a provider answered as vectors of length 1; all zeros stay zeros (a text of no word).

    `dim` is the length they must have, 0 for any that they share. Raises EmbeddingError, which names
    `provider`, when a vector is missing, of another length, or holds what is no finite number.
    """
    if not isinstance(raw, list) or len(raw) != count:
        found = len(raw) if isinstance(raw, list) else "no list of"
        raise _unfit(provider, f"{found} vectors for {count} texts")
    vectors = []
    for item in raw:
        if not isinstance(item, list) or not item or not all(map(_is_number, item)):
            raise _unfit(provider, "a vector that is no list of finite numbers")
        dim = dim or len(item)
        if len(item) != dim:
            raise _unfit(provider, f"a vector of {len(item)} numbers where {dim} were expected")
        vectors.append(_unit(item))
    return vectors


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)


def _unit(vector: list[float]) -> list[float]:
    # Scaled first: squares of very small or large numbers leave the range of floats.
    largest = max(map(abs, vector))
    if not largest:
        return [0.0] * len(vector)
    scaled = [value / largest for value in vector]
    length = math.sqrt(math.fsum(value * value for value in scaled))
    return [value / length for value in scaled]


def _unfit(provider: str, reason: str) -> EmbeddingError:
    return EmbeddingError(
        f"{provider} answered with {reason}", fix="Name another model or provider in [embeddings]."
    )

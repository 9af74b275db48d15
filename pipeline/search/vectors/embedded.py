"""Vectors made in this process by wordllama, whose weights come with its package: no network, no server.

The only module that imports wordllama. It averages the static vectors of a text's tokens: quick, small, and
blind to word order.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.core.errors import EmbeddingError
from pipeline.search.vectors.embedder import BATCH, MAX_CHARS, unit_vectors

_DIM = 256
_FIX = "Install the extra `semantic`: `pip install '.[semantic]'` in Reverie's checkout."


def has_wordllama() -> bool:
    """Whether the extra ``semantic`` is installed, without loading it."""
    return find_spec("wordllama") is not None


class WordLlamaEmbedder:
    """The embedded default. Loading takes about half a second and 100 MB, at the first text."""

    name = "wordllama"
    model = "l2_supercat_256"
    dim = _DIM

    def __init__(self) -> None:
        self._loaded: Any = None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a unit vector for each text. Raises EmbeddingError when the extra is not installed."""
        model = self._model()
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            batch = [text[:MAX_CHARS] for text in texts[start : start + BATCH]]
            raw = model.embed(batch, norm=False, return_np=False)
            vectors += unit_vectors(raw, count=len(batch), dim=_DIM, provider=self.name)
        return vectors

    def _model(self) -> Any:
        if self._loaded is None:
            self._loaded = _load()
        return self._loaded


def token_vectors() -> Iterator[tuple[str, list[float]]]:
    """Yield the model's pieces of words, and the vector of each. Raises EmbeddingError without the extra."""
    model = _load()
    for piece, row in model.tokenizer.get_vocab().items():
        yield piece, model.embedding[row].tolist()


def _load() -> Any:
    try:
        with _logging_untouched():
            # Heavy, and not there without the extra.
            import wordllama
    except ImportError as error:
        raise EmbeddingError(f"wordllama can't be loaded: {error}", fix=_FIX) from error
    folder = Path(wordllama.__file__).parent
    try:
        return wordllama.WordLlama.load(dim=_DIM, cache_dir=folder, disable_download=True)
    except (OSError, ValueError) as error:
        raise EmbeddingError(f"wordllama's weights can't be loaded: {error}", fix=_FIX) from error


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """Undo what importing wordllama does to the root logger: a handler on stderr and the level INFO."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)

"""Vectors made in this process by wordllama, whose weights come with its package: no network, no server.

The only module that imports wordllama. It averages the static vectors of a text's tokens: quick, small, and
blind to word order.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.core.errors import EmbeddingError
from pipeline.core.extras import how_to_install
from pipeline.search.vectors.embedder import BATCH, MAX_CHARS, unit_vectors

_DIM = 256


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


def token_vectors(
    wanted: Callable[[str], bool], numbers: int, largest: int
) -> list[tuple[str, float, bytes]]:
    """Return the model's pieces of words that are `wanted`, each with its scale and its first `numbers`.

    Those are signed bytes, of which the largest is `largest`; times the scale they are the model's. A piece
    whose numbers are all nought is left out. Raises EmbeddingError without the extra.
    """
    model = _load()
    rows = {piece: row for piece, row in model.tokenizer.get_vocab().items() if wanted(piece)}
    # In arrays as the model's are: one by one, four million numbers take as long as all the rest twice.
    values = model.embedding[list(rows.values()), :numbers].astype("float64")
    scales = abs(values).max(axis=1) / largest
    scales[scales == 0] = math.inf
    whole = (values / scales[:, None]).round().astype("int8")
    found = zip(rows, scales.tolist(), whole, strict=True)
    return [(piece, scale, row.tobytes()) for piece, scale, row in found if scale != math.inf]


def _load() -> Any:
    try:
        with _logging_untouched():
            # Heavy, and not there without the extra.
            import wordllama
    except ImportError as error:
        raise EmbeddingError(f"wordllama can't be loaded: {error}", fix=how_to_install("semantic")) from error
    folder = Path(wordllama.__file__).parent
    try:
        return wordllama.WordLlama.load(dim=_DIM, cache_dir=folder, disable_download=True)
    except (OSError, ValueError) as error:
        raise EmbeddingError(
            f"wordllama's weights can't be loaded: {error}", fix=how_to_install("semantic")
        ) from error


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

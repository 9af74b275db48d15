"""Neighbours by vectors, in addition to those by words: two notes on one thing may share no word."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.consolidation.choose.select import Neighbours
from pipeline.domain.memory import Memory
from pipeline.search.vectors import Nearest, VectorFile, text_of
from pipeline.store import Document
from pipeline.text.similarity import ALIKE_BY_VECTORS

MOST = 3


def with_vectors(
    by_words: Neighbours,
    documents: Iterable[Document],
    vectors: VectorFile,
    *,
    limit: int = MOST,
    floor: float = ALIKE_BY_VECTORS,
) -> Neighbours:
    """Return a `neighbours` function that gives what `by_words` does, then up to `limit` more by vectors.

    Only vectors of the present texts count; without any, `by_words` itself comes back.
    """
    texts = {document.id: text_of(document.head, document.preview) for document in documents if document.id}
    fresh = vectors.fresh(texts)
    if not fresh:
        return by_words
    index = Nearest(fresh)

    def neighbours(memory: Memory) -> list[str]:
        found = by_words(memory)
        if memory.id not in fresh:
            return found
        near = index.nearest(fresh[memory.id], limit + len(found) + 1, floor)
        more = [memory_id for memory_id, _ in near if memory_id != memory.id and memory_id not in found]
        return [*found, *more[:limit]]

    return neighbours

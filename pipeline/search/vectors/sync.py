"""Bringing a store's vectors in step with its memories: only what is new or reworded is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.core.errors import EmbeddingError, SpendError
from pipeline.search.vectors import vector_file
from pipeline.search.vectors.embedder import BATCH, Embedder
from pipeline.search.vectors.vector_file import VectorFile
from pipeline.store.files.versions import is_anothers


@dataclass(frozen=True, slots=True)
class Refreshed:
    """How a store's vectors stand: `made` just now, `total` of the present texts, `pending` without one.

    `provider` and `model` made them. `reason` says why some are pending, empty when none is or when
    only the bound on one run left them.
    """

    provider: str
    model: str
    made: int
    total: int
    pending: int
    reason: str = ""


def refresh(
    root: Path,
    texts: Mapping[str, str],
    embedder: Embedder,
    now: datetime,
    *,
    most: int | None = None,
    anew: bool = False,
) -> Refreshed:
    """Give every memory in `texts` (id to text, a whole store) a vector of its text.

    Vectors of another provider, model or length are dropped first, all of them with `anew`; those of memories
    that are gone as well. At most `most` are made. What was made before a provider failed is kept, the
    rest is pending with the reason. Raises OSError when the file can't be written.
    """
    if is_anothers(root / vector_file.VECTORS):
        reason = f"{vector_file.VECTORS} is another program's: move it away, and ours is made"
        return Refreshed(embedder.name, embedder.model, 0, len(texts), len(texts), reason)
    held = VectorFile() if anew else vector_file.load(root)
    if held.entries and not held.fits(embedder.name, embedder.model, embedder.dim):
        held = VectorFile()
    dropped = held.keep_only(texts)
    made, reason = _make(held, texts, embedder, most)
    if made or (dropped and not reason):
        vector_file.save(root, held, now)
    pending = len(texts) - len(held.fresh(texts))
    return Refreshed(embedder.name, embedder.model, made, len(texts), pending, reason)


def _make(
    held: VectorFile, texts: Mapping[str, str], embedder: Embedder, most: int | None
) -> tuple[int, str]:
    """Put the missing vectors into `held`; return how many, and why there are no more."""
    fresh = held.fresh(texts)
    wanted = [memory_id for memory_id in texts if memory_id not in fresh][:most]
    made = 0
    while made < len(wanted):
        batch = wanted[made : made + BATCH]
        try:
            vectors = embedder.embed([texts[memory_id] for memory_id in batch])
        except (EmbeddingError, SpendError) as error:
            return made, str(error)
        if held.dim not in (0, embedder.dim):
            # The same name, another model behind it: nothing that is there compares with what came.
            held.entries.clear()
            held.digests.clear()
            wanted = [*batch, *(memory_id for memory_id in texts if memory_id not in batch)][:most]
        held.provider, held.model, held.dim = embedder.name, embedder.model, embedder.dim
        for memory_id, vector in zip(batch, vectors, strict=True):
            held.put(memory_id, texts[memory_id], vector)
        made += len(batch)
    return made, ""

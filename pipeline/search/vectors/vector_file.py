"""``_embeddings.json``: the vectors of a store's memories, by id (schema v3, C-09).

It can be deleted at any time. To the seed's ``model``, ``updated`` and ``entries`` come ``version``,
``provider`` and ``dim`` (C-C6), and ``digests``, which say of what text each vector was made: a memory
without a vector of its present text is *pending* (C-C13), and found by its words alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from pipeline.core import system
from pipeline.core.atomic import write_atomic
from pipeline.core.clock import iso
from pipeline.core.errors import EmbeddingError
from pipeline.core.ids import digest
from pipeline.domain.memory import Memory
from pipeline.store.files.versions import VECTORS as VECTORS

VERSION = 1
MOST_BYTES = 512_000_000
_DIGITS = 6
_DIGEST = 16

Vector = list[float]


@dataclass(slots=True)
class VectorFile:
    """The vectors of one store. `provider`, `model` and `dim` are empty while there are none."""

    provider: str = ""
    model: str = ""
    dim: int = 0
    entries: dict[str, Vector] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)

    def fits(self, provider: str, model: str, dim: int) -> bool:
        """Whether vectors of that making compare with these; a `dim` of 0 is not known yet."""
        return (self.provider, self.model) == (provider, model) and dim in (0, self.dim)

    def fresh(self, texts: Mapping[str, str]) -> dict[str, Vector]:
        """Return the vectors, by id, that were made of just these `texts`."""
        return {
            memory_id: self.entries[memory_id]
            for memory_id, text in texts.items()
            if memory_id in self.entries and self.digests.get(memory_id) == text_digest(text)
        }

    def put(self, memory_id: str, text: str, vector: Vector) -> None:
        """Take in the vector of memory `memory_id`, made of `text`."""
        self.entries[memory_id] = [round(value, _DIGITS) for value in vector]
        self.digests[memory_id] = text_digest(text)

    def keep_only(self, ids: Mapping[str, Any]) -> bool:
        """Drop the vectors of memories that are not in `ids`; True if there were any."""
        gone = self.entries.keys() - ids.keys()
        for memory_id in gone:
            del self.entries[memory_id]
            self.digests.pop(memory_id, None)
        return bool(gone)


def text_of(head: Memory, preview: str) -> str:
    """Return what stands for a memory: ``title. preview``, the preview being its body's first 200 letters."""
    return f"{head.shown_title}. {preview}"


def text_digest(text: str) -> str:
    """Return the short digest that says of what text a vector was made."""
    return digest(text)[:_DIGEST]


def load(root: Path) -> VectorFile:
    """Return the vectors of the store at `root`; none when there is no file, or none that can be used.

    A file of a higher version, without provider, length or digests, or with a vector of another length holds
    nothing that could be compared: it counts as empty, and all is made anew.
    """
    try:
        held = orjson.loads(read_bytes(root / VECTORS, MOST_BYTES))
    except (OSError, EmbeddingError, ValueError):
        return VectorFile()
    if not isinstance(held, dict) or held.get("version") != VERSION:
        return VectorFile()
    provider, model, dim = held.get("provider"), held.get("model"), held.get("dim")
    entries, digests = held.get("entries"), held.get("digests")
    if not isinstance(provider, str) or not isinstance(model, str) or not isinstance(dim, int) or dim < 1:
        return VectorFile()
    if not isinstance(entries, dict) or not isinstance(digests, dict):
        return VectorFile()
    if not all(_is_vector(vector, dim) for vector in entries.values()):
        return VectorFile()
    return VectorFile(provider, model, dim, entries, digests)


def save(root: Path, vectors: VectorFile, now: datetime) -> None:
    """Replace the file of the store at `root`. Raises OSError."""
    body = {
        "version": VERSION,
        "provider": vectors.provider,
        "model": vectors.model,
        "dim": vectors.dim,
        "updated": iso(now),
        "entries": dict(sorted(vectors.entries.items())),
        "digests": dict(sorted(vectors.digests.items())),
    }
    write_atomic(root / VECTORS, orjson.dumps(body))


def read_bytes(file: Path, most: int) -> bytes:
    """Return the bytes of a regular file, never through a link; EmbeddingError for anything else."""
    handle = os.open(file, os.O_RDONLY | system.NO_LINK | system.NO_WAIT | system.OPEN)
    with os.fdopen(handle, "rb") as opened:
        info = os.fstat(opened.fileno())
        if not stat.S_ISREG(info.st_mode) or info.st_size > most:
            raise EmbeddingError("no regular file of a sound size", file=str(file), fix="Remove it.")
        return opened.read()


def _is_vector(value: Any, dim: int) -> bool:
    # Finite they all are: JSON has no other numbers.
    return isinstance(value, list) and len(value) == dim and set(map(type, value)) <= {float, int}

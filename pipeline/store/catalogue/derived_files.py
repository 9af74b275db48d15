"""Writes what is made from the memories beside MEMORY.md, with the help of the catalogue."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pipeline.hooklib import memory_format
from pipeline.hooklib.asleep import asleep_in
from pipeline.store.catalogue import index_json, sleep
from pipeline.store.catalogue.scanner import Scanner
from pipeline.store.catalogue.sieve import Sieve
from pipeline.store.catalogue.sleep import Decayed
from pipeline.store.derived import core_page, usage
from pipeline.store.files.scanning import Document


def write(
    root: Path, scanner: Scanner, documents: Sequence[Document], now: datetime, *, anew: bool = False
) -> list[str]:
    """Bring all of them in step with `documents`, those of the store; return the paths written.

    With `anew` nothing of the last ``_index.json`` is used.
    """
    sleep.wake_changed(root, documents)
    scored = usage.carry_over(root, scanner.ids, now) or usage.write_state(root, now)
    if documents and sleep.is_due(root, now):
        memories = scanner.memories(documents)
        found = sleep.decay(root, memories, documents, Sieve(scanner.asker), now)
        scored = sleep.write(root, found, memories, now) or scored
    # Beside no MEMORY.md Claude Code would begin one, and list this page in it as if it were a memory.
    has_core = bool(documents) or (root / memory_format.CORE).exists()
    wrote = {
        usage.STATE: scored,
        memory_format.CORE: has_core and core_page.write_core(root, scanner.memories(documents), now),
        ".gitignore": index_json.write_gitignore(root),
        index_json.INDEX_JSON: index_json.write_index_json(root, scanner.asker, documents, now, anew=anew),
    }
    return [path for path, written in wrote.items() if written]


def decay(
    root: Path, scanner: Scanner, documents: Sequence[Document], now: datetime, *, keep: bool = True
) -> Decayed:
    """Return the score of each of `documents`, those of the store, and which sleep; written if to `keep`."""
    if keep:
        usage.carry_over(root, scanner.ids, now)
    memories = scanner.memories(documents)
    found = sleep.decay(root, memories, documents, Sieve(scanner.asker), now)
    if keep:
        sleep.write(root, found, memories, now)
    return found


def wake(root: Path, scanner: Scanner, now: datetime) -> None:
    """Let memories that were asked for sleep no longer, where any does."""
    if asleep_in(str(root)):
        decay(root, scanner, scanner.scan().documents, now)

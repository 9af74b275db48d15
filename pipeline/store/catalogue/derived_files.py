"""Writes what is made from the memories beside MEMORY.md, with the help of the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pipeline.hooklib import memory_format
from pipeline.store.catalogue import index_json
from pipeline.store.catalogue.scanner import Scanner
from pipeline.store.derived import core_page, usage
from pipeline.store.files.scanning import Document


def write(
    root: Path,
    scanner: Scanner,
    documents: Sequence[Document],
    ids: Callable[[], Mapping[str, str]],
    now: datetime,
) -> list[str]:
    """Bring all of them in step with `documents`, those of the store; return the paths written.

    `ids` gives the id of each path, and is asked only where it is needed.
    """
    wrote = {
        usage.STATE: usage.carry_over(root, ids, now) or usage.write_state(root, now),
        memory_format.CORE: core_page.write_core(root, scanner.memories(documents), now),
        ".gitignore": index_json.write_gitignore(root),
        index_json.INDEX_JSON: index_json.write_index_json(root, scanner.asker, documents, now),
    }
    return [path for path, written in wrote.items() if written]

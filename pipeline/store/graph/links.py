"""What a relation's target or a link means: an id, a former one, a name, or the start of an id."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from pipeline.core.errors import StoreError
from pipeline.store.files.layout import EPISODES, MAX_DERIVED, read_regular
from pipeline.store.files.scanning import Document, Snapshot

_LEAST_PREFIX = 6
_EPISODE_LINK = re.compile(r"\]\(\.\./(?P<path>[^)\s]+\.md)\)")
_SUFFIX = re.compile(r"-(?P<six>[0-9a-f]{6})$")


class Ends:
    """Finds the memory that the end of a relation names, among `documents`."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents

    def of(self, target: str) -> Document | None:
        """Return the memory with that id, else the one that had it, has that name, or whose id begins so."""
        found = self._by_id.get(target) or self._former.get(target) or self._named.get(target)
        return found or self._beginning_with(target.lower())

    def _beginning_with(self, start: str) -> Document | None:
        start = start.rstrip(".…")
        if len(start.rstrip("-")) < _LEAST_PREFIX:
            return None
        at = bisect_left(self._ids, start)
        fits = [ident for ident in self._ids[at : at + 2] if ident.startswith(start)]
        return self._by_id[fits[0]] if len(fits) == 1 else None

    @cached_property
    def _by_id(self) -> dict[str, Document]:
        found: dict[str, Document] = {}
        for item in self._documents:
            if item.id:
                found.setdefault(item.id, item)
        return found

    @cached_property
    def _ids(self) -> list[str]:
        return sorted(self._by_id)

    @cached_property
    def _former(self) -> dict[str, Document]:
        return {alias: item for item in reversed(self._documents) for alias in item.aliases}

    @cached_property
    def _named(self) -> dict[str, Document]:
        return {item.name: item for item in reversed(self._documents)}


def broken_in_diary(root: Path, snapshot: Snapshot) -> Iterator[tuple[str, int, str, str]]:
    """Yield page, line and target of each link of the diary that leads nowhere, and where the memory is now.

    "" where it is nowhere. A memory that moved is known by the six characters of its id in the name.
    """
    folder = root / EPISODES
    if folder.is_symlink() or not folder.is_dir():
        return
    for file in sorted(folder.glob("*.md")):
        try:
            text = read_regular(file, MAX_DERIVED)[0].decode("utf-8", "replace")
        except (OSError, StoreError):
            continue  # Whoever reads the diary says what is wrong with it.
        for number, line in enumerate(text.split("\n"), start=1):
            for found in _EPISODE_LINK.finditer(line):
                path = found["path"]
                if not (root / path).is_file():
                    yield f"{EPISODES}/{file.name}", number, path, moved_to(path, snapshot)


def moved_to(path: str, snapshot: Snapshot) -> str:
    """Return where the memory is that was at `path`, "" for nowhere."""
    stem = path.rpartition("/")[2].removesuffix(".md")
    six = _SUFFIX.search(stem)
    found = snapshot.by_name(six["six"]) if six else None
    found = found or snapshot.by_name(stem)
    return found.path if found else ""

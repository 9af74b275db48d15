"""Every sentence that a store holds anywhere: live, in its archive, or in a generation."""

from __future__ import annotations

from pipeline.domain.sentences import folded, sentences
from pipeline.store import Store
from pipeline.store.files import document as files
from tests.support.stores import tree


def texts_in(raw: bytes, path: str) -> set[str]:
    found = files.parse(raw, path)
    return {folded(text) for text in (found.description, *(part.text for part in sentences(found.body)))}


def texts_of(store: Store) -> set[str]:
    """Every sentence and description that stands in a live memory."""
    return {text for item in store.scan().documents for text in texts_in(item.raw, item.path)}


def kept_anywhere(store: Store) -> set[str]:
    """Every sentence in a live file, in the archive, or in a generation that is kept."""
    found = texts_of(store)
    for path, raw in tree(store.root).items():
        if path.startswith("archive/"):
            found |= texts_in(raw, path)
    for item in store.history():
        for change in store.diff(item.run):
            for data in (change.before, change.after):
                if data is not None and change.path.endswith(".md") and b"\nname:" in data:
                    found |= texts_in(data, change.path)
    return found

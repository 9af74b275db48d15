"""Pinning: a pinned memory stands first in the index, and no dream touches it."""

from __future__ import annotations

from pipeline.app.application import App
from pipeline.core.ids import new_id
from pipeline.domain.memory import Memory
from pipeline.store import ChangeSet


def pin(app: App, name: str, *, pinned: bool) -> Memory:
    """Pin or unpin the memory `name` means and return it as it then is."""
    store = app.open_store()
    document = store.read(name)
    moves = store.pin(document) if pinned else store.unpin(document)
    word = "pin" if pinned else "unpin"
    if moves:
        change = ChangeSet(new_id(), f"{word} {document.name}", moves, app.clock.now())
        store.apply(change, generation=True)
    store.reindex(now=app.clock.now())
    return store.read(document.id or document.name).memory

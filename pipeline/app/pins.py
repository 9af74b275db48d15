"""Pinning: a pinned memory stands first in the index, and no dream touches it."""

from __future__ import annotations

from pipeline.app import retired
from pipeline.app.application import App
from pipeline.core.errors import InputError
from pipeline.core.ids import new_id
from pipeline.domain.memory import Memory
from pipeline.revision import Door


def pin(app: App, name: str, *, pinned: bool) -> Memory:
    """Pin or unpin the memory `name` means and return it as it then is; InputError to pin a team's."""
    app.require_settings()
    store = app.open_store()
    if pinned and store.is_team:
        raise InputError(
            f"{name} is the team's, and no dream touches what is theirs",
            file=str(app.store_path),
            fix="There is nothing to protect it from.",
        )
    document = retired.read(store, name)
    door = Door(store, now=app.clock.now(), approved=True)
    door.bring(store.pin(document) if pinned else store.unpin(document))
    door.write(new_id(), f"{'pin' if pinned else 'unpin'} {document.name}")
    app.follow(store)
    return store.read(document.id or document.name).memory

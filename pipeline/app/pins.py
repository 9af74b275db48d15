"""Pinning: a pinned memory stands first in the index, and no dream touches it."""

from __future__ import annotations

from pipeline.app import retired
from pipeline.app.adopted_files import confirmed
from pipeline.app.application import App
from pipeline.app.retried import retried
from pipeline.core.errors import InputError
from pipeline.core.ids import new_id
from pipeline.domain.memory import Memory
from pipeline.intake.authors import note_authors
from pipeline.revision import Door
from pipeline.store import Move


@retried
def pin(app: App, name: str, *, pinned: bool) -> Memory:
    """Pin or unpin the memory `name` means and return it as it then is; InputError to pin a team's.

    A file of another's that a line of Claude's or yours in MEMORY.md links to can't move to ``vault/``: it is
    kept like Reverie's own from then on, as after `adopt`, and pinned where it is.
    """
    app.require_settings()
    store = app.open_store()
    if pinned and store.is_team:
        raise InputError(
            f"{name} is the team's, and no dream touches what is theirs",
            file=str(app.store_path),
            fix="There is nothing to protect it from.",
        )
    now = app.clock.now()
    document = retired.read(store, name)
    own = document.memory
    if pinned and not store.is_as_written(document):
        with app.ledger() as ledger:
            note_authors(ledger, store, now=now)
            document = retired.read(store, own.id or document.path)
            # What Claude wrote is taken as its word, whatever the file says of itself.
            own = document.memory if document.tended else confirmed(document, ledger, now)
    door = Door(store, now=now, approved=True)
    planned = store.pin(document, own) if pinned else store.unpin(document)
    door.bring(planned)
    door.write(new_id(), f"{'pin' if pinned else 'unpin'} {document.name}")
    app.follow(store)
    paths = [item.target if isinstance(item, Move) else item.path for item in planned]
    # Done is done: somebody may have pinned or unpinned it again since, and that moved it.
    there = store.scan().by_name(paths[0] if paths else document.path)
    return (there or retired.read(store, own.id or document.name)).memory

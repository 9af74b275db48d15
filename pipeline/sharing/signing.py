"""Whose a text in a team's folder is: it goes out in the name of who changed it last on their machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from pipeline.core import zone
from pipeline.core.ids import new_id
from pipeline.revision import Door

if TYPE_CHECKING:
    from pipeline.sharing.state import State
    from pipeline.store import Document, Store

AUTHOR = "author"
"""In the front matter of a team's memory: who of the team says it."""
SINCE = "decided"
"""In the front matter of a team's memory: the day since which it holds."""


SIGNED = "signed-"
"""How the id of a change set begins that only puts a name to texts."""
BY_HAND = "was changed by hand; `reverie team sync`, typed in a terminal, sends it in your name"


def held_back(store: Store, document: Document) -> str:
    """Return why `document` of a team's folder waits for a person, "" where it does not.

    Whoever writes files there, a session too, would speak in this person's name.
    """
    return "" if store.is_as_written(document, of_team=True) else BY_HAND


def sign(store: Store, state: State, *, now: datetime, unattended: bool) -> None:
    """Put this person's name on what was changed in the team's folder `store`, whoever wrote it first.

    Where it is `unattended` no person typed that, and what is `held_back` stays as it is.
    """
    was = {item.path: item.digest for known in (state.here, state.begun) for item in known.values()}
    door = Door(store, now=now, approved=True)
    for document in store.scan().documents:
        extra = document.memory.extra
        if was.get(document.path) == document.digest or extra.get(AUTHOR, "") == state.person:
            continue
        if unattended and held_back(store, document):
            continue
        day = zone.day(now) if document.path in was else extra.get(SINCE, zone.day(now))
        door.revise(document, replace(document.memory, extra={**extra, AUTHOR: state.person, SINCE: day}))
    if door.operations:
        door.write(f"{SIGNED}{new_id()[:12]}", f"signed by {state.person}")

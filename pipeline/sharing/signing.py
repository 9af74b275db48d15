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
    from pipeline.store import Store

AUTHOR = "author"
"""In the front matter of a team's memory: who of the team says it."""
SINCE = "decided"
"""In the front matter of a team's memory: the day since which it holds."""


def sign(store: Store, state: State, *, now: datetime) -> None:
    """Put this person's name on what was changed in the team's folder `store`, whoever wrote it first."""
    was = {item.path: item.digest for known in (state.here, state.begun) for item in known.values()}
    door = Door(store, now=now, approved=True)
    for document in store.scan().documents:
        extra = document.memory.extra
        if was.get(document.path) == document.digest or extra.get(AUTHOR, "") == state.person:
            continue
        day = zone.day(now) if document.path in was else extra.get(SINCE, zone.day(now))
        door.revise(document, replace(document.memory, extra={**extra, AUTHOR: state.person, SINCE: day}))
    if door.operations:
        door.write(f"signed-{new_id()[:12]}", f"signed by {state.person}")

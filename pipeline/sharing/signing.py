"""Whose a text in a team's folder is: it goes out in the name of who changed it last on their machine."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from pipeline.core import zone
from pipeline.core.ids import new_id
from pipeline.domain.quotes import QUOTES, quotes_of
from pipeline.revision import Door
from pipeline.safety.invisible import visible_name
from pipeline.sharing.authors import AND, AUTHOR, SINCE, Records, author_in
from pipeline.sharing.joint import is_joint
from pipeline.sharing.quoting import borne_out, said_in
from pipeline.sharing.revisions import memory_id
from pipeline.sharing.wording import row_of
from pipeline.store import SIGNED
from pipeline.store.files import document

if TYPE_CHECKING:
    from pipeline.domain.memory import Memory
    from pipeline.sharing.state import State
    from pipeline.store import Document, Store

OF_SESSION = "originSessionId"
"""In the front matter of what Claude Code wrote: the session it came from, which goes to nobody."""
BY_HAND = "was changed by hand; `reverie team sync`, typed in a terminal, sends it in your name"
OF_ANOTHER = "is {author}'s, who did not share it with this team; `reverie add` it and share that"
NOT_FLAT = "lies in a folder of its own; a team's memories lie side by side, so move it up"


def held_back(store: Store, state: State, found: Document, *, unattended: bool) -> str:
    """Return why `found` of a team's folder waits for a person, "" where it does not.

    Whoever writes files there, a session too, would speak in this person's name. What another person wrote
    elsewhere, perhaps for another team, is nobody's here to give away.
    """
    if "/" in found.path:
        return NOT_FLAT
    author = str(found.memory.extra.get(AUTHOR, ""))
    if author and author not in (state.person, *state.names) and not _is_known(state, found):
        return OF_ANOTHER.format(author=visible_name(author))
    return BY_HAND if unattended and not store.is_as_written(found, of_team=True) else ""


def _is_known(state: State, found: Document) -> bool:
    ident = memory_id(found.own_id, found.path)
    return ident in state.here or ident in state.begun


def sign(store: Store, state: State, records: Records, *, now: datetime, unattended: bool) -> None:
    """Put this person's name on what was changed in the team's folder `store`, whoever wrote it first.

    A text that is what its author said last, such as after an undo, stays theirs, and what is left of
    one of several is that one's, byte for byte. Where it is `unattended` no person typed that, and what is
    `held_back` stays as it is.
    """
    was = {item.path: item.digest for known in (state.here, state.begun) for item in known.values()}
    door = Door(store, now=now, approved=True)
    for found in store.scan().documents:
        if was.get(found.path) == found.digest:
            continue
        author = found.memory.extra.get(AUTHOR, "")
        memory = _with_quotes_that_were_said(store, state, found, records)
        if author == state.person and memory == found.memory:
            continue
        if held_back(store, state, found, unattended=unattended):
            continue
        theirs = _theirs(found, str(author), records) if author not in ("", state.person) else None
        if theirs == found.raw:
            continue
        if theirs is not None:
            memory = document.parse(theirs, found.path)
            door.arrive(memory, theirs, instead=found, before=found, written=True, doubtful=True)
            continue
        extra, today = memory.extra, zone.day(now)
        day = today if found.path in was and author != state.person else extra.get(SINCE, today)
        door.revise(found, replace(memory, extra={**extra, AUTHOR: state.person, SINCE: day}))
    if door.operations:
        door.write(f"{SIGNED}{new_id()[:12]}", f"signed by {state.person}")


def _with_quotes_that_were_said(store: Store, state: State, found: Document, records: Records) -> Memory:
    """Return the memory of `found` without quotes that nobody said: those of a colleague in no record of it.

    In a file that was changed by hand those in this person's name are not believed either.
    """
    if QUOTES not in found.memory.extra:
        return found.memory
    own = (state.person, *state.names) if store.is_as_written(found, of_team=True) else ()
    return borne_out(found.memory, own, said_in(records(memory_id(found.own_id, found.path))))


def _theirs(found: Document, author: str, records: Records) -> bytes | None:
    """Return the file in which `author`, or one of several, said last what `found` says; None for none.

    What several said together, which no record has, is the file itself.
    """
    every = records(memory_id(found.own_id, found.path))
    if AND in author and is_joint(found.raw.decode("utf-8"), every):
        return found.raw
    for name in author.split(AND):
        own = [item for item in every if author_in(item) == name]
        last = max(own, key=lambda item: (item.clock, item.name), default=None)
        if last is None or last.file is None or last.path != found.path:
            continue
        file = last.file.encode()
        if file == found.raw or _words(document.parse(file, last.path)) == _words(found.memory):
            return file
    return None


def _words(memory: Memory) -> Memory:
    """Return what `memory` says, whoever says it and since when, with the words of its quotes alone."""
    extra = {key: value for key, value in memory.extra.items() if key not in (AUTHOR, SINCE, QUOTES)}
    extra[QUOTES] = {item.words for item in quotes_of(memory)}
    body = "\n".join(piece.text for piece in row_of(memory.body, 0))
    return replace(memory, body=body, updated=None, sources=(), extra=extra)

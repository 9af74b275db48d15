"""A memory moved between the project and all projects: it comes there and leaves here, and undo knows both.

The two change sets have ids of one family, as a dream's promotion has, so that one undo takes back both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pipeline.app import retired, scopes
from pipeline.app.adopted_files import confirmed
from pipeline.app.application import App
from pipeline.app.scopes import SHOWN, scope_of
from pipeline.consolidation.commit.execute import promotion_of
from pipeline.core.errors import InputError, ReverieError
from pipeline.core.ids import new_id
from pipeline.domain.memory import Memory
from pipeline.intake.authors import note_authors
from pipeline.revision import Door
from pipeline.store import Document, Put, Store
from pipeline.verify.flaw import Flaw

MOVED = "moved"


@dataclass(frozen=True, slots=True)
class Moved:
    """A memory in its new scope: its name there, the id that undoes the move, how many relations it lost."""

    name: str
    scope: str
    change_id: str
    relations: int


def move(app: App, name: str, *, to_all: bool) -> Moved:
    """Move the memory `name` of the project to all projects, or back from there.

    It keeps its text, its sources and its days; relations lead to memories of one scope, so it has none
    there. Raises InputError where a memory of that name is there, or it may not stand there.
    """
    app.require_settings()
    if app.store_override is not None:
        raise InputError(
            "a memory moves between a project and all projects",
            fix="Open the page in the project's folder, and choose that project.",
        )
    here, there = (app, scopes.user_scope(app)) if to_all else (scopes.user_scope(app), app)
    for scope in (here, there):
        if scope_of(scope) == "team":
            raise InputError("the team's memories stay with the team", fix="Keep your own by `reverie add`.")
    source, target = here.open_store(), there.open_store(create=True)
    document = retired.read(source, name)
    if target.scan().by_name(document.name) is not None:
        raise InputError(
            f"{SHOWN[scope_of(there)]} has a memory called {document.name}",
            file=str(target.path),
            fix="Forget one of the two, or give it another name.",
        )
    memory = _borne_out(here, source, document)
    relations = len(memory.relations)
    base = new_id()
    ids = (base, promotion_of(base)) if to_all else (promotion_of(base), base)
    reason = f"{MOVED} {document.name} to {SHOWN[scope_of(there)]}"
    now = here.clock.now()
    door = Door(target, now=now, approved=True)
    planned = door.create(replace(memory, id=new_id(), path="", relations=(), pinned=False))
    leaving = Door(source, now=now, approved=True)
    left = leaving.retire(document, reason)
    for result in (planned, left):
        if isinstance(result, Flaw):
            raise InputError(f"it {result.reason}", file=document.path, fix="See `reverie show`.")
    assert isinstance(planned, Put), "a flaw was raised"
    door.write(ids[1], reason)
    try:
        leaving.write(ids[0], reason)
    except ReverieError:
        # Else it would stand in both: who moves it sees it where it was, and may try again.
        target.undo(ids[1], at=now)
        raise
    finally:
        there.follow(target)
    here.follow(source)
    return Moved(planned.memory.name, scope_of(there), base, relations)


def _borne_out(app: App, store: Store, document: Document) -> Memory:
    """Return the memory with no more said for it than is borne out: there it will be a file of Reverie's."""
    if store.is_as_written(document):
        return document.memory
    with app.ledger() as ledger:
        note_authors(ledger, store, now=app.clock.now())
        known = store.read(document.path)
        return known.memory if known.tended else confirmed(known, ledger, app.clock.now())

"""Adopting: one yes for the memory files that Reverie may not change by itself.

These are the files that a person wrote, or of which nobody can tell who did. After the yes Reverie keeps them
like its own. What waits in the inbox about them is done in the same change set, which can be undone.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from pipeline.app.application import App
from pipeline.consolidation.commit import changes
from pipeline.consolidation.commit.proposals import decode
from pipeline.core.errors import ConflictError, ReverieError
from pipeline.core.ids import new_id
from pipeline.domain.authorship import AUTHORS, NOBODY, PERSON
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation
from pipeline.intake.authors import note_authors
from pipeline.ledger import Ledger, utterances
from pipeline.ledger.inbox import ADOPTED, InboxItem, amend_inbox, decide_inbox, list_inbox
from pipeline.recall.prepared import hook_state
from pipeline.store import Document, Snapshot, Store
from pipeline.store.ownership.permission import is_anothers, was_never_ours

KEPT = "is kept like Reverie's own: its front matter gets an id"
_DEEDS = frozenset({"merge", "supersede", "strike", "retire", "relate"})
"""Operations that a yes to all may answer; words of a model's own are read one by one, in the inbox."""


@dataclass(frozen=True, slots=True)
class Offered:
    """One file: where it is, who wrote it and how that is known, what a yes would do with it."""

    path: str
    name: str
    author: str
    deed: str


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one yes would do: the changes, the proposals that it answers, and a line for each file."""

    made: changes.Planned
    answered: Sequence[InboxItem]
    offered: Sequence[Offered]


def offered(app: App) -> list[Offered]:
    """Return what `adopt` would do, file by file; nothing is written."""
    if app.is_fresh:
        return []
    store = app.open_store()
    with app.ledger(to_look=True) as ledger:
        note_authors(ledger, store, keep=False)
        plan = _plan(app, ledger, store, "adopt")
    plan.made.door.drop()
    return list(plan.offered)


def adopt(app: App, seen: Sequence[Offered]) -> str:
    """Do what was `offered`, which the person has `seen`, and return the id of the change set.

    Raises ConflictError where it is no longer what would be done, or somebody writes one of the files at the
    same moment.
    """
    app.require_settings()
    store, change_id = app.open_store(), f"adopt-{new_id()[:8]}"
    with app.ledger() as ledger:
        note_authors(ledger, store)
        with ledger.transaction():
            plan = _plan(app, ledger, store, change_id)
            if list(plan.offered) != list(seen):
                raise ConflictError(
                    "the memory files changed while you were asked", fix="Look once more: `reverie adopt`."
                )
            lost = plan.made.door.write(change_id, "adopt").conflicts
            if lost:
                raise ConflictError(
                    "somebody wrote it at the same moment; theirs stayed",
                    file=lost[0],
                    fix="`reverie undo` takes back the rest; or adopt once more.",
                )
            for item in plan.answered:
                amend_inbox(ledger, item, {**item.payload, ADOPTED: change_id})
                decide_inbox(ledger, item.id, "accepted", now=app.clock.now())
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
    app.follow(store)
    return change_id


def _plan(app: App, ledger: Ledger, store: Store, change_id: str) -> _Plan:
    snapshot, now = store.scan(), app.clock.now()
    theirs = {document.id: document for document in snapshot.documents if is_anothers(document, store)}
    waiting = _waiting(list_inbox(ledger, str(app.store_path)), snapshot, theirs.keys())
    made = changes.plan(
        [operation for _, operation in waiting], store, snapshot, run_id=change_id, now=now, approved=True
    )
    answered = [(item, operation) for item, operation in waiting if operation in made.done]
    known = {document.id: document for document in snapshot.documents}
    rows = [
        _offered(known[memory_id], _deed(operation, memory_id, known))
        for _, operation in answered
        for memory_id in (*operation.leaving, *operation.written)
    ]
    taken = {row.path for row in rows}
    for document in theirs.values():
        if document.path in taken or not was_never_ours(document):
            continue
        made.door.revise(document, replace(_confirmed(document, ledger), updated=now))
        rows.append(_offered(document, KEPT))
    return _Plan(made, [item for item, _ in answered], sorted(rows, key=lambda row: row.path))


def _waiting(
    items: Sequence[InboxItem], snapshot: Snapshot, theirs: Set[str]
) -> list[tuple[InboxItem, Operation]]:
    """Return the proposals about `theirs` that can be done as they stand, each file in one of them."""
    found: list[tuple[InboxItem, Operation]] = []
    taken: set[str] = set()
    for item in items:
        if item.kind.removeprefix("dream:") not in _DEEDS:
            continue
        try:
            operation = decode(item.payload, item.id, snapshot)
        except ReverieError:
            # It can't be done any more: the inbox says why, and what to do.
            continue
        if operation.about & theirs and not operation.about & taken:
            found.append((item, operation))
            taken |= operation.about
    return found


def _confirmed(document: Document, ledger: Ledger) -> Memory:
    """Return the memory in `document` with no more said for it than a yes can bear out.

    What its front matter claims may come from anywhere: of its sources those stay that the ledger has.
    """
    by_person = document.identity is not None and document.identity.by == PERSON
    sources = tuple(source for source in document.memory.sources if utterances.was_said(ledger, source))
    return replace(document.memory, origin="user-confirmed" if by_person else "imported", sources=sources)


def _offered(document: Document, deed: str) -> Offered:
    identity = document.identity
    author = AUTHORS.get((identity.by, identity.sign), NOBODY) if identity else AUTHORS["reverie", "bytes"]
    return Offered(document.path, document.name, author, deed)


def _deed(operation: Operation, memory_id: str, known: dict[str, Document]) -> str:
    """Return in words what `operation` does with one memory."""
    others = [known[other].name for other in operation.ids if other != memory_id and other in known]
    if operation.op == "merge" and memory_id == operation.into:
        return f"takes in {', '.join(others)}"
    if operation.op in ("merge", "supersede"):
        word = "goes into" if operation.op == "merge" else "gives way to"
        return f"{word} {known[operation.into].name} (kept in archive/)"
    if operation.op == "retire":
        return "leaves for archive/"
    if operation.op == "strike":
        return "loses a sentence that was overtaken (kept in archive/)"
    return f"is linked with {', '.join(others)}"

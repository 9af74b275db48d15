"""Adopting: one yes for the memory files that Reverie may not change by itself.

These are the files that a person wrote, or of which nobody can tell who did. After the yes Reverie keeps them
like its own. What waits in the inbox about them is done in the same change set, which can be undone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pipeline.app.application import App
from pipeline.consolidation.commit import changes
from pipeline.consolidation.commit.proposals import decode
from pipeline.core.errors import ConflictError, DocumentError, ReverieError, cause
from pipeline.core.ids import new_id
from pipeline.domain.authorship import AUTHORS, NOBODY, PERSON
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation
from pipeline.intake.authors import note_authors
from pipeline.ledger import Ledger, utterances
from pipeline.ledger.inbox import ADOPTED, InboxItem, amend_inbox, decide_inbox, list_inbox
from pipeline.recall.prepared import hook_state
from pipeline.safety.invisible import visible_name
from pipeline.store import Document, Move, Put, Snapshot, Store
from pipeline.store.files.document import load
from pipeline.store.ownership.permission import is_anothers, was_never_ours, why_left
from pipeline.text.humanize import count
from pipeline.verify.flaw import Flaw

_KEPT = "is kept like Reverie's own"
_LEAVING = ("goes into ", "gives way to ", "leaves for ")
"""How the deeds begin that leave a file in its place, and those that take it to the archive."""
KEPT = f"{_KEPT}: its front matter gets an id and an origin"
COPY = f"{_KEPT}: it is a copy, and gets an id that is not that of {{twin}}"
SAME = f"{_KEPT}: nothing in it changes"
BARE = f"{_KEPT}: it gets front matter"
_RUN = "adopt-"
"""How the id of a change set begins that a yes made."""
_OWN = frozenset({"id"})
"""Keys whose new value a deed tells of itself."""
_MOST_DIFFERING = 3
_DEEDS = frozenset({"merge", "supersede", "strike", "retire", "relate"})
"""Operations that a yes to all may answer; words of a model's own are read one by one, in the inbox."""


@dataclass(frozen=True, slots=True)
class Offered:
    """One file: where it is, who wrote it and how that is known, what a yes would do with it.

    `digest` is that of the bytes which were looked at: a yes is to these.
    """

    path: str
    name: str
    author: str
    deed: str
    digest: str

    @property
    def stays(self) -> bool:
        """Whether its text and its place stay: what is written is in front matter alone."""
        return self.deed.startswith(_KEPT)

    @property
    def leaves(self) -> bool:
        """Whether its file goes to the archive."""
        return self.deed.startswith(_LEAVING)


@dataclass(frozen=True, slots=True)
class Left:
    """One file that a yes does not take, by its name as a person can read it, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True)
class Offer:
    """What one yes would do, and the files that would stay as they are."""

    files: Sequence[Offered] = ()
    left: Sequence[Left] = ()


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one yes would do: the changes, the proposals that it answers, and a line for each file."""

    made: changes.Planned
    answered: Sequence[InboxItem]
    offer: Offer


def offered(app: App) -> Offer:
    """Return what `adopt` would do, file by file; nothing is written."""
    if app.is_fresh:
        return Offer()
    store = app.open_store()
    with app.ledger(to_look=True) as ledger:
        note_authors(ledger, store, now=app.clock.now(), keep=False)
        plan = _plan(app, ledger, store, "adopt")
    plan.made.door.drop()
    return plan.offer


def adopt(app: App, seen: Sequence[Offered]) -> str:
    """Do what was `offered`, which the person has `seen`, and return the id of the change set.

    "" where another command has adopted all of them meanwhile. Raises ConflictError where it is no longer
    what would be done, or somebody writes one of the files at the same moment.
    """
    app.require_settings()
    store, change_id = app.open_store(), f"{_RUN}{new_id()[:8]}"
    with app.ledger() as ledger:
        note_authors(ledger, store, now=app.clock.now())
        with ledger.transaction():
            plan = _plan(app, ledger, store, change_id)
            if list(plan.offer.files) != list(seen):
                plan.made.door.drop()
                _require_all_adopted(store, seen, plan.offer.files)
                return ""
            lost = plan.made.door.write(change_id, f"adopt {count(len(seen), 'file')}").conflicts
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
    left = [Left(visible_name(problem.path), problem.message) for problem in snapshot.problems]
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
        try:
            planned = made.door.revise(document, confirmed(document, ledger, now))
        except (ConflictError, DocumentError) as error:
            # Somebody writes it just now, or it would be too large to be read back: the others are taken.
            planned = Flaw(cause(error))
        if isinstance(planned, Flaw):
            left.append(Left(visible_name(document.path), planned.reason))
        else:
            rows.append(_offered(document, _kept(document, planned)))
    taken = {row.path for row in rows}
    left += [
        Left(visible_name(document.path), why)
        for document in snapshot.documents
        if document.path not in taken and (why := why_left(document, store))
    ]
    offer = Offer(sorted(rows, key=lambda row: row.path), sorted(left, key=lambda item: item.path))
    return _Plan(made, [item for item, _ in answered], offer)


def _require_all_adopted(store: Store, seen: Sequence[Offered], now: Sequence[Offered]) -> None:
    """Raise ConflictError, with the files that differ, unless another command adopted all that was `seen`."""
    here = {document.path: document for document in store.scan().documents}
    taken = {
        file.path
        for item in store.history()
        if item.run.startswith(_RUN) and not item.undone
        for file in item.files
    }
    adopted = {
        row.path
        for row in seen
        if (store.is_as_written(here[row.path]) if row.path in here else row.path in taken)
    }
    if not now and len(adopted) == len(seen):
        return
    differ = {row.path for row in {*seen} ^ {*now}} - adopted
    if not differ:
        what = f"another command adopted {count(len(adopted), 'file')} of these meanwhile"
    else:
        named = [visible_name(path) + ("" if path in here else " (gone)") for path in sorted(differ)]
        more = f" and {len(named) - _MOST_DIFFERING} more" if len(named) > _MOST_DIFFERING else ""
        what = f"changed since the list: {', '.join(named[:_MOST_DIFFERING])}{more}"
    raise ConflictError(f"nothing was adopted: {what}", fix="`reverie adopt` lists them anew.")


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


def confirmed(document: Document, ledger: Ledger, now: datetime) -> Memory:
    """Return the memory in `document`, another's file, with no more said for it than a yes can bear out.

    What its front matter claims may come from anywhere: of its sources those stay that the ledger has. A file
    that gives no day of its own keeps that of its last writing, which adopting it would else lose.
    """
    memory = document.memory
    written = min(now, datetime.fromtimestamp(document.stamp.mtime_ns // 1_000_000_000, UTC))
    dated = memory.updated or memory.created
    by_person = document.identity is not None and document.identity.by == PERSON
    sources = tuple(source for source in memory.sources if utterances.was_said(ledger, source))
    origin = "user-confirmed" if by_person else "imported"
    return replace(memory, origin=origin, sources=sources, updated=memory.updated if dated else written)


def _kept(document: Document, planned: Put | Move) -> str:
    """Return in words what is written into a file that is kept, and which values that stand there change."""
    before, after = load(document.raw, document.path)[1], load(planned.data, document.path)[1]
    if not document.fenced:
        return BARE
    deed = (
        COPY.format(twin=visible_name(document.twin)) if document.twin else KEPT if before != after else SAME
    )
    changed = [text for key in before if key not in _OWN and (text := _turned(key, before, after))]
    return f"{deed}; {'; '.join(changed)}" if changed else deed


def _turned(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return in words how the value of `key`, which stood in the file, changes; "" where it stays."""
    old, new = before[key], after.get(key)
    if old == new or old in (None, ""):
        return ""
    if isinstance(old, dict) and isinstance(new, dict):
        below = [text for name in old if name not in _OWN and (text := _turned(name, old, new))]
        return "; ".join(below)
    if isinstance(old, list | dict):
        return (
            f"of its {key} only what the sessions bear out stays"
            if new
            else f"its {key} go, which no session bears out"
        )
    return f"its {key} “{old}” becomes “{new}”"


def _offered(document: Document, deed: str) -> Offered:
    identity = document.identity
    author = AUTHORS.get((identity.by, identity.sign), NOBODY) if identity else AUTHORS["reverie", "bytes"]
    return Offered(document.path, document.name, author, deed, document.digest)


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

"""The inbox: what waits for a person, and what their yes or no does."""

from __future__ import annotations

from typing import Any

from pipeline.app import forgetting
from pipeline.app.application import App
from pipeline.consolidation.commit import changes
from pipeline.consolidation.commit.execute import promote
from pipeline.consolidation.commit.proposals import decode
from pipeline.core.errors import ConflictError, InputError, StoreError
from pipeline.core.ids import derived_id
from pipeline.extraction.screened_candidate import Screened
from pipeline.extraction.write import accept as accept_candidate
from pipeline.ledger import Ledger
from pipeline.ledger.inbox import InboxItem, decide_inbox, list_inbox
from pipeline.recall.prepared import hook_state
from pipeline.revision import Door
from pipeline.store import Applied, Snapshot, Store
from pipeline.verify.flaw import Flaw


def waiting(app: App) -> list[dict[str, Any]]:
    """Return what waits in the inbox of the store here, oldest first."""
    with app.ledger() as ledger:
        return [_row(item) for item in list_inbox(ledger, str(app.store_path))]


def item(app: App, number: int) -> dict[str, Any]:
    """Return one inbox item; InputError when nothing waits under that number."""
    with app.ledger() as ledger:
        return _row(_item(app, ledger, number))


def reject(app: App, number: int) -> dict[str, Any]:
    """Take an inbox item off the list without doing it; the same words or bytes do not bring it again."""
    with app.ledger() as ledger:
        found = _item(app, ledger, number)
        forgetting.note_rejected(app, found)
        decide_inbox(ledger, number, "rejected", now=app.clock.now())
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
        return _row(found)


def accept(app: App, number: int) -> dict[str, Any]:
    """Do what an inbox item proposes, on the person's word, also to a pinned or hand-edited memory."""
    store = app.open_store(create=True)
    with app.ledger() as ledger:
        found = _item(app, ledger, number)
        lost = _done(app, store, found).conflicts
        if lost:
            raise ConflictError(
                "somebody wrote it at the same moment; theirs stayed",
                file=lost[0],
                fix=f"See `reverie show`, then `reverie inbox reject {number}`.",
            )
        decide_inbox(ledger, number, "accepted", now=app.clock.now())
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
    app.follow(store)
    return _row(found)


def _done(app: App, store: Store, found: InboxItem) -> Applied:
    """Do what `found` proposes to the store as it is now, as one change set."""
    if found.kind.startswith("dream:"):
        return _dreamt(app, store, found)
    door = Door(store, now=app.clock.now(), approved=True)
    _plan(app, door, found)
    return door.write(change_id(found), f"inbox {found.kind}")


def _plan(app: App, door: Door, found: InboxItem) -> None:
    """Plan at `door` what `found`, a proposal of an extraction, proposes, on the store as it is now."""
    snapshot = door.store.scan()
    if found.kind == "conflict":
        raise StoreError(
            "our version of that file is kept in .reverie/conflicts",
            file=found.payload["name"],
            fix=f"Compare the two by hand, then `reverie inbox reject {found.id}`.",
        )
    flaw = (
        _retired(door, snapshot, found) if found.kind == "retire" else _accepted(app, door, snapshot, found)
    )
    if flaw is not None:
        raise InputError(f"it may not be kept: {flaw.reason}", fix=f"`reverie inbox reject {found.id}`.")


def _accepted(app: App, door: Door, snapshot: Snapshot, found: InboxItem) -> Flaw | None:
    candidate = Screened.from_json(found.payload)
    target = snapshot.by_name(candidate.update_of) if found.kind == "update" else None
    if found.kind == "update" and target is None:
        raise StoreError("the memory is gone", fix=f"`reverie inbox reject {found.id}`.")
    if target is not None and target.digest != found.payload.get("was"):
        show, reject = (f"`reverie inbox {word} {found.id}`" for word in ("show", "reject"))
        raise ConflictError(
            "it changed since this was proposed",
            file=target.path,
            fix=f"See {show} and edit the file, then {reject}.",
        )
    memory_id = derived_id(change_id(found), candidate.name)
    return accept_candidate(candidate, door, target, memory_id=memory_id, now=app.clock.now())


def _dreamt(app: App, store: Store, found: InboxItem) -> Applied:
    now, run = app.clock.now(), f"inbox-{found.id}"
    snapshot = store.scan()
    operation = decode(found.payload, found.id, snapshot)
    planned = changes.plan([operation], store, snapshot, run_id=run, now=now, approved=True)
    for refused in planned.refused:
        raise InputError(
            f"it can't be done: {refused.reason}",
            fix=f"Edit the memory by hand if it is right, then `reverie inbox reject {found.id}`.",
        )
    promote(app.home, app.settings, run, planned.promoted, now=now)
    return planned.door.write(change_id(found), f"inbox {found.kind}")


def _retired(door: Door, snapshot: Snapshot, found: InboxItem) -> Flaw | None:
    target = snapshot.by_name(found.payload["name"])
    if target is None:
        raise StoreError("the memory is gone", fix=f"`reverie inbox reject {found.id}`.")
    planned = door.retire(target, found.payload.get("reason", "accepted"))
    return planned if isinstance(planned, Flaw) else None


def change_id(found: InboxItem) -> str:
    """Return the id of the change set that accepting `found` makes."""
    return f"inbox-{found.id}-{found.run_id}"


def _item(app: App, ledger: Ledger, number: int) -> InboxItem:
    found = [item for item in list_inbox(ledger, str(app.store_path)) if item.id == number]
    if not found:
        raise InputError(f"nothing waits under number {number} here", fix="See `reverie inbox list`.")
    return found[0]


def _row(item: InboxItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "kind": item.kind,
        "name": item.payload.get("name", ""),
        "reason": item.reason,
        "at": item.created_at,
        "payload": item.payload,
    }

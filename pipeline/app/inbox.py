"""The inbox: what waits for a person, and what their yes or no does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pipeline.app import forgetting
from pipeline.app.application import App
from pipeline.consolidation.commit import changes
from pipeline.consolidation.commit.execute import promote
from pipeline.consolidation.commit.proposals import decode
from pipeline.core.errors import ConflictError, InputError, StoreError
from pipeline.core.ids import derived_id
from pipeline.extraction.screened_candidate import Screened
from pipeline.extraction.write import accepted
from pipeline.ledger import Ledger
from pipeline.ledger.inbox import InboxItem, decide_inbox, list_inbox
from pipeline.recall.prepared import hook_state
from pipeline.store import Applied, ChangeSet, Operation, Snapshot, Store


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
    store.reindex(now=app.clock.now())
    return _row(found)


def _done(app: App, store: Store, found: InboxItem) -> Applied:
    """Do what `found` proposes to the store as it is now, as one change set."""
    if found.kind.startswith("dream:"):
        return _dreamt(app, store, found)
    operations = _operations(app, store, found)
    change = ChangeSet(change_id(found), f"inbox {found.kind}", operations, app.clock.now())
    return store.apply(change, generation=True)


def _operations(app: App, store: Store, found: InboxItem) -> Sequence[Operation]:
    """Return what `found`, a proposal of an extraction, proposes as operations on the store as it is now."""
    snapshot = store.scan()
    if found.kind == "retire":
        return [_retired(app, store, snapshot, found)]
    if found.kind == "conflict":
        raise StoreError(
            "our version of that file is kept in .reverie/conflicts",
            file=found.payload["name"],
            fix=f"Compare the two by hand, then `reverie inbox reject {found.id}`.",
        )
    candidate = Screened.from_json(found.payload)
    target = snapshot.by_name(candidate.update_of) if candidate.update_of else None
    target = target or snapshot.by_name(candidate.name)
    was = found.payload.get("was")
    if target is not None and target.digest != was:
        show, reject = (f"`reverie inbox {word} {found.id}`" for word in ("show", "reject"))
        raise ConflictError(
            "it changed since this was proposed" if was else "a memory of that name is there now",
            file=target.path,
            fix=f"See {show} and edit the file, then {reject}.",
        )
    memory_id = derived_id(change_id(found), candidate.name)
    return [accepted(candidate, store, target, memory_id=memory_id, now=app.clock.now())]


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


def _retired(app: App, store: Store, snapshot: Snapshot, found: InboxItem) -> Operation:
    target = snapshot.by_name(found.payload["name"])
    if target is None:
        raise StoreError("the memory is gone", fix=f"`reverie inbox reject {found.id}`.")
    return store.retire(target, year=app.clock.now().year, reason=found.payload.get("reason", "accepted"))


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

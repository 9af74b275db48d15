"""What a person does with a store beyond reading it: dream, look back, undo, decide, pin.

Functions over an `App`, in plain values, as `app` itself has them.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pipeline.app.application import App
from pipeline.consolidation import vetoes
from pipeline.consolidation.commit import change_set
from pipeline.consolidation.commit.execute import promote
from pipeline.consolidation.commit.proposals import decode
from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.run import dream
from pipeline.context import PhaseContext
from pipeline.core.clock import iso
from pipeline.core.errors import ConflictError, InputError, ReverieError, StoreError
from pipeline.core.ids import digest, new_id
from pipeline.domain.memory import Evidence, Memory
from pipeline.ledger import Ledger, dreams, inbox, lookups
from pipeline.recall.prepared import hook_state
from pipeline.store import (
    ChangeSet,
    Document,
    FileDiff,
    Generation,
    Put,
    Restore,
    Retired,
    Store,
    Undone,
)
from pipeline.text.slugs import slugify

_ID_PREFIX = 6


def consolidate(app: App, *, force: bool = False, dry_run: bool = False) -> DreamReport:
    """Dream over the store of `app` now; `force` skips the gates, `dry_run` only says what would be done."""
    store = app.open_store()
    with app.ledger() as ledger, app.alone(ledger) as worker:
        phase = PhaseContext(ledger, store, worker.client(), app.settings, app.clock)
        return dream(phase, home=app.home, force=force, dry_run=dry_run)


def dream_all(app: App, *, everywhere: bool) -> Iterator[DreamReport]:
    """Dream over the store here, or over every store the ledger knows, where the gates are open.

    Of many stores one that can't be used does not stop the rest: its report says why it ``failed``.
    """
    with app.ledger() as ledger, app.alone(ledger) as worker:
        places = [Path(place) for place in lookups.stores(ledger)] if everywhere else [app.store_path]
        for place in places:
            if not place.is_dir():
                continue
            try:
                store = worker.open_store(place)
                phase = PhaseContext(ledger, store, worker.client(), app.settings, app.clock)
                report = dream(phase, home=app.home)
            except ReverieError as error:
                if not everywhere:
                    raise
                words = f"{error} {error.fix}".strip()
                report = DreamReport(new_id(), str(place), iso(app.clock.now()), word="failed", reason=words)
            yield report


def history(app: App) -> list[Generation]:
    """Return the changes that can be undone, newest first."""
    return sorted(app.open_store().history(), key=lambda item: -item.number)


def diff(app: App, run: str) -> list[FileDiff]:
    """Return what the run (or the start of its id) changed, file by file."""
    store = app.open_store()
    return store.diff(_whole_id(store, run))


def undo(app: App, run: str) -> Undone:
    """Bring back every byte that `run` changed; without one, the newest that still stands."""
    store = app.open_store()
    if not run:
        standing = [g for g in store.history() if not g.undone and not g.run.startswith("undo-")]
        if not standing:
            raise InputError("there is nothing to undo", file=str(store.path), fix="See `reverie history`.")
        run = max(standing, key=lambda item: item.number).run
    run = _whole_id(store, run)
    with app.ledger() as ledger:
        vetoes.note(ledger, store, str(app.store_path), run, app.clock.now())
        undone = store.undo(run, at=app.clock.now())
        store.reindex(now=app.clock.now())
        before = {
            file.path: file.before for item in store.history() if item.run == run for file in item.files
        }
        back = {d.id: d.digest for d in store.scan().documents if d.id and before.get(d.path) == d.digest}
        # Somebody wants it so: what came back is not put to the next dream until it changes.
        dreams.mark_seen(ledger, str(app.store_path), back)
    return undone


def restore(app: App, name: str) -> str:
    """Bring one memory back from the archive, byte for byte, and return its path.

    `name` is a name, a file stem, or an id or its start; of several the last that left. From then on it
    counts as written by hand: no rule and no dream takes it again. Raises InputError when the archive
    has no such memory, StoreError when a file is in its place.
    """
    store = app.open_store()
    found = [item for item in store.retired() if _means(item, name)]
    if not found:
        raise InputError(f"the archive has no {name!r}", fix="`reverie history` tells what left, and when.")
    item = max(found, key=lambda one: one.at or app.clock.now())
    if (store.root / item.path).exists():
        raise StoreError("a memory is in its place", file=item.path, fix="Rename that one first.")
    data = (store.root / item.target).read_bytes()
    moves = [Restore(item.path, data, None), Restore(item.target, None, digest(data))]
    change = ChangeSet(new_id(), f"restore {Path(item.path).stem}", moves, app.clock.now())
    store.apply(change, generation=True)
    store.reindex(now=app.clock.now())
    return item.path


def _means(item: Retired, name: str) -> bool:
    stem = Path(item.path).stem
    named = name in (stem, item.path, stem.removesuffix(f"-{item.id[:_ID_PREFIX]}"))
    return named or (len(name) >= _ID_PREFIX and item.id.startswith(name))


def as_text(change: FileDiff) -> str:
    """Return `change` as a unified diff."""
    before = (change.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
    after = (change.after or b"").decode("utf-8", "replace").splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}"))


def pin(app: App, name: str, *, pinned: bool) -> Memory:
    """Pin or unpin a memory: a pinned one stands first in the index and no dream touches it."""
    store = app.open_store()
    document = store.read(name)
    moves = store.pin(document) if pinned else store.unpin(document)
    word = "pin" if pinned else "unpin"
    if moves:
        change = ChangeSet(new_id(), f"{word} {document.name}", moves, app.clock.now())
        store.apply(change, generation=True)
    store.reindex(now=app.clock.now())
    return store.read(document.id or document.name).memory


def waiting(app: App) -> list[dict[str, Any]]:
    """Return what waits in the inbox of the store here, oldest first."""
    with app.ledger() as ledger:
        return [_row(item) for item in inbox.list_inbox(ledger, str(app.store_path))]


def item(app: App, number: int) -> dict[str, Any]:
    """Return one inbox item; InputError when nothing waits under that number."""
    with app.ledger() as ledger:
        return _row(_item(app, ledger, number))


def reject(app: App, number: int) -> dict[str, Any]:
    """Take an inbox item off the list without doing it."""
    with app.ledger() as ledger:
        found = _item(app, ledger, number)
        inbox.decide_inbox(ledger, number, "rejected", now=app.clock.now())
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
        return _row(found)


def accept(app: App, number: int) -> dict[str, Any]:
    """Do what an inbox item proposes, on the person's word, also to a pinned or hand-edited memory."""
    store = app.open_store(create=True)
    with app.ledger() as ledger:
        found = _item(app, ledger, number)
        payload = json.loads(found.payload_json)
        operations = _operations(app, store, found.kind, payload, found.id)
        if operations:
            change = ChangeSet(
                f"inbox-{found.id}-{found.run_id}", f"inbox {found.kind}", operations, app.clock.now()
            )
            lost = store.apply(change, generation=True).conflicts
            if lost:
                raise ConflictError(
                    "somebody wrote it at the same moment; theirs stayed",
                    file=lost[0],
                    fix=f"See `reverie show`, then `reverie inbox reject {number}`.",
                )
        inbox.decide_inbox(ledger, number, "accepted", now=app.clock.now())
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
    store.reindex(now=app.clock.now())
    return _row(found)


def _operations(app: App, store: Store, kind: str, payload: dict[str, Any], number: int) -> list[Any]:
    snapshot = store.scan()
    if kind.startswith("dream:"):
        operation = decode(payload, number, snapshot)
        planned = change_set.plan(
            [operation], store, snapshot, run_id=f"inbox-{number}", now=app.clock.now(), approved=True
        )
        promote(app.home, app.settings, f"inbox-{number}", planned.promoted)
        return planned.operations
    target = snapshot.by_name(payload.get("update_of") or payload["name"])
    if kind == "retire":
        if target is None:
            raise StoreError("the memory is gone", fix=f"`reverie inbox reject {number}`.")
        return [store.retire(target, year=app.clock.now().year, reason=payload.get("reason", "accepted"))]
    if kind == "conflict":
        raise StoreError(
            "our version of that file is kept in .reverie/conflicts",
            file=payload["name"],
            fix=f"Compare the two by hand, then `reverie inbox reject {number}`.",
        )
    if target is not None and target.digest != payload.get("was"):
        raise ConflictError(
            "it changed since this was proposed"
            if payload.get("was")
            else "a memory of that name is there now",
            file=target.path,
            fix=f"See `reverie inbox show {number}` and edit the file, then `reverie inbox reject {number}`.",
        )
    return [_written(app, store, payload, target)]


def _written(app: App, store: Store, payload: dict[str, Any], target: Document | None) -> Put:
    now = app.clock.now()
    body = payload.get("body") or _body(payload)
    if not body.strip() or not payload.get("type"):
        raise StoreError("it holds no text to write", fix="Add it yourself with `reverie add`.")
    memory = Memory(
        name=slugify(payload["name"]),
        description=payload.get("description", "")[:150],
        type=payload["type"],
        body=body,
        id=new_id(),
        title=payload.get("title", ""),
        tags=tuple(payload.get("tags", ())),
        importance=float(payload.get("importance", 0.5)),
        confidence=float(payload.get("confidence", 0.8)),
        created=now,
        updated=now,
        origin=payload.get("origin", "assistant-inferred"),
        sources=tuple(Evidence(**source) for source in payload.get("sources", ())),
        anchors=tuple(payload.get("anchors", ())),
    )
    if target is None:
        return store.put(memory)
    old = target.memory
    memory = replace(memory, name=old.name, created=old.created or now, type=old.type, extra=old.extra)
    return store.put(memory, existing=target, approved=True)


def _body(payload: dict[str, Any]) -> str:
    parts = [str(payload.get("statement", "")).strip()]
    if payload.get("why"):
        parts.append(f"**Why:** {payload['why']}")
    if payload.get("how_to_apply"):
        parts.append(f"**How to apply:** {payload['how_to_apply']}")
    return "\n\n".join(part for part in parts if part) + "\n"


def _item(app: App, ledger: Ledger, number: int) -> inbox.InboxItem:
    found = [item for item in inbox.list_inbox(ledger, str(app.store_path)) if item.id == number]
    if not found:
        raise InputError(f"nothing waits under number {number} here", fix="See `reverie inbox list`.")
    return found[0]


def _row(item: inbox.InboxItem) -> dict[str, Any]:
    payload = json.loads(item.payload_json)
    return {
        "id": item.id,
        "kind": item.kind,
        "name": payload.get("name", ""),
        "reason": item.reason,
        "at": item.created_at,
        "payload": payload,
    }


def _whole_id(store: Store, run: str) -> str:
    found = [g.run for g in store.history() if g.run == run or g.run.startswith(run)]
    exact = [one for one in found if one == run]
    if len(exact or found) != 1:
        what = "no change" if not found else "more than one change"
        raise InputError(f"{what} is called {run!r}", fix="`reverie history` lists them.")
    return (exact or found)[0]

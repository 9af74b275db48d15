"""What was changed, by whomever, and how it comes back: history, diff, undo, restore."""

from __future__ import annotations

import difflib
from pathlib import Path

from pipeline.app import inbox
from pipeline.app.application import App
from pipeline.consolidation import vetoes
from pipeline.core.errors import InputError, StoreError
from pipeline.core.ids import digest, new_id
from pipeline.domain.action import MemoryAction
from pipeline.ledger import Ledger, dreams, runs, tombstones
from pipeline.ledger.inbox import list_inbox
from pipeline.store import ChangeSet, FileDiff, Generation, Restore, Retired, Store, Undone

_ID_PREFIX = 6
_UNDO = "undo-"
_UNDONE = "undone on request"


def history(app: App) -> list[Generation]:
    """Return the changes that can be undone, newest first."""
    return sorted(app.open_store().history(), key=lambda item: -item.number)


def diff(app: App, run: str) -> list[FileDiff]:
    """Return what the run (or the start of its id) changed, file by file."""
    store = app.open_store()
    return store.diff(_whole_id(store, run))


def as_text(change: FileDiff) -> str:
    """Return `change` as a unified diff."""
    before = (change.before or b"").decode("utf-8", "replace").splitlines(keepends=True)
    after = (change.after or b"").decode("utf-8", "replace").splitlines(keepends=True)
    return "".join(difflib.unified_diff(before, after, f"a/{change.path}", f"b/{change.path}"))


def undo(app: App, run: str) -> Undone:
    """Bring back every byte that `run` changed; without one, the newest change that still stands.

    That may be a dream's, an extraction's or a person's. What came of it does not return of itself: no dream
    does the same again, and the words an extraction read do not make a memory of that name again.
    """
    store = app.open_store()
    if not run:
        standing = [g for g in store.history() if not g.undone and not g.run.startswith(_UNDO)]
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
        _bury(app, ledger, run)
    return undone


def _bury(app: App, ledger: Ledger, run: str) -> None:
    """Keep what was extracted and undone from being done again by the same words; undoing that lifts it.

    A conversation is read once more when it is over, after the turn whose extraction was undone.
    """
    turns, store = run.split(_UNDO), str(app.store_path)
    for name, memory_id in _extracted(ledger, store, turns[-1]):
        if len(turns) % 2:
            tombstones.add_tombstone(
                ledger, store, name, memory_id=memory_id, now=app.clock.now(), reason=_UNDONE
            )
        else:
            tombstones.lift_tombstone(ledger, store, name, reason=_UNDONE)


def _extracted(ledger: Ledger, store: str, change: str) -> list[tuple[str, str]]:
    """Return names and ids ("" where unknown) of the memories that `change` made, changed or withdrew.

    None for a change that is neither an extraction's nor the acceptance of what one proposed.
    """
    found = runs.run(ledger, change)
    if found is not None and found.kind == "extract":
        return [
            (action.name, action.id)
            for action in found.summary.actions
            if isinstance(action, MemoryAction) and action.action in ("created", "updated", "withdrawn")
        ]
    accepted = list_inbox(ledger, store, "accepted") if found is None else []
    return [
        (str(item.payload.get("update_of") or item.payload.get("name", "")), "")
        for item in accepted
        if inbox.change_id(item) == change and not item.kind.startswith("dream:")
    ]


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
    item = max(found, key=lambda retired: retired.at or app.clock.now())
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


def _whole_id(store: Store, run: str) -> str:
    found = [g.run for g in store.history() if g.run == run or g.run.startswith(run)]
    exact = [known for known in found if known == run]
    if len(exact or found) != 1:
        what = "no change" if not found else "more than one change"
        raise InputError(f"{what} is called {run!r}", fix="`reverie history` lists them.")
    return (exact or found)[0]

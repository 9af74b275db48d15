"""What was changed, by whomever, and how it comes back: history, diff, undo, restore."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pipeline.app import forgetting
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, memory_changes
from pipeline.app.forgetting import UNDO, Words
from pipeline.consolidation import vetoes
from pipeline.core.errors import DocumentError, InputError, ReverieError, StoreError
from pipeline.core.ids import digest, new_id
from pipeline.ledger import dreams
from pipeline.revision import Door
from pipeline.store import FileDiff, Generation, Restore, Retired, Store, Undone, scan_archive
from pipeline.store.files import document

_ID_PREFIX = 6
_SHORT = 8
_MOST_NAMES = 3
_BY = {"extraction": "extraction", "dream": "dream", "promoted": "dream", "inbox": "you, inbox"}
"""Who made a change, by the first word of its reason; else it was a person."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One change as a line of the history: `short` means it to every command, `what` says what it did."""

    generation: Generation
    short: str
    by: str
    what: str


def history(app: App) -> list[Entry]:
    """Return the changes that can be undone, newest first."""
    store = app.open_store()
    found = sorted(store.history(), key=lambda item: -item.number)
    short = _short_ids([item.run for item in found])
    reasons = {item.run: item.reason for item in found}
    return [
        Entry(
            item,
            short[item.run],
            "you" if item.run.startswith(UNDO) else _BY.get(item.reason.partition(" ")[0], "you"),
            _what(store, item, short, reasons),
        )
        for item in found
    ]


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
    does the same again, and the words an extraction read make no memory again, under whatever name.
    """
    store, now = app.open_store(), app.clock.now()
    if not run:
        standing = [g for g in store.history() if not g.undone and not g.run.startswith(UNDO)]
        if not standing:
            raise InputError("there is nothing to undo", file=str(store.path), fix="See `reverie history`.")
        run = max(standing, key=lambda item: item.number).run
    run = _whole_id(store, run)
    words = Words("") if _is_undone(store, run) else forgetting.words_undone(store, run)
    with app.ledger() as ledger:
        vetoes.note(ledger, store, str(app.store_path), run, now)
        # First the words: if we die between the two, the change is still there to be undone.
        words.note(store, now)
        try:
            undone = store.undo(run, at=now)
        except ReverieError:
            words.note(store, now, turned=True)
            raise
        app.follow(store)
        before = {
            file.path: file.before for item in store.history() if item.run == run for file in item.files
        }
        back = {d.id: d.digest for d in store.scan().documents if d.id and before.get(d.path) == d.digest}
        # Somebody wants it so: what came back is not put to the next dream until it changes.
        dreams.mark_seen(ledger, str(app.store_path), back)
    return undone


def restore(app: App, name: str) -> str:
    """Bring one memory back from the archive, byte for byte, and return its path.

    `name` is a name, also a former one, a file stem, or an id or its start; of several the last that left.
    From then on it counts as written by hand: no rule and no dream takes it again. Raises InputError when
    the archive has no such memory, StoreError when a file is in its place.
    """
    store, now = app.open_store(), app.clock.now()
    retired = store.retired()
    found = [item for item in retired if _means(item, name)]
    if not found and (former := scan_archive(store.root).by_name(name)):
        found = [item for item in retired if item.target == former.path]
    if not found:
        raise InputError(f"the archive has no {name!r}", fix="`reverie history` tells what left, and when.")
    item = max(found, key=lambda retired: retired.at or now)
    living = next((d for d in store.scan().documents if item.id and d.id == item.id), None)
    if living is not None:
        raise StoreError(
            "it lives on in another file", file=living.path, fix=f"`reverie forget {living.name}` first."
        )
    if (store.root / item.path).exists():
        raise StoreError("a memory is in its place", file=item.path, fix="Rename that one first.")
    data = (store.root / item.target).read_bytes()
    door = Door(store, now=now, approved=True)
    door.bring([Restore(item.path, data, None), Restore(item.target, None, digest(data))])
    door.write(new_id(), f"restore {Path(item.path).stem}")
    try:
        memory = document.parse(data, item.path)
    except DocumentError:
        # Damaged as it is, it came back; nothing in it can be read that was forgotten.
        pass
    else:
        # Whatever took it away, it may be learned again.
        store.note_forgotten(memory.sources, name=memory.name, reason="", now=now, lifted=True)
    app.follow(store)
    return item.path


def _what(store: Store, item: Generation, short: dict[str, str], reasons: dict[str, str]) -> str:
    """Return in one line what `item` did."""
    if item.damaged:
        return item.reason
    if item.run.startswith(UNDO):
        *undos, base = item.run.split(UNDO)
        known = f"{short.get(base, base)}: {reasons.get(base, 'a change that is no longer kept')}"
        return f"undid {known}" if len(undos) % 2 else f"did again {known}"
    try:
        changes = memory_changes(store.diff(item.run))
    except StoreError as error:
        return f"{item.reason} ({error})"
    done: dict[str, list[str]] = {}
    for change in changes:
        done.setdefault(change.word, []).append(_named(change))
    return "; ".join(f"{word} {_listed(names)}" for word, names in done.items()) or item.reason


def _named(change: MemoryChange) -> str:
    former = f"{change.before.name} as " if change.word == "renamed" and change.before else ""
    return former + change.memory.name


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _short_ids(runs: Iterable[str]) -> dict[str, str]:
    """Return for each of `runs` the beginning of it that no other begins with."""
    known = list(runs)
    short = {}
    for run in known:
        lead = len(run) - len(run.replace(UNDO, ""))
        size = next(
            (
                size
                for size in range(lead + _SHORT, len(run))
                if run[size - 1] != "-" and not any(o.startswith(run[:size]) for o in known if o != run)
            ),
            len(run),
        )
        short[run] = run[:size]
    return short


def _is_undone(store: Store, run: str) -> bool:
    return any(item.run == run and item.undone for item in store.history())


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

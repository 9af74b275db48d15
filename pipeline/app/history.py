"""What was changed, by whomever: the history, one change old beside new, and how it is taken back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from pipeline.app import forgetting, retired, scopes
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, memory_changes
from pipeline.app.doers import by_whom
from pipeline.app.forgetting import Words
from pipeline.app.retried import retried
from pipeline.app.scopes import Scope, scope_of
from pipeline.core.errors import DocumentError, InputError, ReverieError, StoreError
from pipeline.core.ids import digest, new_id
from pipeline.ledger import dreams
from pipeline.revision import Door
from pipeline.store import (
    Document,
    FileDiff,
    Generation,
    HandEdit,
    Restore,
    Snapshot,
    Store,
    Undone,
    base_of,
    is_own,
    names_only,
    short_ids,
    turns_of,
    undo_id,
)
from pipeline.store.files import document
from pipeline.text.humanize import count

_MOST_NAMES = 3
_ADOPTED = "adopted"
_OWN_WORDS: dict[tuple[str, str], str] = {
    ("forget", "retired"): "forgot",
    ("drop", "retired"): "forgot",
    ("adopt", "changed"): _ADOPTED,
}
"""How what happened to a memory is called in a change whose reason begins so."""
BY_HAND = "by hand"
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Entry:
    """One change as a line of the history: `short` means it to every command, `what` says what it did.

    One that was made by hand has a `hand_edit` and no `generation`, no id, and can't be undone. Where nobody
    knows when, since the file is gone, it was later than `since`.
    """

    at: datetime | None
    by: str
    what: str
    short: str = ""
    generation: Generation | None = None
    hand_edit: HandEdit | None = None
    scope: Scope = "project"
    since: datetime | None = None

    @property
    def order(self) -> datetime:
        """Return when it happened, as far as that is known, to put it into its place."""
        return self.at or self.since or _NEVER

    @property
    def state(self) -> str:
        """Return whether it was undone, or can't be."""
        if self.generation is None:
            return "no undo"
        return "undone" if self.generation.undone else ""


@dataclass(frozen=True, slots=True)
class Change:
    """One change as it is shown: `files` and `memories` are all of it, `shown` those that were asked for."""

    entry: Entry
    files: tuple[FileDiff, ...]
    memories: tuple[MemoryChange, ...]
    shown: tuple[MemoryChange, ...]


def history(app: App) -> list[Entry]:
    """Return the changes that are kept and those made by hand, of both scopes, newest first."""
    found: list[Entry] = []
    kept = [scope for scope in scopes.keepers(app) if not scope.is_fresh]
    done = _Done(kept)
    for scope in kept:
        store = scope.open_store()
        own = [replace(entry, scope=scope_of(scope)) for entry in _entries(store, store.scan(), done)]
        found = _together(found, own)
    return found


class _Done:
    """What the stores of `scopes` did to which file, so that none of it is a hand's work to another of them.

    A team's folder and one in it are stores of the same files.
    """

    def __init__(self, kept: Iterable[App] = ()) -> None:
        self._done: dict[tuple[Path, str | None], set[Path]] = {}
        for scope in kept:
            if scope.is_team:
                store = scope.open_store()
                for item in store.history():
                    for file in item.files:
                        self._done.setdefault((store.root / file.path, file.after), set()).add(store.root)

    def elsewhere(self, store: Store, edit: HandEdit) -> bool:
        """Whether another store than `store` did what `edit` takes for a hand's work."""
        return bool(self._done.get((store.root / edit.path, edit.theirs), set()) - {store.root})


def _together(first: list[Entry], second: list[Entry]) -> list[Entry]:
    """Return two histories as one, each in its own order: a file's removal has no time, but its place."""
    found: list[Entry] = []
    first, second = first[:], second[:]
    while first and second:
        later = first if first[0].order >= second[0].order else second
        found.append(later.pop(0))
    return [*found, *first, *second]


def changes(app: App, what: str = "") -> list[Change]:
    """Return the change that `what` means (see `change`) in whichever scope it is.

    It is two where a dream changed the project and something for all projects as well. Raises InputError
    when there is none.
    """
    found: list[Change] = []
    refused: InputError | None = None
    kept = scopes.keepers(app)
    done = _Done(scope for scope in kept if not scope.is_fresh)
    for scope in kept:
        try:
            made = change(scope, what, done)
        except InputError as error:
            refused = refused or error
        else:
            found.append(replace(made, entry=replace(made.entry, scope=scope_of(scope))))
    if not found:
        assert refused is not None, "a scope has a change or says that it has none"
        raise refused
    by_id = [
        made
        for made in found
        if what and made.entry.generation and made.entry.generation.run.startswith(what)
    ]
    return by_id or [max(found, key=lambda made: made.entry.at or _NEVER)]


def change(app: App, what: str = "", done: _Done | None = None) -> Change:
    """Return one change: that of an id or its start, the latest one of a memory's name, or the latest of all.

    What is `done` elsewhere is no change by hand. Raises InputError when there is none.
    """
    store = app.open_store()
    snapshot = store.scan()
    entries = list(_entries(store, snapshot, done or _Done()))
    named = snapshot.by_name(what) if what else None
    runs = [entry.generation.run for entry in entries if entry.generation is not None]
    if what in runs or (what and named is None and any(run.startswith(what) for run in runs)):
        run = whole_id(store, what)
        return _change(
            store, next(e for e in entries if e.generation is not None and e.generation.run == run)
        )
    for entry in (item for item in entries if not names_only(item.generation)):
        try:
            found = _change(store, entry, what, named)
        except StoreError:
            # Its bytes are damaged; asked for by its id it says so.
            continue
        if found.shown or (found.files and not what):
            return found
    if not what:
        raise InputError("nothing was changed yet", file=str(store.path), fix="See `reverie list`.")
    message = f"no change of “{named.name}” is kept" if named else f"no change is called {what!r}"
    raise InputError(message, fix="`reverie history` lists those that are, with their ids and names.")


def of_memory(app: App, found: Document) -> list[Change]:
    """Return the changes of the memory `found` of the store of `app`, those by hand as well, newest first.

    Only the change sets that touched a file of its are looked into.
    """
    store = app.open_store()
    snapshot, paths = store.scan(), {found.path}
    kept = sorted(store.history(), key=lambda item: -item.number)
    short = short_ids(kept)
    made: list[Change] = []
    for item in kept:
        if paths.isdisjoint(file.path for file in item.files):
            continue
        try:
            entry = Entry(item.at, by_whom(item), _what(store, item, short, kept), short[item.run], item)
            change = _change(store, entry, found.name, found)
        except StoreError:
            # Its bytes are damaged; `reverie history` says so.
            continue
        if change.shown:
            made.append(change)
            paths |= {
                side.path for item_of in change.shown for side in (item_of.before, item_of.after) if side
            }
    edits = [_by_hand(edit, snapshot) for edit in store.hand_edits() if edit.path in paths]
    made += [_change(store, entry) for entry in edits]
    return sorted(made, key=lambda change: change.entry.at or _NEVER, reverse=True)


def newest_of(app: App, path: str, deed: str) -> str:
    """Return the id of the last change for the reason `deed` that touched the file at `path`, "" for none."""
    kept = sorted(app.open_store().history(), key=lambda item: -item.number)
    touched = (item for item in kept if any(file.path == path for file in item.files))
    return next((item.run for item in touched if item.reason.split(" ")[0] == deed), "")


def diff(app: App, what: str = "") -> list[FileDiff]:
    """Return what a change (see `change`) did, file by file."""
    return list(change(app, what).files)


def undo(app: App, run: str) -> Undone:
    """Bring back every byte that `run` changed; without one, the newest change that still stands.

    That may be a dream's, an extraction's or a person's. What came of it does not return of itself: no dream
    does the same again, and the words an extraction read make no memory again, under whatever name.
    """
    from pipeline.app import inbox
    from pipeline.consolidation import vetoes
    from pipeline.recall.prepared import hook_state

    app.require_settings()
    store, now = app.open_store(), app.clock.now()
    if not run:
        standing = [item for item in store.history() if is_own(item)]
        if not standing:
            raise InputError("there is nothing to undo", file=str(store.path), fix="See `reverie history`.")
        run = max(standing, key=lambda item: item.number).run
    run = whole_id(store, run)
    with app.ledger() as ledger:
        words = Words("") if _is_undone(store, run) else forgetting.words_undone(store, run)
        vetoes.note(ledger, store, str(app.store_path), run, now)
        # First the words: if we die between the two, the change is still there to be undone.
        words.note(store, now)
        try:
            undone = store.undo(run, at=now)
        except ReverieError:
            words.note(store, now, turned=True)
            raise
        inbox.turned(app, ledger, run)
        hook_state.refresh(ledger, app.home, app.settings, app.clock)
        app.follow(store, begin=False)
        before = {
            file.path: file.before for item in store.history() if item.run == run for file in item.files
        }
        back = {d.id: d.digest for d in store.scan().documents if d.id and before.get(d.path) == d.digest}
        # Somebody wants it so: what came back is not put to the next dream until it changes.
        dreams.mark_seen(ledger, str(app.store_path), back)
    return undone


@retried
def restore(app: App, name: str) -> str:
    """Bring one memory back from the archive, byte for byte, and return its path.

    Only relations that others have to it, and which it lacks by now, are added.

    `name` is a name, also a former one, a file stem, an id or its start, or the path in the archive; of
    several the last that left. It counts as what it was, also as whose words, and as long as nobody changes
    it no rule and no dream takes it away again. Raises InputError when the archive has no such memory,
    StoreError when a file is in its place.
    """
    app.require_settings()
    store, now = app.open_store(), app.clock.now()
    item = retired.latest(store, name)
    if item is None:
        raise retired.not_in_archive(name, store.retired())
    # By its name the one that makes way would be meant then, since it left last.
    named = scopes.option(app)
    then = f"`reverie restore {named}{item.target}`"
    living = next((d for d in store.scan().documents if item.id and d.id == item.id), None)
    if living is not None:
        raise StoreError(
            "it lives on in another file",
            file=living.path,
            fix=f"For the former text: `reverie forget {named}{living.name}`, then {then}.",
        )
    if (store.root / item.path).exists():
        raise StoreError(
            "a memory is in its place", file=item.path, fix=retired.make_way(store, item.path, then, named)
        )
    data = (store.root / item.target).read_bytes()
    door = Door(store, now=now, approved=True)
    record = retired.record_of(store, item, data)
    door.bring([Restore(item.path, data, None, record), Restore(item.target, None, digest(data))])
    from pipeline.consolidation import vetoes

    # First what no dream may do, so that one which begins at this very moment does not do it.
    vetoes.note_restored(store, item.id, digest(data), now)
    door.write(new_id(), f"restore {Path(item.path).stem}")
    if item.id:
        with app.ledger() as ledger:
            dreams.mark_seen(ledger, str(app.store_path), {item.id: digest(data)})
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


def ids_of(app: App, undone: Undone) -> tuple[str, str]:
    """Return the short id of what was undone, or done again, and the one whose undo turns that round."""
    short = short_ids(app.open_store().history())
    # Undone before, it was done by the turn behind it.
    base, turns = turns_of(undone.by or undo_id(undone.run))
    family = sorted((turns_of(run)[1], run) for run in short if turns_of(run)[0] == base)
    # The first of them that are kept: the same ids, however often it is turned round.
    known = next((run for _, run in family), undone.run)
    back = next((run for number, run in family if number % 2 == turns % 2), undone.by)
    return short.get(known, known), short.get(back, back)


def short_id(app: App, run: str) -> str:
    """Return the id by which every command calls the change `run` of the store of `app`."""
    return short_ids(app.open_store().history()).get(run, run)


def _entries(store: Store, snapshot: Snapshot, done: _Done) -> Iterator[Entry]:
    kept = sorted(store.history(), key=lambda item: -item.number)
    short = short_ids(kept)
    edits = [
        (edit, _by_hand(edit, snapshot)) for edit in store.hand_edits() if not done.elsewhere(store, edit)
    ]
    fresh = [
        replace(entry, since=None if edit.at else _last_touched(kept, edit.path))
        for edit, entry in edits
        if edit.found_by is None
    ]
    fresh.sort(key=lambda entry: entry.order, reverse=True)
    for item in kept:
        while fresh and (item.at is None or fresh[0].order >= item.at):
            yield fresh.pop(0)
        yield Entry(item.at, by_whom(item), _what(store, item, short, kept), short[item.run], item)
        yield from (entry for edit, entry in edits if edit.found_by == item.number)
    yield from fresh


def _last_touched(kept: Iterable[Generation], path: str) -> datetime | None:
    """Return when the newest of `kept` came that touched the file at `path`."""
    return next((item.at for item in kept if any(file.path == path for file in item.files)), None)


def _by_hand(edit: HandEdit, snapshot: Snapshot) -> Entry:
    names = {document.path: document.name for document in snapshot.documents}
    name = names.get(edit.path) or PurePosixPath(edit.path).stem
    return Entry(edit.at, BY_HAND, f"{edit.word} {name}", hand_edit=edit)


def _what(store: Store, item: Generation, short: Mapping[str, str], kept: list[Generation]) -> str:
    """Return in one line what `item` did."""
    if item.damaged:
        return item.reason
    base, turns = turns_of(item.run)
    if turns:
        known = base_of(item, kept)
        reason = "a change that is no longer kept" if known is item else known.reason
        return f"{'undid' if turns % 2 else 'redid'} {short.get(base, base)}: {reason}"
    try:
        changes = memory_changes(store.diff_of(item))
    except StoreError as error:
        return f"{item.reason} ({error})"
    done: dict[str, list[str]] = {}
    for memory in changes:
        word = _OWN_WORDS.get((item.reason.partition(" ")[0], memory.word), memory.word)
        done.setdefault(word, []).append(_named(memory))
    return "; ".join(_done(word, names) for word, names in done.items()) or item.reason


def _done(word: str, names: list[str]) -> str:
    files = f"{count(len(names), 'file')}: " if word == _ADOPTED else ""
    return f"{word} {files}{listed(names)}"


def _named(change: MemoryChange) -> str:
    former = f"{change.before.name} as " if change.word == "renamed" and change.before else ""
    return former + change.memory.name


def listed(names: list[str]) -> str:
    """Return the first of `names`, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _change(store: Store, entry: Entry, name: str = "", named: Document | None = None) -> Change:
    """Return `entry` with what it did; of memories shown is only the one called `name`, if one is given.

    `named` is the memory that the name means today.
    """
    files = tuple(_files(store, entry))
    memories = tuple(memory_changes(files))
    shown = tuple(item for item in memories if not name or _is_about(item, name, named))
    return Change(entry, files, memories, shown)


def _files(store: Store, entry: Entry) -> list[FileDiff]:
    if entry.hand_edit is not None:
        found = store.hand_edit_diff(entry.hand_edit)
        return [found] if found else []
    assert entry.generation is not None, "a change is kept or was made by hand"
    return store.diff_of(entry.generation)


def _is_about(change: MemoryChange, name: str, named: Document | None) -> bool:
    sides = [memory for memory in (change.before, change.after) if memory is not None]
    if named is not None and named.id:
        return any(memory.id == named.id for memory in sides)
    return any(name in (memory.name, memory.path) for memory in sides)


def _is_undone(store: Store, run: str) -> bool:
    return any(item.run == run and item.undone for item in store.history())


def whole_id(store: Store, run: str) -> str:
    """Return the one id of a change kept in `store` that is `run` or begins with it.

    Raises InputError when there is none, or more than one.
    """
    found = [g.run for g in store.history() if g.run == run or g.run.startswith(run)]
    exact = [known for known in found if known == run]
    if len(exact or found) != 1:
        what = "no change" if not found else "more than one change"
        raise InputError(f"{what} is called {run!r}", fix="`reverie history` lists them.")
    return (exact or found)[0]

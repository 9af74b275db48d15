"""Undo as a person means it: the newest change of either scope, or all that one id stands for in both.

A dream that also kept something for all projects made a change set in each scope; they are taken back as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.app import history, inbox, reaching, scopes
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, memory_changes
from pipeline.app.scopes import Scope, scope_of
from pipeline.consolidation import vetoes
from pipeline.consolidation.commit.execute import promoted_by, promotion_of
from pipeline.context import open_store
from pipeline.core.errors import InputError, OvertakenError, ReverieError, StoreError
from pipeline.ledger import runs
from pipeline.store import FileDiff, Generation, Undone, is_arrival, is_own, turns_of
from pipeline.store.files.layout import bytes_at

_EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """What was undone in one scope, its id there, and the id whose undo turns it round (`back`).

    `waits` is the number under which the proposal waits again that a yes had made so, 0 for none. `others`
    says to whom it goes, where it turned round what came from them.
    """

    scope: Scope
    undone: Undone
    short: str
    back: str
    waits: int = 0
    others: str = ""


@dataclass(frozen=True, slots=True)
class InTheWay:
    """What keeps a change from being undone: what happened `since` to memories of `scope`; what it `did`."""

    scope: Scope
    since: list[MemoryChange]
    did: list[MemoryChange]


def take_back(app: App, run: str = "", *, for_all: bool = False) -> list[Part]:
    """Undo the change whose id is or begins with `run`, in every scope that has it; without one the newest.

    That is the newest made here: what came from other machines or from a team has to be named, and only
    `for_all` takes what others have away from them.

    Raises InputError when there is none, or more than one, and what `history.undo` raises; also where what
    was done last is an undo, and the newest change left is of another scope: that one has to be named.
    TakesAwayError where memories of others would go, InputError where one would come back that was forgotten
    elsewhere. Where the second scope fails the first stays undone, and the error says so.
    """
    app.require_settings()
    found = _meant(app, run) if run else _newest(app)
    for scope, change_id in found:
        reaching.require_fit(scope, change_id, for_all=for_all)
    parts: list[Part] = []
    for scope, change_id in found:
        try:
            if scope.is_user_scope:
                _note_promoted(scope, change_id)
            undone = history.undo(scope, change_id)
        except ReverieError as error:
            if not parts:
                raise
            done, failed = scopes.SHOWN[parts[0].scope], scopes.SHOWN[scope_of(scope)]
            raise InputError(
                f"undone in {done}, but not in {failed}: {error}",
                fix=error.fix,
            ) from error
        waits = inbox.waits_again(scope, change_id)
        others = reaching.others(scope) if is_arrival(change_id) and not undone.already else ""
        parts.append(Part(scope_of(scope), undone, *history.ids_of(scope, undone), waits, others))
    return parts


def in_the_way(app: App, error: OvertakenError) -> InTheWay:
    """Return for what `error` refuses an undo; nothing where the bytes of the change are damaged."""
    holder = next(scope for scope in scopes.keepers(app) if str(scope.open_store().root) == error.file)
    store = holder.open_store()
    item = next(item for item in store.history() if item.run == error.run)
    try:
        did = [file for file in store.diff_of(item) if file.path in error.paths]
        since = [FileDiff(file.path, file.after, bytes_at(store.root, file.path)) for file in did]
    except StoreError:
        did, since = [], []
    return InTheWay(scope_of(holder), memory_changes(since), memory_changes(did))


def _newest(app: App) -> list[tuple[App, str]]:
    every = [
        (scope, item)
        for scope in scopes.keepers(app)
        if not scope.is_fresh
        for item in scope.open_store().history()
    ]
    standing = [(scope, item) for scope, item in every if is_own(item)]
    if not standing:
        raise _nothing(app, every)
    # Numbers count within one store, times across all.
    newest: dict[Path, tuple[App, Generation]] = {}
    for scope, item in standing:
        known = newest.get(scope.store_path)
        if known is None or item.number > known[1].number:
            newest[scope.store_path] = (scope, item)
    last = max((item for _, item in newest.values()), key=lambda item: item.at or _EARLIEST).run
    whole = promoted_by(last) or last
    found = [(scope, item.run) for scope, item in standing if item.run in (whole, promotion_of(whole))]
    _require_meant(app, found, newest)
    return found


def _nothing(app: App, every: list[tuple[App, Generation]]) -> InputError:
    """Return that no change made here is left, naming the newest that came from others, if one did."""
    came = [(scope, item) for scope, item in every if is_arrival(item.run) and not item.undone]
    came = [(scope, item) for scope, item in came if not turns_of(item.run)[1]]
    if not came:
        return InputError("there is nothing to undo", file=str(app.store_path), fix="See `reverie history`.")
    scope, item = max(came, key=lambda pair: pair[1].at or _EARLIEST)
    short = f"{scopes.option(scope, own=True)}{history.short_id(scope, item.run)}"
    return InputError(
        f"there is nothing to undo that was done here; the newest change came from others ({item.reason})",
        file=str(scope.store_path),
        fix=f"`reverie undo {short}` takes that back for all.",
    )


def _require_meant(
    app: App, found: list[tuple[App, str]], newest: Mapping[Path, tuple[App, Generation]]
) -> None:
    """Raise InputError where a person goes back step by step and the next step is in another scope.

    `newest` has for each folder what may still be undone there, so that both ways on can be named.
    """
    heads = [
        (item.at or _EARLIEST, scope.store_path, item.run)
        for scope in scopes.keepers(app)
        if not scope.is_fresh
        for item in scope.open_store().history()[:1]
    ]
    _, path, run = max(heads, key=lambda head: head[0])
    if turns_of(run)[1] % 2 == 0 or path in {scope.store_path for scope, _ in found}:
        return
    scope, change_id = found[0]
    reason = next(item.reason for item in scope.open_store().history() if item.run == change_id)
    here = next((each for each in scopes.keepers(app) if each.store_path == path), app)
    if scope_of(here) == scope_of(scope):
        return
    there, where = (scopes.SHOWN[scope_of(each)] for each in (scope, here))
    fix = f"`reverie undo {_by_which(scope, change_id)}` takes it back; "
    if path in newest:
        _, left = newest[path]
        fix += f"`reverie undo {_by_which(here, left.run)}` the latest for {where}: {left.reason}. "
    raise InputError(
        f"the latest change that is not undone is for {there}: {reason}; the last undo was for {where}",
        fix=f"{fix}`reverie history` shows all.",
    )


def _by_which(scope: App, change_id: str) -> str:
    """Return what `undo` needs behind it to take back `change_id`, the newest that stands in `scope`."""
    return "--user" if scope.is_user_scope else history.short_id(scope, change_id)


def _meant(app: App, run: str) -> list[tuple[App, str]]:
    found: list[tuple[App, str]] = []
    refused: InputError | None = None
    for scope in scopes.keepers(app):
        if scope.is_fresh:
            continue
        try:
            found.append((scope, history.whole_id(scope.open_store(), run)))
        except InputError as error:
            refused = refused if refused and "more" in str(refused) else error
    if not found:
        if refused is None:
            raise InputError(
                "there is nothing to undo", file=str(app.store_path), fix="See `reverie history`."
            )
        raise refused
    families = {promoted_by(change_id) or change_id for _, change_id in found}
    exact = [pair for pair in found if pair[1] == run]
    if len(families) > 1 and not exact:
        raise InputError(f"more than one change is called {run!r}", fix="`reverie history` lists them.")
    return found if len(families) == 1 else exact


def _note_promoted(scope: App, change_id: str) -> None:
    """See to it that no dream promotes again what is about to be undone in the user scope."""
    base = promoted_by(turns_of(change_id)[0])
    if not base:
        return
    with scope.ledger() as ledger:
        row, item = runs.run(ledger, base), inbox.accepted_by(ledger, base)
        folder = row.store if row is not None else item.store if item is not None else ""
        if folder and Path(folder).is_dir():
            store = open_store(Path(folder), scope.settings)
            vetoes.note_promoted(ledger, store, folder, base, scope.clock.now())

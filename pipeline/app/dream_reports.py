"""What dreams of the store here did, the newest first; each with its changes old beside new, and its undo."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, compare, memory_changes
from pipeline.app.scopes import Scope, scope_of
from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.execute import promoted_by
from pipeline.consolidation.commit.report import DreamReport
from pipeline.core.errors import InputError, StoreError
from pipeline.domain.action import DreamAction
from pipeline.hooklib.memory_format import INDEX, OVERFLOW
from pipeline.store import Generation, Store, turns_of

if TYPE_CHECKING:
    from pipeline.app.undoing import Part

_PARTS = ("", "Why: ", "How to apply: ")
"""How `compare` begins a sentence, by the part of a memory it stands in."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A dream as a line of the list."""

    report: DreamReport
    is_undone: bool

    @property
    def changed_something(self) -> bool:
        """Return whether it did anything that is to be seen."""
        return bool(self.report.actions) and self.report.word != "dry"

    @property
    def headline(self) -> str:
        """Return in a sentence what came of it."""
        return reports.headline(self.report)


@dataclass(frozen=True, slots=True)
class Done:
    """One operation of a dream with the memories it changed.

    `covers` gives for each sentence that it left out the one that speaks for it, as `compare` spells them;
    `unseen` are those pairs that no change of it shows.
    """

    action: DreamAction
    changes: tuple[MemoryChange, ...]
    covers: dict[str, str]
    unseen: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Dream:
    """One dream: its report, what it did to memories, and the id whose undo turns it round now.

    `turn` is "" where nothing is kept of it to undo. `others` are changes that belong to none of its
    operations, `everywhere` those for all projects, `missing` says why some can't be shown.
    """

    report: DreamReport
    done: tuple[Done, ...]
    others: tuple[MemoryChange, ...]
    everywhere: tuple[MemoryChange, ...]
    every: tuple[MemoryChange, ...]
    turn: str = ""
    is_undone: bool = False
    missing: str = ""

    @property
    def headline(self) -> str:
        """Return in a sentence what came of it."""
        return reports.headline(self.report)


def newest(app: App, start: int, most: int) -> tuple[list[Listed], int]:
    """Return `most` dreams of the store here from the one at `start` on, newest first, and how many all are.

    Raises StoreError for a file among the reports that holds none.
    """
    files = reports.all_of(app.home, app.store_path)
    turns = _turns(_histories(app))
    found = [reports.read(file) for file in files[start : start + most]]
    return [Listed(report, turns.get(report.run_id, 0) % 2 == 1) for report in found], len(files)


def dream(app: App, run: str = "") -> Dream | None:
    """Return the newest dream, or the one whose id begins with `run`; None where none has run yet.

    Raises InputError where no dream here has such an id.
    """
    files = reports.all_of(app.home, app.store_path, run)
    if not files and run:
        raise InputError(f"no dream here has an id that begins with {run!r}", fix="Take one of the list.")
    return _whole(app, reports.read(files[0])) if files else None


def _whole(app: App, report: DreamReport) -> Dream:
    histories = _histories(app)
    turns = _turns(histories).get(report.run_id, 0)
    here: list[MemoryChange] = []
    everywhere: list[MemoryChange] = []
    turn = missing = ""
    for scope, store, history in histories:
        for item in history:
            base, nth = turns_of(item.run)
            own = base == report.run_id
            if not own and promoted_by(base) != report.run_id:
                continue
            turn = item.run if nth == turns and (own or not turn) else turn
            if nth:
                continue
            try:
                found = memory_changes(store.diff_of(item))
            except StoreError as error:
                missing = f"{error}. {error.fix}".strip()
                continue
            (everywhere if scope == "user" and not own else here).extend(found)
    if report.actions and report.word != "dry" and not (here or everywhere or missing):
        missing = "Its files are no longer kept, so it can't be undone, and only its report is left."
    done, others = _by_action(report.actions, here)
    return Dream(
        report,
        done,
        others,
        tuple(everywhere),
        (*here, *everywhere),
        turn=turn,
        is_undone=turns % 2 == 1,
        missing=missing,
    )


@dataclass(frozen=True, slots=True)
class Turned:
    """What became of memories when a dream was undone, or done again.

    `changes` are what it really did to them, `already` the names of those that were so before, by another
    way, and `kept` the files that kept what came into them since.
    """

    changes: tuple[MemoryChange, ...]
    already: tuple[str, ...]
    kept: tuple[str, ...]


def turned(app: App, dream: Dream | None, parts: Sequence[Part]) -> Turned:
    """Return what came of `parts`, by which `dream` was undone or done again just now."""
    by_scope = {part.scope: part.undone for part in parts}
    changes: list[MemoryChange] = []
    for scope, store, _ in _histories(app):
        if scope in by_scope and not by_scope[scope].already:
            changes += memory_changes(store.diff(by_scope[scope].by))
    touched = {name for change in changes for name in _names(change)}
    planned = dream.every if dream else ()
    already = [change.memory.name for change in planned if not _names(change) & touched]
    # The index is Reverie's own, and made anew: nobody wrote into it.
    kept = (path for part in parts for path in part.undone.partly if path not in (INDEX, OVERFLOW))
    return Turned(tuple(changes), tuple(already), tuple(dict.fromkeys(kept)))


def is_of(dream: Dream, part: Part) -> bool:
    """Whether `part` undid `dream`, or did it again, and no other change."""
    base = turns_of(part.undone.run)[0]
    return (promoted_by(base) or base) == dream.report.run_id


def still_to_turn(app: App, dream: Dream) -> tuple[MemoryChange, ...]:
    """Return the changes of `dream` that an undo would turn back: not of what came back by another way."""
    if all(item.after is not None for item in dream.every):
        return dream.every
    live = {document.id for _, store, _ in _histories(app) for document in store.scan().documents}
    return tuple(item for item in dream.every if item.after is not None or item.memory.id not in live)


def _histories(app: App) -> list[tuple[Scope, Store, list[Generation]]]:
    kept = [scope for scope in scopes.keepers(app) if not scope.is_fresh]
    opened = [(scope_of(scope), scope.open_store()) for scope in kept]
    return [(scope, store, list(store.history())) for scope, store in opened]


def _turns(histories: Sequence[tuple[Scope, Store, list[Generation]]]) -> dict[str, int]:
    """Return how often each change was turned round, by the dream's id where a dream made it."""
    found: dict[str, int] = {}
    for _, _, history in histories:
        for item in history:
            base, nth = turns_of(item.run)
            run = promoted_by(base) or base
            found[run] = max(nth, found.get(run, 0))
    return found


def _by_action(
    actions: Sequence[DreamAction], changes: Sequence[MemoryChange]
) -> tuple[tuple[Done, ...], tuple[MemoryChange, ...]]:
    """Return each action with its changes, every change at the first that names its memory, and the rest."""
    rest = list(changes)
    done = []
    for action in actions:
        own = [item for item in rest if _names(item) & {*action.memories, action.into}]
        rest = [item for item in rest if item not in own]
        done.append(_done(action, own, changes))
    return tuple(done), tuple(rest)


def _done(action: DreamAction, own: Sequence[MemoryChange], every: Sequence[MemoryChange]) -> Done:
    shown = {line.text for change in own for line in compare(change, every)}
    covers: dict[str, str] = {}
    unseen = []
    for text, by in action.left_out:
        spelled = {" ".join(f"{part}{text}".split()) for part in _PARTS}
        covers |= dict.fromkeys(spelled, by)
        if not spelled & shown:
            unseen.append((text, by))
    return Done(action, tuple(own), covers, tuple(unseen))


def _names(change: MemoryChange) -> set[str]:
    return {memory.name for memory in (change.before, change.after) if memory is not None}

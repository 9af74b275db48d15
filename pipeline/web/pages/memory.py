"""One memory: the reading pane beside the list, and every change of it, each with its undo."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from starlette.responses import Response

from pipeline.app import history, memories, moving, pins, reading, retired, scopes, undoing, writing
from pipeline.app.application import App
from pipeline.app.reading import Reading
from pipeline.app.retried import retried
from pipeline.app.scopes import SHOWN
from pipeline.core.errors import InputError, ReverieError, UnknownMemoryError, UsageError
from pipeline.hooklib.memory_format import is_teams
from pipeline.store import turns_of
from pipeline.web import memory_form
from pipeline.web.listed import kept, listed
from pipeline.web.visit import Visit
from pipeline.web.words import author, says, undo_line

_CHANGES = 20
"""Changes of a memory that are shown."""


def pane(visit: Visit) -> Response:
    """Return one memory with all that is known of it; what became of one that left."""
    return _shown(visit, visit.request.path_params["ref"], visit.asked("scope"))


@retried
def _shown(
    visit: Visit, ref: str, scope: str, *, draft: dict[str, str] | None = None, trouble: str = ""
) -> Response:
    app = visit.app
    try:
        found = reading.read(app, ref, scope)
    except UnknownMemoryError as error:
        return _gone(visit, app, ref, scope, error)
    memory = found.document.memory
    values = listed(visit, app, visit.number("from", 0, most=1_000_000), by_meaning=False)
    given = draft or memory_form.draft_of(memory, found.document.digest)
    return visit.page(
        "memory.html",
        "memories",
        memory.shown_title,
        status=409 if trouble else 200,
        **{**values, "current": found.document.path},
        found=found,
        memory=memory,
        author=_author(found),
        person=_person(found),
        touched=_touched(found),
        undo_of=_undo_of,
        changes=found.changes[:_CHANGES],
        more=max(0, len(found.changes) - _CHANGES),
        draft={**memory_form.draft_of(memory, ""), **given},
        form_fields=memory_form.fields_of(memory),
        is_edited=draft is not None,
        failure=trouble,
        scopes=SHOWN,
        can_move=app.store_override is None and found.scope != "team",
        list_asked=kept(visit),
    )  # fmt: skip


def _author(found: Reading) -> str:
    known = found.why.author
    return author(known.by, known.sign) if known else ""


def _person(found: Reading) -> str:
    """Return who said what a person said for the memory: whoever reads the page, but for a colleague's."""
    return says(found.document.memory) if is_teams(found.why.by) else "you"


def _touched(found: Reading) -> datetime | None:
    """Return when the memory was changed last: an undo, a pin or a link leaves the day of its text."""
    moments = [found.document.memory.updated, *(change.entry.at for change in found.changes[:1])]
    return max((moment for moment in moments if moment is not None), default=None)


def _undo_of(entry: history.Entry) -> str:
    """Return what `entry` turned round, "" where it is no undo."""
    turns = turns_of(entry.generation.run)[1] if entry.generation else 0
    return undo_line(entry.what, turns) if turns else ""


def _gone(visit: Visit, app: App, ref: str, scope: str, error: UnknownMemoryError) -> Response:
    return visit.page(
        "memory_gone.html",
        "memories",
        "Not here",
        status=404,
        gone=reading.gone(app, ref, scope),
        message=str(error),
        fix=error.fix,
        scopes=SHOWN,
    )


# -- changes ------------------------------------------------------------------------------------------


def change(visit: Visit) -> Response:
    """Do one thing to a memory, and show what came of it with its undo."""
    deed = _DEEDS.get(visit.request.path_params["deed"])
    if deed is None:
        raise UsageError("there is no such change", fix="Take a button of the page.")
    return deed(visit, visit.app, visit.given("name"), visit.given("scope"))


def _pin(visit: Visit, app: App, name: str, scope: str) -> Response:
    pinned = visit.given("pinned") == "yes"
    holder = reading.scoped(app, scope, name)
    memory = pins.pin(holder, name, pinned=pinned)
    run = history.newest_of(holder, memory.path, "pin" if pinned else "unpin")
    done = (
        f"{memory.name} is pinned: no dream changes it." if pinned else f"{memory.name} is no longer pinned."
    )
    return _to_memory(visit, reading.ref_of(holder, memory.path), scope, done, run)


def _edit(visit: Visit, app: App, name: str, scope: str) -> Response:
    holder = reading.scoped(app, scope, name)
    store = holder.open_store()
    memory = retired.read(store, name).memory
    draft = memory_form.typed(visit, memory)
    try:
        change = memory_form.change_of(draft, memory)
        written = writing.update_memory(holder, store, name, change, seen=draft["seen"])
    except UnknownMemoryError:
        raise
    except ReverieError as error:
        # What was typed stays in the form: nobody writes it twice.
        return _shown(visit, name, scope, draft=draft, trouble=f"Not kept: {error}. {error.fix}")
    if written.done == "unchanged":
        return _to_memory(visit, name, scope, "Nothing was changed.")
    return _to_memory(visit, name, scope, "Your text is kept.", written.change_id)


def _forget(visit: Visit, app: App, name: str, scope: str) -> Response:
    holder = reading.scoped(app, scope, name)
    path = holder.open_store().scan().named(name).path
    forgotten = memories.forget(holder, path)
    run = history.newest_of(holder, path, "forget")
    done = f"{forgotten} is forgotten: old words never bring it back. Its text is kept in the archive."
    return visit.go("", done, undo=run, **kept(visit))


def _restore(visit: Visit, app: App, name: str, scope: str) -> Response:
    keeper = next((k for k in scopes.keepers(app) if not scope or scopes.scope_of(k) == scope), None)
    if keeper is None:
        raise InputError("there are no such memories here", fix="Take a button of the list.")
    path = history.restore(keeper, name)
    run = history.newest_of(keeper, path, "restore")
    return _to_memory(visit, reading.ref_of(keeper, path), scope, "It is back.", run)


def _move(visit: Visit, app: App, name: str, scope: str) -> Response:
    if scope not in ("project", "user"):
        raise UsageError(
            "a memory moves between a project and all projects", fix="Take a button of the page."
        )
    moved = moving.move(app, name, to_all=scope == "project")
    where = "for all projects now" if moved.scope == "user" else "this project's alone now"
    lost = (
        f" Its {moved.relations} relations stayed behind; undo brings them back." if moved.relations else ""
    )
    return _to_memory(visit, moved.name, moved.scope, f"{moved.name} is {where}.{lost}", moved.change_id)


def _undo(visit: Visit, app: App, name: str, scope: str) -> Response:
    run = visit.given("run")
    if not run:
        raise UsageError("there is nothing to undo", fix="Take a button of the page.")
    part = undoing.take_back(app, run)[0]
    verb = "Put back" if part.undone.again else "Undone"
    again = "" if part.undone.again else "yes"
    done = f"{verb}: {part.undone.reason or part.short}."
    if name and _is_there(app, name, scope):
        return _to_memory(visit, name, scope, done, part.back, again)
    return visit.go("", done, undo=part.back, again=again, **kept(visit))


def _is_there(app: App, name: str, scope: str) -> bool:
    try:
        return reading.scoped(app, scope, name).open_store().scan().by_name(name) is not None
    except ReverieError:
        return False


def _to_memory(visit: Visit, ref: str, scope: str, done: str, run: str = "", again: str = "") -> Response:
    query: dict[str, Any] = {"scope": scope, "undo": run, "again": again, **kept(visit)}
    return visit.go(visit.memory_path(ref), done, **query)


_DEEDS: dict[str, Callable[[Visit, App, str, str], Response]] = {
    "pin": _pin,
    "edit": _edit,
    "forget": _forget,
    "restore": _restore,
    "move": _move,
    "undo": _undo,
}
"""What can be done to a memory, by the last part of the address."""
PAGES = (
    ("memory/{ref:path}", pane, ("GET",)),
    ("memories/{deed}", change, ("POST",)),
)

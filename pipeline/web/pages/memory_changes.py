"""Every change of one memory that its page offers, each with its undo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.responses import Response

from pipeline.app import history, memories, moving, pins, reading, retired, scopes, undoing, writing
from pipeline.app.application import App
from pipeline.core.errors import InputError, ReverieError, UnknownMemoryError, UsageError
from pipeline.web import memory_form
from pipeline.web.listed import kept
from pipeline.web.pages import memory as memory_page
from pipeline.web.visit import Visit


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
        return memory_page.shown(visit, name, scope, draft=draft, trouble=f"Not kept: {error}. {error.fix}")
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

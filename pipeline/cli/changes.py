"""Commands about changes of memories: history, diff, undo, restore; and a change as it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any

import typer

from pipeline.app import history as app_history
from pipeline.app import retired, scopes, undoing
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, as_text, compare
from pipeline.app.reaching import TakesAwayError
from pipeline.app.scopes import SHOWN, scope_of
from pipeline.cli import listings, output
from pipeline.cli.listings import AllOption, LimitOption
from pipeline.cli.options import (
    GraphOption,
    JsonOption,
    StoreOption,
    TeamOption,
    UserOption,
    memory_names,
)
from pipeline.cli.tables import table
from pipeline.core.zone import minute
from pipeline.hooklib.plain import clipped
from pipeline.sharing.turn import left_of

ForAllOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask where others would lose memories by it.")
]
_MOST_WHAT = 120
"""Characters of what a change did, in the list of all; `diff` shows it whole."""
_NO_VALUES = ("steps", "preconditions", "postconditions", "blockers", "relations", "sources", "replaces")
_LEVELS = {"kept": "", "gone": "warning", "new": "ok"}


def history(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Only the changes of that memory.", autocompletion=memory_names),
    ] = "",
    limit: LimitOption = None,
    everything: AllOption = False,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the changes of memories, newest first.

    Those of the project here, of its team's folder, and those for all projects. All can be undone but those
    "by hand": there somebody edited or removed a file that Reverie wrote, in an editor or with Claude Code.
    """
    shown = listings.most(limit, everything=everything, as_json=as_json)
    app = App(store=store, graph=graph, user=user, team=team)
    every = _entries_of(app, name) if name else app_history.history(app)
    found = listings.first(every, shown)
    elsewhere = any(entry.scope != scope_of(app) for entry in found)
    columns = ["run", "at", "by", "what", "state", *(["where"] if elsewhere else [])]
    rows = [
        [e.short, _when(e), e.by, clipped(e.what, _MOST_WHAT), e.state, SHOWN[e.scope]][: len(columns)]
        for e in found
    ]
    empty = f"no change of {name} is kept" if name else "nothing to undo: no change was kept yet"
    value = [_row(entry) for entry in found]
    output.data(value, lambda: table(columns, rows, empty=empty), as_json=as_json)
    listings.tell_rest(len(every), shown, which="earlier")
    if not found and not as_json:
        output.talk(app.next_step())


def diff(
    what: Annotated[
        str,
        typer.Argument(
            metavar="RUN|NAME",
            help="A change's id or the start of it, or a memory's name for its latest change. "
            "Default: the latest change.",
        ),
    ] = "",
    raw: Annotated[bool, typer.Option("--raw", help="The files, line by line.")] = False,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what one change did, old beside new."""
    found = app_history.changes(App(store=store, graph=graph, user=user, team=team), what)
    value = [
        {"path": file.path, "diff": as_text(file), "scope": change.entry.scope}
        for change in found
        for file in change.files
    ]

    def tell() -> None:
        for change in found:
            if raw or not change.shown:
                for file in change.files:
                    output.verbatim(as_text(file).rstrip("\n"))
                continue
            entry = change.entry
            where = SHOWN[entry.scope] if entry.scope != "project" else ""
            head = (entry.short, minute(entry.at), entry.by, where)
            output.line("  ".join(text for text in head if text))
            tell_changes(change.shown, change.memories)

    output.data(value, tell, as_json=as_json)


def undo(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A change's id or the start of it. Default: the newest change."),
    ] = "",
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    yes: ForAllOption = False,
    as_json: JsonOption = False,
) -> None:
    """Undo a change: a dream's, an extraction's, or yours.

    An undo is a change too: undone itself, it brings back what it took away. A proposal whose yes is undone
    waits in the inbox again. What came from your other machines or from a team is undone only by its id, and
    then for all; where that takes memories away you are asked, and --yes says so without a terminal.
    """
    app = App(store=store, graph=graph, user=user, team=team)
    parts = _taken_back(app, run, for_all=yes)
    values = [
        {
            **asdict(part.undone),
            **{"short": part.short, "back": part.back, "scope": part.scope, "waits": part.waits},
            "others": part.others,
        }
        for part in parts
    ]

    def tell() -> None:
        for part in parts:
            _tell_undone(part)

    output.data({**values[0], "also": values[1:]}, tell, as_json=as_json)
    if not as_json:
        for number in dict.fromkeys(part.waits for part in parts if part.waits):
            output.talk(
                f"The proposal waits again: `reverie inbox show {number}` shows it,"
                f" `reverie inbox reject {number}` turns it down."
            )
        for text in dict.fromkeys(part.others for part in parts if part.others):
            output.talk(f"It goes out to {text}, with the next sync.")
        again = parts[0].undone.again
        redo = f"`reverie undo {scopes.option(app, own=True)}{parts[0].back}`"
        output.talk(f"{'To undo it once more' if again else 'To redo it'}: {redo}.")


def _taken_back(app: App, run: str, *, for_all: bool) -> list[undoing.Part]:
    try:
        return undoing.take_back(app, run, for_all=for_all)
    except TakesAwayError as error:
        if not output.can_ask():
            raise
        if not output.ask(f"{error}. Go on?"):
            raise typer.Exit(1) from error
        return undoing.take_back(app, run, for_all=True)


def restore(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name, file stem, id, or its path in the archive.")
    ],
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a retired memory back from the archive."""
    asked = App(store=store, graph=graph, user=user, team=team)
    app = scopes.archive_holder(asked, name)
    scopes.require_meant(asked, app, name, "restore")
    path = app_history.restore(app, name)
    output.data(
        {"path": path, "scope": scope_of(app)},
        lambda: output.line(f"restored   {path}{for_all(app)}"),
        as_json=as_json,
    )


def for_all(app: App) -> str:
    """Return what stands behind a line about memories for all projects or a team's, "" for a project's."""
    scope = scope_of(app)
    if scope == "team" and (team := left_of(app.home, app.store_path)):
        return f" (in the folder of {team}, which you left: nobody else gets it)"
    return {"user": " (for all projects)", "team": " (the team's)"}.get(scope, "")


def tell_changes(shown: Sequence[MemoryChange], every: Sequence[MemoryChange], more: str = "") -> None:
    """Print each memory with its sentences: what stayed, what went and what speaks for it, what is new.

    `every` are all changes of the change set, `more` stands behind each name.
    """
    for change in shown:
        output.line()
        former = f"{change.before.name} → " if change.word == "renamed" and change.before else ""
        output.line(f"{change.word}  {former}{change.memory.name}{more}")
        for name, old, new in change.fields:
            output.hanging("  ", f"{name}: {_beside(change, name, old, new)}")
        for text in _more(change):
            output.hanging("  ", text)
        for line in compare(change, every):
            output.hanging(f"  {line.state:<4}  ", line.text, level=_LEVELS[line.state])
            if line.by:
                output.hanging("    →   ", line.by)


def _more(change: MemoryChange) -> list[str]:
    """Return what else differs than text and values that are shown: whose word it is, or times alone."""
    before, after = change.before, change.after
    if before is None or after is None:
        return []
    if before.origin != after.origin:
        return [f"who says it: “{before.origin}” → “{after.origin}”"]
    if change.fields or before.body != after.body or change.word != "changed":
        return []
    return [f"only {name}: {_value(old)} → {_value(new)}" for name, old, new in change.rest]


def _beside(change: MemoryChange, name: str, old: str, new: str) -> str:
    """Return the old value of a field beside the new one; of what is no value to read that it changed."""
    if old or new:
        return f"“{old}” → “{new}”"
    if name in _NO_VALUES:
        return "changed"
    return " → ".join(_value(getattr(memory, name)) for memory in (change.before, change.after) if memory)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return "; ".join(map(str, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return minute(value) if isinstance(value, datetime) else str(value or "none")


def plain_changes(changes: Iterable[MemoryChange], every: Sequence[MemoryChange]) -> list[dict[str, Any]]:
    """Return what `tell_changes` prints, for a program."""
    return [
        {"word": c.word, "name": c.memory.name, "lines": [asdict(line) for line in compare(c, every)]}
        for c in changes
    ]


def _entries_of(app: App, name: str) -> list[app_history.Entry]:
    """Return the changes of the memory `name`, the newest first; raises UnknownMemoryError."""
    holder = scopes.holder(app, name)
    found = app_history.of_memory(holder, retired.read(holder.open_store(), name))
    return [replace(change.entry, scope=scope_of(holder)) for change in found]


def _when(entry: app_history.Entry) -> str:
    if entry.at is None and entry.since is not None:
        return f"after {minute(entry.since)}"
    return minute(entry.at)


def _row(entry: app_history.Entry) -> dict[str, Any]:
    """Return one line of the history for a program: a change by hand has an empty ``run``."""
    if entry.generation is not None:
        value = asdict(entry.generation)
    else:
        edit = entry.hand_edit
        value = {"run": "", "number": 0, "at": entry.at, "reason": "edited by hand", "undone": False}
        value |= {"files": [asdict(edit)] if edit else [], "damaged": ""}
    more = {"short": entry.short, "by": entry.by, "what": entry.what, "state": entry.state}
    return {**value, **more, "scope": entry.scope}


def _tell_undone(part: undoing.Part) -> None:
    undone = part.undone
    when = f" of {minute(undone.at)}" if undone.at else ""
    what = f"{undone.reason}{when} ({part.short})" if undone.reason else part.short
    what += f" for {SHOWN[part.scope]}" if part.scope != "project" else ""
    if undone.already:
        output.line(f"{what} was {'redone' if undone.again else 'undone'} before")
    else:
        output.line(f"{'redid' if undone.again else 'undid'} {what}")
    for path in undone.paths:
        # What is done again is not as it was before it: it is as the change had made it.
        word = "removed" if path in undone.removed else "changed" if undone.again else "as before"
        but = ", but for what came into it since" if path in undone.partly else ""
        output.line(f"{'restored' if path in undone.restored else word:<10} {path}{but}")

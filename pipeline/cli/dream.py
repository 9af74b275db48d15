"""Commands around the dream: consolidate, dream, report, history, diff, undo, restore, pin, unpin, inbox."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from pipeline.app import dream as dreams
from pipeline.app import history as changes
from pipeline.app import inbox as decisions
from pipeline.app import pins
from pipeline.app.application import App
from pipeline.app.changes import compare
from pipeline.cli import output
from pipeline.cli.options import JsonOption, LlmOption, NameArgument, StoreOption
from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.report import DreamReport, as_markdown
from pipeline.core.errors import InputError
from pipeline.core.zone import minute

NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="Number in `reverie inbox list`.")]

_LEVELS = {"kept": "", "gone": "warning", "new": "ok"}

inbox = typer.Typer()


def consolidate(
    force: Annotated[bool, typer.Option("--force", help="Do not ask the gates.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Merge and prune one store, checked and undoable."""
    with output.progress("dreaming"):
        report = dreams.consolidate(App(store=store, llm=llm), force=force, dry_run=dry_run)
    output.data(report, lambda: _tell(report), as_json=as_json)


def dream(
    everywhere: Annotated[
        bool, typer.Option("--all", help="Every project, as the scheduler does it.")
    ] = False,
    store: StoreOption = None,
    llm: LlmOption = None,
    as_json: JsonOption = False,
) -> None:
    """Consolidate the stores whose gates are open."""
    with output.progress("dreaming"):
        reports = list(dreams.dream_all(App(store=store, llm=llm), everywhere=everywhere))

    def tell() -> None:
        for report in reports:
            if everywhere:
                output.line(f"== {report.store}")
            _tell(report)
        if not reports:
            output.line("no memory folder is known yet")

    output.data(reports, tell, as_json=as_json)
    if any(report.word == "failed" for report in reports):
        raise typer.Exit(1)


def report(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="The start of its id. Default: the newest dream here.")
    ] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a dream did, and what it held back.

    Every dream that ran has a report, also one that found nothing to do.
    """
    app = App(store=store)
    file = reports.find(app.home, app.store_path, run)
    if file is None:
        raise InputError(
            f"no dream here has an id that begins with {run!r}" if run else "no dream has run here yet",
            fix="`reverie status` says when the next one is due.",
        )
    whole = file.with_suffix(".json").read_text("utf-8")
    output.data(json.loads(whole), lambda: output.line(file.read_text("utf-8").rstrip()), as_json=as_json)


def history(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the changes of memories, newest first.

    All can be undone but those "by hand": there somebody edited or removed a file that Reverie wrote, in an
    editor or with Claude Code.
    """
    app = App(store=store)
    found = changes.history(app)
    rows = [[e.short, minute(e.at), e.by, e.what, e.state] for e in found]
    columns, empty = ["run", "at", "by", "what", "state"], "nothing to undo: no change was kept yet"
    value = [_row(entry) for entry in found]
    output.data(value, lambda: output.table(columns, rows, empty=empty), as_json=as_json)
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
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what one change did, old beside new."""
    found = changes.change(App(store=store), what)
    value = [{"path": change.path, "diff": changes.as_text(change)} for change in found.files]

    def tell_files() -> None:
        for item in value:
            output.line(item["diff"].rstrip("\n"))

    def tell() -> None:
        entry = found.entry
        output.line("  ".join(text for text in (entry.short, minute(entry.at), entry.by) if text))
        _tell_changes(found)

    output.data(value, tell_files if raw or not found.shown else tell, as_json=as_json)


def undo(
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A change's id or the start of it. Default: the newest change."),
    ] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Undo a change: a dream's, an extraction's, or yours.

    An undo is a change too: undone itself, it brings back what it took away.
    """
    app = App(store=store)
    undone = changes.undo(app, run)
    short, back = changes.ids_of(app, undone)

    def tell() -> None:
        when = f" of {minute(undone.at)}" if undone.at else ""
        what = f"{undone.reason}{when} ({short})" if undone.reason else short
        if undone.already:
            output.line(f"{what} was {'redone' if undone.again else 'undone'} before")
        else:
            output.line(f"{'redid' if undone.again else 'undid'} {what}")
        for path in undone.paths:
            word = "removed" if path in undone.removed else "as before"
            output.line(f"{'restored' if path in undone.restored else word:<10} {path}")

    output.data({**asdict(undone), "short": short, "back": back}, tell, as_json=as_json)
    if not as_json:
        output.talk(f"{'To undo it once more' if undone.again else 'To redo it'}: `reverie undo {back}`.")


def restore(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name, file stem, id, or its path in the archive.")
    ],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring a retired memory back from the archive."""
    path = changes.restore(App(store=store), name)
    output.data({"path": path}, lambda: output.line(f"restored   {path}"), as_json=as_json)


def pin(name: NameArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Protect a memory from dreams."""
    memory = pins.pin(App(store=store), name, pinned=True)
    output.data(memory, lambda: output.line(f"pinned     {memory.name} ({memory.path})"), as_json=as_json)


def unpin(name: NameArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """End the protection of a pinned memory."""
    memory = pins.pin(App(store=store), name, pinned=False)
    output.data(memory, lambda: output.line(f"unpinned   {memory.name} ({memory.path})"), as_json=as_json)


@inbox.callback(invoke_without_command=True)
def inbox_alone(context: typer.Context, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Review changes waiting for your decision.

    Without a command it lists them.
    """
    if context.invoked_subcommand is None:
        inbox_list(store, as_json)
    elif store is not None or as_json:
        raise typer.BadParameter(f"options stand behind `reverie inbox {context.invoked_subcommand}`")


@inbox.command("list")
def inbox_list(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List what waits for you."""
    rows = decisions.waiting(App(store=store))
    columns = ["id", "kind", "name", "reason"]
    output.data(
        rows,
        lambda: output.table(
            columns, [[row[c] for c in columns] for row in rows], empty="nothing waits for you"
        ),
        as_json=as_json,
    )


@inbox.command("show")
def inbox_show(number: NumberArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show one item whole."""
    found = decisions.item(App(store=store), number)
    output.data(found, lambda: output.fields(_flat(found)), as_json=as_json)


@inbox.command("accept")
def inbox_accept(number: NumberArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Do what an item proposes."""
    row = decisions.accept(App(store=store), number)
    output.data(row, lambda: output.line(f"accepted   {row['kind']} {row['name']}"), as_json=as_json)


@inbox.command("reject")
def inbox_reject(number: NumberArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Take an item off the list."""
    row = decisions.reject(App(store=store), number)
    output.data(row, lambda: output.line(f"rejected   {row['kind']} {row['name']}"), as_json=as_json)


def _row(entry: changes.Entry) -> dict[str, Any]:
    """Return one line of the history for a program: a change by hand has an empty ``run``."""
    if entry.generation is not None:
        value = asdict(entry.generation)
    else:
        edit = entry.hand_edit
        value = {"run": "", "number": 0, "at": entry.at, "reason": "edited by hand", "undone": False}
        value |= {"files": [asdict(edit)] if edit else [], "damaged": ""}
    return {**value, "short": entry.short, "by": entry.by, "what": entry.what, "state": entry.state}


def _tell_changes(found: changes.Change) -> None:
    """Print each memory with its sentences: what stayed, what went and what speaks for it, what is new."""
    for change in found.shown:
        output.line()
        former = f"{change.before.name} → " if change.word == "renamed" and change.before else ""
        output.line(f"{change.word}  {former}{change.memory.name}")
        for name, old, new in change.fields:
            output.hanging("  ", f"{name}: “{old}” → “{new}”" if old or new else f"{name}: changed")
        for line in compare(change, found.memories):
            output.hanging(f"  {line.state:<4}  ", line.text, level=_LEVELS[line.state])
            if line.by:
                output.hanging("    →   ", line.by)


def _tell(report: DreamReport) -> None:
    if report.word == "closed":
        output.line(f"not now: {report.reason}")
        output.talk("`reverie consolidate --force` does not ask these gates." if report.gates else "")
        for gate in report.gates:
            output.line(f"  {'open  ' if gate.open else 'closed'} {gate.name:<9} {gate.reason}")
        return
    output.line(as_markdown(report).rstrip("\n"))


_TWICE = frozenset({"operation", "statement", "why", "how_to_apply", "name", "texts", "covered"})
"""Parts of a proposal whose words stand in its body, or in a row of their own, or that are no words."""


def _flat(row: dict[str, Any]) -> dict[str, object]:
    payload = row["payload"]
    operation = payload.get("operation") or {}
    shown = {**payload, **operation}
    twice = _TWICE if payload.get("body") else _TWICE - {"statement", "why", "how_to_apply"}
    return {
        "kind": row["kind"],
        "name": row["name"],
        "why it waits": row["reason"],
        **{key: _words(value) for key, value in shown.items() if value and key not in twice},
    }


def _words(value: object) -> object:
    """Return a list as its words, a source as who said what when."""
    if isinstance(value, dict):
        return f"{value.get('speaker', '')} {minute(value.get('at'))}: “{value.get('quote', '')}”".strip()
    if isinstance(value, (list, tuple)):
        return "; ".join(str(_words(item)) for item in value)
    return value

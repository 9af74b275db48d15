"""Commands around the dream: consolidate, dream, history, diff, undo, pin, unpin, inbox."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from pipeline.app import dream as dreams
from pipeline.app import history as changes
from pipeline.app import inbox as decisions
from pipeline.app import pins
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange, compare, memory_changes
from pipeline.cli import output
from pipeline.cli.options import JsonOption, LlmOption, NameArgument, StoreOption
from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.report import DreamReport, as_markdown
from pipeline.core.errors import InputError
from pipeline.core.zone import minute

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or the start of it.")]
NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="Number in `reverie inbox list`.")]

_LEVELS = {"kept": "", "gone": "warning", "new": "ok"}

inbox = typer.Typer(help="Review changes waiting for your decision.", no_args_is_help=True)


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
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="Default: the newest dream here.")] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what a dream did, and what it held back."""
    app = App(store=store)
    file = reports.find(app.home, app.store_path, run)
    if file is None:
        raise InputError(
            "no dream has left a report here", fix="`reverie status` says when the next one is due."
        )
    whole = file.with_suffix(".json").read_text("utf-8")
    output.data(json.loads(whole), lambda: output.line(file.read_text("utf-8").rstrip()), as_json=as_json)


def history(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """List the changes that can be undone, newest first."""
    found = changes.history(App(store=store))
    rows = [
        [e.short, minute(e.generation.at), e.by, e.what, "undone" if e.generation.undone else ""]
        for e in found
    ]
    columns, empty = ["run", "at", "by", "what", "state"], "nothing to undo: no change was kept yet"
    value = [{**asdict(e.generation), "short": e.short, "by": e.by, "what": e.what} for e in found]
    output.data(value, lambda: output.table(columns, rows, empty=empty), as_json=as_json)


def diff(
    run: RunArgument,
    raw: Annotated[bool, typer.Option("--raw", help="The files, line by line.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what one change did, old beside new."""
    found = changes.diff(App(store=store), run)
    value = [{"path": change.path, "diff": changes.as_text(change)} for change in found]
    done = memory_changes(found)

    def tell() -> None:
        for item in value:
            output.line(item["diff"].rstrip("\n"))

    output.data(value, tell if raw or not done else lambda: _tell_changes(done), as_json=as_json)


def undo(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="Default: the newest change.")] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Undo a change: a dream's, an extraction's, or yours."""
    undone = changes.undo(App(store=store), run)

    def tell() -> None:
        when = f" of {minute(undone.at)}" if undone.at else ""
        what = f"{undone.reason}{when} ({undone.run})" if undone.reason else undone.run
        output.line(f"{what} was undone before" if undone.already else f"undid {what}")
        for path in undone.paths:
            word = "removed" if path in undone.removed else "as before"
            output.line(f"{'restored' if path in undone.restored else word:<10} {path}")

    output.data(undone, tell, as_json=as_json)


def restore(name: NameArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Bring one memory back from the archive."""
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


def _tell_changes(done: Sequence[MemoryChange]) -> None:
    """Print each memory with its sentences: what stayed, what went and what speaks for it, what is new."""
    for number, change in enumerate(done):
        if number:
            output.line()
        former = f"{change.before.name} → " if change.word == "renamed" and change.before else ""
        output.line(f"{change.word}  {former}{change.memory.name}")
        for name, old, new in change.fields:
            output.hanging("  ", f"{name}: “{old}” → “{new}”" if old or new else f"{name}: changed")
        for line in compare(change, done):
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

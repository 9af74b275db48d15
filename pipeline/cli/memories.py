"""Commands that show things: conversations, list, show, why, config, hooks."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipeline.app import recall
from pipeline.app.application import App, Why
from pipeline.cli import output
from pipeline.cli.options import JsonOption, StoreOption
from pipeline.config import Settings
from pipeline.core.clock import iso
from pipeline.core.home import Home
from pipeline.install.hook_registration import settings_snippet

_LEAST_WIDE = 60
"""Columns beside the longest name that type and description need to be read in a table."""
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name, file stem or id.")]


def conversations(
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="S", help="active, ready, queued, processing, archived, skipped or review."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List conversations: dialogue between two silences."""
    rows = App().conversations(status)
    columns = ["id", "status", "first_message_at", "last_message_at", "entry_count", "source_file", "reason"]
    output.data(
        rows,
        lambda: output.table(
            columns, [[row[name] for name in columns] for row in rows], empty="no conversations"
        ),
        as_json=as_json,
    )


def list_memories(
    kind: Annotated[str | None, typer.Option("--type", metavar="T", help="Only this type.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the memories of a store."""
    found, problems = App(store=store).memories(kind)
    value = [
        {
            "name": m.name,
            "type": m.type,
            "description": m.description,
            "origin": m.origin,
            "path": m.path,
            "pinned": m.pinned,
        }
        for m in (document.memory for document in found)
    ]
    output.data(value, lambda: _tell_list(value), as_json=as_json)
    for problem in problems:
        where = f"{problem.path}:{problem.line}" if problem.line else problem.path
        output.talk(f"{where}: {problem.message}")


def _tell_list(rows: list[dict[str, Any]]) -> None:
    """Print one line a memory where it fits whole, else its description below it; ``*`` marks pinned ones."""
    columns = output.width()
    names = max((len(row["name"]) for row in rows), default=0)
    if columns is not None and columns < names + _LEAST_WIDE:
        for row in rows:
            output.hanging("* " if row["pinned"] else "  ", f"{row['name']}  ({row['type']})", mark="ok")
            output.hanging("      ", row["description"])
        return
    shown = [["*" if row["pinned"] else "", row["name"], row["type"], row["description"]] for row in rows]
    output.table(["", "name", "type", "description"], shown, empty="no memories yet")


def show(name: NameArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Print one memory as it stands in its file."""
    document, problems = recall.show(App(store=store), name)
    text = document.raw.decode("utf-8", "replace")
    output.data(
        {"path": document.path, "text": text, "memory": document.memory},
        lambda: output.line(text.rstrip("\n")),
        as_json=as_json,
    )
    for problem in problems:
        output.talk(problem)


def why(name: NameArgument, store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Show who said it, where, and which run and model kept it."""
    found = App(store=store).why(name)
    output.data(found, lambda: _tell_why(found), as_json=as_json)


def config(as_json: JsonOption = False) -> None:
    """Show every setting, its value and what it means."""
    app = App()
    rows: list[dict[str, Any]] = []
    for section_name in Settings.model_fields:
        section = getattr(app.settings, section_name)
        for key, field in type(section).model_fields.items():
            value = getattr(section, key)
            rows.append(
                {
                    "key": f"{section_name}.{key}",
                    "value": value,
                    "default": field.default,
                    "meaning": field.description,
                }
            )
    output.data(
        {"file": str(Home(app.home).config), "settings": rows},
        lambda: output.table(
            ["key", "value", "meaning"], [[r["key"], r["value"], r["meaning"]] for r in rows]
        ),
        as_json=as_json,
    )
    output.talk(f"set them in {Home(app.home).config}, or as REVERIE_SECTION__KEY in the environment")


def hooks(as_json: JsonOption = False) -> None:
    """Print the hooks to merge into Claude Code's settings.json."""
    del as_json  # it is JSON either way
    output.data(settings_snippet(), output.line, as_json=True)


def _tell_why(found: Why) -> None:
    memory = found.memory
    output.line(f"{memory.name} ({memory.type}): {memory.description}")
    output.fields(
        {
            "file": found.path,
            "origin": memory.origin or "unknown",
            "written": iso(memory.created) if memory.created else "unknown",
            "changed since by someone else": "no" if found.ours else "yes, or it never was Reverie's",
        }
    )
    for number, source in enumerate(found.sources, start=1):
        said = "the person" if source["speaker"] == "person" else "the assistant"
        output.line(f"\nsource {number}: {said} said at {source['at'] or 'an unknown time'}")
        output.line(f"  session {source['session']}, entry {source['uuid']}")
        output.line(f"  quote: “{source['quote']}”")
        if source["file"]:
            output.line(f"  transcript: {source['file']} (in {source['cwd'] or 'an unknown directory'})")
        else:
            output.line("  the ledger does not hold that entry; the quote is all there is")
    for run in found.runs:
        output.line(f"\nrun {run['id']} ({run['strategy']}): {run['provider']} {run['model']}".rstrip())
    if not found.runs and memory.origin == "hand-written":
        output.line("\nwritten by hand, with no run")

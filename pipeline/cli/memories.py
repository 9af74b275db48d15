"""Commands about single memories: list, show, why, add, forget; and reindex."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from pipeline.app import memories as store_memories
from pipeline.app import recall
from pipeline.app.application import App, Why
from pipeline.cli import output
from pipeline.cli.options import JsonOption, NameArgument, StoreOption
from pipeline.core.zone import minute

_LEAST_WIDE = 60
"""Columns beside the longest name that type and description need to be read in a table."""


def list_memories(
    kind: Annotated[str | None, typer.Option("--type", metavar="T", help="Only this type.")] = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the memories of a store."""
    app = App(store=store)
    found, problems = app.memories(kind)
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
    output.data(value, lambda: _tell_list(value, kind), as_json=as_json)
    if not value and kind is None and not as_json:
        output.talk(app.next_step() + app.known_stores())
    for problem in problems:
        where = f"{problem.path}:{problem.line}" if problem.line else problem.path
        output.talk(f"{where}: {problem.message}")


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


def add(
    statement: Annotated[str, typer.Argument(metavar="TEXT", help="The fact, in one or a few sentences.")],
    kind: Annotated[str, typer.Option("--type", metavar="T", help="One of the 16 types.")] = "project",
    name: Annotated[str, typer.Option("--name", help="Its name; made from the text if not given.")] = "",
    description: Annotated[str, typer.Option("--description", help="One line for the index.")] = "",
    why: Annotated[str, typer.Option("--why", help="The reason.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Also if a memory says the same already.")] = False,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a memory yourself.

    One whose text stands in a memory already is not written: exit code 1, and its name is told.
    """
    memory = store_memories.add(
        App(store=store), statement, kind=kind, name=name, description=description, why=why, force=force
    )
    output.data(memory, lambda: output.line(f"created    {memory.name} ({memory.path})"), as_json=as_json)


def forget(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, file stem or id.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Retire a memory so that old words never bring it back.

    It moves to archive/. What a person says from now on can bring it back, and so can `reverie restore`.
    """
    gone = store_memories.forget(App(store=store), name)
    output.data(
        {"forgotten": gone}, lambda: output.line(f"forgotten  {gone} (kept in archive/)"), as_json=as_json
    )
    if not as_json:
        output.talk(f"`reverie restore {gone}` brings it back.")


def reindex(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Rebuild MEMORY.md, all derived files and the search index."""
    with output.progress("rebuilding"):
        changed = App(store=store).reindex()

    def tell() -> None:
        for path in changed or ["nothing to change"]:
            output.line(path)

    output.data(changed, tell, as_json=as_json)


def _tell_list(rows: list[dict[str, Any]], kind: str | None) -> None:
    """Print one line a memory where it fits whole, else its description below it; ``*`` marks pinned ones."""
    columns = output.width()
    names = max((len(row["name"]) for row in rows), default=0)
    if columns is not None and columns < names + _LEAST_WIDE:
        for row in rows:
            output.hanging("* " if row["pinned"] else "  ", f"{row['name']}  ({row['type']})", level="ok")
            output.hanging("      ", row["description"])
        return
    shown = [["*" if row["pinned"] else "", row["name"], row["type"], row["description"]] for row in rows]
    output.table(
        ["", "name", "type", "description"],
        shown,
        empty=f"no memories of type {kind}" if kind else "no memories yet",
    )


def _tell_why(found: Why) -> None:
    memory = found.memory
    if found.note:
        output.talk(found.note)
    output.line(f"{memory.name} ({memory.type}): {memory.description}")
    output.fields(
        {
            "file": found.path,
            "origin": memory.origin or "unknown",
            "written": minute(memory.created, "unknown"),
            "changed since by someone else": "no" if found.ours else "yes, or it never was Reverie's",
            **({"found as well as": ", ".join(memory.aliases)} if memory.aliases else {}),
        }
    )
    for was in memory.replaces:
        when = f"said {was.day}" if was.day else "said on an unknown day"
        output.line(f"replaces: “{was.text}” ({when}{f', as {was.name}' if was.name else ''})")
    for number, source in enumerate(found.sources, start=1):
        speaker = "the person" if source["speaker"] == "person" else "the assistant"
        output.line(f"\nsource {number}: {speaker} said at {minute(source['at'], 'an unknown time')}")
        output.line(f"  session {source['session']}, entry {source['uuid']}")
        output.line(f"  quote: “{source['quote']}”")
        for text in source["sentences"]:
            output.line(f"  stands for: “{' '.join(text.split())}”")
        if source["file"]:
            where = source["cwd"] or "an unknown directory"
            branch = f", on branch {source['branch']}" if source["branch"] else ""
            output.line(f"  transcript: {source['file']} (in {where}{branch})")
            if source["text"] is None:
                output.line("  the dialogue was deleted from the ledger; the quote is all there is")
        else:
            output.line("  the ledger does not hold that entry; the quote is all there is")
    for text in found.unsourced:
        output.line(f"\nno source stands for: “{' '.join(text.split())}”")
    _tell_runs(found)


def _tell_runs(found: Why) -> None:
    for run in found.runs:
        output.line(f"\nrun {run['id']} ({run['strategy']}): {run['provider']} {run['model']}".rstrip())
        if run["prompt_digest"]:
            output.line(f"  request: {run['prompt_digest'][:12]}")
        if run["replies"]:
            output.line(f"  replies: {run['replies']}")
    if not found.runs and found.memory.origin == "hand-written":
        output.line("\nwritten by hand, with no run")

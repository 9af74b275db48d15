"""Commands that change the store: add, forget, reindex."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.app import memories
from pipeline.app.application import App
from pipeline.cli import output
from pipeline.cli.options import JsonOption, StoreOption


def add(
    statement: Annotated[str, typer.Argument(metavar="TEXT", help="The fact, in one or a few sentences.")],
    kind: Annotated[str, typer.Option("--type", metavar="T", help="One of the 16 types.")] = "project",
    name: Annotated[str, typer.Option("--name", help="Its name; made from the text if not given.")] = "",
    description: Annotated[str, typer.Option("--description", help="One line for the index.")] = "",
    why: Annotated[str, typer.Option("--why", help="The reason.")] = "",
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write a memory yourself."""
    memory = memories.add(App(store=store), statement, kind=kind, name=name, description=description, why=why)
    output.data(memory, lambda: output.line(f"created    {memory.name} ({memory.path})"), as_json=as_json)


def forget(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name, file stem or id.")],
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move a memory to the archive.

    What was said before can't bring it back; a person saying it anew can.
    """
    gone = memories.forget(App(store=store), name)
    output.data(
        {"forgotten": gone}, lambda: output.line(f"forgotten  {gone} (kept in archive/)"), as_json=as_json
    )


def reindex(store: StoreOption = None, as_json: JsonOption = False) -> None:
    """Rebuild MEMORY.md, all derived files and the search index."""
    with output.progress("rebuilding"):
        changed = App(store=store).reindex()

    def tell() -> None:
        for path in changed or ["nothing to change"]:
            output.line(path)

    output.data(changed, tell, as_json=as_json)

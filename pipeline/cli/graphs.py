"""``reverie graphs``: memory folders by name, for ``--graph NAME``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import named_graphs
from pipeline.app.application import App
from pipeline.app.named_graphs import Graph
from pipeline.cli import output
from pipeline.cli.groups import HELP_OPTIONS
from pipeline.cli.options import JsonOption, graph_names
from pipeline.cli.tables import table

graphs = typer.Typer(context_settings=HELP_OPTIONS)
GraphArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="What the graph is called.", autocompletion=graph_names)
]


@graphs.callback(invoke_without_command=True)
def graphs_alone(context: typer.Context, as_json: JsonOption = False) -> None:
    """List memory folders by name, and name more of them.

    `--graph NAME` then means that folder. Hooks read the project's and the user's alone.
    """
    if context.invoked_subcommand is not None:
        if as_json:
            raise typer.BadParameter(f"--json stands behind `reverie graphs {context.invoked_subcommand}`")
        return
    found = named_graphs.graphs(App())
    output.data(found, lambda: _tell(found), as_json=as_json)
    output.talk("Hooks read the graphs of scope project and user only; the others are there for commands.")


@graphs.command("add")
def graphs_add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it: a-z, 0-9, - and _.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Its memory folder; it may come later.")],
    as_json: JsonOption = False,
) -> None:
    """Give a memory folder a name, in config.toml.

    Nothing is made or moved.
    """
    done = named_graphs.add(App(), name, folder)
    output.data(done, lambda: output.line(f"{done.name}: {done.path} ({_number(done)})"), as_json=as_json)
    output.talk(f"`reverie list --graph {name}` shows it. No hook reads it.")


@graphs.command("remove")
def graphs_remove(name: GraphArgument, as_json: JsonOption = False) -> None:
    """Take a name away; the folder and its memories stay."""
    folder = named_graphs.remove(App(), name)
    value = {"name": name, "path": str(folder)}
    output.data(value, lambda: output.line(f"{name} is no name any more; {folder} stays"), as_json=as_json)


def _tell(found: list[Graph]) -> None:
    rows = [[item.name, item.scope, _number(item), str(item.path)] for item in found]
    table(["name", "scope", "memories", "folder"], rows)
    for item in found:
        if item.memories is None:
            output.hanging("! ", f"{item.name}: {item.problem}", level="warning")


def _number(item: Graph) -> str:
    if item.memories is None:
        return "?"
    return f"{item.memories:,}" if not item.problem else "none yet"

"""Options that many commands share, and the names that a shell offers for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from pipeline.app import scopes
from pipeline.app.application import App
from pipeline.app.graph_names import RESERVED, named_folders
from pipeline.core.errors import ReverieError
from pipeline.domain.memory import TYPES

_PLAIN = re.compile(r"\w[\w.-]*")


def memory_names(incomplete: str) -> Sequence[str]:
    """Return the names of memories, of the project here and of all projects, that begin with `incomplete`.

    Only those that mean nothing to a shell: it puts them on its line as they are.
    """
    try:
        stores = [scope.open_store() for scope in scopes.all_of(App())]
        names = {document.name for store in stores for document in store.scan().documents}
    except (ReverieError, OSError):
        # A shell that completes has no place for an error.
        return []
    return sorted(name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name))


def graph_names(incomplete: str) -> Sequence[str]:
    """Return the names of graphs that begin with `incomplete`."""
    try:
        names = (*RESERVED, *named_folders(App(looks=True).settings))
    except (ReverieError, OSError):
        return []
    return [name for name in names if name.startswith(incomplete)]


StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Memory folder; default: the project's (here, or where the session was).",
    ),
]
UserOption = Annotated[bool, typer.Option("--user", help="The memories for all projects.")]
TeamOption = Annotated[bool, typer.Option("--team", help="The memories of the project's team.")]
GraphOption = Annotated[
    str | None,
    typer.Option(
        "--graph",
        metavar="NAME",
        help="The memory folder of that name; `reverie graphs` lists them.",
        autocompletion=graph_names,
    ),
]
LlmOption = Annotated[
    str | None,
    typer.Option(
        "--llm",
        metavar="PROVIDER",
        help="auto, anthropic, claude-cli, offline, replay:DIR or record:DIR; default: config.",
    ),
]
TYPE_NAMES = ", ".join(TYPES)
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name, file stem or id.", autocompletion=memory_names)
]
NamesArgument = Annotated[
    list[str],
    typer.Argument(metavar="NAME...", help="Names, file stems or ids.", autocompletion=memory_names),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only show what would change.")]
YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask. Without a terminal nobody is asked either.")
]
OrderedOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask. Without a terminal an order needs this.")
]
AgreedOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Do not ask. Without a terminal nothing is changed but with this.")
]

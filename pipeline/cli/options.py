"""Options that many commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        help="Memory folder; default: the project's (here, or where the session was).",
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
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Name, file stem or id.")]

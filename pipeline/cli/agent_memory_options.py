"""What the commands over agent-memory's files share: which folder, and what is told besides the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.app.application import App
from pipeline.cli import output
from pipeline.formats.agent_memory.memory import AgentMemory
from pipeline.formats.agent_memory.options import default_folder, load
from pipeline.formats.agent_memory.schema import KINDS
from pipeline.formats.agent_memory.starting import log_to

DirOption = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIR", help="The folder of the files; default: as `config` says."),
]
TypeOption = Annotated[str, typer.Option("--type", metavar="T", help=f"One of {', '.join(KINDS)}.")]


def opened(folder: Path | None) -> AgentMemory:
    """Return the files in `folder`, or where they are by settings and variables; nothing is made."""
    settings = App(looks=True).settings
    root = folder.expanduser().absolute() if folder else default_folder(settings.agent_memory.folder)
    options = load(root)
    log_to(options.log_file, options.log_level)
    return AgentMemory(root, options)


def tell_warnings(memory: AgentMemory) -> None:
    """Say what was noticed while reading or writing."""
    for text in memory.warnings:
        output.talk(f"warning: {text}")

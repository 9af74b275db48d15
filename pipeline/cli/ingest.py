"""The command that reads transcripts into the ledger: `ingesting` does it, and loads no typer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli import ingesting
from pipeline.cli.options import JsonOption
from pipeline.formats.claudia.sources import HOSTS, SOURCES


def ingest(
    file: Annotated[Path | None, typer.Option("--file", metavar="F", help="One transcript.")] = None,
    folder: Annotated[
        Path | None, typer.Option("--dir", metavar="D", help="All transcripts under D.")
    ] = None,
    reimport: Annotated[bool, typer.Option("--reimport", help="Read from the start again.")] = False,
    source: Annotated[
        str,
        typer.Option("--source", metavar="S", help=f"Whose files they are: {', '.join(SOURCES)}."),
    ] = HOSTS,
    as_json: JsonOption = False,
) -> None:
    """Read transcripts into the ledger; no model is asked."""
    given = "" if source == HOSTS else source
    ingesting.ingest(file=file, folder=folder, reimport=reimport, source=given, as_json=as_json)

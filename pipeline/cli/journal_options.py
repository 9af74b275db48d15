"""What the commands over journals share: where they are, times a person writes, lines without a record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from pipeline.cli import listings, output
from pipeline.core.clock import parse_time
from pipeline.core.errors import UsageError
from pipeline.formats.keisei.journals import Fault
from pipeline.text.humanize import count

JournalsOption = Annotated[
    Path | None,
    typer.Option(
        "--journals",
        metavar="DIR",
        help="The folder of journals; default: memory/time-metrics in Claude Code's.",
    ),
]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw it, as PNG (extra `plots`).")
]
TranscriptsOption = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIR", help="The transcripts below this folder; default: all of yours."),
]
_MOST_NAMED = 5
_Kept = TypeVar("_Kept")


def time_of(text: str) -> int:
    """Return the epoch seconds that a person named."""
    moment = parse_time(text)
    if moment is None:
        raise UsageError(f"{text!r} is no time", fix="Write 2026-04-29T04:48:00Z.")
    return int(moment.timestamp())


def latest(rows: Sequence[_Kept], limit: int | None, *, as_json: bool = False) -> Sequence[_Kept]:
    """Return the last of `rows`, as many as a listing shows, and say how many came before."""
    shown = listings.most(limit, as_json=as_json)
    if shown is None:
        return rows
    listings.tell_rest(len(rows), shown, which="earlier", how="--limit 0 shows all")
    return rows[-shown:]


def tell_faults(faults: Sequence[Fault]) -> None:
    """Say which lines of a journal were passed over, and why."""
    for fault in faults[:_MOST_NAMED]:
        output.talk(fault.in_words())
    if len(faults) > _MOST_NAMED:
        output.talk(f"and {count(len(faults) - _MOST_NAMED, 'line')} more that hold no record")

"""How much of a long listing is shown: all of it in a pipe, what one reads at once on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

import typer

from pipeline.cli import output
from pipeline.core.errors import UsageError

USUAL = 50
"""Rows of a listing on a terminal where nobody says how many."""
LimitOption = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=0, help=f"At most so many; 0: all. On a terminal {USUAL}."),
]
AllOption = Annotated[bool, typer.Option("--all", help="All of them, on a terminal too.")]
SHOWN_OF_ID = 8
"""Characters of an id that tell it from the others of a listing."""
_Row = TypeVar("_Row")


def most(limit: int | None, *, everything: bool = False, as_json: bool = False) -> int | None:
    """Return how many rows to show, None for all: what was said, else `USUAL` where a person reads them."""
    if limit is not None and everything:
        raise UsageError("--limit and --all exclude each other", fix="Give one of them.")
    if limit is not None:
        return limit or None
    return None if everything or as_json or output.width() is None else USUAL


def first(rows: Sequence[_Row], shown: int | None) -> Sequence[_Row]:
    """Return the first `shown` of `rows`; all of them for None."""
    return rows if shown is None else rows[:shown]


def tell_rest(number: int, shown: int | None, *, which: str = "more", how: str = "--all shows all") -> None:
    """Say how many of `number` rows are not among those `shown`, and how they are seen."""
    if shown is not None and number > shown:
        output.talk(f"{number - shown:,} {which}: {how}, --limit N so many.")

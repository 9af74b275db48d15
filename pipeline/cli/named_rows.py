"""A list of lines that each name something, of which a person is shown the first."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.cli import output

_MOST = 20


def tell(rows: Sequence[str]) -> None:
    """Print each of `rows` behind a dash, and how many more there are."""
    for row in rows[:_MOST]:
        output.hanging("- ", row)
    if len(rows) > _MOST:
        output.line(f"- and {len(rows) - _MOST} more; --json names all")


def tell_asleep(number: int) -> None:
    """Say how many of what came in sleep, and how they are found."""
    if number:
        output.line(
            f"{number} of them {'sleeps' if number == 1 else 'sleep'}, worth little by now: `reverie decay`"
            " lists them, `reverie search --asleep` finds them, `reverie show NAME` wakes one."
        )

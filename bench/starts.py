"""What it costs to start a command that has next to nothing to do, over a bare start of Python."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bench.growth import lay_out
from bench.measure import Ratio
from bench.process import alternate
from bench.row import GIVEN, Group, Row, Target, single

LIMIT = Target(GIVEN, cpu=8)
COMMANDS = ("--version", "--help", "status", "statusline")


def groups() -> list[Group]:
    """Return the rows about commands that are only started."""
    return [single("What a command's start costs", _row(command), _run(command)) for command in COMMANDS]


def _row(command: str) -> Row:
    return Row(
        f"reverie {command}", f"`reverie {command}`, 100 memories", "bare start of Python", LIMIT, rounds=2
    )


def _run(command: str) -> Callable[[Path, int], Ratio]:
    def run(folder: Path, rounds: int) -> Ratio:
        desk = lay_out(folder / "of-100", 100)
        return alternate(lambda _: desk.command(command), rounds=rounds)

    return run

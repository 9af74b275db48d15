"""What a row of the bench is: the work, its floor, what it should be at most, and what was found."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.measure import Ratio

GIVEN = "given"
"""A target that was set before anything was measured."""
OWN = "own"
"""A target that we set ourselves, mostly at what was reached: it tells when something got worse."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a row should be at most, by processor time, by wall time, or in what else it counts."""

    source: str
    cpu: float | None = None
    wall: float | None = None
    other: float | None = None

    def text(self) -> str:
        """Return the target for a table: ``1.5 cpu``."""
        named = (("cpu", self.cpu), ("wall", self.wall), ("", self.other))
        return ", ".join(f"{limit:g} {name}".rstrip() for name, limit in named if limit is not None)


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is measured. What its figures are is said by `unit`.

    ms: ratios of processor and wall time to those of `floor`. MB, tokens: a ratio to `floor`, or where that
    is empty the number itself. exponent: how the processor time grows with the store (see `bench.growth`).
    """

    name: str
    work: str
    floor: str
    target: Target
    unit: str = "ms"
    how: str = "whole process"
    rounds: int = 1
    """So many times the rounds asked for: short work needs more of them."""
    full: bool = False
    """Whether it is measured in a full run only."""


@dataclass(frozen=True, slots=True)
class Found:
    """The figures of a row, and those they were made of; `why` says why there are none."""

    name: str
    cpu: float | None = None
    wall: float | None = None
    other: float | None = None
    rounds: int = 0
    parts: Mapping[str, float] | None = None
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what is stored of it: figures with so many digits as they are worth."""
        parts = {name: _short(value) for name, value in (self.parts or {}).items()}
        whole = {**asdict(self), "parts": parts, "cpu": _short(self.cpu), "wall": _short(self.wall)}
        return {
            key: value
            for key, value in {**whole, "other": _short(self.other)}.items()
            if value not in (None, "", {}) and (value or key != "rounds")
        }


Measure = Callable[[Path, int, Collection[str]], Mapping[str, Found]]
"""Gets an empty folder, the rounds asked for, and the names of the rows that are wanted."""


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are measured together, since they share what takes long to make."""

    title: str
    rows: tuple[Row, ...]
    measure: Measure


def single(title: str, row: Row, run: Callable[[Path, int], Ratio]) -> Group:
    """Return a group of one row, measured by a function that returns a `Ratio`."""

    def measure(folder: Path, rounds: int, _: Collection[str]) -> Mapping[str, Found]:
        return {row.name: found(row, run(folder, rounds * row.rounds))}

    return Group(title, (row,), measure)


def found(row: Row, ratio: Ratio) -> Found:
    """Return `ratio` as the figures of `row`."""
    if row.unit != "ms":
        parts = {"subject": ratio.subject_ms, "floor": ratio.floor_ms}
        return Found(row.name, other=ratio.wall, rounds=ratio.rounds, parts=parts)
    times = {
        "cpu_ms": ratio.subject_cpu_ms,
        "floor_cpu_ms": ratio.floor_cpu_ms,
        "wall_ms": ratio.subject_ms,
        "floor_wall_ms": ratio.floor_ms,
    }
    parts = {name: value for name, value in times.items() if value is not None}
    return Found(row.name, cpu=ratio.cpu, wall=ratio.wall, rounds=ratio.rounds, parts=parts)


def missed(row: Row, of: Found) -> str:
    """Return how `of` falls short of the target of `row`, or "" where it does not."""
    if of.why:
        return f"not measured: {of.why}"
    pairs = (
        ("cpu", of.cpu, row.target.cpu),
        ("wall", of.wall, row.target.wall),
        (row.unit, of.other, row.target.other),
    )
    return ", ".join(
        _judged(name, value, limit) for name, value, limit in pairs if _judged(name, value, limit)
    )


def _judged(name: str, value: float | None, limit: float | None) -> str:
    if limit is None:
        return ""
    if value is None:
        return f"{name} not measured"
    # What the table shows is what is judged.
    return f"{name} {value:.2f} > {limit:g}" if round(value, 2) > limit else ""


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")

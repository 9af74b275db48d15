"""The lines of `bench.worker` as rows: what a turn costs behind the session's back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from bench import worker
from bench.row import GIVEN, OWN, Found, Group, Row, Target

TITLE = "What a turn costs behind it"
FEW, _, MOST = (f"{count:,}" for count in worker.COUNTS)
TURN = 'the worker of a turn that says "ok"'
TURNS = {
    Row(
        f"worker, {FEW}", f"{TURN}, {FEW} memories", "bare start of Python", Target(GIVEN, cpu=worker.START)
    ): worker.TURN,
    Row(
        f"worker, {MOST}", f"{TURN}, {MOST} memories", f"{FEW} memories", Target(GIVEN, cpu=worker.GROWTH)
    ): worker.TURN_GROWTH,
}
IDLE = {
    Row(
        f"idle worker, {count:,}",
        f"memory of a worker that waits, {count:,} memories",
        "",
        Target(GIVEN, other=worker.IDLE_MB),
        unit="MB",
    ): name
    for count, name in worker.IDLE.items()
}
DREAM = {
    Row(
        "a dream's own part",
        f"a dream without the scan of the store, 10 of {MOST} changed",
        f"10 of {FEW} changed",
        Target(OWN, cpu=worker.DREAM_GROWTH),
    ): worker.OWN_PART
}


def groups() -> list[Group]:
    """Return the rows about the worker."""
    return [_group("turn", TURNS), _group("idle", IDLE), _group("dream", DREAM)]


def _group(part: str, named: Mapping[Row, str]) -> Group:
    """Return the rows for those lines of `part` that have these names."""

    def measure(folder: Path, rounds: int, wanted: Collection[str]) -> Mapping[str, Found]:
        lines = {line.name: line for line in worker.ROWS[part](folder, rounds)}
        made = {}
        for row, name in named.items():
            line = lines[name]
            if row.unit == "MB":
                made[row.name] = Found(row.name, other=line.cpu, rounds=1)
            else:
                parts = {"cpu_ms": line.cpu_ms, "peak_mb": line.peak}
                made[row.name] = Found(row.name, cpu=line.cpu, wall=line.wall, rounds=rounds, parts=parts)
        return {name: one for name, one in made.items() if name in wanted}

    return Group(TITLE, tuple(named), measure)

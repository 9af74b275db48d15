"""Agent-memory's files at 1,000 memories: each operation of its own table, against what a bare one costs."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path

import orjson

from bench.measure import Ratio, compare
from bench.row import GIVEN, OWN, Found, Group, Row, Target, found
from pipeline.formats.agent_memory import AgentMemory, Options, Query
from pipeline.formats.agent_memory.memory import Change
from pipeline.formats.agent_memory.schema import line_of, made

TITLE = "Agent-memory's files"
_COUNT = 1_000
_ABOVE = "ms above"
_OPTIONS = Options(max_core=100_000)
_NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
_IN_PROCESS = "in process, after one untimed round"
_TEXT = "The parser keeps the offset of the last whole line, since a write may be cut off. " * 3
_APPEND, _READ = "flock, append of the line, fsync", "reading the file and orjson.loads of its lines"
_REWRITE = f"{_READ}; writing it anew, fsync, rename"
_ROWS = tuple(
    Row(name, work, floor, target, unit="ms" if target.other is None else _ABOVE, how=_IN_PROCESS, rounds=8)
    for name, work, floor, target in (
        (
            "agent-memory: append",
            "a memory appended to 1,000, index and all: milliseconds of processor time above the floor",
            _APPEND,
            Target(GIVEN, other=5),
        ),
        (
            "agent-memory: query with index",
            "a query by tag of 1,000, opened for it; the bar is 50 ms",
            _READ,
            Target(OWN, cpu=4),
        ),
        (
            "agent-memory: query without index",
            "a search in the text of 1,000, opened for it; the bar is 200 ms",
            _READ,
            Target(OWN, cpu=14),
        ),
        (
            "agent-memory: update",
            "a memory of 1,000 updated, with backup and index; the bar is 100 ms",
            _REWRITE,
            Target(OWN, cpu=12),
        ),
        (
            "agent-memory: delete",
            "a memory of 1,000 deleted, with backup and index; the bar is 100 ms",
            _REWRITE,
            Target(OWN, cpu=12),
        ),
        (
            "agent-memory: load",
            "1,000 loaded, checked and indexed anew; the bar is 500 ms",
            _READ,
            Target(OWN, cpu=12),
        ),
    )
)


def groups() -> list[Group]:
    """Return the rows of the specification's table."""
    return [Group(TITLE, _ROWS, _measure)]


def _measure(folder: Path, rounds: int, wanted: Collection[str]) -> Mapping[str, Found]:
    root = folder / "memories"
    memory = AgentMemory(root, _OPTIONS)
    memory.add([_record(number) for number in range(_COUNT)])
    bare = folder / "bare.jsonl"
    bare.write_bytes((root / "core_memories.jsonl").read_bytes())
    ids = iter([record["id"] for record in memory.records("core")])
    numbers = iter(range(100_000))
    pairs: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "agent-memory: append": (
            lambda: memory.append("core", _TEXT, tags=["bench", "t1"]),
            lambda: _append(bare),
        ),
        "agent-memory: query with index": (
            lambda: AgentMemory(root, _OPTIONS).query(Query(tags=["t3"]), touch=False),
            lambda: _load(bare),
        ),
        "agent-memory: query without index": (
            lambda: AgentMemory(root, _OPTIONS).query(Query(search="77: the"), touch=False),
            lambda: _load(bare),
        ),
        "agent-memory: update": (
            lambda: memory.update(next(ids), Change(content=f"Changed {next(numbers)}")),
            lambda: _rewrite(bare),
        ),
        "agent-memory: delete": (
            lambda: memory.delete(next(ids), permanent=True),
            lambda: _rewrite(bare),
        ),
        "agent-memory: load": (
            lambda: AgentMemory(root, _OPTIONS).rebuild(),
            lambda: _load(bare),
        ),
    }
    rows = {row.name: row for row in _ROWS if row.name in wanted}
    return {name: _found(row, compare(*pairs[name], rounds * row.rounds)) for name, row in rows.items()}


def _found(row: Row, ratio: Ratio) -> Found:
    """Return the figures of `row`; of the append how many milliseconds it takes above its floor."""
    figures = found(row, ratio)
    if row.unit == "ms":
        return figures
    above = (ratio.subject_cpu_ms or 0) - (ratio.floor_cpu_ms or 0)
    return Found(row.name, other=above, rounds=ratio.rounds, parts=figures.parts)


def _record(number: int) -> dict[str, object]:
    return made(
        "core", f"{number}: {_TEXT}", category=f"c{number % 7}", tags=["bench", f"t{number % 20}"], now=_NOW
    )


def _append(file: Path) -> None:
    line = line_of(_record(1)) + b"\n"  # As ours is made: both make a record of a text.
    lock = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
    fcntl.flock(lock, fcntl.LOCK_EX)
    handle = os.open(file.with_suffix(".appended"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(handle, line)
    os.fsync(handle)
    os.close(handle)
    os.close(lock)


def _load(file: Path) -> list[object]:
    return [orjson.loads(line) for line in file.read_bytes().split(b"\n") if line]


def _rewrite(file: Path) -> None:
    values = _load(file)
    temporary = file.with_suffix(".tmp")
    with temporary.open("wb") as out:
        out.write(b"".join(orjson.dumps(value) + b"\n" for value in values))
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(file)

"""Builders for store tests: memories, change sets, and a process that dies on request."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pipeline.core.ids import derived_id
from pipeline.domain.memory import Memory
from pipeline.store import Applied, ChangeSet, Put, Store
from pipeline.store.catalogue.sums import row_sum, text_sum

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)


def memory(name: str = "prefers-tabs", **values: Any) -> Memory:
    defaults: dict[str, Any] = {
        "description": "Indent with tabs, never spaces.",
        "type": "feedback",
        "body": "Indent with tabs.\n",
        "id": derived_id(name, repr(sorted(values.items(), key=repr))),
        "created": NOW,
        "updated": NOW,
        "origin": "user-stated",
    }
    return Memory(name=name, **{**defaults, **values})


def apply(store: Store, *operations: Any, id: str = "run-1") -> Applied:
    return store.apply(ChangeSet(id, "test", list(operations)))


def save(store: Store, *memories: Memory, id: str = "run-1") -> list[Put]:
    puts = [store.put(one) for one in memories]
    apply(store, *puts, id=id)
    return puts


def settled(root: Path) -> None:
    """Let the catalogue of the store at `root` be of long after the files, so that it is trusted."""
    with closing(sqlite3.connect(root / ".reverie/catalogue.sqlite")) as catalogue:
        catalogue.execute("UPDATE files SET seen_ns = 4000000000000000000")
        catalogue.execute("UPDATE folders SET seen_ns = 4000000000000000000")
        sum_up(catalogue)
        catalogue.commit()


def sum_up(catalogue: sqlite3.Connection) -> None:
    """Give every row of a catalogue the sum of what it says now, as if it had been written so."""
    for *values, _ in catalogue.execute("SELECT * FROM files").fetchall():
        catalogue.execute("UPDATE files SET sum = ? WHERE path = ?", (row_sum(values), values[0]))
    for path, front, preview, line, *_ in catalogue.execute("SELECT * FROM texts").fetchall():
        sums = (text_sum(path, front, preview, line), row_sum((path, line)), path)
        catalogue.execute("UPDATE texts SET sum = ?, line_sum = ? WHERE path = ?", sums)


def index(store: Store) -> str:
    return (store.root / "MEMORY.md").read_text("utf-8")


def tree(root: Path, skip: Iterable[str] = (".reverie",)) -> dict[str, bytes]:
    """Every file below `root` but our own bookkeeping, with its bytes."""
    return {
        file.relative_to(root).as_posix(): file.read_bytes()
        for file in sorted(root.rglob("*"))
        if file.is_file() and not file.is_symlink() and file.relative_to(root).parts[0] not in skip
    }


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python `code` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=Path(__file__).parents[2],
    )


def die_at(point: str, action: Callable[[], object]) -> int:
    """Run `action` in a forked process that kills itself at fault `point`; minus the signal, or exit code."""
    child = forked(action, REVERIE_CRASH_AT=point)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def forked(action: Callable[[], object], **environment: str) -> int:
    """Start `action` in a forked process, whose number is returned; it exits with 1 after an exception."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.environ.update(environment)
            action()
            code = 0
        finally:
            os._exit(code)
    return child


def kills(points: Iterable[str], action: Callable[[], object]) -> Iterator[str]:
    """Die at every visit of every point; yields the visit after each death, before `action` runs again."""
    for point in points:
        visit = 1
        while die_at(f"{point}#{visit}", action) == -9:
            yield f"{point}#{visit}"
            visit += 1

"""The ledger of agents as SQLite: reading one that another program keeps, and writing one to query."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipeline.core.atomic import ensure_dir, install, temp_path
from pipeline.core.errors import InputError
from pipeline.formats.keisei.agents import Agent, Tokens

_COLUMNS = {
    "id": "TEXT PRIMARY KEY",
    "session_id": "TEXT NOT NULL",
    "agent_type": "TEXT NOT NULL",
    "description": "TEXT NOT NULL",
    "branch": "TEXT NOT NULL",
    "status": "TEXT NOT NULL",
    "started_ts": "INTEGER",
    "finished_ts": "INTEGER",
    "duration_ms": "INTEGER",
    "tool_use_count": "INTEGER",
    "tokens_in": "INTEGER NOT NULL",
    "tokens_out": "INTEGER NOT NULL",
    "cache_read_tokens": "INTEGER NOT NULL",
    "counted": "TEXT NOT NULL",
}
_NAMES: dict[str, tuple[str, ...]] = {
    "session_id": ("session_id",),
    "agent_type": ("agent_type", "subagent_type", "role", "dna"),
    "description": ("description", "prompt_preview"),
    "started": ("started_ts", "started_at", "created_ts", "created_at", "ts"),
    "ended": ("finished_ts", "finished_at", "done_ts", "ended_at"),
}
"""What ledgers of several versions call the same column, the likeliest first."""


def read(file: Path) -> Iterator[Agent]:
    """Yield the agents of a ledger that another program keeps; nothing is written, not even beside it.

    Columns that a version of it lacks are left empty. Raises InputError for a file that is no such ledger.
    """
    if not file.is_file():
        raise InputError("there is no such file", file=str(file), fix="Check the path.")
    try:
        with closing(sqlite3.connect(f"file:{quote(str(file.absolute()))}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row
            for row in connection.execute("SELECT * FROM agents"):
                yield _agent(dict(row))
    except sqlite3.Error as error:
        raise InputError(
            f"can't be read as a ledger of agents: {error}",
            file=str(file),
            fix="Name an SQLite file with a table `agents`.",
        ) from error


def _agent(row: dict[str, Any]) -> Agent:
    started, ended = _time(row, "started"), _time(row, "ended")
    took = _number(row.get("duration_ms"))
    return Agent(
        id=str(row.get("id") or ""),
        session_id=_text(row, "session_id"),
        agent_type=_text(row, "agent_type"),
        description=_text(row, "description"),
        branch=str(row.get("branch") or ""),
        status=str(row.get("status") or ""),
        started=started,
        ended=ended,
        duration_ms=took if took is not None else _between(started, ended),
        tool_uses=_number(row.get("tool_use_count")),
        tokens=Tokens(
            _number(row.get("tokens_in")) or 0,
            _number(row.get("tokens_out")) or 0,
            _number(row.get("cache_read_tokens")) or 0,
            str(row.get("counted") or "ledger"),
        ),
        tool_use_id="",
    )


def _between(started: float | None, ended: float | None) -> int | None:
    return None if started is None or ended is None else round((ended - started) * 1000)


def _text(row: dict[str, Any], what: str) -> str:
    return next((str(row[name]) for name in _NAMES[what] if row.get(name)), "")


def _time(row: dict[str, Any], what: str) -> float | None:
    found = (_number(row.get(name)) for name in _NAMES[what])
    return next((float(value) for value in found if value), None)


def _number(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def write(file: Path, agents: Iterable[Agent]) -> int:
    """Write a new SQLite file with one table `agents` and return how many it has.

    Raises InputError where a file is: it may be another program's ledger.
    """
    if file.exists() or file.is_symlink():
        raise InputError(
            "is there already, and may be another program's", file=str(file), fix="Name a new file."
        )
    ensure_dir(file.parent)
    temp = temp_path(file)
    number = 0
    try:
        with closing(sqlite3.connect(temp)) as connection, connection:
            columns = ", ".join(f"{name} {kind}" for name, kind in _COLUMNS.items())
            connection.execute(f"CREATE TABLE agents ({columns}) WITHOUT ROWID")
            for agent in agents:
                places = ", ".join("?" for _ in _COLUMNS)
                done = connection.execute(f"INSERT OR IGNORE INTO agents VALUES ({places})", _values(agent))
                number += done.rowcount
        temp.chmod(0o600)
        install(temp, file)
    except sqlite3.Error as error:
        temp.unlink(missing_ok=True)
        raise InputError(f"can't be written: {error}", file=str(file), fix="Is the disk full?") from error
    return number


def _values(agent: Agent) -> tuple[Any, ...]:
    times = [None if moment is None else int(moment) for moment in (agent.started, agent.ended)]
    tokens = agent.tokens
    return (
        agent.id,
        *(agent.session_id, agent.agent_type, agent.description, agent.branch, agent.status),
        *(*times, agent.duration_ms, agent.tool_uses),
        *(tokens.tokens_in, tokens.tokens_out, tokens.cache_read, tokens.counted),
    )

"""The layout of a team's database, as numbered steps in SQL that are never changed once released."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from pipeline.core.errors import TeamError

if TYPE_CHECKING:
    import psycopg

SCHEMA = "reverie_team"
STEPS = ("0001", "0002", "0003", "0004", "0005", "0006")
QUEUE = "reverie_queue"
"""Where the tables of procrastinate are, which is the engine of the queue."""
_QUEUE_STEP = 3
_LOCK = 7_313_850_041
"""Held while steps are applied: two that set a database up at once must not meet."""
_RECORD = f"""
CREATE SCHEMA IF NOT EXISTS {SCHEMA};
CREATE TABLE IF NOT EXISTS {SCHEMA}.migration (
    number integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
)"""


def set_up(connection: psycopg.Connection[Any]) -> int:
    """Bring the database to the newest step within a transaction; return how many steps were missing.

    Where none is missing nothing is touched, so whoever may found a team there need not own it. Raises
    TeamError where it has steps that this Reverie does not know.
    """
    stands = connection.execute("SELECT to_regclass(%s) IS NOT NULL", [f"{SCHEMA}.migration"]).fetchone()
    if stands and stands[0] and _found(connection) == len(STEPS) and not _lacking(connection):
        return 0
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    connection.execute(_RECORD)
    found = _found(connection)
    for number, name in enumerate(STEPS[found:], start=found + 1):
        if number == _QUEUE_STEP:
            _make_queue(connection)
        connection.execute(_text(name))
        connection.execute(f"INSERT INTO {SCHEMA}.migration (number) VALUES (%s)", [number])
    with _in_queue(connection):
        for migration, text in _lacking(connection).items():
            connection.execute(text)
            connection.execute(f"INSERT INTO {QUEUE}.applied (migration) VALUES (%s)", [migration])
    return len(STEPS) - found


def check(connection: psycopg.Connection[Any]) -> None:
    """Raise TeamError unless the database has the steps that this Reverie knows."""
    if _found(connection) < len(STEPS) or _lacking(connection):
        raise TeamError(
            "the team's database is older than this Reverie",
            fix="Who set it up runs `reverie team init` once more; nothing that is in it changes.",
        )


def _found(connection: psycopg.Connection[Any]) -> int:
    row = connection.execute(f"SELECT coalesce(max(number), 0) FROM {SCHEMA}.migration").fetchone()
    found = int(row[0]) if row else 0
    if found > len(STEPS):
        raise TeamError(
            f"the team's database has layout {found}, and this Reverie knows layouts up to {len(STEPS)}",
            fix="Upgrade Reverie; the database was not changed.",
        )
    return found


def _make_queue(connection: psycopg.Connection[Any]) -> None:
    """Make procrastinate's tables, functions and triggers in a schema of their own."""
    from procrastinate.schema import SchemaManager

    connection.execute(f"CREATE SCHEMA {QUEUE}")
    with _in_queue(connection):
        connection.execute(SchemaManager.get_schema())
        connection.execute("CREATE TABLE applied (migration text PRIMARY KEY)")
        for name in _queue_migrations():
            connection.execute("INSERT INTO applied (migration) VALUES (%s)", [name])


def _lacking(connection: psycopg.Connection[Any]) -> dict[str, str]:
    """Return what a newer procrastinate has changed in its tables and is not applied yet, oldest first."""
    if len(STEPS) < _QUEUE_STEP:
        return {}
    there = {name for (name,) in connection.execute(f"SELECT migration FROM {QUEUE}.applied")}
    return {name: text for name, text in _queue_migrations().items() if name not in there}


@contextlib.contextmanager
def _in_queue(connection: psycopg.Connection[Any]) -> Iterator[None]:
    connection.execute(f"SET LOCAL search_path = {QUEUE}")
    yield
    connection.execute(f"SET LOCAL search_path = {SCHEMA}, {QUEUE}")


@cache
def _queue_migrations() -> dict[str, str]:
    """Return procrastinate's migrations by name, oldest first."""
    folder = files("procrastinate") / "sql" / "migrations"
    found = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=lambda f: f.name)
    return {item.name: item.read_text(encoding="utf-8") for item in found}


def _text(name: str) -> str:
    return (files("pipeline.team") / f"schema_{name}.sql").read_text(encoding="utf-8")

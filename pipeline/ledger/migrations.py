"""The ledger's schema, as an append-only list of named steps.

The steps that a ledger lacks run in one transaction together with their records, so a crash leaves all of
them or none. A step is never edited once released; a change is a new step at the end of STEPS. A step's
number is its place in the list, so no two can share one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import clock
from pipeline.core.errors import LedgerError, NewerSchemaError
from pipeline.ledger import new_tables
from pipeline.ledger.schema_steps import LATEST as LATEST
from pipeline.ledger.schema_steps import SHORTER
from pipeline.ledger.schema_steps import STEPS as STEPS
from pipeline.ledger.schema_steps import Step as Step

if TYPE_CHECKING:
    import sqlite3

_RECORD = """
CREATE TABLE IF NOT EXISTS schema_migrations (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, applied_at REAL NOT NULL
)"""


def version(connection: sqlite3.Connection, path: Path, *, latest: int = LATEST) -> int:
    """Return how many steps the ledger has; 0 for a new file.

    Raises NewerSchemaError when it has more than `latest`, which this Reverie knows, and LedgerError
    for somebody else's database.
    """
    tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "schema_migrations" not in tables:
        if tables:
            raise LedgerError(
                "this SQLite database is not a Reverie ledger",
                file=str(path),
                fix="Point REVERIE_HOME at another folder, or move the file aside.",
            )
        return 0
    found = int(connection.execute("SELECT coalesce(max(number), 0) FROM schema_migrations").fetchone()[0])
    if found > latest:
        raise NewerSchemaError(
            f"the ledger has schema {found}, and this Reverie knows schemas up to {latest}",
            file=str(path),
            fix="Upgrade Reverie (`reverie --version` tells which one runs); the ledger was not changed.",
        )
    return found


def migrate(connection: sqlite3.Connection, path: Path, *, steps: Sequence[Step] = STEPS) -> None:
    """Apply those of `steps` that the ledger lacks: all of them, or none."""
    if version(connection, path, latest=len(steps)) == len(steps):
        return
    applied_at = clock.from_environment().now().timestamp()
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(_RECORD)
        # Read anew: another process may have applied some until it was our turn.
        done = version(connection, path, latest=len(steps))
        lacking = [*enumerate(steps[done:], done + 1)]
        if len(lacking) == LATEST:
            for statement in new_tables.statements(SHORTER.get(step, step) for _, step in lacking):
                connection.execute(statement)
        else:
            for _, step in lacking:
                step(connection)
        records = [(number, step.__name__, applied_at) for number, step in lacking]
        connection.executemany("INSERT INTO schema_migrations VALUES (?, ?, ?)", records)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise

"""The statements that make a new ledger, taken from the steps by which an old one comes there.

SQLite looks through the whole schema for each column that is added to a table, which takes as long as making
five tables. So the tables of a new ledger are made with all their columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_ADDED = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (.+)", re.DOTALL)
_RULED = re.compile(r",\s*(?:UNIQUE|PRIMARY KEY|FOREIGN KEY|CHECK|CONSTRAINT)\b")
"""What stands behind the columns of a table with a rule for several, which gets no column so."""
_MADE = re.compile(r"\s*CREATE TABLE (\w+) ")


def statements(steps: Iterable[Callable[[Any], None]]) -> list[str]:
    """Return what `steps` say to a ledger without a row, as if each table had been made in one go."""
    ledger = _NewLedger()
    for step in steps:
        step(ledger)
    return ledger.statements


class _NewLedger:
    """Stands for a connection to a ledger that holds nothing, and keeps what is said to it."""

    def __init__(self) -> None:
        self.statements: list[str] = []
        self._places: dict[str, int] = {}

    def execute(self, sql: str) -> _NewLedger:
        """Keep `sql`, or write its column where SQLite would: into what makes the table."""
        made, added = _MADE.match(sql), _ADDED.fullmatch(sql)
        if added and added[1] in self._places:
            number = self._places[added[1]]
            front, end, behind = self.statements[number].rpartition(")")
            self.statements[number] = f"{front}, {added[2]}{end}{behind}"
        elif not sql.startswith("SELECT"):
            if made and not _RULED.search(sql):
                self._places[made[1]] = len(self.statements)
            self.statements.append(sql)
        return self

    def executemany(self, sql: str, rows: Iterable[object]) -> None:
        """Say nothing: there are no rows of which to make others."""
        if [*rows]:
            raise ValueError(f"a new ledger has no rows to go by: {sql}")

    def fetchall(self) -> list[object]:
        """Return the rows that a new ledger has."""
        return []

"""Whether the ledger's file is sound."""

from __future__ import annotations

from pipeline.ledger.connection import Ledger


def verdict(ledger: Ledger) -> str:
    """Return what is wrong with the database file, empty when SQLite finds nothing."""
    told = str(ledger.value("PRAGMA quick_check"))
    if told != "ok":
        return told
    broken = ledger.row("PRAGMA foreign_key_check")
    return "" if broken is None else f"{broken[0]} has rows that belong to nothing"

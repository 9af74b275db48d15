"""Whether the ledger's file is sound."""

from __future__ import annotations

from pipeline.ledger.connection import Ledger


def verdict(led: Ledger) -> str:
    """Return what is wrong with the database file, empty when SQLite finds nothing."""
    told = str(led.value("PRAGMA quick_check"))
    if told != "ok":
        return told
    broken = led.row("PRAGMA foreign_key_check")
    return "" if broken is None else f"{broken[0]} has rows that belong to nothing"

"""What earlier versions kept in the ledger and is kept beside the memories now: forgotten names."""

from __future__ import annotations

from pipeline.ledger.connection import Ledger


def forgotten_names(ledger: Ledger, store: str) -> list[tuple[str, float, str]]:
    """Return the names forgotten in `store` that were not carried over yet: name, epoch seconds, reason."""
    rows = ledger.rows("SELECT name, at, reason FROM tombstones WHERE store = ? ORDER BY at, name", (store,))
    return [(row["name"], row["at"], row["reason"]) for row in rows]


def drop_forgotten_names(ledger: Ledger, store: str) -> None:
    """Drop the forgotten names of `store`, which its own file holds from now on."""
    ledger.execute("DELETE FROM tombstones WHERE store = ?", (store,))

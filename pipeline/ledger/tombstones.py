"""Tombstones: names a person had forgotten. Evidence from before one can't bring its memory back."""

from __future__ import annotations

from pipeline.ledger.connection import Ledger, Moment, seconds


def add_tombstone(ledger: Ledger, store: str, name: str, *, memory_id: str, now: Moment, reason: str) -> None:
    """Remember that `name` was forgotten in `store`; forgetting it again moves the time on."""
    ledger.execute(
        "INSERT INTO tombstones (store, name, memory_id, at, reason) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (store, name) DO UPDATE SET"
        " memory_id = excluded.memory_id, at = max(at, excluded.at), reason = excluded.reason",
        (store, name, memory_id, seconds(now), reason),
    )


def lift_tombstone(ledger: Ledger, store: str, name: str, *, reason: str) -> None:
    """Forget that `name` was taken back for `reason`; one that stands for another reason stays."""
    ledger.execute(
        "DELETE FROM tombstones WHERE store = ? AND name = ? AND reason = ?", (store, name, reason)
    )


def tombstones(ledger: Ledger, store: str) -> dict[str, float]:
    """Return the forgotten names of `store`, each with when, in epoch seconds."""
    return {
        row["name"]: row["at"]
        for row in ledger.rows("SELECT name, at FROM tombstones WHERE store = ? ORDER BY name", (store,))
    }

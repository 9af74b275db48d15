"""How far each file has been extracted, per store and strategy: the id of the last entry row done."""

from __future__ import annotations

from pipeline.ledger.connection import Ledger


def watermark(ledger: Ledger, key: str, store: str, strategy: str) -> int:
    """Return the last row of the file `key` that `strategy` has extracted for `store`; 0 for none."""
    found = ledger.value(
        "SELECT row FROM watermarks WHERE key = ? AND store = ? AND strategy = ?", (key, store, strategy)
    )
    return int(found or 0)


def set_watermark(ledger: Ledger, key: str, store: str, strategy: str, row: int) -> None:
    """Move the watermark up to `row`; it never moves back.

    Call it in the transaction that also finishes the run, so that a crash can't part them.
    """
    ledger.execute(
        "INSERT INTO watermarks (key, store, strategy, row) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (key, store, strategy) DO UPDATE SET row = max(row, excluded.row)",
        (key, store, strategy, row),
    )

"""What the ledger knows of a store when the folder with the memories moves."""

from __future__ import annotations

from pipeline.ledger.connection import Ledger


def move_store(ledger: Ledger, old: str, new: str) -> int:
    """Make what is known of the store `old` known of `new`; return how many rows that were.

    What is known of both stays as `new` has it. Jobs over the old folder go: the new one has its own.
    """
    changed = 0
    with ledger.transaction():
        for table in _tables_with_a_store(ledger):
            changed += ledger.execute(
                f"UPDATE OR IGNORE {table} SET store = ? WHERE store = ?", (new, old)
            ).rowcount
            ledger.execute(f"DELETE FROM {table} WHERE store = ?", (old,))
        changed += ledger.execute(
            "DELETE FROM jobs WHERE kind IN ('dream', 'reindex') AND key = ?", (old,)
        ).rowcount
    return changed


def _tables_with_a_store(ledger: Ledger) -> list[str]:
    rows = ledger.rows(
        "SELECT m.name FROM sqlite_master m JOIN pragma_table_info(m.name) c ON c.name = 'store'"
        " WHERE m.type = 'table' ORDER BY m.name"
    )
    return [row["name"] for row in rows]

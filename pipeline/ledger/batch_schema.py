"""The steps of the ledger's schema that add batches: see `pipeline.ledger.batches`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


def batches(connection: sqlite3.Connection) -> None:
    """Add orders to read a backlog in batches, what is read of each, what is asked, and by which call."""
    connection.execute("""
        CREATE TABLE batch_orders (
          id TEXT PRIMARY KEY, state TEXT NOT NULL CHECK (state IN ('open', 'canceling', 'canceled', 'done')),
          model TEXT NOT NULL, most_dollars REAL NOT NULL, made_at REAL NOT NULL, ended_at REAL,
          waits TEXT NOT NULL DEFAULT ''
        ) WITHOUT ROWID""")
    connection.execute("CREATE UNIQUE INDEX batch_orders_open ON batch_orders (ended_at IS NULL)"
                       " WHERE ended_at IS NULL")  # fmt: skip
    connection.execute("""
        CREATE TABLE batch_readings (
          order_id TEXT NOT NULL REFERENCES batch_orders (id), conversation INTEGER NOT NULL,
          key TEXT NOT NULL, run_id TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL DEFAULT '',
          state TEXT NOT NULL CHECK (state IN ('waiting', 'asked', 'answered', 'done', 'alone', 'left')),
          PRIMARY KEY (order_id, conversation)
        ) WITHOUT ROWID""")
    connection.execute(
        "CREATE INDEX batch_readings_open ON batch_readings (key)"
        " WHERE state IN ('waiting', 'asked', 'answered')"
    )
    connection.execute("""
        CREATE TABLE batches (
          id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES batch_orders (id),
          state TEXT NOT NULL CHECK (state IN ('written', 'sent', 'taken', 'dropped', 'lost')),
          provider_id TEXT NOT NULL DEFAULT '', login TEXT NOT NULL, requests INTEGER NOT NULL,
          written_at REAL NOT NULL, sent_at REAL, taken_at REAL,
          canceled INTEGER NOT NULL DEFAULT 0
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE batch_items (
          custom_id TEXT PRIMARY KEY, batch_id TEXT NOT NULL REFERENCES batches (id),
          order_id TEXT NOT NULL, conversation INTEGER NOT NULL, key TEXT NOT NULL, run_id TEXT NOT NULL,
          purpose TEXT NOT NULL, digest TEXT NOT NULL, call_id INTEGER NOT NULL,
          outcome TEXT NOT NULL DEFAULT '', asked_json TEXT NOT NULL
        ) WITHOUT ROWID""")
    connection.execute("CREATE INDEX batch_items_batch ON batch_items (batch_id, outcome)")
    connection.execute("CREATE INDEX batch_items_key ON batch_items (key) WHERE asked_json <> ''")
    connection.execute("ALTER TABLE model_calls ADD COLUMN batch TEXT NOT NULL DEFAULT ''")
    connection.execute("CREATE INDEX calls_batch ON model_calls (batch, ended_at) WHERE batch <> ''")


def team_orders(connection: sqlite3.Connection) -> None:
    """Add for which team an order reads, none for one's own."""
    connection.execute("ALTER TABLE batch_orders ADD COLUMN team TEXT NOT NULL DEFAULT ''")

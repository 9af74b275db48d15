"""The later steps of the ledger's schema; `migrations` holds the list, in their order, and the first ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3


def dreams(connection: sqlite3.Connection) -> None:
    """Add what is kept of dreams by store: times, what they saw, the gates' answers, the lease."""
    connection.execute("""
        CREATE TABLE dream_states (
          store TEXT PRIMARY KEY, last_success REAL, last_attempt REAL, last_scan REAL
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE dream_seen (
          store TEXT NOT NULL, memory TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (store, memory)
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE dream_gates (
          store TEXT NOT NULL, name TEXT NOT NULL, place INTEGER NOT NULL, open INTEGER NOT NULL,
          reason TEXT NOT NULL, at REAL NOT NULL, PRIMARY KEY (store, name)
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE dream_refusals (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          store TEXT NOT NULL, name TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL
        )""")
    connection.execute("CREATE INDEX dream_refusals_store ON dream_refusals (store, name)")
    connection.execute("""
        CREATE TABLE dream_leases (
          store TEXT PRIMARY KEY, token TEXT NOT NULL, owner TEXT NOT NULL, boot_id TEXT NOT NULL,
          taken_at REAL NOT NULL, beat_at REAL NOT NULL, expires_at REAL NOT NULL
        ) WITHOUT ROWID""")
    connection.execute("CREATE INDEX files_store ON memory_file_states (store)")

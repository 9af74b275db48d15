"""The later steps of the ledger's schema; `migrations` holds the list, in their order, and the first ones."""

from __future__ import annotations

import json
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


def recall_log(connection: sqlite3.Connection) -> None:
    """Add what recall put before prompts, what was asked for by hand, and how far the hooks' files are read.

    A row of `recall_log` without a `place` is a use: a memory that a person or the assistant asked for.
    """
    connection.execute("""
        CREATE TABLE recall_files (
          session TEXT PRIMARY KEY, taken INTEGER NOT NULL, base INTEGER NOT NULL, head BLOB NOT NULL
        ) WITHOUT ROWID""")
    connection.execute("""
        CREATE TABLE recall_lines (
          session TEXT NOT NULL, place INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
          hook TEXT NOT NULL, cwd TEXT NOT NULL, store TEXT NOT NULL, chars INTEGER NOT NULL,
          tokens INTEGER NOT NULL, left_out INTEGER NOT NULL, prompt TEXT NOT NULL,
          PRIMARY KEY (session, place)
        ) WITHOUT ROWID""")
    connection.execute("CREATE INDEX recall_lines_at ON recall_lines (at)")
    connection.execute("""
        CREATE TABLE recall_log (
          id INTEGER PRIMARY KEY AUTOINCREMENT,
          session TEXT NOT NULL, place INTEGER, item INTEGER NOT NULL, at REAL NOT NULL, hook TEXT NOT NULL,
          store TEXT NOT NULL, memory TEXT NOT NULL, name TEXT NOT NULL, path TEXT NOT NULL,
          digest TEXT NOT NULL, score REAL NOT NULL, why TEXT NOT NULL,
          chars INTEGER NOT NULL, tokens INTEGER NOT NULL,
          mark TEXT UNIQUE, counted INTEGER NOT NULL DEFAULT 0,
          UNIQUE (session, place, item)
        )""")
    connection.execute("CREATE INDEX recall_log_uncounted ON recall_log (id) WHERE counted = 0")
    connection.execute("""
        CREATE TABLE recall_bad_lines (
          session TEXT NOT NULL, place INTEGER NOT NULL, reason TEXT NOT NULL, text TEXT NOT NULL,
          PRIMARY KEY (session, place, reason)
        ) WITHOUT ROWID""")
    connection.execute("CREATE TABLE identity (id TEXT NOT NULL)")
    connection.execute("INSERT INTO identity SELECT lower(hex(randomblob(8)))")


def run_memories(connection: sqlite3.Connection) -> None:
    """Add which memories each run made or changed, taken for past runs from what they said they did."""
    connection.execute("""
        CREATE TABLE run_memories (
          memory TEXT NOT NULL, run TEXT NOT NULL REFERENCES runs (id), PRIMARY KEY (memory, run)
        ) WITHOUT ROWID""")
    past = connection.execute("SELECT id, summary_json FROM runs WHERE summary_json IS NOT NULL").fetchall()
    rows = {(memory, run) for run, summary in past for memory in _memories_in(summary)}
    connection.executemany("INSERT INTO run_memories (memory, run) VALUES (?, ?)", sorted(rows))


def _memories_in(summary: str) -> list[str]:
    """Return the ids of memories that a run's summary names; none of one that can't be read."""
    try:
        held = json.loads(summary)
    except ValueError:
        return []
    actions = held.get("actions") if isinstance(held, dict) else None
    ids = [action.get("id") for action in actions or () if isinstance(action, dict)]
    return [memory for memory in ids if isinstance(memory, str) and memory]

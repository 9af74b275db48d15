"""Small questions other layers ask of the ledger's rows."""

from __future__ import annotations

from typing import Any

from pipeline.ledger.connection import Ledger

_FIRST = 200
_OF_FILE = "file_id = (SELECT id FROM memory_file_states WHERE file_path = ?)"


def last_replies(ledger: Ledger, key: str, *, limit: int) -> list[str]:
    """Return the newest `limit` texts the assistant said in source file `key`, newest first."""
    rows = ledger.rows(
        "SELECT content FROM memory_transcript_entries INDEXED BY entries_speech"
        f" WHERE {_OF_FILE} AND speaker = 'assistant' AND speaker IS NOT NULL"
        " AND superseded = 0 AND abandoned = 0 ORDER BY id DESC LIMIT ?",
        (key, limit),
    )
    return [row["content"] for row in rows]


def entrypoint(ledger: Ledger, key: str) -> str | None:
    """Return how the session in `key` was started (``cli``, ``sdk-cli``, …), None when no entry says."""
    return _first(ledger, key, "entrypoint")


def first_cwd(ledger: Ledger, key: str) -> str | None:
    """Return the directory in which the session in `key` began, None when no entry says."""
    return _first(ledger, key, "cwd")


def _first(ledger: Ledger, key: str, column: str) -> str | None:
    """Return the first value in `column` among the file's first entries.

    Only the first ones, along the index of places: older clients write no entrypoint at all, and looking
    through everything said, at each event, would cost more the longer Reverie is in use.
    """
    value = ledger.value(
        f"SELECT {column} FROM (SELECT {column} FROM memory_transcript_entries INDEXED BY entries_place"
        f" WHERE {_OF_FILE} AND superseded = 0 ORDER BY byte_offset LIMIT {_FIRST})"
        f" WHERE {column} <> '' LIMIT 1",
        (key,),
    )
    return str(value) if value else None


def store_of(ledger: Ledger, key: str) -> str:
    """Return the memory folder remembered for `key`, or an empty string."""
    return str(ledger.value("SELECT store FROM memory_file_states WHERE file_path = ?", (key,)) or "")


def remember_store(ledger: Ledger, key: str, store: str) -> None:
    """Keep `store` as the memory folder of `key`; a file the ledger does not know is left out."""
    with ledger.transaction():
        ledger.execute("UPDATE memory_file_states SET store = ? WHERE file_path = ?", (store, key))


def file_counts(ledger: Ledger) -> dict[str, int]:
    """Return how many files, rows and bad lines the ledger knows, and how many files are gone."""
    row = ledger.row(
        "SELECT count(*) AS files, count(gone_at) AS gone,"
        " (SELECT count(*) FROM memory_transcript_entries WHERE speaker IS NOT NULL) AS spoken,"
        " (SELECT count(*) FROM bad_lines) AS bad_lines FROM memory_file_states"
    )
    return dict(row) if row else {}


def conversation_counts(ledger: Ledger) -> dict[str, int]:
    """Return how many conversations stand in each status."""
    rows = ledger.rows(
        "SELECT status, count(*) AS n FROM memory_conversations GROUP BY status ORDER BY status"
    )
    return {row["status"]: row["n"] for row in rows}


def last_finished(ledger: Ledger, key: str, strategy: str) -> float | None:
    """Return when the last run over `key` that asked a model ended (epoch seconds), or None."""
    value = ledger.value(
        "SELECT max(finished_at) FROM runs WHERE key = ? AND strategy = ? AND reply_json IS NOT NULL",
        (key, strategy),
    )
    return None if value is None else float(value)


def is_waiting(ledger: Ledger, kind: str, key: str) -> bool:
    """Whether a job of `kind` about `key` waits or is being done."""
    found: Any = ledger.value(
        "SELECT 1 FROM jobs WHERE kind = ? AND key = ? AND state IN ('waiting', 'leased')", (kind, key)
    )
    return found is not None


def runs_of_memory(ledger: Ledger, memory_id: str) -> list[str]:
    """Return the ids of the runs that created or changed the memory with `memory_id`, oldest first."""
    rows = ledger.rows(
        "SELECT id FROM runs WHERE summary_json LIKE ? ESCAPE '!' ORDER BY started_at",
        (f'%"{memory_id}"%',),
    )
    return [row["id"] for row in rows] if memory_id else []


def stores(ledger: Ledger) -> list[str]:
    """Return every memory folder a transcript was ever read for, by name."""
    rows = ledger.rows("SELECT DISTINCT store FROM memory_file_states WHERE store <> '' ORDER BY store")
    return [row["store"] for row in rows]

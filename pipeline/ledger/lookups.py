"""Small questions other layers ask of the ledger's rows."""

from __future__ import annotations

from typing import Any

from pipeline.ledger.connection import Ledger

_OF_FILE = "file_id = (SELECT id FROM memory_file_states WHERE file_path = ?)"


def last_replies(led: Ledger, key: str, *, limit: int) -> list[str]:
    """Return the newest `limit` texts the assistant said in source file `key`, newest first."""
    rows = led.rows(
        f"SELECT content FROM memory_transcript_entries WHERE {_OF_FILE} AND speaker = 'assistant'"
        " AND superseded = 0 AND abandoned = 0 ORDER BY id DESC LIMIT ?",
        (key, limit),
    )
    return [row["content"] for row in rows]


def entrypoint(led: Ledger, key: str) -> str | None:
    """Return how the session in `key` was started (``cli``, ``sdk-cli``, …), None when no entry says."""
    value = led.value(
        f"SELECT entrypoint FROM memory_transcript_entries WHERE {_OF_FILE} AND entrypoint IS NOT NULL"
        " ORDER BY id LIMIT 1",
        (key,),
    )
    return str(value) if value else None


def first_cwd(led: Ledger, key: str) -> str | None:
    """Return the directory in which the session in `key` began, None when no entry says."""
    value = led.value(
        f"SELECT cwd FROM memory_transcript_entries WHERE {_OF_FILE} AND cwd IS NOT NULL AND cwd <> ''"
        " ORDER BY id LIMIT 1",
        (key,),
    )
    return str(value) if value else None


def store_of(led: Ledger, key: str) -> str:
    """Return the memory folder remembered for `key`, or an empty string."""
    return str(led.value("SELECT store FROM memory_file_states WHERE file_path = ?", (key,)) or "")


def remember_store(led: Ledger, key: str, store: str) -> None:
    """Keep `store` as the memory folder of `key`; a file the ledger does not know is left out."""
    with led.transaction():
        led.execute("UPDATE memory_file_states SET store = ? WHERE file_path = ?", (store, key))


def file_counts(led: Ledger) -> dict[str, int]:
    """Return how many files, rows and bad lines the ledger knows, and how many files are gone."""
    row = led.row(
        "SELECT count(*) AS files, count(gone_at) AS gone,"
        " (SELECT count(*) FROM memory_transcript_entries WHERE speaker IS NOT NULL) AS spoken,"
        " (SELECT count(*) FROM bad_lines) AS bad_lines FROM memory_file_states"
    )
    return dict(row) if row else {}


def conversation_counts(led: Ledger) -> dict[str, int]:
    """Return how many conversations stand in each status."""
    rows = led.rows("SELECT status, count(*) AS n FROM memory_conversations GROUP BY status ORDER BY status")
    return {row["status"]: row["n"] for row in rows}


def last_finished(led: Ledger, key: str, strategy: str) -> float | None:
    """Return when the last run over `key` that asked a model ended (epoch seconds), or None."""
    value = led.value(
        "SELECT max(finished_at) FROM runs WHERE key = ? AND strategy = ? AND reply_json IS NOT NULL",
        (key, strategy),
    )
    return None if value is None else float(value)


def is_waiting(led: Ledger, kind: str, key: str) -> bool:
    """Whether a job of `kind` about `key` waits or is being done."""
    found: Any = led.value(
        "SELECT 1 FROM jobs WHERE kind = ? AND key = ? AND state IN ('waiting', 'leased')", (kind, key)
    )
    return found is not None


def runs_of_memory(led: Ledger, memory_id: str) -> list[str]:
    """Return the ids of the runs that created or changed the memory with `memory_id`, oldest first."""
    rows = led.rows(
        "SELECT id FROM runs WHERE summary_json LIKE ? ESCAPE '!' ORDER BY started_at",
        (f'%"{memory_id}"%',),
    )
    return [row["id"] for row in rows] if memory_id else []

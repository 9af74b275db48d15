"""Hook events as they came from the spool: kept once each, so draining twice changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.ledger.connection import Ledger
from pipeline.record import record, values_of


@record
class Event:
    """One hook call; `id` is its spool file's stem, the payload is redacted, `received_at` epoch seconds."""

    id: str
    hook: str
    session_id: str
    transcript_path: str | None
    cwd: str | None
    payload_json: str
    received_at: float


def record_events(ledger: Ledger, events: Sequence[Event]) -> list[Event]:
    """Keep the events not seen before, in one transaction, and return those."""
    new = []
    with ledger.transaction():
        for event in events:
            added = ledger.execute(
                "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", tuple(values_of(event).values())
            )
            if added.rowcount:
                new.append(event)
    return new


def list_events(ledger: Ledger, *, limit: int = 50) -> list[Event]:
    """Return the latest events, newest first."""
    rows = ledger.rows("SELECT * FROM events ORDER BY received_at DESC, id DESC LIMIT ?", (limit,))
    return [Event(**dict(row)) for row in rows]


def last_hook(ledger: Ledger, session_id: str) -> str:
    """Return the hook of the latest event of a session, "" when there is none."""
    row = ledger.row(
        "SELECT hook FROM events WHERE session_id = ? ORDER BY received_at DESC, id DESC LIMIT 1",
        (session_id,),
    )
    return row["hook"] if row else ""


def first_received(ledger: Ledger) -> float | None:
    """Return when the first event ever came (epoch seconds), None before it."""
    value = ledger.value("SELECT min(received_at) FROM events")
    return None if value is None else float(value)


def announced(ledger: Ledger, hook: str, *, since: float) -> list[tuple[str, str]]:
    """Return session and transcript path of every event of `hook` that came later than `since`, each once."""
    rows = ledger.rows(
        "SELECT DISTINCT session_id, transcript_path FROM events"
        " WHERE received_at > ? AND hook = ? AND transcript_path <> '' ORDER BY transcript_path",
        (since, hook),
    )
    return [(row["session_id"], row["transcript_path"]) for row in rows]

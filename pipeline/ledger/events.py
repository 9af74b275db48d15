"""Hook events as they came from the spool: kept once each, so draining twice changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass

from pipeline.ledger.connection import Ledger


@dataclass(frozen=True, slots=True)
class Event:
    """One hook call; `id` is its spool file's stem, the payload is redacted, `received_at` epoch seconds."""

    id: str
    hook: str
    session_id: str
    transcript_path: str | None
    cwd: str | None
    payload_json: str
    received_at: float


def record_events(led: Ledger, events: Sequence[Event]) -> list[Event]:
    """Keep the events not seen before, in one transaction, and return those."""
    new = []
    with led.transaction():
        for event in events:
            added = led.execute("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(event))
            if added.rowcount:
                new.append(event)
    return new


def list_events(led: Ledger, *, limit: int = 50) -> list[Event]:
    """Return the latest events, newest first."""
    rows = led.rows("SELECT * FROM events ORDER BY received_at DESC, id DESC LIMIT ?", (limit,))
    return [Event(**dict(row)) for row in rows]

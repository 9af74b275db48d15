"""The inbox: proposals a person decides, because Reverie may not act on them by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from pipeline.core.errors import LedgerError
from pipeline.ledger.connection import Ledger, Moment, seconds


@dataclass(frozen=True, slots=True)
class InboxItem:
    """One proposal: what kind, its content as JSON, why it is here, and the run it came from ("" for none).

    `state` is ``open``, ``accepted`` or ``rejected``; times are epoch seconds.
    """

    id: int
    store: str
    kind: str
    payload_json: str
    reason: str
    run_id: str
    state: str
    created_at: float
    decided_at: float | None

    @property
    def payload(self) -> dict[str, Any]:
        """Return what is proposed: `name`, and a candidate, a withdrawal or an operation."""
        payload: dict[str, Any] = json.loads(self.payload_json)
        return payload


_COLUMNS = ", ".join(field.name for field in fields(InboxItem))


def add_inbox(
    ledger: Ledger, store: str, *, kind: str, payload_json: str, reason: str, run_id: str, now: Moment
) -> int:
    """Put a proposal in the inbox and return its id.

    The same proposal of the same run is put in once, so that a run repeated after a crash adds nothing.
    """
    with ledger.transaction():
        known = ledger.value(
            "SELECT id FROM inbox WHERE store = ? AND kind = ? AND payload_json = ?"
            " AND run_id = ? AND run_id <> ''",
            (store, kind, payload_json, run_id),
        )
        if known is None:
            known = ledger.execute(
                "INSERT INTO inbox (store, kind, payload_json, reason, run_id, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (store, kind, payload_json, reason, run_id, seconds(now)),
            ).lastrowid
    return int(known)


def list_inbox(ledger: Ledger, store: str | None = None, state: str | None = "open") -> list[InboxItem]:
    """Return the proposals in `state` (None: all) for `store` (None: every store), oldest first."""
    rows = ledger.rows(
        f"SELECT {_COLUMNS} FROM inbox WHERE store = coalesce(?, store) AND state = coalesce(?, state)"
        " ORDER BY id",
        (store, state),
    )
    return [InboxItem(*row) for row in rows]


def count_inbox(ledger: Ledger, store: str | None = None, state: str | None = "open") -> int:
    """Return how many proposals `list_inbox` would give."""
    return int(
        ledger.value(
            "SELECT count(*) FROM inbox WHERE store = coalesce(?, store) AND state = coalesce(?, state)",
            (store, state),
        )
    )


def decide_inbox(ledger: Ledger, item_id: int, state: str, *, now: Moment) -> None:
    """Close an open proposal as ``accepted`` or ``rejected``. Raises LedgerError when it is not open."""
    changed = ledger.execute(
        "UPDATE inbox SET state = ?, decided_at = ? WHERE id = ? AND state = 'open'",
        (state, seconds(now), item_id),
    )
    if not changed.rowcount:
        raise LedgerError(
            f"inbox item {item_id} is not open", file=str(ledger.path), fix="`reverie status` counts what is."
        )

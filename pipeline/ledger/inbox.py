"""The inbox: proposals a person decides, because Reverie may not act on them by itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pipeline.core.errors import LedgerError
from pipeline.core.home import Home
from pipeline.hooklib.ownership import TEAM
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.record import names_of, record


@record
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

    @property
    def change_ids(self) -> list[str]:
        """Return the ids of the change sets that accepting it made or makes, the one due now last.

        A yes that was undone leaves the next one another id: no change set is applied twice.
        """
        first = f"inbox-{self.id}-{self.run_id}"
        again = int(self.payload.get(AGAIN, 0))
        own = [first, *(f"{first}-again-{number}" for number in range(1, again + 1))]
        return [*self.payload.get(YESES, ()), *own]

    @property
    def taken_back(self) -> list[TakenBack]:
        """Return what was decided about it and taken back since, the oldest first."""
        if TAKEN_BACK not in self.payload_json:
            return []
        return [TakenBack(*values) for values in self.payload.get(TAKEN_BACK, ())]


@record
class TakenBack:
    """A decision that holds no longer: ``accepted`` or ``rejected``, and when; and when it was taken back."""

    state: str
    decided_at: float
    at: float


AGAIN = "again"
"""The key of a payload that counts how often a yes to it was undone."""
YESES = "yeses"
"""The key of a payload with the change sets of yeses to the same question, when it had another run id."""
TAKEN_BACK = "taken_back"
"""The key of a payload with the decisions about it that were taken back, as values of `TakenBack`."""
BY_PERSON = "by_person"
"""The key of a payload that was rejected: whether a person said no, or it was settled without one."""
_OF_DECISIONS = (AGAIN, YESES, TAKEN_BACK, BY_PERSON)
ADOPTED = "adopted"
"""The key of a payload that names the change set in which it was done together with others."""
CITED = "cited"
"""The kind of what is no proposal of a change: whether a memory that is there is a person's word."""
SYNCED = "sync"
"""The kind of what two machines did otherwise to one memory: both stands, and a yes leaves out one."""
OFFERED = "team"
"""The kind of what the team may have of a project: a yes gives it a copy of each memory that is named."""
_COLUMNS = ", ".join(names_of(InboxItem))


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


def count_shared(ledger: Ledger, home: Path) -> int:
    """Return how many proposals wait that are about the memories for all projects, if there are those."""
    everyone = Home(home).user_store
    return count_inbox(ledger, str(everyone)) if everyone.is_dir() else 0


def count_here(ledger: Ledger, home: Path, store: Path) -> int:
    """Return how many proposals wait for whoever works in `store`: about it, its team's, and all projects."""
    own = count_inbox(ledger, str(store)) + count_inbox(ledger, str(store / TEAM))
    return own + (count_shared(ledger, home) if store != Home(home).user_store else 0)


def amend_inbox(ledger: Ledger, item: InboxItem, payload: dict[str, Any], *, reason: str = "") -> None:
    """Give the open proposal `item` another content, and another reason. LedgerError when it is not open."""
    changed = ledger.execute(
        "UPDATE inbox SET payload_json = ?, reason = ? WHERE id = ? AND state = 'open'",
        (json.dumps(payload, ensure_ascii=False), reason or item.reason, item.id),
    )
    if not changed.rowcount:
        raise _not_open(ledger, item.id)


def reopen_inbox(ledger: Ledger, item: InboxItem, *, now: Moment) -> None:
    """Let `item`, whose yes was undone, wait again."""
    _take_back(ledger, item, {**item.payload, AGAIN: int(item.payload.get(AGAIN, 0)) + 1}, now)


def take_back_rejection(ledger: Ledger, item: InboxItem, *, now: Moment) -> None:
    """Let `item`, which was rejected, wait again."""
    _take_back(ledger, item, item.payload, now)


def _take_back(ledger: Ledger, item: InboxItem, payload: dict[str, Any], now: Moment) -> None:
    gone = [item.state, item.decided_at, seconds(now)]
    _open(ledger, item, {**payload, TAKEN_BACK: [*payload.get(TAKEN_BACK, ()), gone]})


def _open(ledger: Ledger, item: InboxItem, payload: dict[str, Any]) -> None:
    payload = {key: value for key, value in payload.items() if key != BY_PERSON}
    ledger.execute(
        "UPDATE inbox SET payload_json = ?, state = 'open', decided_at = NULL WHERE id = ? AND state = ?",
        (json.dumps(payload, ensure_ascii=False), item.id, item.state),
    )


def asks_same(item: InboxItem, payload: dict[str, Any]) -> bool:
    """Whether `item` proposes `payload`, however often a decision about it was taken back."""
    return {key: value for key, value in item.payload.items() if key not in _OF_DECISIONS} == payload


def go_on_as(ledger: Ledger, item: InboxItem, run_id: str) -> None:
    """Let the open proposal `item` keep its number, and come of `run_id` from now on."""
    payload = {**item.payload, YESES: item.change_ids}
    ledger.execute(
        "UPDATE inbox SET payload_json = ?, run_id = ? WHERE id = ? AND state = 'open'",
        (json.dumps(payload, ensure_ascii=False), run_id, item.id),
    )


def reject_inbox(ledger: Ledger, item: InboxItem, *, by_person: bool, now: Moment) -> None:
    """Close the open proposal `item` with a person's no, or since nothing is asked any more.

    Raises LedgerError when it is not open.
    """
    amend_inbox(ledger, item, {**item.payload, BY_PERSON: by_person})
    decide_inbox(ledger, item.id, "rejected", now=now)


def ask_again(ledger: Ledger, item: InboxItem) -> None:
    """Let `item`, which was settled without a person, wait as before."""
    _open(ledger, item, item.payload)


def decide_inbox(ledger: Ledger, item_id: int, state: str, *, now: Moment) -> None:
    """Close an open proposal as ``accepted`` or ``rejected``. Raises LedgerError when it is not open."""
    changed = ledger.execute(
        "UPDATE inbox SET state = ?, decided_at = ? WHERE id = ? AND state = 'open'",
        (state, seconds(now), item_id),
    )
    if not changed.rowcount:
        raise _not_open(ledger, item_id)


def _not_open(ledger: Ledger, item_id: int) -> LedgerError:
    return LedgerError(
        f"inbox item {item_id} is not open", file=str(ledger.path), fix="`reverie status` counts what is."
    )

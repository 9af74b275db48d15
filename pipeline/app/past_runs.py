"""A run of extraction that is over, as bundles, replays and reruns look at it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pipeline.core.errors import InputError
from pipeline.ledger import Ledger, calls, inbox, runs

_LEAST_OF_ID = 4


def find(ledger: Ledger, text: str) -> runs.Run:
    """Return the run of extraction whose id is or begins with `text`. Raises InputError for none and many."""
    found = runs.beginning_with(ledger, text) if len(text) >= _LEAST_OF_ID else []
    exact = [run for run in found if run.id == text]
    found = exact or found
    listed = "`reverie status` and `reverie why NAME` name runs."
    if not found:
        raise InputError(f"there is no run {text!r}", fix=listed)
    if len(found) > 1:
        raise InputError(f"{len(found)} runs have an id that begins with {text!r}", fix="Write more of it.")
    if found[0].kind != "extract":
        raise InputError(
            f"{found[0].id} is no run of extraction", fix=f"A dream's: `reverie report`. {listed}"
        )
    return found[0]


def calls_of(ledger: Ledger, run: runs.Run, now: datetime) -> list[calls.Call]:
    """Return the calls that were made while `run` was going on: a worker does one thing at a time."""
    until = run.finished_at if run.finished_at is not None else now.timestamp()
    made = calls.made_between(ledger, run.started_at, until)
    return [call for call in made if is_of(call)]


def is_of(call: calls.Call) -> bool:
    """Say whether a call was made by a run of extraction."""
    return call.purpose.startswith("extract")


def done_by(ledger: Ledger, run: runs.Run) -> dict[str, Any]:
    """Return what a run did, what it turned down, and what it put in the inbox."""
    summary = run.summary
    proposals = [item for item in inbox.list_inbox(ledger, state=None) if item.run_id == run.id]
    return {
        "outcome": run.outcome,
        "reason": summary.reason,
        "actions": [action.to_json() for action in summary.actions],
        "rejected": [dict(item) for item in summary.rejected],
        "proposals": [
            {"kind": item.kind, "name": str(item.payload.get("name")), "reason": item.reason}
            for item in proposals
            if item.kind != inbox.CITED
        ],
    }

"""Jobs: units of work in the ledger, claimed for a time by an owner who must prove it is still theirs."""

from __future__ import annotations

from typing import Literal

from pipeline.record import record

JobKind = Literal["extract_turn", "extract_conversation", "reindex", "dream", "sync"]
JobState = Literal["waiting", "leased", "done", "parked"]


@record
class Job:
    """One job row. `key` is what it is about: a source file's key, a conversation's id as text, or
    the path of a store.

    Times are epoch seconds. `token` is random per claim: every change to a leased job must give it.
    """

    id: int
    kind: JobKind
    key: str
    state: JobState
    run_after: float
    attempts: int
    again: bool
    token: str | None = None
    lease_until: float | None = None
    last_error: str = ""

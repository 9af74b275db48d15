"""Jobs: one row per kind and key, claimed for a time and given back by token.

    waiting ─claim─► leased ─finish─► done          done ─enqueue─► waiting
       ▲               │ fail, postpone
       └───────────────┴─► parked (too many failures) ─unpark─► waiting

A claim that is not renewed runs out, and the next claim takes the job over. Every change to a leased
job names the token it was claimed with, so an owner that was thought dead can't undo its successor's work.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from enum import Enum
from typing import TYPE_CHECKING

from pipeline.core.clock import wait_left
from pipeline.core.errors import LeaseLostError, LedgerError
from pipeline.core.ids import new_id
from pipeline.domain.job import Job
from pipeline.ledger.connection import Ledger, Moment, seconds

if TYPE_CHECKING:
    import sqlite3

MAX_CRASHES = 5
ASKING = frozenset({"extract_turn", "extract_conversation", "dream", "batch"})
"""Kinds of jobs that ask a model."""
_ERROR_CHARS = 2_000
_FREE = "token = NULL, owner = NULL, lease_until = NULL"
_DEAD = "state = 'leased' AND (lease_until IS NULL OR lease_until <= ?)"


class Unclaimed(Enum):
    """Why `claim` gave no job."""

    NOTHING = "nothing is left to do"
    NOT_DUE = "what waits is not due yet"
    LEASED = "another worker has what is left"
    PARKED = "what is left is parked"


def enqueue(ledger: Ledger, kind: str, key: str, *, now: Moment, run_after: Moment) -> bool:
    """Ask for a job to run at `run_after`; return False when it is parked, which only a person undoes.

    One already waiting runs at the sooner of both times, unless it was put off, as `last_error` says: no
    event shortens that. One that is running will run once more.
    """
    at = seconds(now)
    found = ledger.value(
        "INSERT INTO jobs (kind, key, state, run_after, created_at, changed_at)"
        " VALUES (?, ?, 'waiting', ?, ?, ?)"
        " ON CONFLICT (kind, key) DO UPDATE SET"
        " again = CASE state WHEN 'leased' THEN 1 ELSE 0 END,"
        " run_after = CASE state WHEN 'done' THEN excluded.run_after"
        "   WHEN 'waiting' THEN"
        "     iif(last_error = '', min(coalesce(run_after, 0), excluded.run_after), run_after)"
        "   ELSE run_after END,"
        " state = CASE state WHEN 'done' THEN 'waiting' ELSE state END,"
        " changed_at = excluded.changed_at"
        " WHERE state <> 'parked' RETURNING id",
        (kind, key, seconds(run_after), at, at),
    )
    return found is not None


def claim(
    ledger: Ledger,
    *,
    owner: str,
    lease_seconds: float,
    now: Moment,
    kinds: Sequence[str] | None = None,
    ignore_schedule: bool = False,
    leave_out: Collection[int] = (),
    max_crashes: int = MAX_CRASHES,
) -> Job | Unclaimed:
    """Take the job that has been due longest, of `kinds` and not among the ids to `leave_out`.

    One in which a provider failed comes after all others: what is at fault may be in it.

    Due is what waits with its time come (or none set), and what is leased with the lease run out (or none
    set). A job whose owners died `max_crashes` times without coming further (see `note_progress`) is parked
    instead: it may be what kills them. When no job is due, the answer says why.
    """
    at = seconds(now)
    ledger.execute(
        "UPDATE jobs SET state = 'parked', changed_at = ?, again = 0, last_error ="
        " 'the worker died ' || (crashes + 1) || ' times while this ran; ' || last_error,"
        f" {_FREE} WHERE {_DEAD} AND crashes + 1 >= ?",
        (at, at, max_crashes),
    )
    allowed = "" if kinds is None else f" AND kind IN ({', '.join('?' * len(kinds))})"
    allowed += f" AND id NOT IN ({', '.join('?' * len(leave_out))})" if leave_out else ""
    leased = (new_id(), owner, at + lease_seconds, at, at)
    found = ledger.row(
        "UPDATE jobs SET crashes = crashes + (state = 'leased'), state = 'leased', token = ?, owner = ?,"
        " lease_until = ?, run_after = coalesce(run_after, ?), changed_at = ?"
        " WHERE id = (SELECT id FROM jobs WHERE"
        f" ((state = 'waiting' AND (? OR run_after IS NULL OR run_after <= ?)) OR {_DEAD}){allowed}"
        " ORDER BY failed_call IS NOT NULL, coalesce(run_after, 0), id LIMIT 1) RETURNING *",
        (*leased, int(ignore_schedule), at, at, *(kinds or ()), *leave_out),
    )
    if found is not None:
        return _job(found)
    # Along the index of states: jobs that are done stay in the table, one for each session there ever was.
    left = ledger.rows(
        f"SELECT DISTINCT state FROM jobs WHERE state IN ('waiting', 'leased', 'parked'){allowed}",
        (*(kinds or ()), *leave_out),
    )
    return _why_unclaimed({row["state"] for row in left})


def _why_unclaimed(states: Set[str]) -> Unclaimed:
    """Return why no job can be had, from the states of those that are left."""
    if "waiting" in states:
        return Unclaimed.NOT_DUE
    if "leased" in states:
        return Unclaimed.LEASED
    return Unclaimed.PARKED if "parked" in states else Unclaimed.NOTHING


def heartbeat(ledger: Ledger, job: Job, *, lease_seconds: float, now: Moment) -> bool:
    """Keep a claimed job for another `lease_seconds`; False when it is no longer ours."""
    at = seconds(now)
    changed = ledger.execute(
        "UPDATE jobs SET lease_until = ?, changed_at = ? WHERE id = ? AND state = 'leased' AND token = ?",
        (at + lease_seconds, at, job.id, job.token),
    )
    return changed.rowcount == 1


def note_progress(ledger: Ledger) -> None:
    """Let the deaths of its owners no longer count for what is being done: it has come further.

    One worker does one job at a time, so that is the job that is leased.
    """
    ledger.execute("UPDATE jobs SET crashes = 0 WHERE state = 'leased' AND crashes > 0")


def finish(ledger: Ledger, job: Job, *, now: Moment, again_after: float = 0.0) -> None:
    """Mark a claimed job done, or waiting for `again_after` seconds if it was asked for meanwhile.

    Raises LeaseLostError when another owner has it.
    """
    at = seconds(now)
    _release(
        ledger,
        job,
        "state = CASE again WHEN 1 THEN 'waiting' ELSE 'done' END,"
        " run_after = CASE again WHEN 1 THEN ? ELSE run_after END,"
        " again = 0, attempts = 0, crashes = 0, last_error = '', failed_call = NULL, changed_at = ?",
        (at + again_after, at),
    )


def fail(ledger: Ledger, job: Job, error: str, *, now: Moment, retry_at: Moment | None) -> Job:
    """Count a failed attempt and return the job: waiting until `retry_at`, or parked when that is None.

    Raises LeaseLostError when another owner has the job.
    """
    at = seconds(now)
    state, due = ("parked", at) if retry_at is None else ("waiting", seconds(retry_at))
    return _release(
        ledger,
        job,
        "state = ?, run_after = ?, attempts = ?, crashes = 0, again = 0, last_error = ?, changed_at = ?",
        (state, due, job.attempts + 1, error[:_ERROR_CHARS], at),
    )


def postpone(
    ledger: Ledger,
    job: Job,
    *,
    run_after: Moment,
    reason: str,
    now: Moment,
    failed_call: int | None = None,
) -> None:
    """Put a claimed job back until `run_after`, with no attempt counted: something else than it is at fault.

    `failed_call` is the newest model call, where a provider failed in the job; `last_failed_call` tells it.
    """
    _release(
        ledger,
        job,
        "state = 'waiting', run_after = ?, crashes = 0, again = 0, last_error = ?, changed_at = ?,"
        " failed_call = coalesce(?, failed_call)",
        (seconds(run_after), reason[:_ERROR_CHARS], seconds(now), failed_call),
    )


def last_failed_call(ledger: Ledger, job: Job) -> int | None:
    """Return the newest model call of when a provider last failed in the job, None if it never did."""
    found = ledger.value("SELECT failed_call FROM jobs WHERE id = ?", (job.id,))
    return None if found is None else int(found)


def settle_clock(ledger: Ledger, *, now: Moment) -> int:
    """Make due what waits only because a clock was ahead when it was put off; return how many jobs."""
    at = seconds(now)
    waits = ledger.rows(
        "SELECT id, run_after, changed_at FROM jobs WHERE state = 'waiting' AND run_after > ?", (at,)
    )
    freed = [
        (at, at, row["id"])
        for row in waits
        if not wait_left(row["run_after"], since=row["changed_at"], now=at)
    ]
    with ledger.transaction():
        ledger.executemany("UPDATE jobs SET run_after = ?, changed_at = ? WHERE id = ?", freed)
    return len(freed)


def unpark(ledger: Ledger, job_id: int | None, *, now: Moment) -> int:
    """Let a parked job, or all with None, run again with all its attempts; return how many there were."""
    at = seconds(now)
    return ledger.execute(
        "UPDATE jobs SET state = 'waiting', run_after = ?, attempts = 0, crashes = 0, last_error = '',"
        " changed_at = ?"
        " WHERE state = 'parked' AND id = coalesce(?, id)",
        (at, at, job_id),
    ).rowcount


def release_leases(ledger: Ledger, *, now: Moment) -> int:
    """Let every leased job's lease run out now; return how many. Only for who knows their owners are dead."""
    at = seconds(now)
    return ledger.execute(
        "UPDATE jobs SET lease_until = ?, changed_at = ? WHERE state = 'leased'", (at, at)
    ).rowcount


def next_due(ledger: Ledger, *, now: Moment, model_in: float = 0.0) -> float | None:
    """Return in how many seconds the soonest waiting job is due, 0 if it is already; None without one.

    One that asks a model is due in `model_in` seconds at the soonest.
    """
    at = seconds(now)
    dues = ledger.rows(
        "SELECT kind, min(coalesce(run_after, 0)) AS due FROM jobs WHERE state = 'waiting' GROUP BY kind"
    )
    return min(
        (max(row["due"] - at, model_in if row["kind"] in ASKING else 0.0, 0.0) for row in dues), default=None
    )


def is_waiting(ledger: Ledger, kind: str, key: str) -> bool:
    """Whether a job of `kind` about `key` waits or is being done."""
    found = ledger.value(
        "SELECT 1 FROM jobs WHERE kind = ? AND key = ? AND state IN ('waiting', 'leased')", (kind, key)
    )
    return found is not None


def is_open(ledger: Ledger, kind: str, key: str) -> bool:
    """Whether a job of `kind` about `key` waits, is being done, or is parked."""
    found = ledger.value("SELECT 1 FROM jobs WHERE kind = ? AND key = ? AND state <> 'done'", (kind, key))
    return found is not None


def list_jobs(ledger: Ledger, *, state: str | None = None) -> list[Job]:
    """Return jobs by the time they are due, all or those in one state."""
    rows = ledger.rows(
        "SELECT * FROM jobs WHERE state = coalesce(?, state) ORDER BY coalesce(run_after, 0), id", (state,)
    )
    return [_job(row) for row in rows]


def _release(ledger: Ledger, job: Job, assignments: str, values: Sequence[object]) -> Job:
    found = ledger.row(
        f"UPDATE jobs SET {assignments}, {_FREE} WHERE id = ? AND state = 'leased' AND token = ? RETURNING *",
        (*values, job.id, job.token),
    )
    if found is None:
        raise LeaseLostError(
            f"job {job.id} ({job.kind} {job.key}) is no longer ours",
            file=str(ledger.path),
            fix="Nothing to do: whoever holds it now finishes it.",
        )
    return _job(found)


def _job(row: sqlite3.Row) -> Job:
    return Job(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        state=row["state"],
        run_after=row["run_after"] or 0.0,
        attempts=row["attempts"],
        again=bool(row["again"]),
        token=row["token"],
        lease_until=row["lease_until"],
        last_error=row["last_error"],
    )


def job(ledger: Ledger, job_id: int) -> Job:
    """Return one job. Raises LedgerError for an unknown id."""
    found = ledger.row("SELECT * FROM jobs WHERE id = ?", (job_id,))
    if found is None:
        raise LedgerError(
            f"there is no job {job_id}", file=str(ledger.path), fix="`reverie status` lists them."
        )
    return _job(found)

"""Model calls and what they cost: the meter that every call passes, and the breaker.

A call is entered before it is sent, at its estimate, so a crash can't hide it and a restart forgets
nothing; only one that is known to have been sent nowhere stops counting when it ends. The breaker opens when
a provider says that less than a fifth of the person's own limit is left, and closes by itself: at the
limit's reset, or after an hour when that is unknown. A provider that is down is noted here as well, and not
asked for a while (`pipeline.ledger.outages`).
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pipeline.core.clock import LONGEST_WAIT, Clock, at_most_now, iso, wait_left
from pipeline.core.errors import LedgerError, ModelError, PausedError, SpendError
from pipeline.hooklib.times import DAY
from pipeline.ledger import outages
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.llm import budget
from pipeline.llm.budget import Spent, Usage
from pipeline.record import names_of, record

if TYPE_CHECKING:
    from pipeline.config import SpendSettings

LOW_WATER = 0.2
_HOUR = 3600.0


@record
class Call:
    """One model call, times in epoch seconds. While `outcome` is ``started``, its tokens are estimates.

    `batch` is the id of ours for the batch that it was asked in, "" for one that was asked alone.
    """

    id: int
    run_id: str
    purpose: str
    provider: str
    model: str
    prompt_digest: str
    outcome: str
    input_tokens: int
    output_tokens: int
    cache_write_tokens: int
    cache_read_tokens: int
    estimated: bool
    dollars: float
    started_at: float
    ended_at: float | None
    sent: bool = True
    batch: str = ""


_COLUMNS = ", ".join(names_of(Call))


class LedgerMeter:
    """Counts the calls of one run into the ledger and refuses those that would pass a cap.

    A `patient` one also refuses those of a provider that is down: background work waits, a command that a
    person typed asks. `held_for` is what tells the settings and logins there are now from others.
    """

    def __init__(
        self,
        ledger: Ledger,
        caps: SpendSettings,
        clock: Clock,
        *,
        run_id: str = "",
        patient: bool = False,
        held_for: str = "",
    ) -> None:
        self._patient = patient
        self._held_for = held_for
        self._ledger = ledger
        self._caps = caps
        self._clock = clock
        self._run_id = run_id
        self._begun = 0

    def begin(self, *, purpose: str, provider: str, model: str, prompt_digest: str, estimate: Usage) -> int:
        """Enter a call about to be sent and return its id.

        Raises SpendError over a cap and PausedError while the provider is waited for, and enters none.
        """
        now = self._clock.now().timestamp()
        if self._patient:
            down = outages.in_force(self._ledger, provider, now=now, held_for=self._held_for)
            if down is not None:
                raise PausedError(down.reason, fix=down.fix)
        # Outside: a refusal must not undo it.
        _settle(self._ledger, now)
        with self._ledger.transaction():
            so_far = spent(self._ledger, now=now, run_id=self._run_id)
            if not self._run_id:
                so_far = Spent(self._begun, so_far.hour_calls, so_far.hour_tokens, so_far.day_dollars)
            why = paused(self._ledger, now=now) or budget.refusal(self._caps, so_far, estimate, model)
            if why:
                raise SpendError(
                    why, fix="Nothing is lost: the work waits. The caps are in config.toml under [spend]."
                )
            cost = budget.dollars(model, estimate)
            call_id = self._ledger.execute(
                f"INSERT INTO model_calls ({_COLUMNS})"
                " VALUES (NULL, ?, ?, ?, ?, ?, 'started', ?, ?, ?, ?, 1, ?, ?, NULL, 1, '')",
                (self._run_id, purpose, provider, model, prompt_digest, *_tokens(estimate), cost, now),
            ).lastrowid
        self._begun += 1
        assert call_id is not None, "an INSERT always has a row id"
        return call_id

    def end(self, call_id: int, *, outcome: str, usage: Usage, dollars: float, sent: bool = True) -> None:
        """Record how a call ended and what it took; one that was not `sent` counts no more.

        After a usable reply its provider counts as down no more. Raises LedgerError for a call that is not
        running.
        """
        changed = self._ledger.execute(
            "UPDATE model_calls SET outcome = ?, input_tokens = ?, output_tokens = ?, cache_write_tokens = ?,"
            " cache_read_tokens = ?, estimated = ?, dollars = ?, ended_at = ?, sent = ?"
            " WHERE id = ? AND ended_at IS NULL",
            (
                outcome,
                *_tokens(usage),
                int(usage.estimated),
                dollars,
                self._clock.now().timestamp(),
                int(sent),
                call_id,
            ),
        )
        if not changed.rowcount:
            raise LedgerError(f"model call {call_id} is not running", file=str(self._ledger.path))
        if outcome == "ok":
            outages.end(self._ledger, call_id)
        self._begun -= 0 if sent else 1

    def note_failure(self, provider: str, error: ModelError) -> None:
        """Note that `provider` is down, if that is what `error` means."""
        outages.note(
            self._ledger, provider, error, now=self._clock.now().timestamp(), held_for=self._held_for
        )

    def note_limit(self, remaining_fraction: float, *, resets_at: float | None) -> None:
        """Note how much of the account's limit is left, 0 to 1, and when it resets, in epoch seconds."""
        self._ledger.execute(
            "INSERT OR REPLACE INTO breaker (one, remaining, noted_at, resets_at) VALUES (1, ?, ?, ?)",
            (remaining_fraction, self._clock.now().timestamp(), resets_at),
        )


def paused(ledger: Ledger, *, now: Moment) -> str | None:
    """Return why model calls pause for the account's own limit, or None when they don't."""
    row = ledger.row("SELECT remaining, noted_at, resets_at FROM breaker")
    if row is None or row["remaining"] >= LOW_WATER:
        return None
    until, noted_at = row["resets_at"], row["noted_at"]
    if until is None or until > noted_at + LONGEST_WAIT:
        until = noted_at + _HOUR
    if not wait_left(until, since=noted_at, now=seconds(now)):
        return None
    left = f"only {row['remaining']:.0%} of the account's limit is left"
    return f"{left}; memory work pauses until {iso(datetime.fromtimestamp(until, UTC))}"


def spent(ledger: Ledger, *, now: Moment, run_id: str = "") -> Spent:
    """Return what was spent in this run, the last hour and the last day, calls still running included.

    What is in a batch that is under way counts however long ago that was. What was entered by a clock that
    was ahead counts as entered now, until `LedgerMeter.begin` makes it so.
    """
    at = seconds(now)
    row = ledger.row(
        "SELECT sum(started_at > ?), sum(iif(started_at > ?, input_tokens + output_tokens"
        " + cache_write_tokens + cache_read_tokens, 0)), sum(dollars)"
        " FROM model_calls WHERE started_at > ? AND sent",
        (at - _HOUR, at - _HOUR, at - DAY),
    )
    calls, tokens, dollars = (value or 0 for value in row) if row is not None else (0, 0, 0.0)
    flying = ledger.row(
        "SELECT count(*), sum(input_tokens + output_tokens + cache_write_tokens + cache_read_tokens),"
        " sum(iif(started_at > ?, 0.0, dollars)) FROM model_calls INDEXED BY calls_batch"
        " WHERE batch IN (SELECT id FROM batches WHERE state IN ('written', 'sent'))"
        " AND ended_at IS NULL AND batch <> '' AND started_at <= ?",
        (at - DAY, at - _HOUR),
    )
    if flying is not None and flying[0]:
        calls, tokens, dollars = calls + flying[0], tokens + flying[1], dollars + flying[2]
    run_calls = (
        ledger.value("SELECT count(*) FROM model_calls WHERE run_id = ? AND sent", (run_id,)) if run_id else 0
    )
    return Spent(run_calls, calls, tokens, dollars)


def reserved(ledger: Ledger, *, now: Moment) -> float:
    """Return how many of the dollars that count in the last day are set aside for calls under way."""
    return float(
        ledger.value(
            "SELECT coalesce(sum(dollars), 0.0) FROM (SELECT id, dollars FROM model_calls"
            " WHERE started_at > ? AND ended_at IS NULL AND sent UNION SELECT id, dollars FROM model_calls"
            " INDEXED BY calls_batch WHERE batch <> '' AND ended_at IS NULL"
            " AND batch IN (SELECT id FROM batches WHERE state IN ('written', 'sent')))",
            (seconds(now) - DAY,),
        )
    )


def _settle(ledger: Ledger, now: float) -> None:
    """Let calls that were entered ahead of `now` count from now on: they hold up one window only."""
    latest = ledger.value("SELECT max(started_at) FROM model_calls")
    if latest is not None and at_most_now(latest, now) != latest:
        ledger.execute("UPDATE model_calls SET started_at = ? WHERE started_at > ?", (now, now))


def last_call(ledger: Ledger) -> int:
    """Return the id of the newest call: ids only grow, so that what is above it comes after now."""
    return int(ledger.value("SELECT coalesce(max(id), 0) FROM model_calls"))


def answered_since(ledger: Ledger, provider: str, call_id: int) -> bool:
    """Whether `provider` gave a usable reply to a call after `call_id`."""
    found = ledger.value(
        "SELECT 1 FROM model_calls WHERE outcome = 'ok' AND id > ? AND provider = ?", (call_id, provider)
    )
    return found is not None


def list_calls(ledger: Ledger, limit: int = 50) -> list[Call]:
    """Return the latest calls, newest first."""
    rows = ledger.rows(f"SELECT {_COLUMNS} FROM model_calls ORDER BY id DESC LIMIT ?", (limit,))
    return [_call(row) for row in rows]


def made_between(ledger: Ledger, start: Moment, end: Moment) -> list[Call]:
    """Return the calls begun from `start` to `end`, oldest first."""
    rows = ledger.rows(
        f"SELECT {_COLUMNS} FROM model_calls WHERE started_at BETWEEN ? AND ? ORDER BY id",
        (seconds(start), seconds(end)),
    )
    return [_call(row) for row in rows]


def booked_as(ledger: Ledger, run_id: str) -> list[Call]:
    """Return the calls that a meter booked for `run_id`, oldest first."""
    rows = ledger.rows(f"SELECT {_COLUMNS} FROM model_calls WHERE run_id = ? ORDER BY id", (run_id,))
    return [_call(row) for row in rows]


def _call(row: Any) -> Call:
    return Call(**{**dict(row), "estimated": bool(row["estimated"]), "sent": bool(row["sent"])})


def last_outcome(ledger: Ledger, provider: str) -> str:
    """Return how the last call of `provider` that has ended went, "" when none has."""
    found = ledger.value(
        "SELECT outcome FROM model_calls WHERE provider = ? AND ended_at IS NOT NULL"
        " ORDER BY id DESC LIMIT 1",
        (provider,),
    )
    return str(found or "")


def _tokens(usage: Usage) -> tuple[int, int, int, int]:
    return (usage.input_tokens, usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens)

"""Which provider is down, why, and until when nobody asks it: one row each, for all jobs and processes.

    answers ─error─► asked again at `ends_at` ─error─► … later each time ─usable reply─► answers

No job is to blame for it and no event of a session shortens the wait; what asks next, asks for all that wait.
The wait ends at once when settings or logins are others than those it was noted for (`held_for`), and when
the clock that noted it turns out to have been ahead. How long it is, `pipeline.llm.retry.pause` says.
"""

from __future__ import annotations

from pipeline.core.clock import at_most_now, wait_left
from pipeline.core.errors import PROVIDER_DOWN, BusyError, InvalidReplyError, ModelError, OverloadedError
from pipeline.hooklib.plain import clipped
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.llm import retry
from pipeline.record import names_of, record

LONG_SECONDS = 3_600.0
"""A trouble that may pass by itself and lasts longer than this is worth a person's notice."""
_REASON_CHARS = 1_000
_SHOWN_CHARS = 200


@record
class Outage:
    """Why `provider` does not answer: the word of its last error, and `reason` and `fix` for a person.

    `failures` counts the tries since `began_at`; the last was at `noted_at` and the next is at `ends_at`, all
    in epoch seconds.
    """

    provider: str
    outcome: str
    reason: str
    fix: str
    held_for: str
    failures: int
    began_at: float
    noted_at: float
    ends_at: float

    @property
    def words(self) -> str:
        """Return reason and fix as sentences."""
        return f"{self.reason.rstrip('.')}. {self.fix}".rstrip()

    @property
    def is_for_a_person(self) -> bool:
        """Whether somebody should hear of it: only a person can mend it, or it lasts."""
        lasting = self.noted_at - self.began_at >= LONG_SECONDS
        return lasting or self.outcome not in retry.PASSES

    @property
    def is_unproved(self) -> bool:
        """Whether it showed only in an answer that was none, so that a small question must tell its end."""
        return self.outcome not in retry.PASSES | retry.FOR_A_PERSON


_COLUMNS = names_of(Outage)


def known(ledger: Ledger, provider: str) -> Outage | None:
    """Return the outage of `provider` that no usable reply has ended, also when its next try is due."""
    row = ledger.row(f"SELECT {', '.join(_COLUMNS)} FROM outages WHERE provider = ?", (provider,))
    return None if row is None else Outage(*row)


def seconds_left(outage: Outage | None, *, now: Moment, held_for: str) -> float:
    """Return in how many seconds the provider is asked again, 0 when it may be asked now."""
    if outage is None or outage.held_for != held_for:
        return 0.0
    return wait_left(outage.ends_at, since=outage.noted_at, now=seconds(now))


def in_force(ledger: Ledger, provider: str, *, now: Moment, held_for: str) -> Outage | None:
    """Return the outage for which `provider` must not be asked now, or None."""
    found = known(ledger, provider)
    return found if seconds_left(found, now=now, held_for=held_for) else None


def note(
    ledger: Ledger,
    provider: str,
    error: ModelError,
    *,
    now: Moment,
    held_for: str,
    part: float | None = None,
    proved: bool = False,
) -> None:
    """Note that `provider` failed with `error`, unless that may be the fault of what was asked.

    With `proved` it can't be: the question was our own and had no dialogue in it. `part` is the share of the
    wait that is waited, by chance when not given.
    """
    if isinstance(error, BusyError) or not (proved or isinstance(error, PROVIDER_DOWN)):
        return
    at = seconds(now)
    asked = error.retry_after if isinstance(error, OverloadedError) else None
    reason, fix = _in_words(error)
    with ledger.transaction():
        before = known(ledger, provider)
        if before is not None and before.held_for != held_for:
            before = None
        failures = before.failures + 1 if before else 1
        until = at + retry.pause(error.outcome, failures, asked, retry.share() if part is None else part)
        if before is not None:
            # Another process may have been told to wait for longer.
            until = max(until, at + wait_left(before.ends_at, since=before.noted_at, now=at))
        began_at = at_most_now(before.began_at, at) if before else at
        values = (provider, error.outcome, reason, fix, held_for, failures, began_at, at, until)
        ledger.execute(
            f"INSERT OR REPLACE INTO outages ({', '.join(_COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )


def end(ledger: Ledger, call_id: int) -> None:
    """Note that the provider of the model call `call_id` answers."""
    ledger.execute(
        "DELETE FROM outages WHERE provider = (SELECT provider FROM model_calls WHERE id = ?)", (call_id,)
    )


def clear(ledger: Ledger, provider: str) -> None:
    """Note that `provider` answers, whatever was noted of it."""
    ledger.execute("DELETE FROM outages WHERE provider = ?", (provider,))


def _in_words(error: ModelError) -> tuple[str, str]:
    """Return reason and fix of `error` for a person, each on one line."""
    from pipeline.safety.invisible import visible_line

    if isinstance(error, InvalidReplyError):
        from pipeline.safety.redaction import redact

        shown = clipped(visible_line(redact(error.reply).text), _SHOWN_CHARS)
        reason = f"The provider answers a small question with “{shown}”." if shown else str(error)
        fix = (
            "See whether `claude` answers you, or what stands at model.base_url; `reverie doctor --online`"
            " asks once more."
        )
        return clipped(visible_line(reason), _REASON_CHARS), fix
    return clipped(visible_line(str(error)), _REASON_CHARS), visible_line(error.fix)

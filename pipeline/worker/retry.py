"""When a job that failed is done again: the one policy, and nothing but the policy.

An obstacle is not the job's fault (a cap, another program at work in the store, a full disk): the job waits
and no attempt is counted. Any other error is a failed attempt. With n failures, the present
one included, and waits w1, w2, … the next try comes

    w[n]       seconds from now, the last wait repeating,
    never      when n has reached the limit: a person sees the parked job, `reverie work --retry` unparks it.

The limit that is set is ``extraction.attempts``:

    job            obstacles (seconds)                            waits (seconds)       limit
    extraction     cap or batch 900, busy store or client 120,    60, 600               as set
                   store, disk or ledger can't be used 900
    dream          cap, busy store or lost lease 900,             3600, 14400, 86400    none
                   busy client 120, store, disk or ledger
                   can't be used 3600
    derived files  store or disk can't be used 900                60, 600               as set
    sync           whatever we can name 900                       3600, 14400, 86400    none

A provider that is down is no obstacle of one job: it is noted once, nobody asks it until its wait is over
(`pipeline.ledger.outages`), and the job that met it stays due. The one exception is a job in which a provider
fails again though it answered others since: it waits ALONE_SECONDS, as often as needed, and holds up none.

A dream that gets an answer of no use, as the small question does, waits as long, and holds up nothing else.

Dialogue that no model takes (refused, invalid, too long, cut off) is given up at the limit, not parked: it
would hold up everything that was said after it. Such a failure counts only where the provider is known to be
well, by its answer to a small question.

Trying again *within* one model call is `pipeline.llm.retry`.
"""

from __future__ import annotations

from enum import Enum

from pipeline.core.errors import (
    BusyError,
    BusyStoreError,
    InBatchError,
    InvalidReplyError,
    LeaseLostError,
    RefusedError,
    ReverieError,
    SpendError,
    StoreError,
    TooLongError,
    TruncatedError,
    UnwritableError,
)
from pipeline.record import record

MINUTE = 60.0
HOUR = 3_600.0
ALONE_SECONDS = HOUR
UNREADABLE = (RefusedError, InvalidReplyError, TooLongError, TruncatedError)
"""The dialogue, not the provider, is at fault."""


@record
class Wait:
    """Do it again in `seconds`; `counted` says that this was a failed attempt, not an obstacle."""

    seconds: float
    counted: bool


class Stop(Enum):
    """Do it no more: a person must look at it, or it is passed over."""

    PARK = "park"
    GIVE_UP = "give up"


Decision = Wait | Stop


@record
class RetryPolicy:
    """The policy for one kind of job; the module's docstring has the formula and the values.

    `obstacles` are error classes with the seconds to wait, the first that fits deciding; `waits` are the
    seconds after the first, second, … failure; `limit` is how many failures there may be, None for any
    number.
    """

    obstacles: tuple[tuple[type[Exception] | tuple[type[Exception], ...], float], ...]
    waits: tuple[float, ...]
    limit: int | None

    def retry_after(self, error: Exception, attempts: int) -> Decision:
        """Return what becomes of a job that raised `error` after `attempts` earlier failures."""
        for classes, seconds in self.obstacles:
            if isinstance(error, classes):
                return Wait(seconds, counted=False)
        decision = self.after_failure(attempts)
        return Stop.GIVE_UP if decision is Stop.PARK and isinstance(error, UNREADABLE) else decision

    def after_failure(self, attempts: int) -> Decision:
        """Return what becomes of a job that failed without an error, after `attempts` earlier failures."""
        failures = attempts + 1
        if self.limit is not None and failures >= self.limit:
            return Stop.PARK
        return Wait(self.waits[min(failures, len(self.waits)) - 1], counted=True)


def extraction(limit: int) -> RetryPolicy:
    """Return the policy for jobs that read dialogue, with `limit` as set in `extraction.attempts`."""
    return RetryPolicy(
        obstacles=(
            ((SpendError, InBatchError), 15 * MINUTE),
            ((BusyStoreError, BusyError), 2 * MINUTE),
            ((StoreError, UnwritableError, OSError), 15 * MINUTE),
        ),
        waits=(MINUTE, 10 * MINUTE),
        limit=limit,
    )


def derived_files(limit: int) -> RetryPolicy:
    """Return the policy for jobs that make what is derived from memories, which are safe meanwhile."""
    return RetryPolicy(
        obstacles=(((StoreError, OSError), 15 * MINUTE),), waits=(MINUTE, 10 * MINUTE), limit=limit
    )


def batch_wait(age: float) -> float:
    """Return in how many seconds a batch that was sent `age` seconds ago is looked at again.

    Most have ended within the hour, for which the worker stays; for the rest it comes back.
    """
    return 2 * MINUTE if age < HOUR else 15 * MINUTE


SYNC = RetryPolicy(
    obstacles=(((ReverieError, OSError), 15 * MINUTE),), waits=(HOUR, 4 * HOUR, 24 * HOUR), limit=None
)
"""Whatever keeps a sync from its work, it is tried again: other machines may mend it."""

DREAM = RetryPolicy(
    obstacles=(
        ((SpendError, BusyStoreError, LeaseLostError), 15 * MINUTE),
        (BusyError, 2 * MINUTE),
        ((StoreError, UnwritableError, OSError), HOUR),
    ),
    waits=(HOUR, 4 * HOUR, 24 * HOUR),
    limit=None,
)
"""A dream is never parked: a night without a model must not end all dreaming."""

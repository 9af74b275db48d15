"""When a model is asked again: within one call, and after it was found to be down.

Within a call only OverloadedError is tried again, for as long as a wait takes MAX_WAIT seconds at most. A
provider's ``retry_after`` is kept; without one the wait doubles from FIRST_WAIT. A longer wait is not slept
through: the call ends, and the provider counts as down for all jobs until then (`pipeline.ledger.outages`).
`pause` says how long that is. When a single job is done again is decided by `pipeline.worker.retry`.

This is the only module that imports tenacity.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pipeline.core import clock
from pipeline.core.errors import (
    BusyError,
    OverloadedError,
    QuotaError,
    TimedOutError,
    UnauthorisedError,
    UnavailableError,
)

if TYPE_CHECKING:
    import tenacity

R = TypeVar("R")
FIRST_WAIT = 2.0
MAX_WAIT = 60.0
FIRST_PAUSE = 60.0
LONGEST_PAUSE = 3_600.0
LEAST_SHARE, MOST_SHARE = 0.75, 0.95
"""Of a wait that nobody named a share between these is waited: many homes shall not ask at once."""
PASSES = frozenset({OverloadedError.outcome, TimedOutError.outcome, UnavailableError.outcome})
"""Outcomes of a trouble that may pass within minutes; any other lasts until somebody mends it, or a day."""
FOR_A_PERSON = frozenset({UnauthorisedError.outcome, QuotaError.outcome})
"""Outcomes that somebody should hear of at once."""


def retrying(call: Callable[[], R], *, attempts: int, sleep: Callable[[float], None] = time.sleep) -> R:
    """Return what `call` returns, trying up to `attempts` times while it raises OverloadedError.

    `sleep` gets seconds. An OverloadedError that asks for a longer wait than MAX_WAIT, and the last of them,
    come through unchanged, and so does any other error, at once.
    """
    import tenacity  # deferred: only a process that calls a model pays for it

    policy = tenacity.Retrying(
        retry=tenacity.retry_if_exception(_is_worth_another_try),
        stop=tenacity.stop_after_attempt(max(1, attempts)),
        wait=_wait,
        sleep=sleep,
        reraise=True,
    )
    return policy(call)


def _is_worth_another_try(error: BaseException) -> bool:
    return isinstance(error, OverloadedError) and (error.retry_after or 0.0) <= MAX_WAIT


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, OverloadedError) else None
    if asked is None or isinstance(error, BusyError):
        grown = asked or FIRST_WAIT * 2 ** (state.attempt_number - 1)
        return min(grown, MAX_WAIT) * share()
    return asked


def share() -> float:
    """Return what to multiply a wait with that nobody named, by chance."""
    import random

    return random.uniform(LEAST_SHARE, MOST_SHARE)


def pause(outcome: str, failures: int, asked: float | None, part: float) -> float:
    """Return for how many seconds a provider is not asked that failed `failures` times on end.

    A trouble that passes by itself begins with FIRST_PAUSE and doubles; any other takes LONGEST_PAUSE at
    once. Of that the share `part` is taken. What the provider `asked` for is kept to the second unless the
    wait has grown longer.
    """
    doublings = min(max(failures - 1, 0), 10)
    grown = min(FIRST_PAUSE * 2**doublings, LONGEST_PAUSE) if outcome in PASSES else LONGEST_PAUSE
    return max(grown * part, asked or 0.0)


def asked_wait(value: str | None, date: str | None = None) -> float | None:
    """Return the seconds that a ``retry-after`` header asks for: a number, or an HTTP date after `date`.

    `date` is the header of that name, since the server's clock set both; without it ours counts. None for
    what can't be meant: no number, a negative or endless one, a day that is past or more than a week ahead.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        then, sent = _moment(value), _moment(date)
        if then is None:
            return None
        seconds = then - (clock.from_environment().now().timestamp() if sent is None else sent)
    return seconds if math.isfinite(seconds) and 0.0 <= seconds <= clock.LONGEST_WAIT else None


def _moment(text: str | None) -> float | None:
    from email.utils import parsedate_to_datetime  # deferred: it brings half of the mail library along

    try:
        return parsedate_to_datetime(text).timestamp() if text else None
    except (ValueError, OverflowError):
        return None

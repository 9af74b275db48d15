"""Trying again within one model call, and the only module that imports tenacity.

When a whole job is done again is decided by `pipeline.worker.retry`.

Only OverloadedError is tried again. A provider's ``retry_after`` is honoured up to MAX_WAIT seconds; without
one the wait doubles from FIRST_WAIT.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pipeline.core.errors import OverloadedError

if TYPE_CHECKING:
    import tenacity

R = TypeVar("R")
FIRST_WAIT = 2.0
MAX_WAIT = 60.0


def retrying(call: Callable[[], R], *, attempts: int, sleep: Callable[[float], None] = time.sleep) -> R:
    """Return what `call` returns, trying up to `attempts` times while it raises OverloadedError.

    `sleep` gets seconds. The last OverloadedError comes through unchanged, and so does any other error,
    at once.
    """
    import tenacity  # deferred: only a process that calls a model pays for it

    policy = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(OverloadedError),
        stop=tenacity.stop_after_attempt(max(1, attempts)),
        wait=_wait,
        sleep=sleep,
        reraise=True,
    )
    return policy(call)


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = error.retry_after if isinstance(error, OverloadedError) else None
    if asked is None:
        asked = FIRST_WAIT * 2 ** (state.attempt_number - 1)
    return min(max(asked, 0.0), MAX_WAIT)

"""What two do at once to one memory: the later of them looks anew, and does it to what is there then."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import ParamSpec, TypeVar

from pipeline.core.errors import ConflictError
from pipeline.store import Store

_TRIES = 10
"""Each that is lost was won by somebody else, so that as many as that may write at the same moment."""
P = ParamSpec("P")
Gives = TypeVar("Gives")


def retried(action: Callable[P, Gives]) -> Callable[P, Gives]:
    """Return `action`, a use case that reads before it writes, done again where a file changed in between.

    Not for what rests on a text that somebody was shown: that would undo what came meanwhile.
    """

    @wraps(action)
    def done(*given: P.args, **named: P.kwargs) -> Gives:
        for _ in range(_TRIES - 1):
            with suppress(ConflictError):
                return action(*given, **named)
            for store in given:
                if isinstance(store, Store):
                    store.drop_plans()
        return action(*given, **named)

    return done

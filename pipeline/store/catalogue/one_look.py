"""Looking at the files of a store once for all that one answer needs.

A look asks for the stamp of every file, which of thousands takes longer than all else. Who answers one
question that reads in many places lets them share a look; who writes does not.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_SINCE: ContextVar[float | None] = ContextVar("reverie_looked_since", default=None)


def moment() -> float:
    """Return what tells which of two looks came first."""
    return time.monotonic()


def counts(looked: float) -> bool:
    """Whether a look that began then is good enough for what is answered here; no look is, without one."""
    since = _SINCE.get()
    return since is not None and looked >= since


@contextmanager
def one_look(within_seconds: float = 0.0) -> Iterator[None]:
    """Let every look at a store within it, in this thread, be the first one.

    One of the last `within_seconds` will do as well, if no file came or went since: an answer that is asked
    for with every key that somebody presses then misses at most an edit in place that is as young.
    """
    token = _SINCE.set(moment() - within_seconds)
    try:
        yield
    finally:
        _SINCE.reset(token)


@contextmanager
def looks_anew() -> Iterator[None]:
    """Let each look within it be one of its own all the same."""
    token = _SINCE.set(None)
    try:
        yield
    finally:
        _SINCE.reset(token)

"""Looking at the files of a store once for all that one answer needs.

A look asks for the stamp of every file, which of thousands takes longer than all else. Who answers one
question that reads in many places lets them share a look; who writes does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_NOW: ContextVar[object] = ContextVar("reverie_look", default=None)


def shared() -> object:
    """Return what stands for the answer that is under way here, None where each look is one of its own."""
    return _NOW.get()


@contextmanager
def one_look() -> Iterator[None]:
    """Let every look at one store within it be the same, the first, in this thread."""
    token = _NOW.set(object())
    try:
        yield
    finally:
        _NOW.reset(token)


@contextmanager
def looks_anew() -> Iterator[None]:
    """Let each look within it be one of its own all the same."""
    token = _NOW.set(None)
    try:
        yield
    finally:
        _NOW.reset(token)

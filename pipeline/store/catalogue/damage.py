"""Tells a catalogue that is damaged from one that can't be used just now."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


class Unusable(sqlite3.DatabaseError):
    """There is no catalogue that can be read: none yet, or another version's."""


class Damaged(sqlite3.DatabaseError):
    """The catalogue holds what nobody wrote into it."""


_IN_THE_WAY = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
)
"""Errors that say nothing of what is in the file."""


def is_damage(error: Exception) -> bool:
    """Whether `error` says that the file itself can't be used, so that it has to be made anew."""
    code = getattr(error, "sqlite_errorcode", None) or 0
    return isinstance(error, sqlite3.DatabaseError) and code & 0xFF not in _IN_THE_WAY


def text(value: object) -> str:
    """Return `value`, which is text where nothing is damaged; raises Damaged."""
    if not isinstance(value, str):
        raise Damaged("no text where one was written")
    return value


@contextmanager
def decoded() -> Iterator[None]:
    """Call it damage when there are bytes that are no UTF-8 in the names of tables."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise Damaged(f"not UTF-8: {error}") from error

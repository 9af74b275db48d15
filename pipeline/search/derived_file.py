"""The SQLite file of an index: private, laid out for one version, and disposable when it is of no use.

An index holds nothing of its own, so that a damaged file, one of another version and what is no regular file
are thrown away and made anew.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Sequence
from pathlib import Path

from pipeline.core import system
from pipeline.core.atomic import ensure_dir
from pipeline.hooklib.settings import NO_ROOM
from pipeline.record import record

WAIT_SECONDS = 5.0
"""How long another process that writes is waited for."""
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")
"""How the names of errors begin that say that the file itself is damaged."""


class _OtherVersionError(sqlite3.DatabaseError):
    """The file was made by a Reverie that lays it out otherwise, or is none of ours."""


@record
class Layout:
    """What an index is made of: its tables, their version, and settings of each connection beside."""

    version: int
    tables: Sequence[str]
    settings: Sequence[str] = ()


def opened(path: Path, layout: Layout, wait: float) -> sqlite3.Connection:
    """Return a connection to the index at `path`, made empty and private where none can be used.

    `wait` is in seconds, for another process that writes. Raises OSError and sqlite3.Error.
    """
    try:
        return _connected(path, layout, wait)
    except sqlite3.Error as error:
        if not is_damage(error):
            raise
    discard(path)
    return _connected(path, layout, wait)


def discard(path: Path) -> None:
    """Delete the index at `path`, with what SQLite keeps beside it. Raises OSError.

    A process that still has it open goes on with the old one: its hints are stale.
    """
    for suffix in ("-wal", "-shm", "-journal", ""):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def is_damage(error: BaseException | None) -> bool:
    """Tell whether `error` goes away when the file is made anew."""
    return isinstance(error, _OtherVersionError) or _name(error).startswith(_DAMAGED)


def step(error: BaseException, otherwise: str, *, busy: str = "") -> str:
    """Return what a person can do about `error` of SQLite: `busy`, if given, where another process writes."""
    name = _name(error)
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        return NO_ROOM
    return busy if busy and name.startswith("SQLITE_BUSY") else otherwise


def _connected(path: Path, layout: Layout, wait: float) -> sqlite3.Connection:
    _make_private(path)
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None)
    try:
        _bring_up_to_date(connection, layout)
    except BaseException:
        connection.close()
        raise
    return connection


def _bring_up_to_date(connection: sqlite3.Connection, layout: Layout) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, layout.version):
        raise _OtherVersionError(f"its version is {version}")
    # A power cut may take the last change along, and the next time it is brought in step makes it again.
    connection.execute("PRAGMA synchronous = NORMAL")
    for setting in layout.settings:
        connection.execute(setting)
    if version == layout.version:
        return
    _turn_wal_on(connection)
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in layout.tables:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {layout.version}")
    connection.execute("COMMIT")


def _turn_wal_on(connection: sqlite3.Connection) -> None:
    """Let readers go on while one process writes; of two that make the file at once, one does it for both."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        # This statement does not wait for others as the rest do; without it all is right, only slower.
        if error.sqlite_errorname != "SQLITE_BUSY":
            raise


def _make_private(path: Path) -> None:
    ensure_dir(path.parent)
    if os.path.lexists(path) and not stat.S_ISREG(path.lstat().st_mode):
        raise _OtherVersionError("it is no regular file")
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | system.OPEN, 0o600))


def _name(error: BaseException | None) -> str:
    return getattr(error, "sqlite_errorname", None) or ""

"""Open the ledger file: pragmas, modes, transactions, and SQLite's errors turned into ours.

The ledger's only module that imports sqlite3. The file is 0600 in a 0700 folder (SQLite gives ``-wal`` and
``-shm`` the mode of the file itself). Nothing here ever overwrites a file it can't read.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core import locks, system
from pipeline.core.atomic import ensure_dir
from pipeline.core.closing import Closing
from pipeline.core.errors import DamagedLedgerError, LedgerError, UnwritableError
from pipeline.ledger import migrations

BUSY_SECONDS = 5.0

Moment = datetime | float
"""A point in time, as the caller has it: an aware datetime, or epoch seconds."""


def seconds(moment: Moment) -> float:
    """Return `moment` as epoch seconds, whether it came as a datetime or already as a number."""
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)


class Ledger(Closing):
    """An open ledger. Use it in the thread that opened it; a second thread opens its own.

    `note` says why it can only be looked at, and is empty when it can be written.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path, note: str = "") -> None:
        self.connection = connection
        self.path = path
        self.note = note
        self._depth = 0
        self._joined = False
        self._torn = False

    def execute(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Run one statement. Raises LedgerError, naming the file, for whatever SQLite objects to."""
        with translated(self.path):
            return self.connection.execute(sql, values)

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> int:
        """Run one statement per row and return how many rows of the table it changed."""
        with translated(self.path):
            return self.connection.executemany(sql, rows).rowcount

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """Return every row a query gives."""
        with translated(self.path):
            return self.connection.execute(sql, values).fetchall()

    def plain_rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return every row a query gives as a bare tuple, which takes half the time of `rows`."""
        with translated(self.path):
            cursor = self.connection.cursor()
            cursor.row_factory = None
            return cursor.execute(sql, values).fetchall()

    def row(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Row | None:
        """Return a query's first row, or None; the statement is run to its end."""
        return next(iter(self.rows(sql, values)), None)

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of a query's first row, or None."""
        found = self.row(sql, values)
        return None if found is None else found[0]

    def check(self) -> str:
        """Return what is wrong with the database file, empty when SQLite finds nothing."""
        answer = str(self.value("PRAGMA quick_check"))
        if answer != "ok":
            return answer
        broken = self.row("PRAGMA foreign_key_check")
        return "" if broken is None else f"{broken[0]} has rows that belong to nothing"

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit everything done inside, or none of it.

        The write lock is taken at once, so that what is read inside can't change before it is written.
        A transaction inside another is a savepoint of it: it may fail alone, but commits with the outer.
        """
        if self._joined:
            yield from self._as_part()
            return
        name = f"inner_{self._depth}"
        begin, commit, undo = "BEGIN IMMEDIATE", "COMMIT", ["ROLLBACK"]
        if self._depth:
            begin, commit = f"SAVEPOINT {name}", f"RELEASE {name}"
            undo = [f"ROLLBACK TO {name}", commit]
        self.execute(begin)
        self._depth += 1
        try:
            yield
            self.execute(commit)
        except BaseException:
            # After some errors (disk full) SQLite has already rolled back by itself.
            if self.connection.in_transaction:
                for statement in undo:
                    self.execute(statement)
            raise
        finally:
            self._depth -= 1

    def _as_part(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._torn = True
            raise

    @property
    def rewrites(self) -> int:
        """Return how often words that were in the ledger already have been changed or taken out."""
        return int(self.value("PRAGMA user_version"))

    def note_rewrite(self) -> None:
        """Count one more of those, within the transaction that does it."""
        self.execute(f"PRAGMA user_version = {(self.rewrites + 1) % 2**31}")

    @property
    def torn(self) -> bool:
        """Whether a transaction within `together` has failed, so that nothing of it will be kept."""
        return self._torn

    @contextmanager
    def together(self) -> Iterator[None]:
        """Commit everything done inside, the transactions begun inside among it, or none of it.

        Those are no savepoints, which make many rows many times dearer: if one fails, all that was done goes.
        """
        with self.transaction():
            self._joined, self._torn = True, False
            try:
                yield
                if self._torn:
                    raise LedgerError(
                        "a part of this work failed, so none of it is kept", file=str(self.path)
                    )
            finally:
                self._joined = False

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.connection.close()


def open_ledger(path: Path) -> Ledger:
    """Open the ledger at `path`, making it and bringing its schema up to date where needed.

    Writers wait up to five seconds for each other. Raises NewerSchemaError for a ledger of a newer
    Reverie, and LedgerError for a file that is no ledger, is cut short, or can't be opened; such a file
    is left as it is.
    """
    with translated(path):
        _make_file(path)
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    with _closed_on_error(connection), translated(path):
        _prepare(connection, path)
    return Ledger(connection, path)


def look_at_ledger(path: Path) -> Ledger:
    """Open the ledger at `path` to look at it, also where nothing can be written.

    On a full disk or in a folder that may only be read, what is there is shown without changing it, and
    `note` says so. Raises the errors of `open_ledger` for all else.
    """
    try:
        ledger = open_ledger(path)
    except LedgerError as error:
        if not _cant_write(error.__cause__) or not path.exists():
            raise
        return _read_only(path, error)
    try:
        # A full disk shows only at the first write, or at the first read that wants the shared index.
        ledger.rows("SELECT count(*) FROM sqlite_master")
    except LedgerError as error:
        ledger.close()
        if not _cant_write(error.__cause__):
            raise
        return _read_only(path, error)
    return ledger


def read_ledger(path: Path) -> Ledger:
    """Open the ledger at `path` without a byte written, beside the file neither.

    Raises LedgerError where there is none, where it is another version's, or where it can't be read.
    """
    log = path.with_name(path.name + "-wal")
    with translated(path):
        # Without a log the main file is the whole, and SQLite would make the log and its index to read it.
        options = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
        connection = _connect(path, options)
        with _closed_on_error(connection):
            if migrations.version(connection, path) == migrations.LATEST:
                return Ledger(connection, path)
            raise LedgerError(
                "an older Reverie made it", file=str(path), fix="`reverie status` brings it up to date."
            )


@contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """Close `connection` when what is done inside fails."""
    with ExitStack() as undo:
        undo.callback(connection.close)
        yield
        undo.pop_all()


def _connect(path: Path, options: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    connection.row_factory = sqlite3.Row
    return connection


def _cant_write(cause: BaseException | None) -> bool:
    if isinstance(cause, OSError):
        return cause.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
    codes = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
    return (getattr(cause, "sqlite_errorname", None) or "").startswith(codes)


def _read_only(path: Path, cause: LedgerError) -> Ledger:
    """Open `path` without writing: with its -wal file if SQLite can, else the main file alone."""
    for options, left_out in (
        ("mode=ro", ""),
        ("mode=ro&immutable=1", ", the latest changes may be missing"),
    ):
        connection = _connect(path, options)
        try:
            if migrations.version(connection, path) == migrations.LATEST:
                return Ledger(connection, path, f"looked at without writing{left_out}: {cause.args[0]}")
        except sqlite3.Error:
            connection.close()
            continue
        connection.close()
        break
    raise cause


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA foreign_keys = ON")
    # FULL, because a reply paid for must outlive a power cut once the store shows its memories.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA journal_size_limit = 67108864")
    current = migrations.version(connection, path)
    mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    if current == migrations.LATEST and mode == "wal":
        return
    # Turning WAL on ignores the busy timeout, so two first openers take turns by a file lock.
    with locks.lock(path.with_name(path.name + ".lock"), timeout=2 * BUSY_SECONDS) as locked:
        if not locked:
            raise LedgerError(
                "another process has been setting it up for ten seconds", file=str(path), fix="Try again."
            )
        connection.execute("PRAGMA journal_mode = WAL")
        migrations.migrate(connection, path)


def _make_file(path: Path) -> None:
    ensure_dir(path.parent)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | system.OPEN, 0o600)
    try:
        if os.fstat(handle).st_mode & 0o077:
            system.keep_private(handle, 0o600)
    finally:
        os.close(handle)


def damaged(path: Path, reason: str) -> DamagedLedgerError:
    """Return the error for a file that holds no usable ledger."""
    return DamagedLedgerError(
        f"this is not a usable ledger: {reason}",
        file=str(path),
        fix="The next worker sets it aside and makes a new one; `reverie work` starts one now.",
    )


def is_damage(error: sqlite3.Error) -> bool:
    """Whether `error` says that the file itself is damaged, and not that it is locked or can't be written."""
    return (getattr(error, "sqlite_errorname", None) or "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system raise inside into LedgerError with the file and a fix."""
    try:
        yield
    except OSError as error:
        raise LedgerError(
            f"it can't be opened: {error.strerror}", file=str(path), fix="Check the path and its permissions."
        ) from error
    except sqlite3.Error as error:
        raise _explain(error, path) from error


_NO_ROOM = "Make room on the disk, then try again; nothing was half written."
_FIXES = {
    "SQLITE_BUSY": "Another process is writing to the ledger; try again when it has finished.",
    "SQLITE_LOCKED": "Another process is writing to the ledger; try again when it has finished.",
    "SQLITE_FULL": _NO_ROOM,
    "SQLITE_IOERR": _NO_ROOM,
    "SQLITE_READONLY": "Make the ledger and its folder writable for you.",
    "SQLITE_CANTOPEN": "Check that the path is a file you may write, in a folder you may write.",
}


def _explain(error: sqlite3.Error, path: Path) -> LedgerError:
    name = getattr(error, "sqlite_errorname", None) or ""
    if is_damage(error):
        return damaged(path, str(error))
    fix = next((text for code, text in _FIXES.items() if name.startswith(code)), "")
    if fix:
        return UnwritableError(str(error), file=str(path), fix=fix)
    return LedgerError(str(error), file=str(path), fix="Run `reverie doctor`.")

"""One connection for all that a piece of work asks of a catalogue: to open one takes longer than to ask."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import local

BUSY_FOR = 5.0


class OneConnection(local):
    """Gives connections to read from: within `kept` the same one again, while the file is the same.

    Each thread has its own, as SQLite lets no other use a connection.
    """

    def __init__(self) -> None:
        self._is_kept = False
        self._open: sqlite3.Connection | None = None
        self._opened: tuple[int, int, str] | None = None
        """Which file that is, and how it was opened."""

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the connection for what this thread reads within; work inside other work shares its own."""
        if self._is_kept:
            yield
            return
        self._is_kept = True
        try:
            yield
        finally:
            self._is_kept = False
            self.close()

    @contextmanager
    def reading(self, file: Path, mode: str) -> Iterator[sqlite3.Connection]:
        """Give a connection to `file` within which nothing is begun, and end what is begun within."""
        if not self._is_kept:
            with closing(connect(file, mode)) as connection:
                yield connection
            return
        try:
            connection = self._of(file, mode)
            yield connection
            connection.rollback()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close what this thread keeps; its next question opens the file anew."""
        kept, self._open = self._open, None
        if kept is not None:
            kept.close()

    def _of(self, file: Path, mode: str) -> sqlite3.Connection:
        # While it is open, no other file gets its number.
        found = file.stat()
        wanted = (found.st_dev, found.st_ino, mode)
        if self._open is None or self._opened != wanted:
            self.close()
            self._open, self._opened = connect(file, mode), wanted
        return self._open


def connect(file: Path, mode: str) -> sqlite3.Connection:
    """Open the catalogue `file`, which is there."""
    connection = sqlite3.connect(
        f"{file.as_uri()}?mode={mode}", uri=True, timeout=BUSY_FOR, isolation_level=None
    )
    try:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA synchronous = NORMAL")
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection

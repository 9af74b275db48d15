"""One store's memories in a disposable SQLite FTS5 file, ``<home>/search/<digest of its path>.sqlite``.

The only module beside the ledger's that imports sqlite3. The markdown is the truth: the file is brought up
to date by digest before it is asked, thrown away and built again when it is damaged or of another version,
and may be deleted at any time. It holds text of memories, so it is 0600 in a 0700 folder.

What a question costs does not grow with the store for ordinary words: it goes to the index with its rarest
terms only, as many as `CANDIDATES` documents hold between them.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pipeline.atomic import ensure_dir
from pipeline.errors import SearchError
from pipeline.ids import digest
from pipeline.search.words import terms

SearchRow = tuple[str, str, str, str, str, Sequence[str], str | Callable[[], str]]
"""Path, digest, name, title, description, tags, body. A body that must be read may be given as a function,
which is called only when the digest is new."""

CANDIDATES = 1_000
"""Documents the terms of one question may lead to, counted per term; its rarest term always counts."""
MOST_TERMS = 24
POOL = 60
"""Best candidates whose words are compared with those of the question to find neighbours."""
WAIT_SECONDS = 5.0

_VERSION = 1
_WEIGHTS = "4.0, 3.0, 2.0, 1.0"
_TABLES = (
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL)",
    "CREATE VIRTUAL TABLE words USING fts5(name, description, tags, body, tokenize=\"ascii tokenchars '.'\")",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)",
)
_RANKED = (
    f"SELECT d.id, d.path, -bm25(words, {_WEIGHTS}) AS score"
    " FROM words JOIN documents d ON d.id = words.rowid"
    " WHERE words MATCH ? ORDER BY score DESC, d.path LIMIT ?"
)
_DAMAGED = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def index_file(home: Path, store_path: Path) -> Path:
    """Return the index file of the store at `store_path`; symlinks to one store share it."""
    return home / "search" / f"{digest(os.fsencode(os.path.realpath(store_path)))[:16]}.sqlite"


class SearchIndex:
    """An open index. Everything it answers is a hint: a path may be gone or its file changed since."""

    def __init__(self, path: Path, wait: float) -> None:
        self.path = path
        self._wait = wait
        self._counts: dict[str, int] = {}
        self._seen = -1
        self._connection = self._connect()

    @classmethod
    def open(cls, home: Path, store_path: Path, *, wait: float = WAIT_SECONDS) -> Self:
        """Open the index of the store at `store_path`, making an empty one if none can be used.

        `wait` is in seconds, for another process that writes. Raises SearchError.
        """
        return cls(index_file(home, store_path), wait)

    def sync(self, documents: Iterable[SearchRow]) -> int:
        """Make the index hold exactly `documents`, a whole store; return how many rows that changed.

        Only rows whose digest is new are read and written, in one transaction. A damaged index is built anew.
        What a body's function raises passes through and leaves the index as it was. Raises SearchError.
        """
        wanted = {row[0]: row for row in documents}
        try:
            return self._sync(wanted)
        except SearchError as error:
            if not _is_damage(error.__cause__):
                raise
        self._connection.close()
        self._discard()
        self._connection = self._prepared()
        return self._sync(wanted)

    def search(self, text: str, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` paths and scores, best first, of the documents that hold words of `text`.

        Scores are BM25 with names before descriptions before tags before bodies; they compare within one
        answer only. Equal scores stand in path order. Text of stop words alone finds nothing. Raises
        SearchError.
        """
        with self._translated(), self._transaction("DEFERRED"):
            return [(path, score) for _, path, score in self._ranked(terms(text), limit)]

    def neighbours(self, text: str, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` paths and likenesses of documents that share words with `text`, best first.

        Likeness runs from 0 to 1 (the same set of words): the cosine of the two sets, rare words weighing
        more. It hardly depends on the store's size, so a fixed floor can be put to it. A document finds
        itself, unless the caller leaves it out. Raises SearchError.
        """
        asked = terms(text)
        with self._translated(), self._transaction("DEFERRED"):
            pool = [(row, path) for row, path, _ in self._ranked(asked, max(POOL, limit))]
            total = self._value("SELECT count(*) FROM documents")
            likeness = [(path, self._alike(set(asked), row, total)) for row, path in pool]
        return sorted(likeness, key=lambda found: (-found[1], found[0]))[:limit]

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ranked(self, asked: Sequence[str], limit: int) -> list[tuple[int, str, float]]:
        chosen = self._rarest(asked)
        if not chosen or limit < 1:
            return []
        match = " OR ".join(f'"{term}"*' if _is_lone(term) else f'"{term}"' for term in chosen)
        rows: list[tuple[int, str, float]] = self._connection.execute(_RANKED, (match, limit)).fetchall()
        return rows

    def _rarest(self, asked: Sequence[str]) -> list[str]:
        """Return the terms of the question to look for: those in fewest documents, up to CANDIDATES."""
        counted = sorted((count, term) for term in set(asked) if (count := self._count(term)))
        chosen: list[str] = []
        led_to = 0
        for count, term in counted[:MOST_TERMS]:
            led_to += count
            if chosen and led_to > CANDIDATES:
                break
            chosen.append(term)
        return chosen

    def _count(self, term: str) -> int:
        """Return how many documents hold `term`; a lone character of a script without spaces, as a prefix."""
        if term not in self._counts:
            found, values = "term = ?", [term]
            if _is_lone(term):
                found, values = "term >= ? AND term < ?", [term, chr(ord(term) + 1)]
            sql = f"SELECT coalesce(sum(doc), 0) FROM vocabulary WHERE {found}"
            self._counts[term] = self._value(sql, values)
        return self._counts[term]

    def _alike(self, asked: set[str], row: int, total: int) -> float:
        columns = self._connection.execute(
            "SELECT name, description, tags, body FROM words WHERE rowid = ?", (row,)
        ).fetchone()
        held = {term for term in " ".join(columns).split() if not _is_lone(term)}
        norms = self._weight(asked, total) * self._weight(held, total)
        return round(self._weight(asked & held, total) / math.sqrt(norms), 6) if norms else 0.0

    def _weight(self, some: set[str], total: int) -> float:
        return math.fsum(math.log(1 + total / max(1, self._count(term))) ** 2 for term in some)

    def _value(self, sql: str, values: Sequence[Any] = ()) -> int:
        return int(self._connection.execute(sql, values).fetchone()[0])

    def _sync(self, wanted: dict[str, SearchRow]) -> int:
        with self._translated(), self._transaction("IMMEDIATE"):
            held = {
                path: (row, mark)
                for row, path, mark in self._connection.execute("SELECT id, path, digest FROM documents")
            }
            gone = [row for path, (row, _) in held.items() if path not in wanted]
            new = [row for path, row in wanted.items() if held.get(path, (0, None))[1] != row[1]]
            self._remove([*gone, *(held[row[0]][0] for row in new if row[0] in held)])
            for row in new:
                self._add(row)
            if len(new) > CANDIDATES:
                self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")
            return len(gone) + len(new)

    def _remove(self, rows: Sequence[int]) -> None:
        for table, key in (("words", "rowid"), ("documents", "id")):
            self._connection.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(row,) for row in rows])

    def _add(self, row: SearchRow) -> None:
        path, mark, name, title, description, tags, body = row
        texts = (f"{name} {title}", description, " ".join(tags), body if isinstance(body, str) else body())
        made = self._connection.execute("INSERT INTO documents (path, digest) VALUES (?, ?)", (path, mark))
        self._connection.execute(
            "INSERT INTO words (rowid, name, description, tags, body) VALUES (?, ?, ?, ?, ?)",
            (made.lastrowid, *(" ".join(terms(text, index=True)) for text in texts)),
        )

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            # Counts are kept from question to question, but not over a change, whoever made it.
            seen = self._value("PRAGMA data_version")
            if kind != "DEFERRED" or seen != self._seen:
                self._seen = seen
                self._counts.clear()
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _connect(self) -> sqlite3.Connection:
        try:
            return self._prepared()
        except SearchError as error:
            if not _is_damage(error.__cause__):
                raise
        self._discard()
        return self._prepared()

    def _prepared(self) -> sqlite3.Connection:
        with self._translated(files=True):
            _make_private(self.path)
            connection = sqlite3.connect(self.path, timeout=self._wait, isolation_level=None)
            try:
                _bring_up_to_date(connection)
            except BaseException:
                connection.close()
                raise
        return connection

    def _discard(self) -> None:
        """Delete the file. A process that still has it open goes on with the old one: its hints are stale."""
        with self._translated(files=True):
            for suffix in ("-wal", "-shm", "-journal", ""):
                self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def _translated(self, *, files: bool = False) -> Iterator[None]:
        # Outside of file work an OSError is that of a body being read, and none of ours.
        kinds = (OSError, sqlite3.Error) if files else (sqlite3.Error,)
        try:
            yield
        except kinds as error:
            raise SearchError(
                f"the search index can't be used: {error}",
                file=str(self.path),
                fix="It holds nothing of its own: delete the file, and the next dream builds it again.",
            ) from error


class _OtherVersionError(sqlite3.DatabaseError):
    """The file was made by a Reverie that lays it out otherwise."""


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise _OtherVersionError(f"its version is {version}")
    # A power cut may take the last change along, and the next sync makes it again.
    connection.execute("PRAGMA synchronous = NORMAL")
    if version == _VERSION:
        return
    _turn_wal_on(connection)
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {_VERSION}")
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
    handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    os.close(handle)


def _is_damage(cause: BaseException | None) -> bool:
    name = getattr(cause, "sqlite_errorname", None) or ""
    return isinstance(cause, _OtherVersionError) or name.startswith(_DAMAGED)


def _is_lone(term: str) -> bool:
    return len(term) == 1  # Only a character of a script without spaces makes a term that short.

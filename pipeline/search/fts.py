"""One store's memories in a disposable SQLite FTS5 file, ``<home>/search/<digest of its path>.sqlite``.

This half makes it; ``index_reader`` holds the half that asks. The markdown is the truth: the file is brought
up to date by digest before it is asked, thrown away and built again when it is damaged or of another version,
and may be deleted at any time. It holds text of memories, so it is 0600 in a 0700 folder.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from pipeline.core.closing import Closing
from pipeline.core.errors import SearchError, cause
from pipeline.hooklib.plain import well_formed
from pipeline.hooklib.settings import step_for
from pipeline.search import derived_file
from pipeline.search.derived_file import WAIT_SECONDS
from pipeline.search.index_reader import CANDIDATES, VERSION, Lookup, cue_terms, index_path, is_lone
from pipeline.search.likeness import Likeness
from pipeline.search.meaning import WordTable
from pipeline.search.moments import moments_of
from pipeline.search.rows import NO_STAMP, Content, SearchRow, shown
from pipeline.search.ties import ties_of
from pipeline.text import stems
from pipeline.text.actions import key_of
from pipeline.text.languages import languages_written
from pipeline.text.tokens import terms

POOL = 60
"""Best candidates whose words are compared with those of the question to find neighbours."""

_TABLES = (
    "CREATE TABLE documents (id INTEGER PRIMARY KEY, languages TEXT NOT NULL,"
    " path TEXT NOT NULL UNIQUE, digest TEXT NOT NULL,"
    " size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, hand TEXT NOT NULL,"
    " beside TEXT NOT NULL, shown TEXT NOT NULL, vector BLOB NOT NULL)",
    "CREATE TABLE moments (key TEXT NOT NULL, document INTEGER NOT NULL, moment TEXT NOT NULL)",
    "CREATE INDEX moments_by_key ON moments (key, document)",
    "CREATE INDEX moments_by_document ON moments (document)",
    "CREATE TABLE ties (key TEXT NOT NULL, document INTEGER NOT NULL, certain INTEGER NOT NULL)",
    "CREATE INDEX ties_by_key ON ties (key, document)",
    "CREATE INDEX ties_by_document ON ties (document)",
    "CREATE TABLE folders (path TEXT PRIMARY KEY, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL)",
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE VIRTUAL TABLE words USING fts5(name, description, tags, body, tokenize=\"ascii tokenchars '.'\")",
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)",
    # Apart from the words, so that no guess of what somebody types makes a word common, or a neighbour near.
    "CREATE VIRTUAL TABLE cued USING fts5(cues, tokenize=\"ascii tokenchars '.'\")",
    "CREATE VIRTUAL TABLE cue_vocabulary USING fts5vocab(cued, row)",
    # Apart from the words, too: what is shown to a model as near depends on those, and its replies on that.
    "CREATE VIRTUAL TABLE stems USING fts5(name, description, tags, body, cues,"
    " tokenize=\"ascii tokenchars '.'\")",
    "CREATE VIRTUAL TABLE stem_vocabulary USING fts5vocab(stems, row)",
)
_TABLES_OF_ROWS = (
    ("words", "rowid"),
    ("cued", "rowid"),
    ("stems", "rowid"),
    ("moments", "document"),
    ("ties", "document"),
    ("documents", "id"),
)
_MADE_BY = "words"
_STATE = "digest || ' ' || hand || ' ' || beside"
"""`SearchRow.state` in SQL."""
_LANGUAGES = "languages"
_LAYOUT = derived_file.Layout(VERSION, _TABLES)
_DISPOSABLE = "It holds nothing of its own: delete the file, and the next dream builds it again."


def index_file(home: Path, store_path: Path) -> Path:
    """Return the index file of the store at `store_path`; symlinks to one store share it."""
    return Path(index_path(str(home), str(store_path)))


def file_state(file: Path) -> str:
    """Return what is another text after a change of the index in `file`; what is beside it comes last."""
    try:
        held = file.stat()
        wal = file.with_name(f"{file.name}-wal")
        waits = wal.stat() if wal.exists() else None
    except OSError:
        return ""
    start = f"{held.st_ino} {held.st_size} {held.st_mtime_ns} "
    return f"{start}{waits.st_size} {waits.st_mtime_ns}" if waits and waits.st_size else start


class SearchIndex(Closing):
    """An open index. Everything it answers is a hint: a path may be gone or its file changed since."""

    def __init__(self, path: Path, wait: float, words: WordTable | None = None) -> None:
        self.path = path
        self._wait = wait
        self._seen = -1
        self._words = words or WordTable(None)
        self._connection = self._opened()
        self._lookup = Lookup(self._connection)

    @classmethod
    def open(cls, home: Path, store_path: Path, *, wait: float = WAIT_SECONDS) -> Self:
        """Open the index of the store at `store_path`, making an empty one if none can be used.

        `wait` is in seconds, for another process that writes. Raises SearchError.
        """
        return cls(index_file(home, store_path), wait, WordTable(str(home)))

    def sync(
        self,
        documents: Iterable[SearchRow],
        *,
        folders: Mapping[str, tuple[int, int]] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> int:
        """Make the index hold exactly `documents`, a whole store; return how many of them that changed.

        Only rows whose digest or hand is new are read and written, in one transaction. A damaged index is
        built anew. `folders` has mtime and ctime (ns) of the folders the documents are in, read before they
        were listed; without it those of the last time stay. `notes` are kept for whoever examines it. What a
        content's function raises passes through and leaves the index as it was. Raises SearchError.
        """
        wanted = {row.path: row for row in documents}
        try:
            return self._sync(wanted, folders, notes or {})
        except SearchError as error:
            if not derived_file.is_damage(error.__cause__):
                raise
        self.rebuild()
        return self._sync(wanted, folders, notes or {})

    def states(self) -> dict[str, str]:
        """Return by path the `SearchRow.state` that the index holds; nothing where all is to be made anew.

        Raises SearchError.
        """
        with self._translated():
            if self._noted(_MADE_BY) != self._words.made_by:
                return {}
            return dict(self._connection.execute(f"SELECT path, {_STATE} FROM documents").fetchall())

    def change(self, rows: Iterable[SearchRow], gone: Collection[str]) -> int:
        """Take in `rows`, which are new or differ, and let go of the paths `gone`; return how many changed.

        The rest stays as it is: who knows from `states` what differs need not make the rows of all. Raises
        SearchError, and what a content's function does, as `sync`.
        """
        new = list(rows)
        with self._translated(), self._transaction("IMMEDIATE"):
            sql = "SELECT id FROM documents WHERE path = ?"
            paths = (*gone, *(row.path for row in new))
            self._remove([row for path in paths for (row,) in self._connection.execute(sql, (path,))])
            self._take(new)
            if paths:
                self._note_languages()
        return len(paths)

    def note_folders(self, folders: Mapping[str, tuple[int, int]]) -> None:
        """Keep mtime and ctime (ns) of the folders of the documents, as `sync` does. Raises SearchError."""
        with self._translated(), self._transaction("IMMEDIATE"):
            self._put_folders(folders)

    def rebuild(self) -> None:
        """Throw everything away and begin with an empty index. Raises SearchError."""
        self._connection.close()
        with self._translated(files=True):
            derived_file.discard(self.path)
        self._connection = self._opened()
        self._lookup = Lookup(self._connection)
        self._seen = -1

    def search(self, text: str, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` paths and scores, best first, of the documents that hold words of `text`.

        Scores are BM25 with names before descriptions before tags before bodies; they compare within one
        answer only. Equal scores stand in path order. Text of stop words alone finds nothing. Raises
        SearchError.
        """
        with self._translated(), self._transaction("DEFERRED"):
            return [(path, score) for _, path, score in self._lookup.ranked(terms(text), limit)]

    def neighbours(self, text: str, limit: int, floor: float = 0.0) -> list[tuple[str, float]]:
        """Return up to `limit` paths and likenesses of documents that share words with `text`, best first.

        Likeness runs from 0 to 1 (the same set of words): the cosine of the two sets, rare words weighing
        more. It hardly depends on the store's size, so a fixed floor can be put to it. A document finds
        itself, unless the caller leaves it out. None is less alike than `floor`. Raises SearchError.
        """
        asked = terms(text)
        with self._translated(), self._transaction("DEFERRED"):
            pool = [(row, path) for row, path, _ in self._lookup.ranked(asked, max(POOL, limit))]
            total = self._lookup.value("SELECT count(*) FROM documents")
            like = Likeness(set(asked), self._lookup, total, floor)
            likeness = [(path, like.of(self._words_of(row))) for row, path in pool]
        likeness = [found for found in likeness if found[1] >= floor]
        return sorted(likeness, key=lambda found: (-found[1], found[0]))[:limit]

    def file_time(self) -> int:
        """Return what time it is (ns) by the clock that stamps files. Raises SearchError."""
        with self._translated(files=True):
            os.utime(self.path)
            return self.path.stat().st_mtime_ns

    def state(self) -> str:
        """Return what `file_state` gives until anybody changes it, "" where somebody just did.

        That is asked after `sync`, and before `close`. Raises SearchError.
        """
        with self._translated(files=True):
            # What waits beside the file would else be brought into it when it is closed.
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            found = file_state(self.path)
            return found if self._lookup.value("PRAGMA data_version") == self._seen else ""

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()
        self._words.close()

    def _words_of(self, row: int) -> set[str]:
        columns = self._connection.execute(
            "SELECT name, description, tags, body FROM words WHERE rowid = ?", (row,)
        ).fetchone()
        return {term for term in " ".join(columns).split() if not is_lone(term)}

    def _sync(
        self,
        wanted: dict[str, SearchRow],
        folders: Mapping[str, tuple[int, int]] | None,
        notes: Mapping[str, str],
    ) -> int:
        with self._translated(), self._transaction("IMMEDIATE"):
            changed = self._sync_documents(wanted)
            if folders is not None:
                self._put_folders(folders)
            self._put("meta", list(notes.items()))
        return changed

    def _put_folders(self, folders: Mapping[str, tuple[int, int]]) -> None:
        self._connection.execute("DELETE FROM folders")
        self._put("folders", [(path, *times) for path, times in folders.items()])

    def _sync_documents(self, wanted: dict[str, SearchRow]) -> int:
        sql = f"SELECT path, id, {_STATE}, size, mtime_ns, ctime_ns FROM documents"
        held = {
            path: (row, state, tuple(stamp)) for path, row, state, *stamp in self._connection.execute(sql)
        }
        if self._noted(_MADE_BY) != self._words.made_by:
            # The table of words came, went or is another: every memory's vector is made anew.
            held = {path: (row, "", stamp) for path, (row, _, stamp) in held.items()}
            self._put("meta", [(_MADE_BY, self._words.made_by)])
        gone = [row for path, (row, _, _) in held.items() if path not in wanted]
        new = [row for path, row in wanted.items() if path not in held or held[path][1] != row.state]
        self._remove([*gone, *(held[row.path][0] for row in new if row.path in held)])
        self._take(new)
        self._connection.executemany(
            "UPDATE documents SET size = ?, mtime_ns = ?, ctime_ns = ? WHERE id = ? AND digest = ?",
            [
                (*new_stamp, row, wanted[path].digest)
                for path, (row, _, stamp) in held.items()
                if path in wanted and (new_stamp := wanted[path].stamp) and stamp != new_stamp
            ],
        )
        if gone or new:
            self._note_languages()
        return len(gone) + len(new)

    def _take(self, new: Sequence[SearchRow]) -> None:
        for row in new:
            self._add(row)
        if len(new) > CANDIDATES:
            self._connection.execute("INSERT INTO words (words) VALUES ('optimize')")

    def _note_languages(self) -> None:
        rows = self._connection.execute("SELECT DISTINCT languages FROM documents WHERE languages != ''")
        found = " ".join(sorted({language for (row,) in rows for language in row.split()}))
        if found != self._noted(_LANGUAGES):
            self._put("meta", [(_LANGUAGES, found)])

    def _noted(self, key: str) -> str:
        found = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else ""

    def _put(self, table: str, rows: Sequence[Sequence[str | int]]) -> None:
        if rows:
            placeholders = ", ".join("?" * len(rows[0]))
            self._connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({placeholders})", rows)

    def _remove(self, rows: Sequence[int]) -> None:
        for table, key in _TABLES_OF_ROWS:
            self._connection.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(row,) for row in rows])

    def _add(self, row: SearchRow) -> None:
        found = row.content()
        texts = (f"{found.name} {found.title}", found.description, " ".join(found.tags), found.body)
        columns = [" ".join(terms(text, index=True)) for text in texts]
        vector = self._words.vector("\n".join((*texts, *found.cues)))
        languages = languages_written("\n".join(texts))
        made = self._connection.execute(
            "INSERT INTO documents (languages, path, digest, size, mtime_ns, ctime_ns, hand, beside, shown,"
            " vector) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                " ".join(languages),
                row.path,
                row.digest,
                *(row.stamp or NO_STAMP),
                row.hand,
                row.beside,
                shown(found, row.hand),
                vector,
            ),
        )
        self._connection.execute(
            "INSERT INTO words (rowid, name, description, tags, body) VALUES (?, ?, ?, ?, ?)",
            (made.lastrowid, *columns),
        )
        if languages:
            beside = stems.beside(texts, found.cues, languages)
            sql = "INSERT INTO stems (rowid, name, description, tags, body, cues) VALUES (?, ?, ?, ?, ?, ?)"
            self._connection.execute(sql, (made.lastrowid, *beside))
        if cues := cue_terms(found.cues):
            sql = "INSERT INTO cued (rowid, cues) VALUES (?, ?)"
            self._connection.execute(sql, (made.lastrowid, cues))
        self._connection.executemany(
            "INSERT INTO moments (key, document, moment) VALUES (?, ?, ?)",
            [(key_of(moment), made.lastrowid, moment) for moment in _moments(found)],
        )
        self._connection.executemany(
            "INSERT INTO ties (key, document, certain) VALUES (?, ?, ?)",
            [(well_formed(key), made.lastrowid, certain) for key, certain in ties_of(found).items()],
        )

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        self._connection.execute(f"BEGIN {kind}")
        try:
            # Counts are kept from question to question, but not over a change, whoever made it.
            seen = self._lookup.value("PRAGMA data_version")
            if kind != "DEFERRED" or seen != self._seen:
                self._seen = seen
                self._lookup.forget()
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _opened(self) -> sqlite3.Connection:
        with self._translated(files=True):
            return derived_file.opened(self.path, _LAYOUT, self._wait)

    @contextmanager
    def _translated(self, *, files: bool = False) -> Iterator[None]:
        # Outside of file work an OSError is that of a body being read, and none of ours.
        kinds = (OSError, sqlite3.Error) if files else (sqlite3.Error,)
        try:
            yield
        except kinds as error:
            raise SearchError(
                f"the search index can't be used: {cause(error) if isinstance(error, OSError) else error}",
                file=str(self.path),
                fix=_step(error),
            ) from error


def _moments(found: Content) -> list[str]:
    anchors = [str(anchor) for anchor in found.about.get("anchors") or ()]
    kind = str(found.about.get("type") or "")
    return moments_of(kind, found.name, found.description, found.body, found.cues, anchors)


def _step(error: OSError | sqlite3.Error) -> str:
    """Return what a person can do about `error`."""
    if isinstance(error, OSError):
        return step_for(error.errno)
    return derived_file.step(error, _DISPOSABLE)

"""The catalogue of one store, ``.reverie/catalogue.sqlite``: a row for each memory file, by its stamp.

It is made from the markdown and may be deleted at any time. A file that is damaged, or was made by another
version, counts as none: it is thrown away when the catalogue is next written. A row whose sum is another was
damaged and counts as no row: its file is read. The catalogue holds text of memories, so
it is 0600 in a 0700 folder, and what is deleted in it is overwritten. Whoever looks reads it only; whoever
changes the store, or had to read many files, writes it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core import system
from pipeline.store.catalogue import bonds
from pipeline.store.catalogue.damage import Damaged, Unusable, decoded, is_damage, text
from pipeline.store.catalogue.news import News
from pipeline.store.catalogue.one_connection import OneConnection, connect
from pipeline.store.catalogue.sums import row_sum, text_sum
from pipeline.store.files.kept import Brief, Kept, Row, Worth
from pipeline.store.files.names import common_form
from pipeline.store.files.scanning import Document
from pipeline.store.files.shelf import Entry

MADE_AS = 4
"""Of the tables, and of what is read out of a memory file."""
_WRITTEN = "written.jsonl"
"""Under this stands the stamp of the log that `written` was made from."""
_NAME, _PATH = 0, 1
"""What a form in `taken` is one of: the names and aliases of memories, or the paths of files."""
_TABLES = (
    "CREATE TABLE files (path TEXT PRIMARY KEY, size INTEGER, mtime_ns INTEGER, ctime_ns INTEGER,"
    " seen_ns INTEGER, digest TEXT, own_id TEXT, name TEXT, title TEXT, aliases TEXT, retired INTEGER,"
    " fenced INTEGER, is_text INTEGER, kind TEXT, origin TEXT, changed_us INTEGER, wording INTEGER,"
    " sleeps INTEGER, later INTEGER, less INTEGER, place REAL, pinned INTEGER, importance REAL,"
    " since_us INTEGER, sum INTEGER)",
    "CREATE INDEX files_by_rank ON files (later, less, place, path)",
    "CREATE INDEX files_by_id ON files (own_id) WHERE own_id <> ''",
    "CREATE TABLE texts (path TEXT PRIMARY KEY, front BLOB, preview TEXT, line TEXT, sum INTEGER,"
    " line_sum INTEGER)",
    "CREATE TABLE briefs (path TEXT PRIMARY KEY, title TEXT, description TEXT, ends TEXT, sum INTEGER)",
    "CREATE TABLE taken (sort INTEGER, form TEXT, path TEXT, PRIMARY KEY (sort, form, path)) WITHOUT ROWID",
    "CREATE INDEX taken_by_path ON taken (path)",
    "CREATE TABLE others (path TEXT PRIMARY KEY, why TEXT)",
    "CREATE TABLE folders (path TEXT PRIMARY KEY, mtime_ns INTEGER, ctime_ns INTEGER, seen_ns INTEGER)",
    "CREATE TABLE written (path TEXT PRIMARY KEY, digest TEXT)",
    "CREATE TABLE notes (key TEXT PRIMARY KEY, value TEXT)",
)
_ROW = len(Row.__annotations__)
"""The first columns of `files`, which are those of a row."""
_ENTRY = (
    "f.path, t.line, t.line_sum, f.later, f.less, f.place FROM files f LEFT JOIN texts t ON t.path = f.path"
)
_KEPT = (
    "SELECT f.path, f.digest, t.front, t.preview, t.line, t.sum, f.later, f.less, f.place"
    " FROM files f JOIN texts t ON t.path = f.path"
)
_BRIEFS = (
    "SELECT b.path, f.digest, b.title, b.description, b.ends, b.sum FROM briefs b JOIN files f USING (path)"
)
_IN_ORDER = "ORDER BY f.later, f.less, f.place, f.path"
AT_ONCE = 500
"""Paths that are asked for in one question."""


@dataclass(slots=True)
class Catalogue:
    """The catalogue in `file`, or with None one that is kept in this process only.

    `looks`: the file is read only.
    """

    file: Path | None
    looks: bool = False
    _own: sqlite3.Connection | None = field(default=None, repr=False)
    _one: OneConnection = field(default_factory=OneConnection, repr=False)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection to read from. Raises sqlite3.Error where there is nothing that can be read."""
        if self.file is None:
            yield self._memory()
            return
        if not self.file.is_file():
            raise Unusable("there is no catalogue")
        mode = "ro" if self.looks or not os.access(self.file, os.W_OK) else "rw"
        with decoded(), self._one.reading(self.file, mode) as connection:
            if _version(connection) != MADE_AS:
                raise Unusable(f"made by another version ({_version(connection)})")
            # All that one question reads is of one moment: else a write in between looks like damage.
            connection.execute("BEGIN")
            yield connection

    def together(self) -> AbstractContextManager[None]:
        """Let all that this thread reads within come by one connection; each question sees the newest."""
        return self._one.kept()

    def close(self) -> None:
        """Close the file, where it is open between two questions."""
        self._one.close()

    def note(self, news: News) -> None:
        """Take in `news`, in one transaction. Raises sqlite3.Error or OSError."""
        with self._writing(makes=news.makes) as connection:
            if news.gone:
                _remove(connection, news.gone)
            if news.documents:
                _put(connection, news)
            if news.others is not None:
                connection.execute("DELETE FROM others")
                connection.executemany("INSERT INTO others VALUES (?, ?)", news.others.items())
                connection.execute("DELETE FROM taken WHERE path IN (SELECT path FROM others)")
                rows = [(_PATH, common_form(path), path) for path in news.others]
                connection.executemany("INSERT OR REPLACE INTO taken VALUES (?, ?, ?)", rows)
            if news.written is not None:
                _take_written(connection, *news.written)
            for appended in news.appended:
                if value(connection, _WRITTEN) == appended.before:
                    _add_written(connection, appended.after, appended.digests)
            connection.execute("DELETE FROM folders")
            if news.folders is not None:
                seen_ns = news.folders_ns or news.seen_ns
                times = [(path, *both, seen_ns) for path, both in news.folders.items()]
                connection.executemany("INSERT INTO folders VALUES (?, ?, ?, ?)", times)
            if news.changed:
                _count_up(connection)

    def set_value(self, key: str, value: str) -> None:
        """Keep `value` under `key`. Raises sqlite3.Error or OSError."""
        with self._writing(makes=False) as connection:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, value))

    def discard(self) -> None:
        """Throw the file away, whatever is in it."""
        self.close()
        if self.file is not None:
            for end in ("", "-journal"):
                self.file.with_name(self.file.name + end).unlink(missing_ok=True)

    @contextmanager
    def _writing(self, *, makes: bool) -> Iterator[sqlite3.Connection]:
        if self.file is None:
            with _transaction(self._memory()):
                yield self._memory()
            return
        with decoded():
            opened = self._prepared(self.file) if makes else _of_this_version(self.file)
            with closing(opened) as connection, _transaction(connection):
                yield connection

    def _prepared(self, file: Path) -> sqlite3.Connection:
        """Return a connection to a catalogue of this version, an empty one where there was none."""
        try:
            with decoded():
                return _of_this_version(file)
        except sqlite3.DatabaseError as error:
            if not is_damage(error):
                raise
            self.discard()
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | system.NO_LINK | system.OPEN, 0o600))
        connection = connect(file, "rw")
        try:
            _make(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _memory(self) -> sqlite3.Connection:
        if self._own is None:
            self._own = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            _make(self._own)
        return self._own


def check(connection: sqlite3.Connection) -> None:
    """Raise sqlite3.Error where the file is damaged."""
    found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    if found != "ok":
        raise sqlite3.DatabaseError(found)


def rows(connection: sqlite3.Connection) -> list[Row]:
    """Return the rows of all files; one that was damaged tells of no file, however its stamp is."""
    found = []
    for whole in connection.execute("SELECT * FROM files"):
        if row_sum(whole[:-1]) == whole[-1]:
            found.append(Row._make(whole[:_ROW]))
        else:
            found.append(Row(text(whole[0]), 0, 0, 0, 0, *whole[5:_ROW]))
    if len(found) != count(connection):
        raise Damaged("an index is not that of the files")
    return found


def kept(connection: sqlite3.Connection, paths: Sequence[str]) -> dict[str, Kept]:
    """Return what is kept of the files at `paths`, at most 500, by path; nothing of damaged rows."""
    found = connection.execute(f"{_KEPT} WHERE f.path IN ({','.join('?' * len(paths))})", paths)
    return {
        path: Kept(sha, front, preview, line, (bool(later), bool(less), worth))
        for path, sha, front, preview, line, total, later, less, worth in found
        if text_sum(path, front, preview, line) == total
    }


def best(connection: sqlite3.Connection, limit: int) -> list[Entry]:
    """Return the first `limit` entries of MEMORY.md, all for -1. Raises Damaged."""
    found = connection.execute(f"SELECT {_ENTRY} {_IN_ORDER} LIMIT ?", (limit,))
    entries = []
    for path, line, total, later, less, worth in found:
        if row_sum((path, line)) != total or not isinstance(worth, float):
            raise Damaged(f"the row of {path!r} is damaged")
        entries.append(Entry(path, line, (bool(later), bool(less), worth, path)))
    if len(entries) != limit and len(entries) != count(connection):
        raise Damaged("rows are missing in the order of MEMORY.md")
    return entries


def count(connection: sqlite3.Connection) -> int:
    """Return how many memories there are."""
    return int(connection.execute("SELECT count(*) FROM files").fetchone()[0])


def among(connection: sqlite3.Connection, paths: Iterable[str]) -> set[str]:
    """Return those of `paths` at which memories are."""
    sql = "SELECT 1 FROM files WHERE path = ?"
    return {path for path in paths if connection.execute(sql, (path,)).fetchone()}


def lines(connection: sqlite3.Connection) -> set[str]:
    """Return the line of every memory in MEMORY.md."""
    return {text(line) for (line,) in connection.execute("SELECT line FROM texts")}


def others(connection: sqlite3.Connection) -> dict[str, str]:
    """Return the files that can't be taken, in the order of the look, and what MEMORY.md says of them."""
    found = connection.execute("SELECT path, why FROM others ORDER BY rowid")
    return {text(path): text(why) for path, why in found}


def saying(connection: sqlite3.Connection, word: str) -> set[str]:
    """Return the paths of the files in whose front matter `word` stands, by the look of the rows alone."""
    sql = "SELECT path FROM texts WHERE instr(front, ?)"
    return {path for (path,) in connection.execute(sql, (word.encode(),))}


def naming(connection: sqlite3.Connection, target: str) -> set[str]:
    """Return the paths of the files one of whose relations may lead to what `target` names."""
    sql = "SELECT path FROM briefs WHERE instr(ends, ?)"
    return {path for (path,) in connection.execute(sql, (bonds.as_kept(target),))}


def briefs(connection: sqlite3.Connection) -> dict[str, tuple[str, Brief]]:
    """Return by path the digest of each memory and its brief, but for those of which the row is damaged."""
    return bonds.sound(connection.execute(_BRIEFS))


def state(connection: sqlite3.Connection) -> tuple[str, int]:
    """Return what is another value after each change of what the store holds: `changes` and `count`."""
    return changes(connection), count(connection)


def worths(connection: sqlite3.Connection) -> Iterator[Worth]:
    """Yield what decides the place of each memory in CORE.md; asked after `rows`, which looks at the sums."""
    sql = "SELECT path, kind, pinned, importance, since_us FROM files"
    yield from map(Worth._make, connection.execute(sql))


def folders(connection: sqlite3.Connection) -> tuple[dict[str, tuple[int, int]], int]:
    """Return the times of all folders when they were last looked at, and when that was; nothing and 0."""
    found = connection.execute("SELECT path, mtime_ns, ctime_ns, seen_ns FROM folders").fetchall()
    if not all(isinstance(number, int) for row in found for number in row[1:]):
        raise Damaged("the times of folders are damaged")
    times = {text(path): (mtime, ctime) for path, mtime, ctime, _ in found}
    return times, min((row[3] for row in found), default=0)


def memories(connection: sqlite3.Connection) -> set[str]:
    """Return the paths of all memories."""
    return {text(path) for (path,) in connection.execute("SELECT path FROM files")}


def paths(connection: sqlite3.Connection) -> set[str]:
    """Return the paths of all memories, and of all that looks like one and can't be taken."""
    found = connection.execute("SELECT path FROM files UNION ALL SELECT path FROM others")
    return {text(path) for (path,) in found}


def takers(connection: sqlite3.Connection, form: str, *, of_name: bool) -> list[str]:
    """Return the paths of the files that have a name, or a path, with that common form."""
    sql = "SELECT path FROM taken WHERE sort = ? AND form = ?"
    return [path for (path,) in connection.execute(sql, (_NAME if of_name else _PATH, form))]


def with_id(connection: sqlite3.Connection, ident: str) -> list[str]:
    """Return the paths of the files that give that id."""
    sql = "SELECT path FROM files WHERE own_id = ? AND own_id <> ''"
    return [path for (path,) in connection.execute(sql, (ident,))]


def written(connection: sqlite3.Connection, path: str, stamp: str) -> str | None:
    """Return the digest of what we last wrote at `path`, "" for none; None if that log is not known."""
    if value(connection, _WRITTEN) != stamp:
        return None
    found = connection.execute("SELECT digest FROM written WHERE path = ?", (path,)).fetchone()
    return str(found[0]) if found else ""


def value(connection: sqlite3.Connection, key: str) -> str:
    """Return what is kept under `key`, "" for nothing."""
    found = connection.execute("SELECT value FROM notes WHERE key = ?", (key,)).fetchone()
    return str(found[0]) if found else ""


def changes(connection: sqlite3.Connection) -> str:
    """Return what is another text after each change of what the store holds."""
    return value(connection, "changes")


def _of_this_version(file: Path) -> sqlite3.Connection:
    if not file.is_file():
        raise Unusable("there is no catalogue")
    connection = connect(file, "rw")
    try:
        if _version(connection) != MADE_AS:
            raise Unusable("another version's")
    except (sqlite3.Error, UnicodeDecodeError):
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _make(connection: sqlite3.Connection) -> None:
    with _transaction(connection):
        if _version(connection) == MADE_AS:
            return  # Another process made it meanwhile.
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {MADE_AS}")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _put(connection: sqlite3.Connection, news: News) -> None:
    _remove(connection, [item.path for item in news.documents])
    held = [(item, item.kept()) for item in news.documents]
    whole = [_whole(item, each, news.seen_ns) for item, each in held]
    marks = ", ".join("?" * len(whole[0]))
    connection.executemany(f"INSERT INTO files VALUES ({marks})", whole)
    connection.executemany(
        "INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?)", [_texts(i.path, k) for i, k in held]
    )
    connection.executemany("INSERT INTO briefs VALUES (?, ?, ?, ?, ?)", bonds.rows(news.documents))
    taken = [(_PATH, common_form(item.path), item.path) for item in news.documents]
    for item in news.documents:
        taken += [(_NAME, common_form(name), item.path) for name in (item.name, *item.aliases)]
    connection.executemany("INSERT OR IGNORE INTO taken VALUES (?, ?, ?)", taken)


def _whole(item: Document, held: Kept, seen_ns: int) -> tuple[Any, ...]:
    """Return its row in the very types that it is read in, for the sake of its sum."""
    later, less, worth = held.rank
    _, _, pinned, importance, since_us = item.worth()
    row = [int(each) if isinstance(each, bool) else each for each in item.row(seen_ns)]
    whole = (*row, int(later), int(less), float(worth), int(pinned), float(importance), since_us)
    return (*whole, row_sum(whole))


def _texts(path: str, held: Kept) -> tuple[Any, ...]:
    total = text_sum(path, held.front, held.preview, held.line)
    return (path, held.front, held.preview, held.line, total, row_sum((path, held.line)))


def _remove(connection: sqlite3.Connection, gone: Iterable[str]) -> None:
    keys = [(path,) for path in gone]
    for table in ("files", "texts", "briefs", "taken", "others"):
        connection.executemany(f"DELETE FROM {table} WHERE path = ?", keys)


def _take_written(connection: sqlite3.Connection, stamp: str, digests: Mapping[str, str]) -> None:
    if value(connection, _WRITTEN) != stamp:
        connection.execute("DELETE FROM written")
        _add_written(connection, stamp, digests)


def _add_written(connection: sqlite3.Connection, stamp: str, digests: Mapping[str, str]) -> None:
    connection.executemany("INSERT OR REPLACE INTO written VALUES (?, ?)", digests.items())
    connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (_WRITTEN, stamp))


def _count_up(connection: sqlite3.Connection) -> None:
    number = value(connection, "changes") or "0"
    if not (number.isascii() and number.isdigit()):
        raise Damaged("the number of changes is damaged")
    connection.execute("INSERT OR REPLACE INTO notes VALUES ('changes', ?)", (str(int(number) + 1),))

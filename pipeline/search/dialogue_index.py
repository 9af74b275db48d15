"""Full-text search over what was said: a database of its own, derived from the ledger alone.

It may be deleted at any time, and the next search makes it anew. It holds what stands in the ledger as
speech, as redacted as it stands there: `refresh` compares by a stamp per transcript, so that after a turn
only the transcripts that grew are looked at. Where words that were there already have changed or gone (a
secret that was recognised later, dialogue that was deleted) every row is compared, and what is left of theirs
is cleaned out.

Words are those of SQLite's own tokenizer with English endings taken off; texts with scripts that put no
spaces between words are in a table of trigrams as well.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.core.closing import Closing
from pipeline.core.errors import SearchError, cause
from pipeline.core.home import Home
from pipeline.hooklib.plain import well_formed
from pipeline.ledger import Ledger, dialogue_rows
from pipeline.record import record
from pipeline.search import derived_file
from pipeline.search.derived_file import WAIT_SECONDS
from pipeline.text.scripts import HANGUL, UNSPACED

DIALOGUE_VERSION = 1
BEGIN_MARK, END_MARK = "«", "»"
"""What stands around a word that was asked for."""
_TABLES = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE files (file INTEGER PRIMARY KEY, stamp TEXT NOT NULL, restarts INTEGER NOT NULL)",
    # The text last, so that a filter on the others reads none of it.
    "CREATE TABLE texts (id INTEGER PRIMARY KEY, file INTEGER NOT NULL, unspaced INTEGER NOT NULL,"
    " session TEXT NOT NULL, speaker TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX texts_file ON texts (file)",
    "CREATE INDEX texts_unspaced ON texts (id) WHERE unspaced",
    "CREATE VIRTUAL TABLE words USING fts5(body, content='texts', content_rowid='id',"
    " tokenize='porter unicode61 remove_diacritics 2')",
    "CREATE VIRTUAL TABLE grams USING fts5(body, content='texts', content_rowid='id', tokenize='trigram')",
)
_LAYOUT = derived_file.Layout(DIALOGUE_VERSION, _TABLES, ("PRAGMA secure_delete = ON",))
_UNSPACED = re.compile(f"[{UNSPACED}{HANGUL}]")
_PIECE = re.compile(r'"([^"]+)"?|(\S+)')
_LEAST_GRAM = 3
_EXCERPT_TOKENS = 24
_EXCERPT_GRAMS = 60
_PAGE = 500
_BUSY = "Another process is making it; try again when that has finished."
_DISPOSABLE = "It holds nothing of its own: delete the file, and the next search makes it again."


@record
class Found:
    """One utterance that was found: its row in the ledger, its score (less is better), its marked excerpt."""

    row: int
    score: float
    excerpt: str


@record
class Wanted:
    """What of the dialogue is looked at; `files` are ids of transcripts, None for all of them.

    `since` and `until` are ISO 8601 in UTC, "" for any time; `rows` the first row and the last.
    """

    files: tuple[int, ...] | None = None
    session: str = ""
    speaker: str = ""
    since: str = ""
    until: str = ""
    rows: tuple[int, int] | None = None


class DialogueIndex(Closing):
    """The open index of the dialogue in the ledger of a home. Raises SearchError where it can't be used."""

    def __init__(self, home: Path, *, wait: float = WAIT_SECONDS) -> None:
        self.path = Home(home).dialogue_index
        self._wait = wait
        self._connection = self._opened()

    def refresh(self, ledger: Ledger) -> int:
        """Bring the index in step with `ledger`; return how many rows came, changed or went."""
        try:
            return self._refresh(ledger)
        except SearchError as error:
            if not derived_file.is_damage(error.__cause__):
                raise
        self._connection.close()
        with self._translated():
            derived_file.discard(self.path)
        self._connection = self._opened()
        return self._refresh(ledger)

    def find(self, query: str, wanted: Wanted, limit: int) -> tuple[list[Found], bool]:
        """Return up to `limit` utterances that hold the words of `query`, the best first.

        Beside them whether only some of the words were asked for, since none holds all of them.
        """
        with self._translated():
            for any_word in (False, True):
                found = self._found(query, wanted, limit, any_word=any_word)
                if found:
                    return found, any_word
        return [], False

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._connection.close()

    # -- keeping in step --------------------------------------------------------------------------

    def _refresh(self, ledger: Ledger) -> int:
        state = dialogue_rows.state(ledger)
        with self._translated():
            if self._noted("state") == state:
                return 0
        with self._translated(), self._writing():
            identity, rewrites = dialogue_rows.identity(ledger), str(ledger.rewrites)
            if self._noted("ledger") != identity:
                self._empty()
            swept = self._noted("rewrites") not in ("", rewrites)
            changed = self._take_files(ledger, every=swept)
            if swept and changed:
                # What went must not stay readable in what the tables no longer use.
                for table in ("words", "grams"):
                    self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
            self._note("ledger", identity)
            self._note("rewrites", rewrites)
            self._note("state", state)
        if swept:
            with self._translated():
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return changed

    def _take_files(self, ledger: Ledger, *, every: bool) -> int:
        now = {file: (stamp, restarts) for file, stamp, restarts in dialogue_rows.stamps(ledger)}
        held = {
            file: (stamp, restarts)
            for file, stamp, restarts in self._connection.execute("SELECT file, stamp, restarts FROM files")
        }
        changed = 0
        for file, (stamp, restarts) in now.items():
            if every or held.get(file) != (stamp, restarts):
                by_text = every or (file in held and held[file][1] != restarts)
                changed += self._take_file(ledger, file, by_text=by_text)
                self._connection.execute(
                    "INSERT OR REPLACE INTO files VALUES (?, ?, ?)", (file, stamp, restarts)
                )
        for file in held.keys() - now.keys():
            changed += self._remove(self._ids(file))
            self._connection.execute("DELETE FROM files WHERE file = ?", (file,))
        return changed

    def _take_file(self, ledger: Ledger, file: int, *, by_text: bool) -> int:
        """Take in what is new of one transcript, with `by_text` also what says something else now."""
        held = self._ids(file)
        if by_text:
            gone, new = self._compared(ledger, file, held)
        else:
            now = dialogue_rows.ids(ledger, file)
            gone, new = held - now, now - held
        removed = self._remove(gone)
        return removed + self._add(dialogue_rows.rows(ledger, file, new))

    def _compared(self, ledger: Ledger, file: int, held: set[int]) -> tuple[set[int], set[int]]:
        ours = dict(self._connection.execute("SELECT id, body FROM texts WHERE file = ?", (file,)))
        theirs = {row[0]: row[-1] for row in dialogue_rows.rows(ledger, file, None)}
        other = {row for row in held if theirs.get(row) != ours[row]}
        return other, (theirs.keys() - held) | (other & theirs.keys())

    def _ids(self, file: int) -> set[int]:
        rows = self._connection.execute("SELECT id FROM texts WHERE file = ?", (file,))
        return {row for (row,) in rows}

    def _add(self, rows: Iterable[dialogue_rows.Row]) -> int:
        added = 0
        for page in _pages(rows):
            made = [(row, file, _is_unspaced(body), *more, body) for row, file, *more, body in page]
            execute = self._connection.executemany
            execute("INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)", made)
            execute("INSERT INTO words (rowid, body) VALUES (?, ?)", [(row[0], row[-1]) for row in made])
            grams = [(row[0], row[-1]) for row in made if row[2]]
            if grams:
                execute("INSERT INTO grams (rowid, body) VALUES (?, ?)", grams)
            added += len(made)
        return added

    def _remove(self, ids: Iterable[int]) -> int:
        removed = 0
        for row in ids:
            held = self._connection.execute(
                "SELECT unspaced, body FROM texts WHERE id = ?", (row,)
            ).fetchone()
            tables = ("words", "grams") if held[0] else ("words",)
            for table in tables:
                sql = f"INSERT INTO {table} ({table}, rowid, body) VALUES ('delete', ?, ?)"
                self._connection.execute(sql, (row, held[1]))
            self._connection.execute("DELETE FROM texts WHERE id = ?", (row,))
            removed += 1
        return removed

    def _empty(self) -> None:
        for table in ("words", "grams"):
            self._connection.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")
        for table in ("texts", "files", "meta"):
            self._connection.execute(f"DELETE FROM {table}")

    def _noted(self, key: str) -> str:
        found = self._connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else ""

    def _note(self, key: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    # -- finding ----------------------------------------------------------------------------------

    def _found(self, query: str, wanted: Wanted, limit: int, *, any_word: bool) -> list[Found]:
        asked = _asked(query)
        if not asked or (any_word and len(asked) == 1):
            return []
        joined = " OR " if any_word else " AND "
        if any(_is_unspaced(piece) for piece, _ in asked):
            return self._by_grams(asked, joined, wanted, limit)
        match = joined.join(_quoted(piece) + star for piece, star in asked)
        found = self._matches("words", match, wanted, limit)
        if len(found) < limit and all(len(piece) >= _LEAST_GRAM for piece, _ in asked):
            # A word that stands in such a text without a space beside it is none for the tokenizer.
            match = joined.join(_quoted(piece) for piece, _ in asked)
            seen = {item.row for item in found}
            more = self._matches("grams", match, wanted, limit)
            found += [item for item in more if item.row not in seen]
        return found[:limit]

    def _by_grams(
        self, asked: Sequence[tuple[str, str]], joined: str, wanted: Wanted, limit: int
    ) -> list[Found]:
        long = [piece for piece, _ in asked if len(piece) >= _LEAST_GRAM]
        short = [piece for piece, _ in asked if len(piece) < _LEAST_GRAM]
        if not short:
            return self._matches("grams", joined.join(map(_quoted, long)), wanted, limit)
        # Too short for a trigram: these texts are looked through.
        clauses, values = _filters(wanted)
        looked = joined.join(["t.body LIKE ? ESCAPE '\\'"] * len(asked))
        rows = self._connection.execute(
            f"SELECT t.id, t.body FROM texts t WHERE t.unspaced AND ({looked}) {clauses}"
            " ORDER BY t.id DESC LIMIT ?",
            (*[_like(piece) for piece, _ in asked], *values, limit),
        )
        pieces = [piece for piece, _ in asked]
        return [Found(row, 0.0, _excerpt(body, pieces)) for row, body in rows]

    def _matches(self, table: str, match: str, wanted: Wanted, limit: int) -> list[Found]:
        clauses, values = _filters(wanted)
        joined = f"JOIN texts t ON t.id = {table}.rowid" if clauses else ""
        length = _EXCERPT_TOKENS if table == "words" else _EXCERPT_GRAMS
        rows = self._connection.execute(
            f"SELECT {table}.rowid, {table}.rank, snippet({table}, 0, ?, ?, '…', {length})"
            f" FROM {table} {joined} WHERE {table} MATCH ? {clauses} ORDER BY {table}.rank LIMIT ?",
            (BEGIN_MARK, END_MARK, match, *values, limit),
        )
        return [Found(row, round(score, 4), " ".join(marked.split())) for row, score, marked in rows]

    # -- the file ---------------------------------------------------------------------------------

    def _opened(self) -> sqlite3.Connection:
        with self._translated():
            return derived_file.opened(self.path, _LAYOUT, self._wait)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise SearchError(
                f"the index of the dialogue can't be used: {cause(error)}",
                file=str(self.path),
                fix=derived_file.step(error, _DISPOSABLE, busy=_BUSY),
            ) from error


def keep_in_step(home: Path, ledger: Ledger, *, wait: float = WAIT_SECONDS) -> int:
    """Bring the index in step where one was ever asked for; return how many rows changed.

    `wait` is in seconds, for another process that writes. Raises SearchError.
    """
    if not Home(home).dialogue_index.exists():
        return 0
    with DialogueIndex(home, wait=wait) as index:
        return index.refresh(ledger)


def _pages(rows: Iterable[dialogue_rows.Row]) -> Iterator[list[dialogue_rows.Row]]:
    page: list[dialogue_rows.Row] = []
    for row in rows:
        page.append(row)
        if len(page) == _PAGE:
            yield page
            page = []
    if page:
        yield page


def _is_unspaced(text: str) -> bool:
    return not text.isascii() and _UNSPACED.search(text) is not None


def _asked(query: str) -> list[tuple[str, str]]:
    """Return the words and phrases of `query`, each with the star that lets it be the start of a word."""
    found = []
    for phrase, word in _PIECE.findall(well_formed(query)):
        star = " *" if word.endswith("*") else ""
        piece = (phrase or word).rstrip("*").replace("\0", "").strip()
        if any(char.isalnum() for char in piece):
            found.append((piece, star))
    return found


def _quoted(piece: str) -> str:
    return '"' + piece.replace('"', '""') + '"'


def _like(piece: str) -> str:
    escaped = re.sub(r"([\\%_])", r"\\\1", piece)
    return f"%{escaped}%"


def _excerpt(body: str, pieces: Sequence[str]) -> str:
    """Return what stands around the first of `pieces` in `body`, with all of them marked."""
    text = " ".join(body.split())
    pattern = re.compile("|".join(map(re.escape, sorted(pieces, key=len, reverse=True))), re.IGNORECASE)
    first = pattern.search(text)
    begin = max(0, (first.start() if first else 0) - _EXCERPT_GRAMS // 2)
    end = begin + 2 * _EXCERPT_GRAMS
    marked = pattern.sub(lambda match: f"{BEGIN_MARK}{match[0]}{END_MARK}", text[begin:end])
    return f"{'…' if begin else ''}{marked}{'…' if end < len(text) else ''}"


def _filters(wanted: Wanted) -> tuple[str, list[str | int]]:
    """Return the conditions that `wanted` sets, each behind an AND, and their values."""
    clauses: list[str] = []
    values: list[str | int] = []
    if wanted.files is not None:
        clauses.append("AND t.file IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(wanted.files))
    if wanted.rows is not None:
        clauses.append("AND t.id BETWEEN ? AND ?")
        values += wanted.rows
    for column, sign, value in (
        ("session", "=", wanted.session),
        ("speaker", "=", wanted.speaker),
        ("at", ">=", wanted.since),
        ("at", "<", wanted.until),
    ):
        if value:
            clauses.append(f"AND t.{column} {sign} ?")
            values.append(value)
    if wanted.until and not wanted.since:
        clauses.append("AND t.at <> ''")
    return " ".join(clauses), values

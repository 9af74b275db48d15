"""Asking a search index, by the cheapest parts of the standard library: a person waits while hooks do it.

`SearchIndex` asks through the same `Lookup`. What a question costs does not grow with the store for ordinary
words: it goes to the index with its rarest terms only, as many as `CANDIDATES` documents hold between them.
"""

import os

from pipeline.hooklib import home_files, jsonish
from pipeline.hooklib.digests import sha256
from pipeline.hooklib.plain import is_well_formed
from pipeline.text.tokens import BETWEEN, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from pipeline.text.stems import Forms

    Stamp = tuple[int, int, int]

try:
    # The package around it costs a hook as much again as this does; an interpreter may lack either.
    import _sqlite3 as sqlite
except ImportError:
    import sqlite3 as sqlite  # type: ignore[no-redef]

FileError = sqlite.Error
"""What SQLite raises, for those who may not import it."""
VERSION = 9
CANDIDATES = 1_000
"""Documents the terms of one question may lead to, counted per term; its rarest term always counts."""
MOST_TERMS = 24
MOST_RULES = 200
"""Memories whose moments one question leads to."""
WAIT_SECONDS = 0.05
"""How long a reader waits for a process that has the file to itself, which is while it is being made."""

_RANKED = (
    "SELECT d.id, d.path, -bm25({table}{weights}) AS score"
    " FROM {table} JOIN documents d ON d.id = {table}.rowid"
    " WHERE {table} MATCH ? ORDER BY score DESC, d.path LIMIT ?"
)
_ROW = (
    "SELECT d.path, d.digest, d.size, d.mtime_ns, d.ctime_ns, d.shown, d.vector,"
    " w.name, w.description, w.tags, w.body, coalesce(c.cues, '')"
    " FROM documents d JOIN words w ON w.rowid = d.id LEFT JOIN cued c ON c.rowid = d.id"
)


_STEMS = (
    "SELECT d.path, s.name, s.description, s.tags, s.body, s.cues"
    " FROM documents d JOIN stems s ON s.rowid = d.id WHERE {} IN ({})"
)
_LANGUAGES = "SELECT value FROM meta WHERE key = 'languages'"
WORDS, CUED, STEMS = (
    ("words", "vocabulary", ", 4.0, 3.0, 2.0, 1.0"),
    ("cued", "cue_vocabulary", ""),
    ("stems", "stem_vocabulary", ", 4.0, 3.0, 2.0, 1.0, 1.0"),
)
"""What a `Lookup` asks: table, its vocabulary and what its columns weigh."""
_RULED = (
    "SELECT d.path, m.moment FROM moments m JOIN documents d ON d.id = m.document WHERE m.document IN"
    " (SELECT document FROM moments WHERE key IN ({}) ORDER BY document DESC LIMIT {}) ORDER BY m.rowid"
)


class NoIndexError(OSError):
    """There is no index that can be asked: none yet, damaged, of another version, or being made just now."""


class Row:
    """One memory as the index has it, which may not be as its file is now.

    `path` is relative to the store; `digest` is the SHA-256 of the file's bytes; `stamp` is the size, mtime
    and ctime (ns) it had; `score` is BM25, 0.0 where nothing was asked; `fields` are the indexed terms of
    name with title, description, tags, body and cues, each joined by spaces, with `BETWEEN` between two cues;
    `shown` is what a person would be told of the memory (see ``pipeline.search.fts``); `vector` is what it
    means (``pipeline.search.meaning``), or empty; `stems` are the columns of stems beside `fields`
    (``pipeline.text.stems``), those of the cues in the same order, or none.
    """

    __slots__ = ("_shown", "_text", "digest", "fields", "path", "score", "stamp", "stems", "vector")

    def __init__(
        self,
        path: str,
        digest: str,
        stamp: "Stamp",
        score: float,
        fields: "tuple[str, ...]",
        text: str,
        vector: bytes = b"",
    ) -> None:
        self.path = path
        self.digest = digest
        self.stamp = stamp
        self.score = score
        self.fields = fields
        self.vector = vector
        self.stems: tuple[str, ...] = ()
        self._text = text
        self._shown: dict[str, Any] | None = None

    @property
    def shown(self) -> "dict[str, Any]":
        """What a person would be told; read from its JSON when first asked for. Raises NoIndexError."""
        if self._shown is None:
            try:
                self._shown = jsonish.loads(self._text)
            except ValueError as error:
                raise NoIndexError(f"{self.path}: {error}") from error
        return self._shown


class Lookup:
    """Questions to one table of words of an open index, over one connection.

    Its errors are SQLite's.
    """

    def __init__(self, connection: "Any", asked: "tuple[str, str, str]" = WORDS) -> None:
        self._connection = connection
        self._counts: dict[str, int] = {}
        table, self._vocabulary, weights = asked
        self._ranked = _RANKED.format(table=table, weights=weights)

    def forget(self) -> None:
        """Count anew: the index has changed."""
        self._counts.clear()

    def ranked(self, terms: "Sequence[str]", limit: int) -> "list[tuple[int, str, float]]":
        """Return row, path and BM25 score of up to `limit` documents that hold `terms`, best first.

        A name weighs more than a description, that more than tags, and they more than a body. Equal scores
        stand in path order.
        """
        chosen = self._rarest(terms)
        if not chosen or limit < 1:
            return []
        match = " OR ".join(f'"{term}"*' if is_lone(term) else f'"{term}"' for term in chosen)
        found: list[tuple[int, str, float]] = self._connection.execute(
            self._ranked, (match, limit)
        ).fetchall()
        return found

    def count(self, term: str) -> int:
        """Return how many documents hold `term`; a lone character of a script without spaces, as a prefix."""
        if term not in self._counts:
            found, values = "term = ?", [term]
            if is_lone(term):
                found, values = "term >= ? AND term < ?", [term, chr(ord(term) + 1)]
            sql = f"SELECT coalesce(sum(doc), 0) FROM {self._vocabulary} WHERE {found}"
            self._counts[term] = self.value(sql, values)
        return self._counts[term]

    def value(self, sql: str, values: "Sequence[Any]" = ()) -> int:
        """Return the one number that `sql` asks for."""
        return int(self._connection.execute(sql, values).fetchone()[0])

    def _rarest(self, terms: "Iterable[str]") -> "list[str]":
        """Return the terms of the question to look for: those in fewest documents, up to CANDIDATES."""
        counted = sorted((count, term) for term in set(terms) if (count := self.count(term)))
        chosen: list[str] = []
        documents = 0
        for count, term in counted[:MOST_TERMS]:
            documents += count
            if chosen and documents > CANDIDATES:
                break
            chosen.append(term)
        return chosen


class Reader:
    """The index in `file` as it is at this moment; what is written afterwards is not seen.

    Nothing is written but the two small files that SQLite keeps beside it, and those only where they can be;
    another process may write meanwhile. Every method raises NoIndexError when the file can't be asked, and so
    does opening it.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._connection: Any = None
        self._lookup, self._cues, self._stems = Lookup(None), Lookup(None, CUED), Lookup(None, STEMS)
        self._languages: frozenset[str] | None = None
        with self._translated():
            self._open(file)

    def languages(self) -> "frozenset[str]":
        """Return the languages whose stems it has; none where all memories are in English."""
        if self._languages is None:
            found = self._all(_LANGUAGES)
            self._languages = frozenset(found[0][0].split()) if found else frozenset()
        return self._languages

    def candidates(self, terms: "Sequence[str]", limit: int, forms: "Forms | None" = None) -> "list[Row]":
        """Return up to `limit` memories that hold `terms` (of `pipeline.text.tokens`) in words or cues.

        The best first by BM25, that of words and of cues together. `forms` are other stems of a term
        (`pipeline.text.stems`), of which a memory may hold any.
        """
        with self._translated():
            best, ids = self._scored(terms, limit, forms)
            found = self._rows("d.id", [ids[path] for path in best])
        for path, score in best.items():
            found[path].score = score
        return [found[path] for path in best]

    def scores(self, terms: "Sequence[str]", limit: int, forms: "Forms | None" = None) -> "dict[str, float]":
        """Return the paths and scores of what `candidates` returns, in its order; no row is read."""
        with self._translated():
            return self._scored(terms, limit, forms)[0]

    def ties(self, path: str) -> "dict[str, bool]":
        """Return the keys that tie the memory at `path` to others (`search.ties`); True for certain ones."""
        sql = "SELECT t.key, t.certain FROM ties t JOIN documents d ON d.id = t.document WHERE d.path = ?"
        return {key: bool(certain) for key, certain in self._all(sql, [path])}

    def holders(self, key: str, limit: int) -> "list[tuple[str, bool]]":
        """Return up to `limit` memories that have the tie `key`: path, and whether it is certain of it."""
        sql = "SELECT d.path, t.certain FROM ties t JOIN documents d ON d.id = t.document"
        found = self._all(f"{sql} WHERE t.key = ? ORDER BY t.certain DESC, d.path LIMIT {limit}", [key])
        return [(path, bool(certain)) for path, certain in found]

    def saying(self, words: "Sequence[str]", limit: int) -> "list[str]":
        """Return up to `limit` memories in which the terms `words` stand side by side."""
        sql = "SELECT d.path FROM words JOIN documents d ON d.id = words.rowid WHERE words MATCH ?"
        match = " + ".join(f'"{word}"' for word in words)
        return [path for (path,) in self._all(f"{sql} ORDER BY d.path LIMIT {limit}", [match])]

    def rows(self, paths: "Iterable[str]") -> "list[Row]":
        """Return the memories at `paths`, in that order, leaving out those it does not know."""
        wanted = [path for path in paths if is_well_formed(path)]
        with self._translated():
            found = self._rows("d.path", wanted)
        return [found[path] for path in wanted if path in found]

    def ruled(self, keys: "Sequence[str]") -> "dict[str, list[str]]":
        """Return path and moments of the rules that one of `keys` leads to (`pipeline.text.actions`)."""
        usable = [key for key in keys if is_well_formed(key)]
        found: dict[str, list[str]] = {}
        if usable:
            sql = _RULED.format(",".join("?" * len(usable)), MOST_RULES)
            for path, moment in self._all(sql, usable):
                found.setdefault(path, []).append(moment)
        return found

    def all_paths(self) -> "dict[str, Stamp]":
        """Return path and stamp (size, mtime and ctime in ns) of every memory it knows."""
        found = self._all("SELECT path, size, mtime_ns, ctime_ns FROM documents")
        return {path: (size, mtime, ctime) for path, size, mtime, ctime in found}

    def texts_with(self, needle: str) -> "dict[str, tuple[str, str]]":
        """Return by path the digest of every memory, and what is shown of those whose text may have `needle`.

        That of the others is "".
        """
        may_have = "instr(shown, ?) OR instr(shown, '\"cut\": true')"
        sql = f"SELECT path, digest, CASE WHEN {may_have} THEN shown ELSE '' END FROM documents"
        return {path: (digest, text) for path, digest, text in self._all(sql, [needle])}

    def digests(self) -> "list[str]":
        """Return the digest of each memory it knows, in no order."""
        return [found for (found,) in self._all("SELECT digest FROM documents")]

    def folders(self) -> "dict[str, tuple[int, int]]":
        """Return path ("" is the store itself) and mtime and ctime (ns) of the folders it was made from.

        They were read before the files: a folder that still has these times has lost and won no file since.
        """
        found = self._all("SELECT path, mtime_ns, ctime_ns FROM folders")
        return {path: (mtime, ctime) for path, mtime, ctime in found}

    def count(self) -> int:
        """Return how many memories it knows."""
        with self._translated():
            return self._lookup.value("SELECT count(*) FROM documents")

    def document_count(self, term: str, forms: "Sequence[str]" = ()) -> int:
        """Return how many memories hold `term`; of one that only cues hold, how many cues.

        With `forms`, the other stems of the term, those that hold one of them count as well.
        """
        with self._translated():
            found = self._lookup.count(term)
            for form in forms:
                found = max(found, self._lookup.count(form) + self._stems.count(form))
            return found or self._cues.count(term)

    def notes(self) -> "dict[str, str]":
        """Return what was noted when it was made: ``store``, the folder, and ``synced``, when (ISO 8601)."""
        return dict(self._all("SELECT key, value FROM meta"))

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._connection is not None:
            self._connection.close()

    def __enter__(self) -> "Reader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, file: str) -> None:
        if os.path.lexists(file) and not os.path.isfile(file):
            raise sqlite.DatabaseError("it is no regular file")  # SQLite would wait at a pipe for ever
        try:
            self._connect(file, "mode=ro")
        except sqlite.OperationalError as error:
            # Where SQLite may not put its two small files beside it, a file at rest can be read all the same.
            refused = error.sqlite_errorname.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY"))
            if not refused or not _is_at_rest(file):
                raise
            self.close()
            self._connect(file, "immutable=1")

    def _connect(self, file: str, how: str) -> None:
        self._connection = opened(file, how)
        # One transaction over all questions: what they tell belongs together.
        self._connection.execute("BEGIN")
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            raise sqlite.DatabaseError(f"its version is {version}")
        self._lookup, self._cues = Lookup(self._connection), Lookup(self._connection, CUED)
        self._stems = Lookup(self._connection, STEMS)

    def _scored(
        self, terms: "Sequence[str]", limit: int, forms: "Forms | None"
    ) -> "tuple[dict[str, float], dict[str, int]]":
        """Return score by path, the best first, and the number of each row."""
        others = [form for term in terms for form in forms.get(term, ())] if forms else []
        asked = [(self._lookup, [*terms, *others]), (self._cues, [*terms, *others])]
        if others:
            asked.append((self._stems, others))
        scores: dict[str, float] = {}
        ids = {}
        for lookup, words in asked:
            for row, path, score in lookup.ranked(words, limit):
                ids[path] = row
                scores[path] = scores.get(path, 0.0) + score
        best = sorted(scores, key=lambda path: (-scores[path], path))[:limit]
        return {path: scores[path] for path in best}, ids

    def _rows(self, key: str, values: "Sequence[int | str]") -> "dict[str, Row]":
        found = {}
        for at in range(0, len(values), 500):
            chunk = values[at : at + 500]
            sql = f"{_ROW} WHERE {key} IN ({','.join('?' * len(chunk))})"
            for path, digest, size, mtime, ctime, text, vector, *fields in self._connection.execute(
                sql, chunk
            ):
                found[path] = Row(path, digest, (size, mtime, ctime), 0.0, tuple(fields), text, vector)
            if self.languages():
                sql = _STEMS.format(key, ",".join("?" * len(chunk)))
                for path, *stems in self._connection.execute(sql, chunk):
                    found[path].stems = tuple(stems)
        return found

    def _all(self, sql: str, values: "Sequence[str]" = ()) -> "list[Any]":
        with self._translated():
            found: list[Any] = self._connection.execute(sql, values).fetchall()
        return found

    def _translated(self) -> "_Translated":
        return _Translated(self, self._file)


class _Translated:
    """What SQLite complains of (a closed reader, too) becomes NoIndexError and ends the reader."""

    def __init__(self, reader: Reader, file: str) -> None:
        self._reader = reader
        self._file = file

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: "BaseException | None", trace: object) -> None:
        if isinstance(error, sqlite.Error):
            self._reader.close()
            raise NoIndexError(f"{self._file}: {error}") from error


def index_path(home: str, store: str) -> str:
    """Return the index file of the store at `store` in the home `home`; links to one store share it."""
    return f"{home}/{home_files.SEARCH}/{sha256(os.fsencode(os.path.realpath(store)))[:16]}.sqlite"


def opened(file: str, how: str) -> "Any":
    """Return a connection to the SQLite `file`; `how` is the query of its URI. Raises FileError."""
    return sqlite.connect(
        uri(file, how), timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=True
    )


def uri(file: str, how: str) -> str:
    """Return the URI by which SQLite opens `file`, whatever bytes are in its name."""
    name = file.replace(os.sep, "/")
    start = "/" if name[1:3] == ":/" else ""  # before the letter of a drive
    plain = frozenset(b"/-_.~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789:")
    text = "".join(chr(byte) if byte in plain else f"%{byte:02x}" for byte in os.fsencode(name))
    return f"file:{start}{text}?{how}"


def _is_at_rest(file: str) -> bool:
    """Whether all that `file` holds is in it, and nothing waits beside it to be brought in."""
    try:
        return os.path.getsize(file) > 0 and os.path.getsize(f"{file}-wal") == 0
    except (FileNotFoundError, NotADirectoryError):
        return os.path.exists(file)


def is_lone(term: str) -> bool:
    """Whether `term` is a single character, which only scripts without spaces make."""
    return len(term) == 1


def cue_terms(cues: "Iterable[str]") -> str:
    """Return the terms of `cues` as the index has them, `BETWEEN` between two."""
    phrases = [" ".join(terms(cue)) for cue in cues]
    return f" {BETWEEN} ".join(phrase for phrase in phrases if phrase)

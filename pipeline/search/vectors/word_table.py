"""The table of word vectors, made once from the embedded model so that hooks need no model."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from pathlib import Path

from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.errors import SearchError
from pipeline.search.meaning import LARGEST, LONGEST_PIECE, NUMBERS, WORDS_VERSION, WordTable, words_file
from pipeline.search.vectors.embedded import WordLlamaEmbedder, has_wordllama, token_vectors

MADE_BY = f"wordllama {WordLlamaEmbedder.model}"


def is_due(home: Path) -> bool:
    """Whether the embedded model is installed and its table is not there, or of another version."""
    if not has_wordllama():
        return False
    table = WordTable(str(home))
    table.close()
    return table.made_by != MADE_BY


def make(home: Path) -> int:
    """Make the table in `home` and return how many pieces it has; about a second and 5 MB.

    Raises EmbeddingError without the model, and SearchError when the file can't be written.
    """
    pieces, whole = _made()
    file = Path(words_file(str(home)))
    try:
        ensure_dir(file.parent)
        write_atomic(file, whole)
    except OSError as error:
        raise SearchError(
            f"the table of word vectors can't be made: {error}",
            file=str(file),
            fix="Recall goes on by words alone. Make room, or mend the folder's rights.",
        ) from error
    return pieces


@cache
def _made() -> tuple[int, bytes]:
    """Return how many pieces the table has and its bytes: who opens many homes makes it for all of them."""
    rows = token_vectors(_is_wanted, NUMBERS, LARGEST)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(
            "CREATE TABLE pieces (piece TEXT PRIMARY KEY, scale REAL NOT NULL, numbers BLOB NOT NULL)"
            " WITHOUT ROWID"
        )
        connection.execute("CREATE TABLE made (made_by TEXT NOT NULL)")
        connection.executemany("INSERT INTO pieces VALUES (?, ?, ?)", sorted(rows))
        connection.execute("INSERT INTO made VALUES (?)", (MADE_BY,))
        connection.execute(f"PRAGMA user_version = {WORDS_VERSION}")
        connection.commit()
        return len(rows), connection.serialize()


def _is_wanted(piece: str) -> bool:
    return len(piece) <= LONGEST_PIECE and any(map(str.isalpha, piece))

"""The table of word vectors, made once from the embedded model so that hooks need no model."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import SearchError
from pipeline.search.meaning import LARGEST, LONGEST_PIECE, NUMBERS, VERSION, WordTable, path_in
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
    """Make the table in `home` and return how many pieces it has; about 4 seconds and 5 MB.

    Raises EmbeddingError without the model, and SearchError when the file can't be written.
    """
    rows = []
    for piece, numbers in token_vectors():
        if len(piece) > LONGEST_PIECE or not any(char.isalpha() for char in piece):
            continue
        largest = max(map(abs, numbers[:NUMBERS]))
        if largest:
            scale = largest / LARGEST
            rows.append((piece, scale, bytes(round(one / scale) & 0xFF for one in numbers[:NUMBERS])))
    file = Path(path_in(str(home)))
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        ensure_dir(file.parent)
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
        with closing(sqlite3.connect(part)) as connection, connection:
            connection.execute(
                "CREATE TABLE pieces (piece TEXT PRIMARY KEY, scale REAL NOT NULL, numbers BLOB NOT NULL)"
                " WITHOUT ROWID"
            )
            connection.execute("CREATE TABLE made (made_by TEXT NOT NULL)")
            connection.executemany("INSERT OR REPLACE INTO pieces VALUES (?, ?, ?)", sorted(rows))
            connection.execute("INSERT INTO made VALUES (?)", (MADE_BY,))
            connection.execute(f"PRAGMA user_version = {VERSION}")
        part.replace(file)
    except (OSError, sqlite3.Error) as error:
        part.unlink(missing_ok=True)
        raise SearchError(
            f"the table of word vectors can't be made: {error}",
            file=str(file),
            fix="Recall goes on by words alone. Make room, or mend the folder's rights.",
        ) from error
    return len(rows)

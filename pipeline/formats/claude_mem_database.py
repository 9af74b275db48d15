"""The database of claude-mem, read from a copy: it is another program's, which may be at work in it.

Its newest rows may stand in the file beside it (``-wal``), so that comes along.
"""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipeline.core.errors import InputError, cause

_ROWS = "SELECT * FROM observations ORDER BY id"


def rows_of(path: Path) -> list[tuple[int, dict[str, Any]]]:
    """Return number and columns of each observation in the database at `path`.

    Raises InputError where it is no such database.
    """
    with TemporaryDirectory(prefix="reverie-") as temp:
        copy = Path(temp, "copy.db")
        try:
            shutil.copyfile(path, copy)
            beside = path.with_name(path.name + "-wal")
            if beside.exists():
                shutil.copyfile(beside, copy.with_name(copy.name + "-wal"))
            with closing(sqlite3.connect(copy)) as connection:
                connection.row_factory = sqlite3.Row
                found = [dict(row) for row in connection.execute(_ROWS)]
        except OSError as error:
            raise InputError(cause(error), file=str(path), fix="Check the path.") from error
        except sqlite3.Error as error:
            raise InputError(
                f"it is no database of claude-mem: {error}",
                file=str(path),
                fix="Its own export writes a JSON file, which is read too.",
            ) from error
    return [(int(row.get("id") or number), row) for number, row in enumerate(found, start=1)]

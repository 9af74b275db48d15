"""What the ledger knows of each transcript file: how far it was read, and whether it is still there.

A file's key is its path below the root it was found in, so that a backup and the live tree share keys.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Literal

from pipeline.domain.tallies import tally
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.record import record

if TYPE_CHECKING:
    import sqlite3


@record
class FileState:
    """One transcript file.

    `status` is ``ingesting`` from the start of a pass until its commit. `last_modified` is in
    milliseconds, sizes and offsets in bytes. `type_counts` counts every record type
    since the file was last read from its start, `bad_lines` complete lines that are no record, and
    `restarts` how often it was read from its start again.
    """

    key: str
    path: str
    source: str
    status: Literal["idle", "ingesting"]
    cursor_json: str
    last_processed_offset: int
    file_size: int
    last_modified: int
    last_entry_timestamp: str | None
    session_id: str
    gone: bool
    bad_lines: int
    restarts: int
    type_counts: dict[str, int]


_SELECT = """
SELECT *, (SELECT count(*) FROM bad_lines WHERE file_id = f.id) AS bad_count
FROM memory_file_states f
"""


_READ = (
    "FROM memory_file_states WHERE gone_at IS NULL AND status = 'idle' AND cursor_json <> ''"
    " AND source = 'claude-code'"
)


def file_state(ledger: Ledger, key: str) -> FileState | None:
    """Return what is known of the file `key`, or None when it was never seen."""
    found = ledger.row(_SELECT + "WHERE file_path = ?", (key,))
    return None if found is None else _state(found)


def paths(ledger: Ledger) -> list[str]:
    """Return the path of every file of Claude Code's that was read, but for those gone or being read."""
    return [path for (path,) in ledger.execute(f"SELECT path {_READ}")]


def stamps(ledger: Ledger) -> tuple[dict[str, tuple[str, str, int, int]], bool]:
    """Return path, key, time (ns) and size of each of `paths`, by its path, that was read to its end.

    Beside it whether any file is ``ingesting``, as a crash leaves it.
    """
    # Both by one look at them all, since a second would take as long.
    rows = ledger.plain_rows(
        "SELECT path, file_path, iif(status = 'idle', read_mtime_ns, -1), read_size FROM memory_file_states"
        " WHERE (gone_at IS NULL AND cursor_json <> '' AND read_size = last_processed_offset)"
        " OR status = 'ingesting'"
    )
    half_read = [row[1] for row in rows if row[2] < 0]
    sound = [row for row in rows if row[2] >= 0] if half_read else rows
    return {row[0]: row for row in sound}, bool(half_read)


def listed(ledger: Ledger) -> list[tuple[int, str, str]]:
    """Return id, key and session of every file that was read."""
    return ledger.plain_rows(
        "SELECT id, file_path, session_id FROM memory_file_states WHERE cursor_json <> '' ORDER BY id"
    )


def read_for(ledger: Ledger, store: str) -> tuple[int, ...]:
    """Return the ids of the files that were read for `store`."""
    rows = ledger.plain_rows("SELECT id FROM memory_file_states WHERE store = ? ORDER BY id", (store,))
    return tuple(number for (number,) in rows)


def with_waiting_prompts(ledger: Ledger) -> list[tuple[str, int]]:
    """Return path and time (ns) of each of `paths` whose reader waits for the copy of a queued prompt."""
    return [
        (row[0], row[1])
        for row in ledger.plain_rows(
            f'SELECT path, read_mtime_ns {_READ} AND cursor_json NOT LIKE \'%"queue":""%\''
        )
    ]


def bad_lines(ledger: Ledger, key: str) -> list[tuple[int, str]]:
    """Return the complete lines of `key` that are no record: line number or byte offset, and why."""
    rows = ledger.rows(
        "SELECT place, reason FROM bad_lines WHERE file_id ="
        " (SELECT id FROM memory_file_states WHERE file_path = ?) ORDER BY id",
        (key,),
    )
    return [(row["place"], row["reason"]) for row in rows]


def stores(ledger: Ledger) -> list[str]:
    """Return every store a transcript was ever read for, by name."""
    rows = ledger.rows("SELECT DISTINCT store FROM memory_file_states WHERE store <> '' ORDER BY store")
    return [row["store"] for row in rows]


def store_of(ledger: Ledger, key: str) -> str:
    """Return the store remembered for `key`, or an empty string."""
    return str(ledger.value("SELECT store FROM memory_file_states WHERE file_path = ?", (key,)) or "")


def latest_of(ledger: Ledger, store: str, *, limit: int) -> list[tuple[str, str, int]]:
    """Return key, path and size (bytes) of the transcripts read for `store` that are there, latest first.

    Those are left out of which any of the person's words were deleted in the ledger.
    """
    rows = ledger.rows(
        "SELECT file_path, path, file_size FROM memory_file_states f WHERE store = ? AND gone_at IS NULL"
        " AND NOT EXISTS (SELECT 1 FROM memory_transcript_entries"
        " WHERE file_id = f.id AND speaker = 'person' AND content = '')"
        " ORDER BY last_modified DESC, file_path LIMIT ?",
        (store, limit),
    )
    return [(row["file_path"], row["path"], row["file_size"]) for row in rows]


def sessions_of(ledger: Ledger, stores: Collection[str], folders: Collection[str]) -> set[str]:
    """Return the sessions whose transcripts were read for one of `stores`, or lie right in a folder given."""
    rows = ledger.rows("SELECT session_id, store, path FROM memory_file_states WHERE session_id <> ''")
    return {
        row["session_id"]
        for row in rows
        if row["store"] in stores or row["path"].rpartition("/")[0] in folders
    }


def remember_store(ledger: Ledger, key: str, store: str) -> None:
    """Keep `store` as the one of `key`; a file the ledger does not know is left out."""
    with ledger.transaction():
        ledger.execute("UPDATE memory_file_states SET store = ? WHERE file_path = ?", (store, key))


def counts(ledger: Ledger) -> dict[str, int]:
    """Return how many files were read, how many of them are gone, and the rows and bad lines of all."""
    row = ledger.row(
        "SELECT count(*) AS files, count(gone_at) AS gone,"
        " (SELECT count(*) FROM memory_transcript_entries WHERE speaker IS NOT NULL) AS spoken,"
        " (SELECT count(*) FROM bad_lines) AS bad_lines"
        " FROM memory_file_states WHERE cursor_json <> ''"
    )
    return dict(row) if row else {}


def begin_ingest(
    ledger: Ledger, key: str, path: str, *, source: str = "claude-code", size: int, mtime_ms: int
) -> None:
    """Mark the file as being read, in a commit of its own; a file that was gone is back.

    The size and mtime of the last finished pass stay until this one is committed.
    """
    ledger.execute(
        "INSERT INTO memory_file_states (file_path, path, source, status, file_size, last_modified)"
        " VALUES (?, ?, ?, 'ingesting', ?, ?) ON CONFLICT (file_path) DO UPDATE SET"
        " path = excluded.path, source = excluded.source, status = 'ingesting', gone_at = NULL",
        (key, str(path), source, size, mtime_ms),
    )


def refuse(ledger: Ledger, key: str) -> None:
    """End a pass over what turned out to be no transcript; of a file that was never read nothing is left."""
    with ledger.transaction():
        ledger.execute(
            "DELETE FROM memory_file_states AS f WHERE file_path = ? AND cursor_json = '' AND gone_at IS NULL"
            " AND NOT EXISTS (SELECT 1 FROM memory_transcript_entries WHERE file_id = f.id)"
            " AND NOT EXISTS (SELECT 1 FROM bad_lines WHERE file_id = f.id)",
            (key,),
        )
        ledger.execute("UPDATE memory_file_states SET status = 'idle' WHERE file_path = ?", (key,))


def mark_gone(ledger: Ledger, key: str, now: Moment) -> bool:
    """Note that the file `key` is no longer there; return whether that is news.

    Its rows stay, and what was not yet extracted still can be.
    """
    found = ledger.value(
        "INSERT INTO memory_file_states (file_path, gone_at) VALUES (?, ?) ON CONFLICT (file_path)"
        " DO UPDATE SET gone_at = excluded.gone_at, status = 'idle' WHERE gone_at IS NULL RETURNING id",
        (key, seconds(now)),
    )
    return found is not None


def recover_ingesting(ledger: Ledger) -> list[str]:
    """Set the files a crash left ``ingesting`` idle again, and return their keys.

    As entries and offset commit together there should be no row past the committed offset. Should
    there be one all the same, it is marked superseded, and the next pass brings it back where it belongs.
    """
    keys = []
    with ledger.transaction():
        for row in ledger.rows(
            # Not by the index of their names, which leads to all files one by one.
            "SELECT * FROM memory_file_states WHERE status = 'ingesting' ORDER BY +file_path"
        ):
            ledger.execute(
                "UPDATE memory_transcript_entries SET superseded = 1"
                " WHERE file_id = ? AND superseded = 0 AND byte_offset >= ?",
                (row["id"], row["last_processed_offset"]),
            )
            ledger.execute("UPDATE memory_file_states SET status = 'idle' WHERE id = ?", (row["id"],))
            keys.append(row["file_path"])
    return keys


def file_id(ledger: Ledger, key: str) -> int:
    """Return the row id of the file `key`, adding the file if `begin_ingest` did not."""
    ledger.execute(
        "INSERT INTO memory_file_states (file_path) VALUES (?) ON CONFLICT (file_path) DO NOTHING", (key,)
    )
    return int(ledger.value("SELECT id FROM memory_file_states WHERE file_path = ?", (key,)))


def store_state(
    ledger: Ledger,
    file: int,
    *,
    cursor_json: str,
    offset: int,
    size: int,
    mtime_ms: int,
    restarted: bool,
    type_counts: Mapping[str, int],
    after_row: int,
    stamp: tuple[int, int],
) -> None:
    """Record the end of a pass, whose new rows are those after `after_row`, and set the file idle."""
    known = ledger.row("SELECT * FROM memory_file_states WHERE id = ?", (file,))
    assert known is not None, "the caller has just looked it up"
    counts: dict[str, int] = {} if restarted else json.loads(known["type_counts"])
    for name, count in type_counts.items():
        tally(counts, name, count)
    latest, session = ledger.rows(
        # Told not to take the index of the file's places, which would read all that the file ever had.
        "SELECT max(timestamp), min(session_id) FROM memory_transcript_entries NOT INDEXED"
        " WHERE id > ? AND file_id = ? AND superseded = 0",
        (0 if restarted else after_row, file),
    )[0]
    if not restarted:
        latest = max(filter(None, (latest, known["last_entry_timestamp"])), default=None)
    ledger.execute(
        "UPDATE memory_file_states SET status = 'idle', gone_at = NULL, cursor_json = ?,"
        " last_processed_offset = ?, file_size = ?, last_modified = ?, type_counts = ?,"
        " restarts = restarts + ?, last_entry_timestamp = ?, session_id = ?, read_mtime_ns = ?, read_size = ?"
        " WHERE id = ?",
        (
            cursor_json,
            offset,
            size,
            mtime_ms,
            json.dumps(counts, sort_keys=True),
            int(restarted),
            latest,
            known["session_id"] or session or "",
            *stamp,
            file,
        ),
    )


def _state(row: sqlite3.Row) -> FileState:
    return FileState(
        key=row["file_path"],
        path=row["path"],
        source=row["source"],
        status=row["status"],
        cursor_json=row["cursor_json"],
        last_processed_offset=row["last_processed_offset"],
        file_size=row["file_size"],
        last_modified=row["last_modified"],
        last_entry_timestamp=row["last_entry_timestamp"],
        session_id=row["session_id"],
        gone=row["gone_at"] is not None,
        bad_lines=row["bad_count"],
        restarts=row["restarts"],
        type_counts=json.loads(row["type_counts"]),
    )

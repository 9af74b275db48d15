"""What was said, row by row, for whoever keeps an index of it in step."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from pipeline.ledger.connection import Ledger
from pipeline.ledger.utterances import SPEECH
from pipeline.record import record

Row = tuple[int, int, str, str, str, str]
"""Row id, id of the transcript, session, speaker, time ("" where unknown), and the words."""
_STANDS = "speaker IS NOT NULL AND superseded = 0 AND abandoned = 0"
_COLUMNS = "id, file_id, session_id, speaker, coalesce(timestamp, ''), content"
_FEW = 2_000


@record
class Place:
    """Where one utterance stands, and all that it says; `conversation` is None where it is in none."""

    row: int
    session_id: str
    speaker: str
    at: str | None
    source_file: str
    path: str
    cwd: str
    uuid: str
    text: str
    conversation: int | None


def identity(ledger: Ledger) -> str:
    """Return what tells this ledger from another one."""
    return str(ledger.value("SELECT id FROM identity") or "")


def stamps(ledger: Ledger) -> list[tuple[int, str, int]]:
    """Return id, state and number of restarts of each transcript in which anything is said.

    Its state is another one after any pass in which rows of its speech came or went.
    """
    return [
        (file, f"{number}:{last}:{offset}:{read_at}", restarts)
        for file, number, last, offset, read_at, restarts in ledger.plain_rows(
            "SELECT f.id, s.number, s.last, f.last_processed_offset, f.read_mtime_ns, f.restarts"
            " FROM (SELECT file_id, count(*) AS number, max(id) AS last FROM memory_transcript_entries"
            f" INDEXED BY entries_speech WHERE {_STANDS} GROUP BY file_id) s"
            " JOIN memory_file_states f ON f.id = s.file_id"
        )
    ]


def state(ledger: Ledger) -> str:
    """Return the state of all transcripts together: another one after any pass that read something.

    What `stamps` tells takes fifty times as long where much was said.
    """
    row = ledger.plain_rows(
        "SELECT count(*), total(last_processed_offset), total(restarts), total(read_mtime_ns % 1000000007),"
        " max(read_mtime_ns), (SELECT max(id) FROM memory_transcript_entries) FROM memory_file_states"
    )[0]
    return json.dumps([identity(ledger), ledger.rewrites, *row])


def ids(ledger: Ledger, file: int) -> set[int]:
    """Return the rows of what stands in one transcript; its words may have been deleted."""
    rows = ledger.plain_rows(
        f"SELECT id FROM memory_transcript_entries INDEXED BY entries_speech WHERE {_STANDS} AND file_id = ?",
        (file,),
    )
    return {row for (row,) in rows}


def rows(ledger: Ledger, file: int, wanted: Collection[int] | None) -> Iterator[Row]:
    """Yield what is said in the rows `wanted` of one transcript, in all of them for None."""
    sql = f"SELECT {_COLUMNS} FROM memory_transcript_entries INDEXED BY entries_speech WHERE {SPEECH}"
    if wanted is None:
        yield from (tuple(row) for row in ledger.execute(f"{sql} AND file_id = ? ORDER BY id", (file,)))
        return
    if not wanted:
        return
    first, last = min(wanted), max(wanted)
    for row in ledger.execute(
        f"{sql} AND file_id = ? AND id BETWEEN ? AND ? ORDER BY id", (file, first, last)
    ):
        if row["id"] in wanted:
            yield tuple(row)


def places(ledger: Ledger, wanted: Collection[int]) -> dict[int, Place]:
    """Return where the rows `wanted` stand, without those that nobody says any more."""
    found = ledger.rows(
        "SELECT e.id, e.session_id, e.speaker, e.timestamp, e.source_file, f.path, e.cwd, e.uuid, e.content,"
        " (SELECT c.id FROM memory_conversations c WHERE c.file_id = e.file_id"
        "  AND e.id BETWEEN c.first_row AND c.last_row LIMIT 1) AS conversation"
        " FROM memory_transcript_entries e JOIN memory_file_states f ON f.id = e.file_id"
        f" WHERE e.id IN (SELECT value FROM json_each(?)) AND {SPEECH}",
        (json.dumps(list(wanted)),),
    )
    return {
        row["id"]: Place(
            row["id"],
            row["session_id"],
            row["speaker"],
            row["timestamp"],
            row["source_file"],
            row["path"],
            row["cwd"] or "",
            row["uuid"],
            row["content"],
            row["conversation"],
        )
        for row in found
    }


def between(
    ledger: Ledger, begin: str, end: str, chosen: Collection[int] | None
) -> Iterator[tuple[int, str, str]]:
    """Yield conversation, time and speaker of what was said from `begin` on and before `end` (ISO 8601, UTC).

    Of the transcripts `chosen` alone, if that is not None.
    """
    within = "" if chosen is None else " AND e.file_id IN (SELECT value FROM json_each(?))"
    values = [begin, end] if chosen is None else [begin, end, json.dumps(list(chosen))]
    for row in ledger.execute(
        "SELECT c.id, e.timestamp, e.speaker FROM memory_transcript_entries e JOIN memory_conversations c"
        " ON c.file_id = e.file_id AND e.id BETWEEN c.first_row AND c.last_row"
        " WHERE e.speaker IS NOT NULL AND e.superseded = 0 AND e.abandoned = 0"
        f" AND e.timestamp >= ? AND e.timestamp < ?{within} ORDER BY e.id",
        values,
    ):
        yield row[0], row[1], row[2]


def first_words(ledger: Ledger, key: str, first: int, last: int) -> str:
    """Return what a person said first within some rows of a file, "" where that was deleted."""
    return str(
        ledger.value(
            f"SELECT content FROM memory_transcript_entries WHERE {SPEECH} AND speaker = 'person'"
            " AND source_file = ? AND id BETWEEN ? AND ? ORDER BY id LIMIT 1",
            (key, first, last),
        )
        or ""
    )

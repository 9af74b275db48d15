"""Read back what was said: speech on the branch that stands, in the order it was taken in.

Row ids rise in file order, and text that a rewritten file brings later gets later ids; so one id is a
watermark, which a time can't be (clocks run backwards, stamps are missing or tie).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from pipeline.core.clock import to_seconds
from pipeline.core.errors import LedgerError
from pipeline.ledger.connection import Ledger
from pipeline.record import record

if TYPE_CHECKING:
    import sqlite3

    from pipeline.domain.memory import Evidence
    from pipeline.domain.speech import Speaker, Utterance

SPEECH = "speaker IS NOT NULL AND superseded = 0 AND abandoned = 0 AND content <> ''"
"""What was said and stands; of what `pipeline.ledger.retention` has emptied only the row is left."""
_COLUMNS = "id, session_id, uuid, speaker, channel, content, timestamp, cwd, tool_names, files"
FIRST_ENTRIES = 200
_OF_FILE = "file_id = (SELECT id FROM memory_file_states WHERE file_path = ?)"


@record
class EntryRow:
    """One entry as evidence: what it says, when, who said it, and where it stands.

    Several blocks of one record are joined by a line break. `superseded` and `abandoned` say that the
    transcript no longer holds it, or that the person rewound past it; `text` is empty where the dialogue was
    deleted from the ledger.
    """

    row: int
    session_id: str
    uuid: str
    text: str
    at: str | None
    speaker: Speaker | None
    channel: str | None
    source_file: str
    path: str
    cwd: str | None
    branch: str
    superseded: bool
    abandoned: bool


def utterances(
    ledger: Ledger, key: str, *, after_row: int, limit_chars: int | None = None
) -> list[Utterance]:
    """Return what was said in the file `key` after row `after_row`, oldest first.

    With `limit_chars` it stops before the text would pass that many characters, but gives at least
    one utterance when there is one.
    """
    cursor = ledger.execute(
        f"SELECT {_COLUMNS} FROM memory_transcript_entries INDEXED BY entries_speech"
        f" WHERE {_OF_FILE} AND {SPEECH} AND id > ? ORDER BY id",
        (key, after_row),
    )
    found = _up_to(cursor, limit_chars, at_least_one=True)
    cursor.close()
    return found


def utterances_before(
    ledger: Ledger, key: str, *, row: int, max_chars: int, at_least_one: bool = False
) -> list[Utterance]:
    """Return the utterances just before row `row`, oldest first, of at most `max_chars` characters in all.

    With `at_least_one` the last of them is there whatever its length.
    """
    cursor = ledger.execute(
        f"SELECT {_COLUMNS} FROM memory_transcript_entries INDEXED BY entries_speech"
        f" WHERE {_OF_FILE} AND {SPEECH} AND id < ? ORDER BY id DESC",
        (key, row),
    )
    found = _up_to(cursor, max_chars, at_least_one=at_least_one)
    cursor.close()
    return found[::-1]


def row_after(ledger: Ledger, key: str, row: int) -> int | None:
    """Return the row of the first words in the file `key` after row `row`, None when there are none."""
    found = ledger.value(
        "SELECT min(id) FROM memory_transcript_entries INDEXED BY entries_speech"
        f" WHERE {_OF_FILE} AND {SPEECH} AND id > ?",
        (key, row),
    )
    return None if found is None else int(found)


def spoken_size(ledger: Ledger, key: str) -> tuple[int, int]:
    """Return how many characters were said in the file `key`, and the row of the last utterance (0: none)."""
    row = ledger.row(
        "SELECT coalesce(sum(length(content)), 0), coalesce(max(id), 0) FROM memory_transcript_entries"
        f" INDEXED BY entries_speech WHERE {_OF_FILE} AND {SPEECH}",
        (key,),
    )
    return (0, 0) if row is None else (int(row[0]), int(row[1]))


def utterances_of_conversation(ledger: Ledger, conversation_id: int) -> list[Utterance]:
    """Return all that was said in one conversation, oldest first. Raises LedgerError for an unknown id."""
    bounds = ledger.row(
        "SELECT file_id, first_row, last_row FROM memory_conversations WHERE id = ?", (conversation_id,)
    )
    if bounds is None:
        raise LedgerError(
            f"there is no conversation {conversation_id}",
            file=str(ledger.path),
            fix="`reverie conversations` lists them.",
        )
    rows = ledger.rows(
        f"SELECT {_COLUMNS} FROM memory_transcript_entries INDEXED BY entries_speech"
        f" WHERE file_id = ? AND {SPEECH} AND id BETWEEN ? AND ? ORDER BY id",
        tuple(bounds),
    )
    return [_utterance(row) for row in rows]


def memory_writes(ledger: Ledger, key: str, *, after_row: int, through_row: int) -> list[str]:
    """Return the paths the assistant wrote into a memory folder in that span of rows, each once."""
    rows = ledger.rows(
        f"SELECT memory_writes FROM memory_transcript_entries WHERE {_OF_FILE} AND memory_writes <> ''"
        " AND superseded = 0 AND abandoned = 0 AND id > ? AND id <= ? ORDER BY id",
        (key, after_row, through_row),
    )
    return list(dict.fromkeys(path for row in rows for path in json.loads(row["memory_writes"])))


def last_replies(ledger: Ledger, key: str, *, limit: int) -> list[str]:
    """Return the newest `limit` texts the assistant said in source file `key`, newest first."""
    rows = ledger.rows(
        "SELECT content FROM memory_transcript_entries INDEXED BY entries_speech"
        f" WHERE {_OF_FILE} AND speaker = 'assistant' AND speaker IS NOT NULL"
        " AND superseded = 0 AND abandoned = 0 ORDER BY id DESC LIMIT ?",
        (key, limit),
    )
    return [row["content"] for row in rows]


def first_cwd(ledger: Ledger, key: str) -> str | None:
    """Return the directory in which the session in `key` began, None when no entry says."""
    return _first(ledger, key, "cwd")


def find_entry(ledger: Ledger, session_id: str, uuid: str) -> EntryRow | None:
    """Return the entry a memory cites, also when the transcript is gone; None when it was never read."""
    rows = ledger.rows(
        "SELECT e.*, f.path FROM memory_transcript_entries e JOIN memory_file_states f ON f.id = e.file_id"
        " WHERE e.uuid = ? AND e.session_id = ? ORDER BY e.block",
        (uuid, session_id),
    )
    if not rows:
        return None
    spoken = [row for row in rows if row["speaker"]] or rows[:1]
    return replace(_entry(spoken[0]), text="\n".join(row["content"] for row in spoken))


def holds_session(ledger: Ledger, session_id: str) -> bool:
    """Whether anything of a session is held, also what has no words any more."""
    row = ledger.row("SELECT 1 FROM memory_transcript_entries WHERE session_id = ? LIMIT 1", (session_id,))
    return row is not None


def _entry(first: sqlite3.Row) -> EntryRow:
    return EntryRow(
        row=first["id"],
        session_id=first["session_id"],
        uuid=first["uuid"],
        text=first["content"],
        at=second_of(first),
        speaker=first["speaker"],
        channel=first["channel"],
        source_file=first["source_file"],
        path=first["path"],
        cwd=first["cwd"],
        branch=first["branch"],
        superseded=bool(first["superseded"]),
        abandoned=bool(first["abandoned"]),
    )


def said_before(ledger: Ledger, session_id: str, uuid: str, at: str | None, *, limit: int = 2) -> list[str]:
    """Return the last `limit` things a person said in a session before its entry `uuid`, oldest first.

    Where that entry is not here, before `at` (ISO 8601); where nobody knows when, nothing.
    """
    entry = find_entry(ledger, session_id, uuid)
    if entry is None and not at:
        return []
    earlier, bound = (
        ("id < ?", entry.row) if entry is not None else ("substr(timestamp, 1, 19) <= substr(?, 1, 19)", at)
    )
    rows = ledger.rows(
        "SELECT content FROM memory_transcript_entries"
        f" WHERE session_id = ? AND speaker = 'person' AND {SPEECH} AND {earlier} ORDER BY id DESC LIMIT ?",
        (session_id, bound, limit),
    )
    return [row["content"] for row in reversed(rows)]


def was_said(ledger: Ledger, source: Evidence) -> bool:
    """Whether the entry that `source` cites is here, has its quote, and a person said it, if it says so."""
    entry = find_entry(ledger, source.session, source.uuid)
    if entry is None or entry.speaker != source.speaker:
        return False
    from pipeline.text.quotes import quoted_in

    return quoted_in(source.quote, entry.text)


def by_person(ledger: Ledger, *, limit: int) -> list[EntryRow]:
    """Return the latest `limit` entries that a person wrote and that stand, newest first."""
    rows = ledger.rows(
        "SELECT e.*, f.path FROM memory_transcript_entries e JOIN memory_file_states f ON f.id = e.file_id"
        f" WHERE e.speaker = 'person' AND {SPEECH} ORDER BY e.id DESC LIMIT ?",
        (limit,),
    )
    return [_entry(row) for row in rows]


def _first(ledger: Ledger, key: str, column: str) -> str | None:
    """Return the first value in `column` among the file's first entries.

    Only the first ones, along the index of places: older clients write no entrypoint at all, and looking
    through everything said, at each event, would cost more the longer Reverie is in use.
    """
    value = ledger.value(
        f"SELECT {column} FROM (SELECT {column} FROM memory_transcript_entries INDEXED BY entries_place"
        f" WHERE {_OF_FILE} AND superseded = 0 ORDER BY byte_offset LIMIT {FIRST_ENTRIES})"
        f" WHERE {column} <> '' LIMIT 1",
        (key,),
    )
    return str(value) if value else None


def _up_to(rows: Iterable[sqlite3.Row], limit: int | None, *, at_least_one: bool) -> list[Utterance]:
    found: list[Utterance] = []
    chars = 0
    for row in rows:
        chars += len(row["content"])
        if limit is not None and chars > limit and (found or not at_least_one):
            break
        found.append(_utterance(row))
    return found


def _utterance(row: sqlite3.Row) -> Utterance:
    from pipeline.domain.speech import Utterance

    return Utterance(
        row=row["id"],
        session_id=row["session_id"],
        uuid=row["uuid"],
        speaker=row["speaker"],
        channel=row["channel"] or ("typed" if row["speaker"] == "person" else "prose"),
        text=row["content"],
        at=second_of(row),
        cwd=row["cwd"],
        tool_names=tuple(row["tool_names"].split(",")) if row["tool_names"] else (),
        files=files_of(row),
    )


def second_of(row: sqlite3.Row) -> str | None:
    """Return when an entry was written, to the second: what is shown and cited of it is no more exact."""
    stamp = row["timestamp"]
    return to_seconds(stamp) if stamp else None


def files_of(row: sqlite3.Row) -> tuple[str, ...]:
    """Return the files that an entry shows being touched."""
    return tuple(json.loads(row["files"])) if row["files"] else ()

"""Conversations: stretches of one file's speech without a long silence, and their seven states.

    active ─► ready ─► queued ─► processing ─► archived | skipped | review

`rebuild` runs in every ingest and touches only active rows. Once a conversation is past active it keeps its
rows; whatever comes later, also within the gap, opens a new one (checklist D-C6). Conversations never
span files. A gap must be strictly longer than the limit, and only time moving forward makes one. Only silence
before what a person types counts: while a tool runs, or a question waits for its answer, nobody has gone.
Also without a gap, a conversation ends where it would have more than MOST_ENTRIES or MOST_BYTES.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from pipeline.core.clock import at_most_now, iso_exact, parse_time
from pipeline.core.errors import LedgerError
from pipeline.domain.tallies import PROMPTS
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.record import changing, record

if TYPE_CHECKING:
    import sqlite3

Status = Literal["active", "ready", "queued", "processing", "archived", "skipped", "review"]

_BEGINNING = f"({', '.join(repr(channel) for channel in sorted(PROMPTS))})"
_NEXT: dict[str, frozenset[str]] = {
    "active": frozenset({"ready", "skipped"}),
    "ready": frozenset({"queued", "skipped"}),
    "queued": frozenset({"processing", "ready", "skipped"}),
    "processing": frozenset({"archived", "skipped", "review", "queued", "ready"}),
    "review": frozenset({"queued", "archived", "skipped"}),
    "archived": frozenset(),
    "skipped": frozenset({"queued"}),
}
"""Where each state may go. Back from processing is a failure; back from skipped, a person's wish."""


MOST_ENTRIES = 200
MOST_BYTES = 80_000
"""What one conversation holds of utterances, and of their text in UTF-8 (checklist D-C11): a day of work
without a silence would else be read once it is over, and as one."""
LONGEST_TURN_HOURS = 24.0
"""After so long without a new record, what still runs in a session counts as given up."""

_SIZE = "length(CAST(content AS BLOB))"
_REBUILT = (
    "session_id",
    "source_file",
    "first_message_at",
    "last_message_at",
    "entry_count",
    "first_row",
    "last_row",
)


@record
class Conversation:
    """One conversation; `first_row` and `last_row` bound its entries, times are ISO 8601 or None if unknown.

    `entry_count` counts what was said, `status_at` is epoch seconds, `reason` says why it is
    skipped or in review.
    """

    id: int
    session_id: str
    source_file: str
    first_message_at: str | None
    last_message_at: str | None
    entry_count: int
    status: Status
    status_at: float
    reason: str
    first_row: int
    last_row: int


@changing
class _Segment:
    first_row: int
    last_row: int
    session_id: str
    source_file: str
    count: int = 0
    bytes: int = 0
    earliest: datetime | None = None
    latest: datetime | None = None


def list_conversations(
    ledger: Ledger, *, status: str | None = None, key: str | None = None, latest: int | None = None
) -> list[Conversation]:
    """Return conversations in the order they began to be read, all or those of a status or a file.

    Where `latest` is given only so many, the last ones.
    """
    rows = ledger.rows(
        "SELECT * FROM memory_conversations WHERE status = coalesce(?, status)"
        " AND source_file = coalesce(?, source_file) ORDER BY first_row DESC LIMIT ?",
        (status, key, -1 if latest is None else latest),
    )
    return [_conversation(row) for row in reversed(rows)]


def has_earlier(ledger: Ledger, item: Conversation) -> bool:
    """Return whether its file holds a conversation that was found before this one."""
    found = ledger.value(
        "SELECT 1 FROM memory_conversations WHERE source_file = ? AND id < ? LIMIT 1",
        (item.source_file, item.id),
    )
    return found is not None


def conversation(ledger: Ledger, conversation_id: int) -> Conversation | None:
    """Return one conversation, or None."""
    row = ledger.row("SELECT * FROM memory_conversations WHERE id = ?", (conversation_id,))
    return None if row is None else _conversation(row)


def counts(ledger: Ledger) -> dict[str, int]:
    """Return how many conversations stand in each status."""
    rows = ledger.rows(
        "SELECT status, count(*) AS n FROM memory_conversations GROUP BY status ORDER BY status"
    )
    return {row["status"]: row["n"] for row in rows}


def mark_ready(ledger: Ledger, *, now: Moment, gap_minutes: float) -> list[int]:
    """Make every active conversation ready that has been silent for longer than the gap; return their ids.

    One that another follows without such a silence was full, and is ready at once.
    One whose entries carry no usable time, or one that is yet to come, counts as silent since it last grew;
    if a clock that was ahead says when that was, since now. The last one of a file in
    which a tool still runs, or a question is open, waits for LONGEST_TURN_HOURS.
    """
    at = seconds(now)
    ready = []
    with ledger.transaction():
        for row in ledger.rows(
            "SELECT c.*, f.cursor_json, NOT EXISTS (SELECT 1 FROM memory_conversations"
            " WHERE file_id = c.file_id AND first_row > c.first_row) AS is_last,"
            " (SELECT first_message_at FROM memory_conversations WHERE file_id = c.file_id"
            " AND first_row > c.first_row ORDER BY first_row LIMIT 1) AS next_at"
            " FROM memory_conversations c JOIN memory_file_states f ON f.id = c.file_id"
            " WHERE c.status = 'active' ORDER BY c.id"
        ):
            last = parse_time(row["last_message_at"])
            if last is None or last.timestamp() > at:
                grown_at = at_most_now(row["changed_at"], at)
                if grown_at != row["changed_at"]:
                    ledger.execute(
                        "UPDATE memory_conversations SET changed_at = ? WHERE id = ?", (at, row["id"])
                    )
            else:
                grown_at = last.timestamp()
            silence = at - grown_at
            runs = row["is_last"] and silence <= LONGEST_TURN_HOURS * 3600 and _is_at_work(row["cursor_json"])
            if (silence > gap_minutes * 60 and not runs) or _was_full(last, row["next_at"], gap_minutes):
                set_status(ledger, row["id"], "ready", now=now)
                ready.append(row["id"])
    return ready


def _was_full(last: datetime | None, next_at: str | None, gap_minutes: float) -> bool:
    """Whether a conversation ended without a silence, as the next in its file began at `next_at`."""
    following = parse_time(next_at)
    return bool(last and following) and _silence(following, last) <= gap_minutes * 60


def _is_at_work(cursor_json: str) -> bool:
    """Say whether a tool ran, or a question was open, where the reading of a file ended."""
    try:
        cursor = json.loads(cursor_json or "{}")
    except (ValueError, RecursionError):
        return False
    return isinstance(cursor, dict) and cursor.get("working") is True


def set_status(ledger: Ledger, conversation_id: int, status: str, *, reason: str = "", now: Moment) -> None:
    """Move a conversation to `status`; to the one it has already changes nothing.

    Raises LedgerError for an unknown conversation and for a step the states do not allow.
    """
    with ledger.transaction():
        current = ledger.value("SELECT status FROM memory_conversations WHERE id = ?", (conversation_id,))
        if current == status:
            return
        if current is None or status not in _NEXT[current]:
            raise LedgerError(
                f"conversation {conversation_id} can't go from {current or 'nowhere'} to {status}",
                file=str(ledger.path),
                fix="`reverie conversations` shows what state each one is in.",
            )
        ledger.execute(
            "UPDATE memory_conversations SET status = ?, reason = ?, status_at = ? WHERE id = ?",
            (status, reason, seconds(now), conversation_id),
        )


def rebuild(
    ledger: Ledger, file: int, *, gap_minutes: float, now: Moment, grown_after: int | None = None
) -> None:
    """Group the file's speech after its last closed conversation anew, keeping active rows' ids.

    `grown_after` says that since the last time nothing changed but that rows after that one came; then the
    last active conversation is taken up where it ends, and older speech is not read again.
    """
    floor = ledger.value(
        "SELECT coalesce(max(last_row), 0) FROM memory_conversations"
        " WHERE file_id = ? AND status <> 'active'",
        (file,),
    )
    active = ledger.rows(
        "SELECT * FROM memory_conversations WHERE file_id = ? AND status = 'active' ORDER BY first_row",
        (file,),
    )
    begun: list[_Segment] = []
    if grown_after is not None and active and active[-1]["first_row"] > floor:
        floor, active = grown_after, active[-1:]
        begun = [_segment(ledger, file, active[0])]
    segments = _segments(ledger, file, floor, gap_minutes * 60, begun)
    for row in active[len(segments) :]:
        ledger.execute("DELETE FROM memory_conversations WHERE id = ?", (row["id"],))
    for number, segment in enumerate(segments):
        _save(ledger, file, segment, active[number] if number < len(active) else None, seconds(now))


def _segment(ledger: Ledger, file: int, row: sqlite3.Row) -> _Segment:
    """Return an active conversation as the segment it was saved from."""
    held = ledger.value(
        f"SELECT coalesce(sum({_SIZE}), 0) FROM memory_transcript_entries INDEXED BY entries_speech"
        " WHERE file_id = ? AND speaker IS NOT NULL AND superseded = 0 AND abandoned = 0"
        " AND id BETWEEN ? AND ?",
        (file, row["first_row"], row["last_row"]),
    )
    return _Segment(
        row["first_row"],
        row["last_row"],
        row["session_id"],
        row["source_file"],
        row["entry_count"],
        held,
        parse_time(row["first_message_at"]),
        parse_time(row["last_message_at"]),
    )


def _segments(
    ledger: Ledger, file: int, floor: int, gap_seconds: float, begun: Sequence[_Segment]
) -> list[_Segment]:
    segments = list(begun)
    for row, at, session_id, source_file, worked_at, size, begins in ledger.execute(
        f"SELECT id, timestamp, session_id, source_file, worked_at, {_SIZE},"
        f" speaker = 'person' AND coalesce(channel, 'typed') IN {_BEGINNING}"
        " FROM memory_transcript_entries"
        " INDEXED BY entries_speech WHERE file_id = ? AND speaker IS NOT NULL AND superseded = 0"
        " AND abandoned = 0 AND id > ? ORDER BY id",
        (file, floor),
    ):
        moment = parse_time(at)
        last = segments[-1] if segments else None
        silence = _silence(moment, last.latest, parse_time(worked_at)) if last and begins else 0
        if last is None or silence > gap_seconds or _is_full(last, size):
            last = _Segment(row, row, session_id, source_file)
            segments.append(last)
        last.last_row = row
        last.count += 1
        last.bytes += size
        if moment:
            last.earliest = min(last.earliest or moment, moment)
            last.latest = max(last.latest or moment, moment)
    return segments


def _is_full(segment: _Segment, size: int) -> bool:
    """Whether a segment has no room for an utterance of `size` bytes."""
    return segment.count >= MOST_ENTRIES or segment.bytes + size > MOST_BYTES


def _silence(moment: datetime | None, *busy: datetime | None) -> int:
    """Return how many whole seconds before `moment` somebody was last `busy`, 0 where that is not known."""
    known = [past for past in busy if past]
    # Each to its second: a few milliseconds more than the gap are the gap.
    return int(moment.timestamp()) - int(max(known).timestamp()) if known and moment else 0


def _save(ledger: Ledger, file: int, segment: _Segment, row: sqlite3.Row | None, at: float) -> None:
    values = (
        segment.session_id,
        segment.source_file,
        iso_exact(segment.earliest) if segment.earliest else None,
        iso_exact(segment.latest) if segment.latest else None,
        segment.count,
        segment.first_row,
        segment.last_row,
    )
    if row is None:
        ledger.execute(
            f"INSERT INTO memory_conversations ({', '.join(_REBUILT)}, file_id, status_at, changed_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*values, file, at, at),
        )
    elif values != tuple(row[name] for name in _REBUILT):
        assignments = ", ".join(f"{name} = ?" for name in _REBUILT)
        ledger.execute(
            f"UPDATE memory_conversations SET {assignments}, changed_at = ? WHERE id = ?",
            (*values, at, row["id"]),
        )


def _conversation(row: sqlite3.Row) -> Conversation:
    return Conversation(
        id=row["id"],
        session_id=row["session_id"],
        source_file=row["source_file"],
        first_message_at=row["first_message_at"],
        last_message_at=row["last_message_at"],
        entry_count=row["entry_count"],
        status=row["status"],
        status_at=row["status_at"],
        reason=row["reason"],
        first_row=row["first_row"],
        last_row=row["last_row"],
    )

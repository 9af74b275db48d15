"""How long what was said stays in the ledger, and how it leaves.

A row whose dialogue is deleted stays as an empty one: memories point at it (session, day, folder, branch),
and it keeps a copy of it, in a fork or a file that is read again, from being taken for news. What no run has
read yet stays unless a person says otherwise: memories may still come of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipeline.config import DialogueSettings
from pipeline.core.clock import parse_time
from pipeline.hooklib import claude_settings
from pipeline.hooklib.times import DAY
from pipeline.ledger import runs
from pipeline.ledger.connection import Ledger, Moment, seconds

if TYPE_CHECKING:
    import sqlite3

HOST_DAYS = 30
"""Days that Claude Code keeps a transcript where its settings don't say."""
LONGER_DAYS = 30
_CHORE = "dialogue"
_FILE = "(SELECT id FROM memory_file_states WHERE file_path = ?)"
_HELD = "(content <> '' OR note <> '')"
_READ = (
    "(superseded = 1 OR abandoned = 1 OR speaker IS NULL OR"
    f" {runs.done_condition('memory_transcript_entries.source_file', 'memory_transcript_entries.id')})"
)
"""Rows that are done with: a run has read them, the transcript has them no more, or the person rewound."""
_BYTES = "length(CAST(content AS BLOB)) + length(CAST(note AS BLOB))"


@dataclass(frozen=True, slots=True)
class Held:
    """The dialogue of one source file: utterances, bytes, those unread, when it last grew (0: unknown)."""

    key: str
    path: str
    session_id: str
    utterances: int
    size: int
    unread: int
    unread_size: int
    last: float


def keep_days(settings: DialogueSettings) -> int | None:
    """Return for how many days dialogue is kept after a session's last word, None for ever."""
    if settings.keep_days == "forever":
        return None
    if isinstance(settings.keep_days, int):
        return settings.keep_days
    host_setting = claude_settings.setting(claude_settings.user_file(), "cleanupPeriodDays")
    host = (
        host_setting
        if isinstance(host_setting, int) and not isinstance(host_setting, bool) and host_setting >= 0
        else HOST_DAYS
    )
    return host + LONGER_DAYS


def size(ledger: Ledger) -> int:
    """Return how many bytes of dialogue the ledger holds."""
    return int(
        ledger.value(f"SELECT coalesce(sum({_BYTES}), 0) FROM memory_transcript_entries WHERE {_HELD}")
    )


def held(ledger: Ledger, *, before: float | None = None) -> list[Held]:
    """Return what is held of each source file of which anything is, the one that grew last at the end.

    With `before`, an epoch second, only of those that did not grow since.
    """
    keys = [
        (_last(row), row["file_path"])
        for row in ledger.rows("SELECT * FROM memory_file_states")
        if before is None or 0 < _last(row) < before
    ]
    return [item for _, key in sorted(keys) if (item := _held(ledger, key)).size]


def delete(ledger: Ledger, key: str, *, unread: bool = False) -> Held:
    """Delete what was read of the source file `key`, with `unread` all of it; return what went."""
    with ledger.transaction():
        before = _held(ledger, key)
        # So that nothing of it can be read in what the file no longer uses.
        ledger.execute("PRAGMA secure_delete = ON")
        ledger.execute(
            "UPDATE memory_transcript_entries SET content = '', note = '', files = ''"
            f" WHERE file_id = {_FILE} AND {_HELD} AND (? OR {_READ})",
            (key, unread),
        )
        runs.drop_replies(ledger, key, pending=unread)
        after = _held(ledger, key)
        if not after.size and before.session_id:
            # What hooks told of the session holds the last reply.
            ledger.execute("UPDATE events SET payload_json = '{}' WHERE session_id = ?", (before.session_id,))
    return replace(
        before,
        utterances=before.utterances - after.utterances,
        size=before.size - after.size,
        unread=before.unread - after.unread,
        unread_size=before.unread_size - after.unread_size,
    )


def sweep(ledger: Ledger, settings: DialogueSettings, now: Moment) -> int:
    """Once a day, delete what was read and is older than the setting says; return the bytes that went."""
    at, days = seconds(now), keep_days(settings)
    last = ledger.value("SELECT at FROM chores WHERE name = ?", (_CHORE,))
    if days is None or (last is not None and 0 <= at - last < DAY):
        return 0
    gone = sum(delete(ledger, item.key).size for item in held(ledger, before=at - days * DAY))
    ledger.execute("INSERT OR REPLACE INTO chores (name, at) VALUES (?, ?)", (_CHORE, at))
    return gone


def compact(ledger: Ledger) -> None:
    """Give the room of what was deleted back to the system, and empty the log beside the ledger."""
    ledger.execute("VACUUM")
    ledger.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def _held(ledger: Ledger, key: str) -> Held:
    row = ledger.row(
        f"SELECT coalesce(sum(content <> ''), 0) AS n, coalesce(sum({_BYTES}), 0) AS size,"
        f" coalesce(sum(NOT {_READ}), 0) AS unread,"
        f" coalesce(sum(iif({_READ}, 0, {_BYTES})), 0) AS unread_size"
        f" FROM memory_transcript_entries WHERE file_id = {_FILE} AND {_HELD}",
        (key,),
    )
    known = ledger.row("SELECT * FROM memory_file_states WHERE file_path = ?", (key,))
    assert row is not None and known is not None, "a count has a row, and the file is one of the ledger's"
    return Held(
        key,
        known["path"],
        known["session_id"],
        row["n"],
        row["size"],
        row["unread"],
        row["unread_size"],
        _last(known),
    )


def _last(file: sqlite3.Row) -> float:
    spoken = parse_time(file["last_entry_timestamp"])
    return float(file["last_modified"]) / 1000 or (spoken.timestamp() if spoken else 0.0)

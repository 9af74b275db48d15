"""How long what was said stays in the ledger, and how it leaves.

A row whose dialogue is deleted stays as an empty one: memories point at it (session, day, folder, branch),
and it keeps a copy of it, in a fork or a file that is read again, from being taken for news. What no run has
read yet stays unless a person says otherwise: memories may still come of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pipeline.core import zone
from pipeline.core.clock import parse_time
from pipeline.hooklib import claude_settings
from pipeline.hooklib.times import DAY
from pipeline.ledger import runs
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.record import record

if TYPE_CHECKING:
    import sqlite3

    from pipeline.config import DialogueSettings

First = Callable[[Collection[str]], object]
"""Takes out what is kept elsewhere of the dialogue of sessions, by their ids."""
HOST_DAYS = 30
"""Days that Claude Code keeps a transcript where its settings don't say."""
LONGER_DAYS = 30
_CHORE = "dialogue"
_LEAP = "dialogue after a leap"
_LEAST_LEAP = 7 * DAY
_MOST_DAYS = 1_000_000
_HELD = "(content <> '' OR note <> '')"
_BYTES = "length(CAST(content AS BLOB)) + length(CAST(note AS BLOB))"


@record
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


def days_before(now: Moment, days: int) -> float:
    """Return the epoch second `days` before `now`, however many they are."""
    return seconds(now) - min(days, _MOST_DAYS) * DAY


def held(ledger: Ledger) -> list[Held]:
    """Return what is held of each source file of which anything is, the one that grew last at the end."""
    found = [_held(file, rows) for file, rows in _files(ledger) if rows]
    return sorted(found, key=lambda item: (item.last, item.key))


def delete(ledger: Ledger, keys: Collection[str], *, first: First, unread: bool = False) -> list[Held]:
    """Delete what was read of the source files `keys`, with `unread` all of it; return what went of each.

    What was drawn from it and is kept elsewhere goes `first`: where that fails, nothing is deleted.
    """
    asked = (item for item in held(ledger) if item.key in keys)
    sessions = {item.session_id for item in asked if item.size > (0 if unread else item.unread_size)} - {""}
    if sessions:
        first(sessions)
    gone = []
    with ledger.transaction():
        # So that nothing of it can be read in what the file no longer uses.
        ledger.execute("PRAGMA secure_delete = ON")
        for file, rows in _files(ledger):
            going = [row for row in rows if unread or row.is_done]
            if file["file_path"] not in keys or not going:
                continue
            ledger.executemany(
                "UPDATE memory_transcript_entries SET content = '', note = '', files = '' WHERE id = ?",
                [(row.id,) for row in going],
            )
            runs.drop_replies(ledger, file["file_path"], pending=unread)
            if len(going) == len(rows) and file["session_id"]:
                # What hooks told of the session holds the last reply.
                ledger.execute(
                    "UPDATE events SET payload_json = '{}' WHERE session_id = ?", (file["session_id"],)
                )
            gone.append(_held(file, going))
        if gone:
            ledger.note_rewrite()
    return gone


def sweep(ledger: Ledger, settings: DialogueSettings, now: Moment, *, first: First) -> int:
    """Once a day, delete what was read and is older than the setting says; return the bytes that went.

    `first` as with `delete`.

    After more than a week without it nothing is deleted until it is due once more, a day later at least: a
    clock that jumped ahead for an hour makes nothing old.
    """
    at, days = seconds(now), keep_days(settings)
    last = _done(ledger, _CHORE)
    if days is None or (last is not None and 0 <= at - last < DAY):
        return 0
    gone = 0
    leapt = _done(ledger, _LEAP)
    if last is None or at - last < _LEAST_LEAP or (leapt is not None and leapt + DAY <= at):
        before = days_before(now, days)
        # Also of sessions without a transcript: what a hook told may hold the last reply.
        sql = "UPDATE events SET payload_json = '{}' WHERE received_at < ? AND payload_json != '{}'"
        ledger.execute(sql, (before,))
        old = (item for item in held(ledger) if 0 < item.last < before)
        keys = [item.key for item in old if item.size > item.unread_size]
        gone = sum(item.size for item in delete(ledger, keys, first=first)) if keys else 0
        ledger.execute("DELETE FROM chores WHERE name = ?", (_LEAP,))
    else:
        _note(ledger, _LEAP, at)
    _note(ledger, _CHORE, at)
    return gone


def _done(ledger: Ledger, chore: str) -> float | None:
    at = ledger.value("SELECT at FROM chores WHERE name = ?", (chore,))
    return None if at is None else float(at)


def _note(ledger: Ledger, chore: str, at: float) -> None:
    ledger.execute("INSERT OR REPLACE INTO chores (name, at) VALUES (?, ?)", (chore, at))


def is_done_today(ledger: Ledger, chore: str, now: Moment) -> bool:
    """Whether the chore of that name was noted on the local day of `now`."""
    return zone.day(_as_time(_done(ledger, chore))) == zone.day(_as_time(seconds(now)))


def note_done(ledger: Ledger, chore: str, now: Moment) -> None:
    """Note that the chore of that name was done at `now`."""
    _note(ledger, chore, seconds(now))


def _as_time(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC)


def compact(ledger: Ledger) -> None:
    """Give the room of what was deleted back to the system, and empty the log beside the ledger."""
    ledger.execute("VACUUM")
    ledger.rows("PRAGMA wal_checkpoint(TRUNCATE)")


@record
class _Row:
    id: int
    size: int
    is_spoken: bool
    is_done: bool


def _files(ledger: Ledger) -> Iterator[tuple[sqlite3.Row, list[_Row]]]:
    """Yield each source file with its rows that hold anything, all of them looked at in one go.

    Rows that no run would read are done with as well: the transcript has them no more, or the person rewound
    past them.
    """
    done = {key: _Stretches(found) for key, found in runs.stretches_done(ledger).items()}
    files = {row["id"]: row for row in ledger.rows("SELECT * FROM memory_file_states")}
    rows: dict[int, list[_Row]] = {number: [] for number in files}
    none = _Stretches([])
    for number, file, size, spoken, left_out in ledger.execute(
        f"SELECT id, file_id, {_BYTES}, content <> '', superseded OR abandoned OR speaker IS NULL"
        f" FROM memory_transcript_entries WHERE {_HELD}"
    ):
        was_read = number in done.get(files[file]["file_path"], none)
        rows[file].append(_Row(number, size, bool(spoken), bool(left_out) or was_read))
    for file, found in rows.items():
        yield files[file], found


class _Stretches:
    """Stretches of rows, from the first to the last of each, to tell whether a row is in one."""

    def __init__(self, stretches: Iterable[tuple[int, int]]) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in sorted(stretches):
            if self._firsts and first <= self._lasts[-1]:
                self._lasts[-1] = max(last, self._lasts[-1])
            else:
                self._firsts.append(first)
                self._lasts.append(last)

    def __contains__(self, row: int) -> bool:
        position = bisect_right(self._firsts, row)
        return position > 0 and row <= self._lasts[position - 1]


def _held(file: sqlite3.Row, rows: Sequence[_Row]) -> Held:
    unread = [row for row in rows if not row.is_done]
    return Held(
        file["file_path"],
        file["path"],
        file["session_id"],
        sum(row.is_spoken for row in rows),
        sum(row.size for row in rows),
        sum(row.is_spoken for row in unread),
        sum(row.size for row in unread),
        _last(file),
    )


def _last(file: sqlite3.Row) -> float:
    spoken = parse_time(file["last_entry_timestamp"])
    return float(file["last_modified"]) / 1000 or (spoken.timestamp() if spoken else 0.0)

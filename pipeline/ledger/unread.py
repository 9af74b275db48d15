"""What is in the ledger, or was seen, and is not read for memories: how much, and why."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path

from pipeline.core.clock import iso, parse_time
from pipeline.ledger import runs
from pipeline.ledger.connection import Ledger
from pipeline.ledger.utterances import FIRST_ENTRIES

PRINTED = "sessions of `claude -p` or an SDK program into which no person types"
NO_RECORD = "lines that hold no record"
UNUSABLE = "stretches to which no reply was usable"
GONE = "transcripts that were gone before they could be read"
_MOST_RUNS = 2_000
MOST_SESSIONS = 100
"""Sessions of which hooks are told how far they were read."""
_ENTRYPOINT = f"""
(SELECT entrypoint FROM (SELECT entrypoint FROM memory_transcript_entries INDEXED BY entries_place
   WHERE file_id = f.id AND superseded = 0 ORDER BY byte_offset LIMIT {FIRST_ENTRIES})
 WHERE entrypoint <> '' LIMIT 1)
"""
_TYPED = (
    "EXISTS (SELECT 1 FROM memory_transcript_entries INDEXED BY entries_origin"
    " WHERE file_id = f.id AND origin = 'human')"
)
_PRINTED = f"FROM memory_file_states f WHERE {_ENTRYPOINT} LIKE 'sdk%' AND NOT {_TYPED}"

_READ = (
    "SELECT key, from_row, through_row FROM runs WHERE strategy = 'turn'"
    " AND outcome IN ('applied', 'proposed', 'known', 'nothing', 'failed:unextractable')"
)


def is_printed(ledger: Ledger, key: str) -> bool:
    """Say whether the session in the file `key` is a program's: an SDK started it, and no person types."""
    return bool(ledger.value(f"SELECT 1 {_PRINTED} AND f.file_path = ?", (key,)))


def reasons(ledger: Ledger, *, print_sessions: bool) -> dict[str, int]:
    """Return how many things are not read, by why; `print_sessions` says that programs' sessions are.

    Conversations and turns that were passed over are told with the reason they were given; not those that
    were too short to be read as a whole and were read turn by turn.
    """
    found: Counter[str] = Counter()
    if not print_sessions:
        found[PRINTED] = int(ledger.value(f"SELECT count(*) {_PRINTED}"))
    found[NO_RECORD] = int(ledger.value("SELECT count(*) FROM bad_lines"))
    found[GONE] = int(
        ledger.value(
            "SELECT count(*) FROM memory_file_states WHERE gone_at IS NOT NULL AND last_processed_offset = 0"
        )
    )
    found[UNUSABLE] = len(runs.given_up(ledger))
    for reason in passed_over(ledger):
        found[f"conversations: {reason or 'passed over'}"] += 1
    for row in ledger.rows(
        "SELECT summary_json FROM runs WHERE outcome = 'skipped' AND strategy = 'turn'"
        " ORDER BY started_at DESC LIMIT ?",
        (_MOST_RUNS,),
    ):
        found[f"turns: {_reason(row['summary_json'])}"] += 1
    return {reason: number for reason, number in found.items() if number}


def read_through(ledger: Ledger, since: float) -> dict[str, float]:
    """Return for each session in which a person spoke after `since` when they said what was read last.

    Both are epoch seconds. Of the newest sessions `MOST_SESSIONS`, by the name of their transcripts.
    """
    found = []
    for key, stamp in ledger.rows(
        "SELECT w.key, (SELECT e.timestamp FROM memory_transcript_entries e INDEXED BY entries_speech"
        " WHERE e.file_id = f.id AND e.id <= w.row AND e.speaker = 'person' AND e.superseded = 0"
        " AND e.abandoned = 0 ORDER BY e.id DESC LIMIT 1)"
        " FROM (SELECT key, max(row) AS row FROM watermarks WHERE strategy = 'turn' GROUP BY key) w"
        " JOIN memory_file_states f ON f.file_path = w.key WHERE f.last_entry_timestamp >= ?",
        (iso(datetime.fromtimestamp(since, UTC)),),
    ):
        moment = parse_time(stamp or "")
        if moment is not None:
            found.append((moment.timestamp(), Path(key).stem))
    return {session: at for at, session in sorted(found)[-MOST_SESSIONS:]}


def to_come(ledger: Ledger, *, print_sessions: bool) -> tuple[int, int]:
    """Return how many turns no run has read yet, of conversations that go on or are being read, and in how
    many sessions these are. What is new waits for a job; the old part of a long history, for its silence.
    """
    done = runs.stretches_done(ledger)
    found: Counter[str] = Counter()
    for key, row in ledger.rows(
        "SELECT c.source_file, e.id FROM memory_conversations c"
        " JOIN memory_transcript_entries e INDEXED BY entries_speech"
        " ON e.file_id = c.file_id AND e.id BETWEEN c.first_row AND c.last_row"
        " WHERE c.status IN ('active', 'queued', 'processing')"
        " AND e.speaker = 'person' AND e.superseded = 0 AND e.abandoned = 0"
    ):
        if not any(first <= row <= last for first, last in done.get(key, ())):
            found[key] += 1
    read = [number for key, number in found.items() if print_sessions or not is_printed(ledger, key)]
    return sum(read), len(read)


def passed_over(ledger: Ledger) -> list[str]:
    """Return of each conversation that was passed over, and of which no turn was read either, why."""
    skipped = ledger.rows(
        "SELECT source_file, first_row, last_row, reason FROM memory_conversations WHERE status = 'skipped'"
    )
    read: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for key, begin, end in ledger.rows(_READ) if skipped else ():
        read[key].append((begin, end))
    return [
        reason
        for key, first, last, reason in skipped
        if not any(begin <= last and first <= end for begin, end in read[key])
    ]


def _reason(summary_json: str | None) -> str:
    try:
        summary = json.loads(summary_json or "{}")
    except (ValueError, RecursionError):
        summary = {}
    reason = summary.get("reason") if isinstance(summary, dict) else None
    return reason if isinstance(reason, str) and reason else "passed over"

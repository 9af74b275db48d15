"""From when to when each session went, and in which lines of the assistant's a word stands: read only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.core.clock import parse_time
from pipeline.ledger.connection import Ledger
from pipeline.ledger.utterances import SPEECH
from pipeline.record import record


@record
class SessionTime:
    """When a session began and ended, in epoch seconds, and whether the client said that it is over."""

    id: str
    start: float
    end: float
    ended: bool


@record
class Spoken:
    """One block of the assistant's words: whose session, when (None if unknown), and the text."""

    session_id: str
    at: str | None
    text: str


def session_times(ledger: Ledger) -> list[SessionTime]:
    """Return every session of which a time is known, in the order in which they began.

    A session begins with the client's word or with its first line, whichever is earlier, and ends with its
    last line, or with the client's word where nothing came after it.
    """
    begun: dict[str, float] = {}
    last: dict[str, float] = {}
    for session, first, latest, worked in ledger.execute(
        "SELECT session_id, min(timestamp), max(timestamp), max(worked_at) FROM memory_transcript_entries"
        " WHERE session_id <> '' AND timestamp IS NOT NULL GROUP BY session_id"
    ):
        times = [moment.timestamp() for text in (first, latest, worked) if (moment := parse_time(text))]
        if times:
            begun[session], last[session] = min(times), max(times)
    for session, text in ledger.execute(
        "SELECT session_id, max(last_entry_timestamp) FROM memory_file_states"
        " WHERE session_id <> '' AND last_entry_timestamp IS NOT NULL GROUP BY session_id"
    ):
        moment = parse_time(text)
        if moment and session in last:
            last[session] = max(last[session], moment.timestamp())
    ended: dict[str, float] = {}
    for session, started, over in ledger.execute(
        "SELECT session_id, min(CASE WHEN hook = 'SessionStart' THEN received_at END),"
        " max(CASE WHEN hook = 'SessionEnd' THEN received_at END) FROM events GROUP BY session_id"
    ):
        if session in begun and started is not None:
            begun[session] = min(begun[session], started)
        if over is not None:
            ended[session] = over
    found = [
        SessionTime(
            session, start, max(last[session], over := ended.get(session, 0.0)), over >= last[session]
        )
        for session, start in begun.items()
    ]
    return sorted(found, key=lambda item: (item.start, item.id))


def spoken_with(ledger: Ledger, words: Sequence[str]) -> Iterator[Spoken]:
    """Yield what the assistant said in which one of `words` stands, as it is spelt, in the order taken in."""
    has_one = " OR ".join("instr(content, ?)" for _ in words)
    for session, at, text in ledger.execute(
        "SELECT session_id, timestamp, content FROM memory_transcript_entries"
        f" WHERE speaker = 'assistant' AND {SPEECH} AND ({has_one}) ORDER BY id",
        tuple(words),
    ):
        yield Spoken(session, at, text)

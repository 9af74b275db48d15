"""The journal of sessions: how long each one went, from what the ledger knows.

A session begins at its start, not at its first sub-agent, and has a line once it is over. One that goes on
later gets another line; the last line of an id counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pipeline.formats.keisei import journals
from pipeline.formats.keisei.journals import Fault, Line, stamp, whole
from pipeline.ledger.session_times import SessionTime
from pipeline.record import record


@record
class Session:
    """How long a session went; epoch seconds, and the end as text."""

    id: str
    start_epoch: int
    end_epoch: int
    duration_s: int
    ts: str


def session_line(session_id: str, start: int, end: int) -> Line:
    """Return the record of a session."""
    times = {"start_epoch": start, "end_epoch": end, "duration_s": max(0, end - start)}
    return {"kind": "session", "id": session_id} | times | {"ts": stamp(end)}


def over(known: Sequence[SessionTime], *, now: float, silent_seconds: float) -> list[Line]:
    """Return a line for each session that has ended, or has been silent for so long, by when it began."""
    return [
        session_line(item.id, int(item.start), int(item.end))
        for item in known
        if item.ended or now - item.end > silent_seconds
    ]


def new_lines(lines: Sequence[Line], journal: Sequence[Line]) -> list[Line]:
    """Return those of `lines` that say more than the last one of their id in the journal.

    What another writer knows of a session is kept: a line never makes it shorter.
    """
    last = journals.last_of_each(journal, lambda line: line.get("id"))
    found = []
    for line in lines:
        earlier = last.get(line["id"], {})
        begun, ended = whole(earlier.get("start_epoch")), whole(earlier.get("end_epoch"))
        start = line["start_epoch"] if begun is None else min(begun, line["start_epoch"])
        end = line["end_epoch"] if ended is None else max(ended, line["end_epoch"])
        if (start, end) != (begun, ended):
            found.append(session_line(line["id"], start, end))
    return found


def sessions(file: Path, faults: list[Fault]) -> list[Session]:
    """Return the sessions of a journal, each once, by when they began; lines without times are left out."""
    last = journals.last_of_each(
        journals.read(file, faults, kinds=("session",)), lambda line: str(line.get("id") or "")
    )
    found = []
    for session_id, line in last.items():
        start, end = whole(line.get("start_epoch")), whole(line.get("end_epoch"))
        if start is not None and end is not None:
            took = whole(line.get("duration_s"))
            seconds = end - start if took is None else took
            found.append(Session(str(session_id), start, end, seconds, str(line.get("ts") or stamp(end))))
    return sorted(found, key=lambda item: (item.start_epoch, item.id))

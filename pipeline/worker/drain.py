"""From the spool to the ledger: every event's transcript ingested, one job queued, then the file retired.

An event leaves the spool only when the ledger has its rows and its job, so a crash at any point repeats
harmlessly.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from pipeline import faults, paths
from pipeline.capture import spool
from pipeline.capture.spool import SpoolFile
from pipeline.clock import Clock
from pipeline.config import Settings
from pipeline.errors import InputError
from pipeline.ingestion import file_key, ingest_file
from pipeline.ledger import Ledger, events, jobs, lookups
from pipeline.redact import redact
from pipeline.transcript import find

LOG = logging.getLogger("reverie.worker")
_Taken = list[tuple[SpoolFile, spool.Event]]


@dataclass(slots=True)
class Drained:
    """Counts of one drain: events taken, files quarantined."""

    events: int = 0
    quarantined: int = 0


def drain(home: Path, ledger: Ledger, settings: Settings, clock: Clock) -> Drained:
    """Take every event in the spool and return how many there were.

    Events of sub-agents are dropped, as are all in mode ``off``; the transcripts stay where they are and
    are read from the cursor once the mode allows it. What can't be read is quarantined, never deleted.
    """
    done = Drained()
    by_path: dict[Path, _Taken] = defaultdict(list)
    for file in spool.pending(home):
        event = spool.parse(file)
        if event is None:
            done.quarantined += 1
            continue
        done.events += 1
        path = _path_of(event, settings)
        if path is None:
            events.record_events(ledger, [_row(event)])
            spool.retire(file)
        else:
            by_path[path].append((file, event))
    for path, taken in sorted(by_path.items()):
        try:
            _take(path, taken, ledger, settings, clock)
        except InputError as error:
            LOG.warning("%s", error)
            for file, _ in taken:
                spool.quarantine(file, str(error))
            done.quarantined += len(taken)
    return done


def print_session(ledger: Ledger, key: str, settings: Settings) -> bool:
    """Whether `key` is a ``claude -p`` or SDK session that extraction leaves alone (DESIGN §9)."""
    entrypoint = lookups.entrypoint(ledger, key) or ""
    return entrypoint.startswith("sdk") and not settings.extraction.include_print_sessions


def _path_of(event: spool.Event, settings: Settings) -> Path | None:
    if event.agent_id or settings.store.mode == "off":
        return None
    path = find(event.session_id, event.transcript_path, paths.projects_dir())
    if path is None:
        LOG.info("event %s names no transcript that exists", event.id)
    return path


def _take(path: Path, taken: _Taken, ledger: Ledger, settings: Settings, clock: Clock) -> None:
    key = file_key(path, (paths.projects_dir(),))
    last = taken[-1][1]
    faults.reach("drain.before_ledger")
    _read_whole(path, key, last.last_assistant_message, ledger, settings, clock)
    now = clock.now().timestamp()
    waits = all(event.hook == "Stop" for _, event in taken)
    due = _next_turn(ledger, key, settings, now) if waits else now
    with ledger.transaction():
        events.record_events(ledger, [_row(event) for _, event in taken])
        if not print_session(ledger, key, settings):
            jobs.enqueue(ledger, "extract_turn", key, now=now, run_after=due)
    faults.reach("drain.after_ledger")
    for file, _ in taken:
        spool.retire(file)


def _read_whole(
    path: Path, key: str, announced: str, ledger: Ledger, settings: Settings, clock: Clock
) -> None:
    """Ingest `path`, waiting a little while it lacks the reply that Stop announced.

    The host writes the transcript behind the hook's back. What comes later still is read with the next
    event, so the wait only makes memories come sooner.
    """
    deadline = time.monotonic() + settings.worker.flush_wait_seconds
    wanted = " ".join(redact(announced).text.split())[:200]
    while True:
        ingest_file(ledger, path, key=key, settings=settings, clock=clock)
        heard = any(wanted in " ".join(text.split()) for text in lookups.last_replies(ledger, key, limit=5))
        if not wanted or heard or time.monotonic() >= deadline:
            return
        time.sleep(0.1)


def _next_turn(ledger: Ledger, key: str, settings: Settings, now: float) -> float:
    last = lookups.last_finished(ledger, key, "turn")
    return now if last is None else max(now, last + settings.extraction.turn_interval_seconds)


def _row(event: spool.Event) -> events.Event:
    return events.Event(
        id=event.id,
        hook=event.hook,
        session_id=event.session_id,
        transcript_path=event.transcript_path or "",
        cwd=event.cwd or "",
        payload_json=event.payload_json,
        received_at=event.received_at,
    )

"""From the spool to the ledger: every event's transcript ingested, one job queued, then the file retired.

An event leaves the spool only when the ledger has its rows and its job, so a crash at any point repeats
harmlessly. What goes wrong with one transcript or one spool file leaves its events for a later try and
stops no other; only what concerns the ledger, and so all of them, ends the drain.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import faults, paths
from pipeline.core.clock import Clock, at_most_now
from pipeline.core.errors import (
    ODD_DATA,
    InputError,
    LedgerError,
    ReverieError,
    SpoolError,
    UnreadableError,
    cause,
)
from pipeline.hooklib import projects
from pipeline.hooklib.events import SESSION_END, SESSION_START
from pipeline.intake import spool
from pipeline.intake.ingest import file_key, ingest_file, note_gone
from pipeline.intake.left_alone import why_left_alone
from pipeline.intake.spool import SpoolFile
from pipeline.ledger import Ledger, events, jobs, runs, secrets, unread, utterances
from pipeline.record import changing, field
from pipeline.safety.redaction import redact
from pipeline.transcript import find

if TYPE_CHECKING:
    from pipeline.config import Settings

LOG = logging.getLogger("reverie.intake")
_NO_HURRY = ("Stop", SESSION_START)
"""Events after which the session goes on, so that what was said can wait for its turn."""
LEFT_SECONDS = 7 * 86_400.0
"""How long an event that can't be taken is tried again."""
_FiledEvents = list[tuple[SpoolFile, spool.Event]]


@changing
class Drained:
    """What one drain did: events taken, files quarantined, and the ids of events left for a later try.

    `keys` are the source files that were read, `started` the events that told of a session's start, and
    `ended` counts those of an end.
    """

    events: int = 0
    quarantined: int = 0
    left: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    started: list[spool.Event] = field(default_factory=list)
    ended: int = 0


def drain(
    home: Path, ledger: Ledger, settings: Settings, clock: Clock, *, leave_out: Collection[str] = ()
) -> Drained:
    """Take every event in the spool but those in `leave_out` (ids), and return how many there were.

    Events of sub-agents are dropped, as are all in mode ``off`` and those of projects that are left alone;
    the transcripts stay where they are and are read from the cursor once that changes. What is no event or
    no transcript is quarantined, never deleted; what can't be read now is left, with the reason kept for
    `spool.left`.
    """
    drained = Drained()
    by_path: dict[Path, _FiledEvents] = defaultdict(list)
    for file in spool.pending(home):
        if file.id in leave_out:
            continue
        try:
            event = spool.parse(file)
            path = _path_of(event, settings) if event else None
        except (SpoolError, UnreadableError) as error:
            _leave([file], str(error), drained, clock.now().timestamp())
            continue
        if event is None:
            drained.quarantined += 1
            continue
        drained.events += 1
        drained.started += [event] if event.hook == SESSION_START else []
        drained.ended += event.hook == SESSION_END
        if path is None and event.cwd and _is_left_alone(event.cwd, settings):
            spool.retire(file)
        elif path is None:
            _note_gone(event, ledger, clock)
            # No dialogue is kept of it, so neither is the last reply in it: nothing would remove that.
            events.record_events(ledger, [_row(event, lambda payload: "{}")])
            spool.retire(file)
        else:
            by_path[path].append((file, event))
    for path, filed_events in sorted(by_path.items()):
        _settle(path, filed_events, drained, ledger, settings, clock)
    return drained


def _is_left_alone(cwd: str, settings: Settings) -> bool:
    return bool(projects.why_ignored(cwd, settings.projects.only, settings.projects.ignore))


def _settle(
    path: Path, filed_events: _FiledEvents, drained: Drained, ledger: Ledger, settings: Settings, clock: Clock
) -> None:
    """Take the events of one transcript. What is wrong with it, expected or not, leaves them for later."""
    files = [file for file, _ in filed_events]
    session = {"session": filed_events[0][1].session_id}
    try:
        why = why_left_alone(ledger, file_key(path, (paths.projects_dir(),)), settings, path=path)
        if why:
            # Not even the event is kept: it holds the last reply.
            LOG.info("left alone: %s", why, extra=session)
            for file in files:
                spool.retire(file)
            return
        drained.keys.add(_ingest_events(path, filed_events, ledger, settings, clock))
    except LedgerError:
        raise
    except UnreadableError as error:
        _leave(files, str(error), drained, clock.now().timestamp())
    except InputError as error:
        LOG.warning("%s", error, extra=session)
        for file in files:
            spool.quarantine(file, str(error))
        drained.quarantined += len(files)
    except (ReverieError, OSError, *ODD_DATA) as error:
        if not isinstance(error, ReverieError):
            LOG.exception("the events of %s are left", path, extra=session)
        _leave(files, cause(error), drained, clock.now().timestamp())


def _leave(files: Sequence[SpoolFile], reason: str, drained: Drained, now: float) -> None:
    """Leave the events in `files` for a later try; what was tried for `LEFT_SECONDS` goes to the quarantine.

    Nothing that was said is lost by that: a transcript is read from where it was read before, by whichever
    event of it comes.
    """
    LOG.warning("%s: left for later: %s", files[0].id, reason)
    for file in files:
        if now - file.received_at > LEFT_SECONDS and _set_aside(file, reason):
            drained.quarantined += 1
            continue
        drained.left.add(file.id)
        try:
            spool.leave(file, reason)
        except SpoolError as error:
            LOG.warning("the reason can't be kept: %s", error)


def _set_aside(file: SpoolFile, reason: str) -> bool:
    try:
        spool.quarantine(file, f"given up after {LEFT_SECONDS / 86_400:.0f} days: {reason}")
    except SpoolError as error:
        LOG.warning("%s can't be moved: %s", file.id, error)
        return False
    return True


def is_print_session(ledger: Ledger, key: str, settings: Settings) -> bool:
    """Whether `key` is a ``claude -p`` or SDK session that extraction leaves alone (DESIGN §9).

    A program of the SDK into which a person types is read like any other session.
    """
    return not settings.extraction.include_print_sessions and unread.is_printed(ledger, key)


def _path_of(event: spool.Event, settings: Settings) -> Path | None:
    if event.agent_id or settings.store.mode == "off":
        return None
    path = find(event.session_id, event.transcript_path, paths.projects_dir())
    if path is None:
        LOG.info("event %s names no transcript that exists", event.id, extra={"session": event.session_id})
    return path


def _note_gone(event: spool.Event, ledger: Ledger, clock: Clock) -> None:
    """Mark the transcript that `event` names as gone, where it was read before."""
    if event.transcript_path and not event.agent_id:
        path = Path(event.transcript_path)
        try:
            note_gone(ledger, path, file_key(path, (paths.projects_dir(),)), clock)
        except (InputError, OSError) as error:
            LOG.warning("%s can't be seen: %s", path, error, extra={"session": event.session_id})


def _ingest_events(
    path: Path, filed_events: _FiledEvents, ledger: Ledger, settings: Settings, clock: Clock
) -> str:
    key = file_key(path, (paths.projects_dir(),))
    last = filed_events[-1][1]
    faults.reach("drain.before_ledger")
    _read_whole(path, key, last.last_assistant_message, ledger, settings, clock)
    now = clock.now().timestamp()
    waits = all(event.hook in _NO_HURRY for _, event in filed_events)
    due = _next_turn(ledger, key, settings, now) if waits else now
    with ledger.transaction():
        events.record_events(ledger, [_row(event, secrets.masking(ledger)) for _, event in filed_events])
        if not is_print_session(ledger, key, settings):
            jobs.enqueue(ledger, "extract_turn", key, now=now, run_after=due)
    faults.reach("drain.after_ledger")
    for file, _ in filed_events:
        spool.retire(file)
    return key


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
        has_reply = any(
            wanted in " ".join(text.split()) for text in utterances.last_replies(ledger, key, limit=5)
        )
        if not wanted or has_reply or time.monotonic() >= deadline:
            return
        time.sleep(0.1)


def _next_turn(ledger: Ledger, key: str, settings: Settings, now: float) -> float:
    last = runs.last_finished(ledger, key, "turn")
    if last is None:
        return now
    return max(now, at_most_now(last, now) + settings.extraction.turn_interval_seconds)


def _row(event: spool.Event, mask: Callable[[str], str]) -> events.Event:
    return events.Event(
        id=event.id,
        hook=event.hook,
        session_id=event.session_id,
        transcript_path=event.transcript_path or "",
        cwd=event.cwd or "",
        payload_json=mask(event.payload_json),
        received_at=event.received_at,
    )

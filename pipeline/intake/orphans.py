"""Sessions whose end no hook told of (a killed terminal), read when the next session starts (bug case 36).

Looked at are the transcripts the ledger knows, those of sessions that told of their start lately, in
whichever project, and those that lie beside a session that starts and were written after Reverie's first
event: what is older is history, which nobody asked to be read.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import paths
from pipeline.core.clock import Clock
from pipeline.core.errors import InputError, UnreadableError
from pipeline.hooklib.events import SESSION_START
from pipeline.intake import spool
from pipeline.intake.drain import is_print_session
from pipeline.intake.ingest import KnownFiles, file_key, ingest_file, note_gone
from pipeline.ledger import Ledger, events, files, jobs
from pipeline.transcript import scan

if TYPE_CHECKING:
    from pipeline.config import Settings

LOG = logging.getLogger("reverie.intake")
MOST = 50
"""Orphans read at one session's start; the next start takes more."""
ANNOUNCED_SECONDS = 30 * 86_400.0
"""How long a session that told of its start may go unread; transcripts vanish after about that time."""


def ingest_orphans(
    ledger: Ledger, settings: Settings, clock: Clock, started: Iterable[spool.Event]
) -> list[str]:
    """Take in what grew without an event, queue it to be extracted, and return the keys of those files.

    `started` are the events of sessions that began; their own files are left to their own events. One that
    can't be read is logged and tried again at the next start.
    """
    begun = list(started)
    own = {event.session_id for event in begun}
    now = clock.now().timestamp()
    found: list[str] = []
    for path in _grown(ledger, begun, clock):
        if path.stem in own:
            continue
        if len(found) == MOST:
            break
        key = file_key(path, (paths.projects_dir(),))
        try:
            done = ingest_file(ledger, path, key=key, settings=settings, clock=clock)
        except (InputError, UnreadableError, OSError) as error:
            message = "%s grew without an event and can't be read: %s"
            LOG.warning(message, path, error, extra={"session": path.stem})
            continue
        if done.new_rows and not is_print_session(ledger, key, settings):
            jobs.enqueue(ledger, "extract_turn", key, now=now, run_after=now)
            found.append(key)
    if found:
        LOG.info("read %d transcripts that grew without an event", len(found))
    return found


def _note_gone(ledger: Ledger, path: Path, clock: Clock) -> None:
    """Mark a file that was read before as gone, if that can be told."""
    try:
        note_gone(ledger, path, file_key(path, (paths.projects_dir(),)), clock)
    except (InputError, UnreadableError, OSError) as error:
        LOG.warning("%s can't be seen: %s", path, error)


def _grown(ledger: Ledger, begun: Iterable[spool.Event], clock: Clock) -> Iterator[Path]:
    now = clock.now().timestamp()
    known = KnownFiles(ledger)
    seen = set(files.paths(ledger))
    for path_text in sorted(seen):
        path = Path(path_text)
        if known.unchanged(path) is not None:
            continue
        if path.is_file():
            yield path
        else:
            _note_gone(ledger, path, clock)
    first = events.first_received(ledger)
    if first is None:
        return
    folders = {Path(event.transcript_path).parent for event in begun if event.transcript_path}
    unseen = {path for path in _beside(folders) if _written(path) >= first}
    unseen |= set(_announced(ledger, now))
    yield from (path for path in sorted(unseen) if str(path) not in seen)


def _announced(ledger: Ledger, now: float) -> Iterator[Path]:
    """Yield the transcripts of sessions whose start was told when there was nothing to read yet."""
    for session, path_text in events.announced(ledger, SESSION_START, since=now - ANNOUNCED_SECONDS):
        path = Path(path_text)
        if path.stem == session and path.is_absolute() and _written(path) and path.is_file():
            yield path


def _beside(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the session files in `folders` of the projects' directory."""
    projects = paths.projects_dir()
    names = {folder.name for folder in folders if folder.parent == projects}
    for path in scan(projects) if names else ():
        if isinstance(path, Path) and path.parent.name in names:
            yield path


def _written(path: Path) -> float:
    try:
        return os.stat(path).st_mtime  # noqa: PTH116
    except (OSError, ValueError):
        return 0.0

"""The commands of a project's latest sessions, read from their transcripts: what a dream asks about last."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

from pipeline.consolidation.run import Question
from pipeline.context import PhaseContext
from pipeline.core.errors import ReverieError, cause
from pipeline.formats.keisei.events import Event, events
from pipeline.intake.left_alone import why_left_alone
from pipeline.ledger import files
from pipeline.safety.redaction import redact
from pipeline.store import Snapshot
from pipeline.worker.procedures import asking
from pipeline.worker.procedures.sequences import Command, repeated

LOG = logging.getLogger("reverie.dream")
MOST_SESSIONS = 40
MOST_BYTES = 60_000_000
"""What one dream reads at most, the latest transcripts of the store's project."""
_SHELL = "Bash"


def question() -> Question:
    """Return what a dream asks once its own work is done."""
    return Question(asking.PURPOSE, propose)


def propose(phase: PhaseContext, snapshot: Snapshot) -> int:
    """Put procedures in the inbox for command sequences that sessions share; return how many."""
    if phase.client is None or not phase.settings.dream.procedures:
        return 0
    return asking.propose(phase, snapshot, repeated(_sessions(phase)))


def _sessions(phase: PhaseContext) -> Iterator[list[Command]]:
    """Yield the commands of each of the latest sessions. What can't be read is logged and left out."""
    room = MOST_BYTES
    for key, path, size in files.latest_of(phase.ledger, phase.store_key, limit=MOST_SESSIONS):
        room -= size
        if room < 0:
            return
        if why_left_alone(phase.ledger, key, phase.settings):
            continue
        try:
            yield commands_of(Path(path))
        except (ReverieError, OSError) as error:
            LOG.warning("the commands in %s can't be read: %s", path, cause(error))


def commands_of(transcript: Path) -> list[Command]:
    """Return the shell commands in `transcript` that gave a result, in order; those of subagents left out.

    Secrets are taken out of them, and of what the person asked for.
    """
    found: list[Command] = []
    begun: dict[str, tuple[Event, str]] = {}
    asked = ""
    for event in events(transcript):
        if event.sidechain:
            continue
        asked = redact(event.typed).text if event.typed else asked
        command = event.given.get("command")
        if event.role == "tool_use" and event.tool == _SHELL and isinstance(command, str):
            begun[event.tool_use_id] = event, asked
        elif event.role == "tool_result" and event.tool_use_id in begun:
            use, wish = begun.pop(event.tool_use_id)
            fine = not event.is_error and not _was_stopped(event)
            text = redact(use.given["command"]).text
            found.append(Command(use.session, use.uuid, text, fine, use.at or "", wish))
    return found


def _was_stopped(event: Event) -> bool:
    return isinstance(event.details, dict) and event.details.get("interrupted") is True

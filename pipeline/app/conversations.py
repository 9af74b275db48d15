"""The conversations that the ledger knows, what is still to be read, and the transcripts of them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from pipeline.app import status as states
from pipeline.app.application import App
from pipeline.app.to_be_read import to_be_read
from pipeline.core import paths
from pipeline.core.errors import InputError, UsageError
from pipeline.ledger import conversation_states, conversations


def listed(app: App, status: str | None, *, latest: int | None = None) -> tuple[list[dict[str, Any]], int]:
    """Return the conversations, all or those in `status`, and how many there are.

    Of `latest` given only so many are read, those that began last.
    """
    known = get_args(conversations.Status)
    if status is not None and status not in known:
        raise UsageError(f"there is no status {status!r}", fix=f"Statuses: {', '.join(known)}.")
    with app.ledger(to_look=True) as ledger:
        if not ledger.note:
            gap = app.settings.extraction.conversation_gap_minutes
            now = app.clock.now()
            conversations.mark_ready(ledger, now=now, gap_minutes=gap)
            conversation_states.end_reviews(ledger, now=now)
        found = conversations.list_conversations(ledger, status=status, latest=latest)
        counts = conversations.counts(ledger)
        number = sum(counts.values()) if status is None else counts.get(status, 0)
        return [asdict(item) for item in found], number


def to_come(app: App) -> dict[str, int]:
    """Return how much is read without a `process`: see `pipeline.app.status.to_come`."""
    with app.ledger(to_look=True) as ledger:
        return states.to_come(ledger, app.home, app.settings)


def ready_elsewhere(app: App) -> int:
    """Return how many conversations `process` would read in all projects, though none of those here."""
    with app.ledger(to_look=True) as ledger:
        return len(to_be_read(ledger, app.settings, None, named=False))


def transcript(text: str) -> Path:
    """Return the transcript a person means by a path or a session id."""
    from pipeline.intake.ingest import stat_of
    from pipeline.transcript import find

    path = Path(text).expanduser()
    if stat_of(path) is not None:
        return path
    found = find(text, None, paths.projects_dir())
    if found is None:
        raise InputError("there is no such file or session", file=text, fix="Give a path or a session id.")
    return found

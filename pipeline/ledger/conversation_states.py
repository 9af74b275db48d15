"""Steps of conversations that are not the ordinary way: a person's, a crash's, and those of a review.

A person may end an active conversation, pass one over, and have one read that was passed over or is in
review. What is being processed is the worker's alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.core.errors import LedgerError
from pipeline.ledger import conversations, inbox, jobs, runs
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.ledger.conversations import Conversation

ASKED = "asked for"
"""Why a conversation is queued that a person wants read, however short it is."""
GIVEN = "given to the team's workers"
"""Why a conversation is passed over here that another machine reads, or has read."""
PERSONS = ("ready", "queued", "skipped", "archived")
"""The states into which a person may bring a conversation."""
_BY_HAND = "by hand"
_JOB = "extract_conversation"


def transition(ledger: Ledger, conversation_id: int, status: str, *, now: Moment) -> Conversation:
    """Bring a conversation to `status` at a person's wish, and return it; ``queued`` gives it a job.

    Raises LedgerError for an unknown conversation, a step that the states do not allow, and one that is
    being processed.
    """
    item = conversations.conversation(ledger, conversation_id)
    if item is not None and item.status == "processing":
        raise LedgerError(
            f"conversation {conversation_id} is being read",
            file=str(ledger.path),
            fix="Wait until `reverie status` shows the worker idle.",
        )
    reason = {"queued": ASKED, "skipped": _BY_HAND, "archived": _BY_HAND}.get(status, "")
    with ledger.transaction():
        if item is not None and item.status == "active" and status == "queued":
            conversations.set_status(ledger, conversation_id, "ready", now=now)
        conversations.set_status(ledger, conversation_id, status, reason=reason, now=now)
        if status == "queued":
            jobs.enqueue(ledger, _JOB, str(conversation_id), now=seconds(now), run_after=seconds(now))
    moved = conversations.conversation(ledger, conversation_id)
    assert moved is not None, "it was just moved"
    return moved


def give(ledger: Ledger, items: Iterable[Conversation], *, now: Moment) -> None:
    """Leave ready conversations to a team's workers: nobody else here reads them."""
    with ledger.transaction():
        for item in items:
            conversations.set_status(ledger, item.id, "skipped", reason=GIVEN, now=now)


def take_back(ledger: Ledger, key: str, *, now: Moment) -> int:
    """Make the conversations of a file ready again that were given away; return how many they were."""
    given = [
        item
        for item in conversations.list_conversations(ledger, status="skipped", key=key)
        if item.reason == GIVEN
    ]
    with ledger.transaction():
        for item in given:
            conversations.set_status(ledger, item.id, "queued", now=now)
            conversations.set_status(ledger, item.id, "ready", now=now)
    return len(given)


def recover(ledger: Ledger, *, now: Moment) -> list[int]:
    """Make ready again what a crash left queued or processing without a job; return the ids.

    Only who holds the worker's lock may: then nobody processes anything.
    """
    left = [
        item.id
        for status in ("queued", "processing")
        for item in conversations.list_conversations(ledger, status=status)
        if not jobs.is_open(ledger, _JOB, str(item.id))
    ]
    for conversation_id in left:
        conversations.set_status(ledger, conversation_id, "ready", now=now)
    return left


def why_review(ledger: Ledger, item: Conversation) -> str:
    """Return what of a conversation that was read waits for a person, an empty string for nothing.

    That is a stretch that no model could read, or all that came of it being proposals nobody decided on.
    """
    found = [
        run
        for run in runs.list_runs(ledger, limit=-1, key=item.source_file)
        if run.outcome and run.from_row <= item.last_row and item.first_row <= run.through_row
    ]
    words = {run.outcome for run in found}
    if runs.GIVEN_UP in words:
        return "a stretch of it was passed over as unreadable"
    if "proposed" not in words or "applied" in words:
        return ""
    own = {run.id for run in found}
    waiting = sum(proposal.run_id in own for proposal in inbox.list_inbox(ledger))
    return "nothing of it is kept, and the inbox has what was proposed" if waiting else ""


def end_reviews(ledger: Ledger, *, now: Moment) -> list[int]:
    """Archive the conversations in review of which nothing waits any more; return their ids."""
    settled = [
        item.id
        for item in conversations.list_conversations(ledger, status="review")
        if not why_review(ledger, item)
    ]
    for conversation_id in settled:
        conversations.set_status(ledger, conversation_id, "archived", now=now)
    return settled

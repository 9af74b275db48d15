"""Which conversations `process` reads: those that are ready, and those with a stretch that was given up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.ledger import Ledger, batches, conversations, runs

if TYPE_CHECKING:
    from pipeline.config import Settings


def to_be_read(
    ledger: Ledger, settings: Settings, store: Path | None, *, named: bool
) -> list[conversations.Conversation]:
    """Return the conversations to read: of every project, or those for `store`; all where it was `named`.

    Those of files that are being read in batches are left out.
    """
    from pipeline.intake.left_alone import why_left_alone
    from pipeline.worker import store_for

    in_batches = batches.held(ledger)
    given_up = runs.given_up(ledger)
    ready = [
        item
        for item in conversations.list_conversations(ledger)
        if (item.status == "ready" or any(_is_in(item, run) for run in given_up))
        and item.source_file not in in_batches
        and not why_left_alone(ledger, item.source_file, settings)
    ]
    return [item for item in ready if store is None or named or store_for(ledger, item.source_file) == store]


def _is_in(item: conversations.Conversation, run: runs.Run) -> bool:
    """Whether a run read rows of a conversation."""
    same = item.source_file == run.key
    return same and run.from_row <= item.last_row and item.first_row <= run.through_row

"""What models wrote by tool with a person's words: read again by the second reader, in the background."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.core.errors import PROVIDER_DOWN, PausedError, ReverieError, SpendError, cause
from pipeline.ledger.inbox import CITED, InboxItem, list_inbox
from pipeline.worker.context import WorkerContext

LOG = logging.getLogger("reverie.worker")


def read_again(context: WorkerContext) -> str:
    """Settle what waits for the second reader, as far as a model answers; return why the rest waits, or "".

    What one memory or store has amiss keeps no other waiting.
    """
    for item in list_inbox(context.ledger):
        if item.kind != CITED:
            continue
        from pipeline.extraction.cited_writes import is_unread  # Few passes have any.

        if not is_unread(item):
            continue
        try:
            if context.provider().name == "offline":
                return ""  # The person is asked, as the inbox says.
            _settle(context, item)
        except (*PROVIDER_DOWN, PausedError, SpendError) as error:
            return cause(error)
        except ReverieError as error:
            LOG.warning("%s can't be read again: %s", item.payload.get("name"), error)
    return ""


def _settle(context: WorkerContext, item: InboxItem) -> None:
    from pipeline.extraction.cited_writes import read_again as settle
    from pipeline.store import foreign_dream_running

    store = Path(item.store)
    if not store.is_dir() or foreign_dream_running(store, context.clock.now()):
        return
    if settle(context.phase(context.opened_store(store)), item):
        context.owe(store)

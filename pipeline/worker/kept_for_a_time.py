"""Dialogue that was said long ago and was read: deleted after as many days as a person wants it kept."""

from __future__ import annotations

import logging

from pipeline.core.errors import ReverieError, cause
from pipeline.core.home import Home
from pipeline.formats.keisei import claims
from pipeline.ledger import recovery, retention
from pipeline.worker.context import WorkerContext

LOG = logging.getLogger("reverie.worker")


def sweep(context: WorkerContext) -> None:
    """Delete what is due; what can't be deleted now is another day's work."""
    wanted = context.settings.dialogue
    try:
        gone = retention.sweep(context.ledger, wanted, context.now(), first=claims.of_deleted)
        recovery.sweep(Home(context.home).ledger, days=retention.keep_days(wanted), now=context.clock.now())
    except (ReverieError, OSError) as error:
        LOG.warning("old dialogue can't be deleted: %s", cause(error))
    else:
        if gone:
            LOG.info("deleted %d bytes of dialogue that was read (dialogue.keep_days)", gone)

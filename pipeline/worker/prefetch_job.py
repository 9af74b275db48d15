"""After a turn was read: memories chosen by a model for the session's next prompt, where that is wanted."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from pipeline.config import RecallSettings
from pipeline.context import PhaseContext
from pipeline.core.errors import ReverieError
from pipeline.ledger import events
from pipeline.recall.prepared.prefetch import prefetch
from pipeline.worker.index_refresh import ONE_STORE

LOG = logging.getLogger("reverie.worker")


def choose(open_desk: Callable[[], PhaseContext], limits: RecallSettings, home: Path, key: str) -> None:
    """Choose for the session whose transcript is `key`: the boundary for errors, none of which stops a pass.

    Nothing is opened while `limits` don't say so, and nothing is asked for a session that has ended.
    """
    if not (limits.enabled and limits.model_selection):
        return
    try:
        phase = open_desk()
        if events.last_hook(phase.ledger, Path(key).stem) == "SessionEnd":
            return
        choice = prefetch(phase, home, key)
    except (ReverieError, OSError) as error:
        LOG.warning("%s: no memories chosen in advance: %s", key, error)
    except ONE_STORE:
        LOG.exception("%s: no memories chosen in advance", key)
    else:
        if choice is not None and choice.asked:
            LOG.info("%s: chosen in advance: %s", key, ", ".join(choice.names) or "none")

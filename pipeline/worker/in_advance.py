"""Memories that a model chooses for a session's next prompt, where that is wanted."""

from __future__ import annotations

import logging
from pathlib import Path

from pipeline.core.errors import ODD_DATA, ReverieError
from pipeline.domain.job import Job
from pipeline.ledger import events
from pipeline.worker.context import WorkerContext, log_fields
from pipeline.worker.extraction_runner import ExtractionRunner

LOG = logging.getLogger("reverie.worker")


def choose(context: WorkerContext, extraction: ExtractionRunner, job: Job) -> None:
    """Let a model choose memories for the next prompt of the session whose turn `job` read.

    Nothing is asked for a session that has ended. What goes wrong is logged and stops no pass.
    """
    session = Path(job.key).stem
    limits = context.settings.recall
    if not (limits.enabled and limits.model_selection):
        return
    fields = log_fields(job)
    try:
        phase = extraction.phase(job.key)
        if events.last_hook(context.ledger, session) == "SessionEnd":
            return
        from pipeline.recall.prepared.prefetch import prefetch

        choice = prefetch(phase, context.home, job.key)
    except (ReverieError, OSError) as error:
        LOG.warning("%s: no memories chosen in advance: %s", job.key, error, extra=fields)
    except ODD_DATA:
        LOG.exception("%s: no memories chosen in advance", job.key, extra=fields)
    else:
        if choice is not None and choice.asked:
            names = ", ".join(choice.names) or "none"
            LOG.info("%s: chosen in advance: %s", job.key, names, extra=fields)

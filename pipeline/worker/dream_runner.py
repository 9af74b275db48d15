"""Dreams as jobs: one for each store that was at work, so that none is forgotten in a crash.

A dream that its gates keep closed is done with; the next session asks them again. One that fails is tried
again ever more seldom (`pipeline.worker.retry`).
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.domain.job import Job, JobKind
from pipeline.ledger import jobs
from pipeline.ledger.jobs import Unclaimed
from pipeline.worker.context import WorkerContext, log_fields

if TYPE_CHECKING:
    from pipeline.consolidation.commit.report import DreamReport

LOG = logging.getLogger("reverie.worker")
JOB: JobKind = "dream"


class DreamRunner:
    """Dreams over the stores of one home, where their gates are open."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context

    def queue(self) -> None:
        """Queue a dream for every store that was at work or whose derived files are about to be made anew.

        Call it before `DerivedFiles.rebuild`: until then the ledger knows which stores were written to, and
        after a crash it still does. One that already waits keeps its time.
        """
        ledger = self._context.ledger
        at_work = {
            job.key
            for state in ("waiting", "leased")
            for job in jobs.list_jobs(ledger, state=state)
            if job.kind == "reindex"
        }
        # A gate that time opens is asked again though nothing was written since.
        at_work |= {str(path) for path in self._context.visited}
        for key in sorted(at_work):
            if not jobs.is_waiting(ledger, JOB, key):
                self._context.enqueue(JOB, key)

    def claim(self, *, leave_out: Collection[int], ignore_schedule: bool = False) -> Job | Unclaimed:
        """Take the dream that has been due longest, or say why there is none."""
        return self._context.claim(JOB, leave_out=leave_out, ignore_schedule=ignore_schedule)

    def run(self, job: Job) -> DreamReport:
        """Do a claimed dream; settling it is the caller's."""
        report = self.dream_over(Path(job.key))
        if report.word != "closed":
            fields = log_fields(job, run=report.run_id)
            LOG.info("dream over %s: %s %s", job.key, report.word, report.reason, extra=fields)
        return report

    def dream_over(self, store_path: Path) -> DreamReport:
        """Dream over the store at `store_path` if its gates are open, else report ``closed``.

        What the gates answered is kept for `reverie status`. Raises StoreError when the store can't be used.
        """
        from pipeline.consolidation.run import dream

        context = self._context
        context.touched.add(store_path)
        return dream(context.phase(context.opened_store(store_path)), home=context.home)

"""Dreams as jobs: one for each store that was at work, so that none is forgotten in a crash.

A dream that its gates keep closed is done with; the next session asks them again. One that fails is tried
again ever more seldom (`pipeline.worker.retry`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.domain.job import Job, JobKind
from pipeline.hooklib import ownership
from pipeline.ledger import dreams, jobs, runs
from pipeline.ledger.jobs import Unclaimed
from pipeline.worker.context import WorkerContext, log_fields
from pipeline.worker.last_look import INDEX

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

    def run(self, job: Job) -> DreamReport | None:
        """Do a claimed dream, None where it needs no look at the store to say that a gate is closed.

        Settling it is the caller's.
        """
        if self._is_closed(Path(job.key)):
            return None
        report = self.dream_over(Path(job.key))
        if report.word != "closed":
            fields = log_fields(job, run=report.run_id)
            LOG.info("dream over %s: %s %s", job.key, report.word, report.reason, extra=fields)
        return report

    def dream_over(self, store_path: Path, *, of_team: bool = False) -> DreamReport:
        """Dream over the store at `store_path` if its gates are open, else report ``closed``.

        Who dreams `of_team` holds the lease for that, and has asked the gates of the team's database.

        What the gates answered is kept for `reverie status`. Raises StoreError when the store can't be used.
        """
        from pipeline.consolidation.run import dream
        from pipeline.worker.procedures.looking import question

        context = self._context
        context.touched.add(store_path)
        phase = context.phase(context.opened_store(store_path))
        if of_team:
            return dream(phase, home=context.home, force=True, of_team=True)
        return dream(phase, home=context.home, last=question())

    def _is_closed(self, store_path: Path) -> bool:
        from pipeline.consolidation.lease import closed_without_a_look

        context, key = self._context, str(store_path)
        if not store_path.is_dir() or ownership.is_team(key):
            return False  # Opening it says what is to be said of that.
        if runs.pending_run(context.ledger, key, key, "dream") is not None:
            return False
        unchanged = partial(self._nothing_changed, store_path)
        now = context.clock.now()
        return bool(closed_without_a_look(context.ledger, key, context.settings, now, unchanged=unchanged))

    def _nothing_changed(self, store_path: Path) -> bool:
        """Whether the search index, which is as the store is, has nothing that the last dream did not see."""
        look = self._context.last_look
        if not store_path.is_dir() or not look.is_in_step(store_path, INDEX):
            return False
        seen = Counter(dreams.seen(self._context.ledger, str(store_path)).values())
        return not look.digests(store_path) - seen

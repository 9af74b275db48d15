"""Dreams as jobs: one for each memory folder that was at work, so that none is forgotten in a crash.

A dream that its gates keep closed is done with; the next session asks them again. One that fails is tried
again ever more seldom, and is never parked: a night without a model must not end all dreaming.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from pipeline.consolidation.commit.report import DreamReport
from pipeline.consolidation.run import dream
from pipeline.context import PhaseContext
from pipeline.core.errors import BusyStoreError, LeaseLostError, SpendError
from pipeline.domain.job import Job
from pipeline.ledger import jobs
from pipeline.worker.extraction_runner import QUARTER, ExtractionRunner

LOG = logging.getLogger("reverie.worker")
KIND = "dream"
_BACKOFF_SECONDS = (3_600.0, 4 * 3_600.0, 24 * 3_600.0)
_NEVER = 1 << 30


def dream_if_open(runner: ExtractionRunner, store_path: Path) -> bool:
    """Dream over the memory folder at `store_path` if its gates are open; return whether they were.

    What the gates answered is kept for `reverie status`. Raises StoreError when the folder can't be used.
    """
    return dream_over(runner, store_path).word != "closed"


def dream_over(runner: ExtractionRunner, store_path: Path) -> DreamReport:
    """Do as `dream_if_open` does and return the whole report."""
    phase = PhaseContext(
        ledger=runner.ledger,
        store=runner.open_store(store_path),
        client=runner.client(),
        settings=runner.settings,
        clock=runner.clock,
    )
    return dream(phase, home=runner.home)


def ask(runner: ExtractionRunner) -> None:
    """Queue a dream for every store whose derived files are about to be made anew.

    Call it before `ExtractionRunner.refresh`: until then the ledger knows which stores were written to, and
    after a crash it still does. One that already waits keeps its time.
    """
    now = runner.clock.now()
    at_work = [
        job.key
        for state in ("waiting", "leased")
        for job in jobs.list_jobs(runner.ledger, state=state)
        if job.kind == "reindex"
    ]
    for key in sorted(at_work):
        if not jobs.is_waiting(runner.ledger, KIND, key):
            jobs.enqueue(runner.ledger, KIND, key, now=now, run_after=now)


def claim(runner: ExtractionRunner, *, leave_out: Sequence[int], ignore_schedule: bool = False) -> Job | None:
    """Take the dream that has been due longest, or None."""
    return jobs.claim(
        runner.ledger,
        owner=runner.owner,
        lease_seconds=runner.settings.worker.lease_seconds,
        now=runner.clock.now(),
        kinds=(KIND,),
        ignore_schedule=ignore_schedule,
        leave_out=leave_out,
    )


def do(runner: ExtractionRunner, job: Job) -> DreamReport | None:
    """Do a claimed dream and settle the job; None when it has to wait. Other errors are the caller's."""
    try:
        report = dream_over(runner, Path(job.key))
    except (SpendError, BusyStoreError, LeaseLostError) as error:
        put_off(runner, job, str(error), QUARTER)
        return None
    now = runner.clock.now()
    if report.word in ("partial", "failed"):
        fail(runner, job, report.reason)
    else:
        jobs.finish(runner.ledger, job, now=now)
    if report.word != "closed":
        LOG.info("dream over %s: %s %s", job.key, report.word, report.reason)
    return report


def put_off(runner: ExtractionRunner, job: Job, reason: str, wait: float) -> None:
    """Put a claimed dream back for `wait` seconds, with no failure counted."""
    now = runner.clock.now()
    jobs.postpone(runner.ledger, job, run_after=now.timestamp() + wait, reason=reason, now=now)


def fail(runner: ExtractionRunner, job: Job, reason: str) -> None:
    """Count a failure of a claimed dream and let it wait."""
    jobs.fail(
        runner.ledger,
        job,
        reason,
        now=runner.clock.now(),
        max_attempts=_NEVER,
        backoff_seconds=_BACKOFF_SECONDS,
    )

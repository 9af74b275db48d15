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
from pipeline.context import Desk
from pipeline.core.errors import BusyStoreError, LeaseLostError, SpendError
from pipeline.domain.job import Job
from pipeline.ledger import jobs, lookups
from pipeline.worker.extraction_runner import QUARTER, Reader

LOG = logging.getLogger("reverie.worker")
KIND = "dream"
_BACKOFF_SECONDS = (3_600.0, 4 * 3_600.0, 24 * 3_600.0)
_NEVER = 1 << 30


def dream_if_open(reader: Reader, store_path: Path) -> bool:
    """Dream over the memory folder at `store_path` if its gates are open; return whether they were.

    What the gates answered is kept for `reverie status`. Raises StoreError when the folder can't be used.
    """
    return dream_over(reader, store_path).word != "closed"


def dream_over(reader: Reader, store_path: Path) -> DreamReport:
    """Do as `dream_if_open` does and return the whole report."""
    desk = Desk(
        ledger=reader.ledger,
        store=reader.open_store(store_path),
        client=reader.client(),
        settings=reader.settings,
        clock=reader.clock,
    )
    return dream(desk, home=reader.home)


def ask(reader: Reader) -> None:
    """Queue a dream for every store whose derived files are about to be made anew.

    Call it before `Reader.refresh`: until then the ledger knows which stores were written to, and after a
    crash it still does. One that already waits keeps its time.
    """
    now = reader.clock.now()
    at_work = [
        job.key
        for state in ("waiting", "leased")
        for job in jobs.list_jobs(reader.ledger, state=state)
        if job.kind == "reindex"
    ]
    for key in sorted(at_work):
        if not lookups.is_waiting(reader.ledger, KIND, key):
            jobs.enqueue(reader.ledger, KIND, key, now=now, run_after=now)


def claim(reader: Reader, *, leave_out: Sequence[int], ignore_schedule: bool = False) -> Job | None:
    """Take the dream that has been due longest, or None."""
    return jobs.claim(
        reader.ledger,
        owner=reader.owner,
        lease_seconds=reader.settings.worker.lease_seconds,
        now=reader.clock.now(),
        kinds=(KIND,),
        ignore_schedule=ignore_schedule,
        leave_out=leave_out,
    )


def do(reader: Reader, job: Job) -> DreamReport | None:
    """Do a claimed dream and settle the job; None when it has to wait. Other errors are the caller's."""
    try:
        report = dream_over(reader, Path(job.key))
    except (SpendError, BusyStoreError, LeaseLostError) as error:
        put_off(reader, job, str(error), QUARTER)
        return None
    now = reader.clock.now()
    if report.word in ("partial", "failed"):
        fail(reader, job, report.reason)
    else:
        jobs.finish(reader.ledger, job, now=now)
    if report.word != "closed":
        LOG.info("dream over %s: %s %s", job.key, report.word, report.reason)
    return report


def put_off(reader: Reader, job: Job, reason: str, wait: float) -> None:
    """Put a claimed dream back for `wait` seconds, with no failure counted."""
    now = reader.clock.now()
    jobs.postpone(reader.ledger, job, run_after=now.timestamp() + wait, reason=reason, now=now)


def fail(reader: Reader, job: Job, reason: str) -> None:
    """Count a failure of a claimed dream and let it wait."""
    jobs.fail(
        reader.ledger,
        job,
        reason,
        now=reader.clock.now(),
        max_attempts=_NEVER,
        backoff_seconds=_BACKOFF_SECONDS,
    )

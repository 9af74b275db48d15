"""Keeping stores in step with other machines, where a person began that: a job for each, now and then."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.errors import ODD_DATA, ReverieError, cause
from pipeline.core.home import Home
from pipeline.core.ids import new_id
from pipeline.domain.job import Job, JobKind
from pipeline.ledger import jobs
from pipeline.verify.flaw import Flaw
from pipeline.worker import retry
from pipeline.worker.context import WorkerContext, log_fields

if TYPE_CHECKING:
    from pipeline.sharing.state import Share
    from pipeline.store import Store

JOB: JobKind = "sync"
LOG = logging.getLogger("reverie.worker")


class InStep:
    """The syncs of one home. What can't be reached waits, and holds up nothing else."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context

    def keep(self, *, at_first: bool = False) -> None:
        """Sync each store whose turn it is: a pass begins with a session, and ends with what changed in it.

        None is synced again within ``sync.minutes``; what changed meanwhile waits for that. What could not be
        reached the last time is not tried `at_first`, since it may take minutes again.
        """
        context = self._context
        minutes = context.settings.sync.minutes
        if not minutes or not Home(context.home).sharing.is_dir():
            return
        self._queue(minutes * 60)
        tried = self._failed() if at_first else []
        while isinstance(job := context.claim(JOB, leave_out=tried), Job):
            tried.append(job.id)
            self._do(job)

    def _queue(self, apart: float) -> None:
        from pipeline.sharing.turn import turns  # In most homes nothing is kept in step.

        context, now = self._context, self._context.now()
        at_work = {str(path) for path in (*context.touched, *context.visited)}
        for turn in turns(context.home):
            due = turn.tried + apart if turn.tried <= now else now
            own = str(Path(turn.store).parent) if turn.team else turn.store
            if due <= now or not at_work.isdisjoint((turn.store, own)):
                jobs.enqueue(context.ledger, JOB, turn.store, now=now, run_after=max(now, due))

    def _failed(self) -> list[int]:
        from pipeline.sharing.turn import turns

        failed = {turn.store for turn in turns(self._context.home) if turn.error}
        waiting = jobs.list_jobs(self._context.ledger)
        return [job.id for job in waiting if job.kind == JOB and job.key in failed]

    def _share(self, share: Share, folder: Store) -> None:
        """Give a team, whose folder that is, what the project has for it, or ask; as ``team.share`` says."""
        from pipeline.revision import Door
        from pipeline.sharing import choosing
        from pipeline.sharing.outgoing import secret_finder
        from pipeline.sharing.quoting import quotes_for

        context, state = self._context, share.read()
        policy, quotes = context.settings.team.share, context.settings.team.share_quotes
        if state is None or not state.team or policy == "off":
            return
        store, now = context.opened_store(folder.path.parent), context.clock.now()
        if policy == "ask":
            choosing.offer(context.ledger, store, state, now=now, quotes=quotes)
            return
        door = Door(folder, now=now, approved=True)
        there, is_secret = folder.scan().documents, secret_finder(context.ledger)
        for document in choosing.fit_for_auto(choosing.candidates(store, state)):
            words = quotes_for(document.memory, state.person, is_secret) if quotes else ()
            planned = choosing.plan_copy(door, there, document.memory, state, now, words)
            if isinstance(planned, Flaw):
                LOG.warning("%s is not shared: it %s", document.path, planned.reason)
        if door.operations:
            door.write(f"team-{new_id()[:12]}", "shared by team.share")

    def _do(self, job: Job) -> None:
        from pipeline.sharing.run import sync
        from pipeline.sharing.state import Share

        context, store_path = self._context, Path(job.key)
        try:
            share = Share.of(context.home, store_path)
            if not share.file.is_file():  # Somebody left meanwhile.
                context.finish(job)
                return
            store = context.opened_store(store_path)
            self._share(share, store)
            done = sync(share, store, clock=context.clock, ledger=context.ledger, unattended=True)
        except (ReverieError, OSError, *ODD_DATA) as error:
            LOG.warning("sync of %s has to wait: %s", job.key, cause(error), extra=log_fields(job))
            context.put_back(job, retry.SYNC.retry_after(error, job.attempts), cause(error))
            return
        if done.error:
            LOG.warning("sync of %s: %s", job.key, done.error, extra=log_fields(job))
        if done.change:
            LOG.info("sync of %s: %d came, %d left", job.key, done.came, done.left, extra=log_fields(job))
            context.owe(store_path)
        context.finish(job)

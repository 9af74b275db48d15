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
_AT_A_START = 1 / 5
"""The part of ``sync.minutes`` that has to lie between two syncs where a session begins."""
LOG = logging.getLogger("reverie.worker")


class InStep:
    """The syncs of one home. What can't be reached waits, and holds up nothing else."""

    def __init__(self, context: WorkerContext) -> None:
        self._context = context
        self._begins = self._ends = False
        self._brought: set[Path] = set()

    def note(self, *, begins: bool, ends: bool) -> None:
        """Note that a session begins or ends: the next one may be on another machine in a moment."""
        self._begins, self._ends = self._begins or begins, self._ends or ends

    def keep(self, *, at_first: bool = False) -> None:
        """Sync each store whose turn it is: a pass begins with a session, and ends with what changed in it.

        None is synced again within ``sync.minutes``; what changed meanwhile waits for that. Where a session
        begins a fifth of that suffices, and what waits to be sent goes at once where one ends: nobody knows
        what the machine does next. What could not be reached the last time is not tried `at_first`, since it
        may take minutes again.
        """
        context = self._context
        if not self._apart or not Home(context.home).sharing.is_dir():
            return
        self._queue(at_first=at_first)
        self._begins = False
        tried = self._failed() if at_first else []
        while isinstance(job := context.claim(JOB, leave_out=tried), Job):
            tried.append(job.id)
            self._do(job)
        if not at_first:
            self._ends = False
            self._brought.clear()

    @property
    def longest_wait(self) -> float:
        """In how many seconds at most a sync is due for which the worker stays; 0 where none waits.

        What changed last would stay here until the next session. One that failed is not waited for.
        """
        waiting = jobs.list_jobs(self._context.ledger) if self._apart else []
        fresh = any(job.kind == JOB and job.state == "waiting" and not job.last_error for job in waiting)
        return self._apart if fresh else 0.0

    @property
    def _apart(self) -> float:
        return self._context.settings.sync.minutes * 60

    def _queue(self, *, at_first: bool) -> None:
        from pipeline.sharing.turn import turns  # In most homes nothing is kept in step.

        context, now = self._context, self._context.now()
        # What a sync itself brought is no reason for the next one.
        at_work = {str(path) for path in context.visited | (context.touched - self._brought)}
        for turn in turns(context.home):
            own = str(Path(turn.store).parent) if turn.team else turn.store
            has_work = not at_work.isdisjoint((turn.store, own))
            # At its end what came of the session is not known before the pass ends.
            leaves = self._ends and not at_first and (has_work or self._waits(turn.store))
            at_border = (self._begins or leaves) and not turn.error
            part = 1 if not at_border else 0 if leaves else _AT_A_START
            due = turn.tried + self._apart * part if turn.tried <= now else now
            if due <= now or has_work or at_border:
                jobs.enqueue(context.ledger, JOB, turn.store, now=now, run_after=max(now, due))

    def _waits(self, store: str) -> bool:
        return jobs.is_waiting(self._context.ledger, JOB, store)

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
            if store_path not in context.touched:
                self._brought.add(store_path)
            context.owe(store_path)
        context.finish(job)

"""One pass of the worker: drain the spool, do the jobs that are due, settle each of them, whatever happens.

`Worker._attempt` is the one place where any exception is caught for a job: it fails that job, with its
reason kept, and no other. When it is tried again is `pipeline.worker.retry`'s to say.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config import first_sight_from
from pipeline.core import faults
from pipeline.core.clock import parse_time
from pipeline.core.errors import (
    PROVIDER_DOWN,
    BusyError,
    BusyStoreError,
    DamagedLedgerError,
    InBatchError,
    LeaseLostError,
    ModelError,
    PausedError,
    ReverieError,
    SpendError,
    cause,
)
from pipeline.domain.job import Job
from pipeline.extraction.outcome import Outcome
from pipeline.intake import orphans
from pipeline.intake.drain import drain, is_print_session
from pipeline.intake.left_alone import why_left_alone
from pipeline.ledger import (
    calls,
    conversation_states,
    conversations,
    files,
    jobs,
    outages,
    runs,
)
from pipeline.ledger.outages import Outage
from pipeline.llm.retry import PASSES
from pipeline.recall.prepared import hook_state, session_memory
from pipeline.record import changing, field
from pipeline.worker import (
    batch_runner,
    cited,
    extraction_runner,
    in_advance,
    kept_for_a_time,
    mirroring,
    recall_log,
    retry,
)
from pipeline.worker.batch_runner import BatchPass, BatchRunner
from pipeline.worker.context import WorkerContext, log_fields
from pipeline.worker.derived_files import DerivedFiles
from pipeline.worker.dream_runner import DreamRunner
from pipeline.worker.extraction_runner import ExtractionRunner
from pipeline.worker.in_step import InStep
from pipeline.worker.moved import take_over
from pipeline.worker.retry import Decision, RetryPolicy, Stop, Wait

if TYPE_CHECKING:
    from pipeline.consolidation.commit.report import DreamReport
    from pipeline.extraction.strategies import Strategy
    from pipeline.llm import Client
    from pipeline.store import Store

LOG = logging.getLogger("reverie.worker")


@changing
class Pass:
    """What one pass did, for `reverie work` and the log."""

    events: int = 0
    quarantined: int = 0
    left: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    waiting: str = ""
    dreams: list[dict[str, str]] = field(default_factory=list)
    batches: int = 0
    """How often it was looked at what is being read in batches."""
    renewed: str = ""
    """What is to be said of a ledger that was damaged and made anew, if it was."""


class Worker:
    """One worker over the home of `context`: its parts, and the order in which a pass uses them.

    `left` holds the ids of the events that the present pass could not take; the next pass tries them again.
    """

    def __init__(self, context: WorkerContext) -> None:
        self.context = context
        self.extraction = ExtractionRunner(context)
        self.batches = BatchRunner(context, self.extraction)
        self.dreams = DreamRunner(context)
        self.derived = DerivedFiles(context)
        self.in_step = InStep(context)
        self.left: set[str] = set()
        self._retry = retry.extraction(context.settings.extraction.attempts)

    # -- for the commands -------------------------------------------------------------------------

    def read_file(self, key: str) -> list[Outcome]:
        """Extract what of one file was not read, or was given up, and bring up to date what is derived."""
        outcomes = [*self.extraction.read_file(key), *self.extraction.read_given_up(key)]
        self.derived.rebuild()
        self.derived.index()
        return outcomes

    def read_spans(self, key: str, strategy: Strategy) -> list[Outcome]:
        """Do every span `strategy` finds in the file `key`, now."""
        return self.extraction.read_spans(key, strategy)

    def read_conversations(self, key: str) -> list[Outcome]:
        """Read every conversation of the file `key` as a whole, also what was read turn by turn."""
        return self.extraction.read_conversations(key)

    def read_given_up(self, done: Pass) -> None:
        """Read every stretch that was passed over as unreadable, and tell in `done` how that went."""
        ledger, settings = self.context.ledger, self.context.settings
        for key in dict.fromkeys(run.key for run in runs.given_up(ledger)):
            if done.waiting:
                break
            if why_left_alone(ledger, key, settings):
                continue
            try:
                done.outcomes.extend(self.extraction.read_given_up(key))
            except (*PROVIDER_DOWN, SpendError) as error:
                done.waiting = _explained(error)
            except ReverieError as error:
                done.failures.append(f"{key}: {error}")
        self.derived.rebuild()
        self.derived.index()

    def open_store(self, store_path: Path) -> Store:
        """Open the store at `store_path`; a missing one is made at the first write."""
        return self.context.open_store(store_path)

    def client(self) -> Client | None:
        """Return a model client whose calls count as one run, or None when extraction goes by rules."""
        return self.context.client()

    def refresh(self) -> None:
        """Bring the derived files of every store that was changed up to date."""
        self.derived.rebuild()
        self.context.visited.clear()
        self.context.close_stores()

    # -- one pass ---------------------------------------------------------------------------------

    def run(self, *, now_too: bool = False) -> Pass:
        """Drain the spool and do every job that is due (`now_too`: each that waits, once)."""
        context, ledger = self.context, self.context.ledger
        done = Pass()
        self.left.clear()
        # Whoever runs this has ``worker.lock``, so the owners of all leases are dead.
        jobs.release_leases(ledger, now=context.now())
        files.recover_ingesting(ledger)
        jobs.settle_clock(ledger, now=context.now())
        conversation_states.recover(ledger, now=context.now())
        self._drain(done)
        recall_log.take(ledger, context.home, context.now())
        if self._extracts():
            self.in_step.keep(at_first=True)
            self._wake_conversations()
            asks = self._may_ask(done, now_too=now_too) and self._look_at_batches(done, now_too=now_too)
            asks = asks and self._extract_due(done, now_too=now_too)
            if asks:
                done.waiting = cited.read_again(context) or done.waiting
            recall_log.count(context)
            self.dreams.queue()
            mirroring.keep(context)
            self.derived.rebuild()
            self.derived.refresh_daily()
            if asks:
                self._dream_due(done, now_too=now_too)
            mirroring.keep(context)
            self.in_step.keep()
            self.derived.rebuild()
            self.derived.index()
            session_memory.sweep(context.home, context.now())
        kept_for_a_time.sweep(self.context)
        self.derived.index_dialogue()
        hook_state.refresh(ledger, context.home, context.settings, context.clock)
        return done

    def next_due(self) -> float | None:
        """Return in how many seconds the next job is due, or None when none will be."""
        if not self._extracts():
            return None
        context = self.context
        return jobs.next_due(context.ledger, now=context.now(), model_in=context.model_in())

    def _extracts(self) -> bool:
        return self.context.settings.store.mode not in ("off", "observe")

    def _drain(self, done: Pass) -> None:
        context = self.context
        drained = drain(context.home, context.ledger, context.settings, context.clock, leave_out=self.left)
        self.left |= drained.left
        self.in_step.note(begins=bool(drained.started), ends=bool(drained.ended))
        done.left = len(self.left)
        done.events += drained.events
        done.quarantined += drained.quarantined
        session_memory.keep_all(context.ledger, context.home, drained.keys)
        for cwd in {event.cwd for event in drained.started if event.cwd} if self._extracts() else ():
            take_over(context.ledger, Path(cwd))
        if drained.started and self._extracts():
            orphans.ingest_orphans(context.ledger, context.settings, context.clock, drained.started)

    def _wake_conversations(self) -> None:
        """Queue the conversations that fell silent lately; older ones wait for `reverie process`."""
        ledger, settings, now = self.context.ledger, self.context.settings, self.context.clock.now()
        limits = settings.extraction
        conversations.mark_ready(ledger, now=now, gap_minutes=limits.conversation_gap_minutes)
        conversation_states.end_reviews(ledger, now=now)
        oldest = first_sight_from(limits, now)
        for item in conversations.list_conversations(ledger, status="ready"):
            last = parse_time(item.last_message_at)
            old = last is None or last < oldest
            # One that waits keeps its time: it may have been put off.
            waits = jobs.is_waiting(ledger, "extract_conversation", str(item.id))
            if not (
                old
                or waits
                or is_print_session(ledger, item.source_file, settings)
                or why_left_alone(ledger, item.source_file, settings)
            ):
                self.context.enqueue("extract_conversation", str(item.id))

    def _may_ask(self, done: Pass, *, now_too: bool) -> bool:
        """Whether the provider may be asked now, for one job that then tells it for all; else why not."""
        context = self.context
        down = None if now_too else context.outage()
        known = outages.known(context.ledger, context.provider_name)
        if down is None and known is not None and known.is_unproved:
            # A job can't tell: what it would be given may pass for its own fault.
            try:
                down = None if context.provider_is_well() else context.outage()
            except SpendError:
                down = None  # each job meets the cap as well, and then waits for that
        done.waiting = down.words if down else ""
        return down is None

    def _extract_due(self, done: Pass, *, now_too: bool) -> bool:
        """Do every extraction that is due; False when the provider turned out to be down."""
        tried: list[int] = []

        def claim() -> Job | jobs.Unclaimed:
            leave_out = tried if now_too else ()
            return self.context.claim(*extraction_runner.KINDS, leave_out=leave_out, ignore_schedule=now_too)

        while isinstance(job := claim(), Job):
            tried.append(job.id)
            if not self._attempt(job, done):
                return False
            self._drain(done)
        LOG.info("extraction ends: %s", job.value)
        return True

    def _look_at_batches(self, done: Pass, *, now_too: bool) -> bool:
        """Do the job of an order to read in batches, if it is due; False when the provider is down."""
        job = self.context.claim(batch_runner.JOB, ignore_schedule=now_too)
        return not isinstance(job, Job) or self._attempt(job, done)

    def read_batches(self) -> Pass:
        """Look now at what is being read in batches, also where that was given up; bring in what came."""
        done, ledger, now = Pass(), self.context.ledger, self.context.now()
        jobs.release_leases(ledger, now=now)
        for job in jobs.list_jobs(ledger, state="parked"):
            if job.kind == batch_runner.JOB:
                jobs.unpark(ledger, job.id, now=now)
        self._look_at_batches(done, now_too=True)
        self.derived.rebuild()
        self.derived.index()
        return done

    def _dream_due(self, done: Pass, *, now_too: bool) -> None:
        """Do every dream that is due, until the provider turns out to be down."""
        tried: list[int] = []
        while isinstance(job := self.dreams.claim(leave_out=tried, ignore_schedule=now_too), Job):
            tried.append(job.id)
            if not self._attempt(job, done):
                return

    # -- one job ----------------------------------------------------------------------------------

    def _attempt(self, job: Job, done: Pass) -> bool:
        """Do one job and settle it: the boundary for its errors. False when the provider is down."""
        try:
            try:
                result = self._runner(job).run(job)
            except DamagedLedgerError:
                raise  # Nothing can be settled in it: the worker makes a new one.
            except Exception as error:  # noqa: BLE001 - a job's one boundary
                well = self._settle_failure(job, error, done)
            else:
                well = self._settle(job, result, done)
        except LeaseLostError as error:
            # Another worker has the job, and settles it.
            LOG.warning("%s", error, extra=log_fields(job))
            return True
        faults.reach("worker.job_settled")
        return well

    def _runner(self, job: Job) -> DreamRunner | BatchRunner | ExtractionRunner:
        if job.kind == "dream":
            return self.dreams
        return self.batches if job.kind == batch_runner.JOB else self.extraction

    def _settle(self, job: Job, result: list[Outcome] | DreamReport | BatchPass | None, done: Pass) -> bool:
        """Settle a job that ended; False when the provider was found to be down in it."""
        if isinstance(result, BatchPass):
            done.batches += 1
            done.outcomes.extend(result.outcomes)
            done.waiting = result.reason or done.waiting
            if result.wait is None:
                self.context.finish(job)
            else:
                self.context.postpone(job, result.wait, result.reason)
            return True
        if isinstance(result, list):
            done.outcomes.extend(result)
            self.context.finish(job, again_after=self.context.settings.extraction.turn_interval_seconds)
            if job.kind == "extract_turn":
                in_advance.choose(self.context, self.extraction, job)
            return True
        if result is None:
            self.context.finish(job)
            return True
        failed = result.word in ("partial", "failed")
        is_unanswered = failed and self._is_unanswered()
        if is_unanswered:
            self._put_off(job, self.context.outage(), done, result.reason)
        elif failed:
            self.context.put_back(job, retry.DREAM.after_failure(job.attempts), result.reason)
        else:
            self.context.finish(job)
        if result.word != "closed":
            done.dreams.append({"store": job.key, "word": result.word, "reason": result.reason})
        return not is_unanswered

    def _is_unanswered(self) -> bool:
        """Whether the provider does not answer, after a dream that failed."""
        context = self.context
        try:
            return context.outage() is not None or not context.provider_is_well(for_all=False)
        except SpendError:
            return False  # a cap; the dream's own wait is longer

    def _settle_failure(self, job: Job, error: Exception, done: Pass) -> bool:
        """Settle a job that raised `error`, by whose fault it is; False when the provider is down."""
        if isinstance(error, PausedError):
            # Another process found out meanwhile.
            self.context.postpone(job, 0.0, "")
            done.waiting = _explained(error)
            return False
        if isinstance(error, PROVIDER_DOWN) and not isinstance(error, BusyError):
            if self._fails_alone(job, error):
                return True
            self._put_off(job, self.context.outage(), done, str(error))
            return False
        decision = self._policy(job).retry_after(error, job.attempts)
        if isinstance(decision, Wait) and not decision.counted:
            if isinstance(error, SpendError) and job.kind != "dream":
                done.waiting = str(error)
            elif not isinstance(error, SpendError | BusyStoreError | BusyError | InBatchError):
                done.failures.append(f"{job.key}: {cause(error)}")
            LOG.warning("%s waits: %s", job.key, error, extra=log_fields(job))
            self.context.put_back(job, decision, _explained(error))
            return not isinstance(error, BusyError)
        if isinstance(error, ModelError):
            self.context.keep_alive(job)
            try:
                if not self.context.provider_is_well(for_all=job.kind != "dream"):
                    self._put_off(job, self.context.outage(), done, str(error))
                    return False
            except SpendError as cap:
                done.waiting = str(cap)
                self.context.put_back(job, self._policy(job).retry_after(cap, job.attempts), str(cap))
                return True
        self._count_failure(job, error, decision, done)
        return True

    def _count_failure(self, job: Job, error: Exception, decision: Decision, done: Pass) -> None:
        """Settle a job that raised `error` by its own fault, as `decision` says."""
        if isinstance(error, ReverieError):
            LOG.warning("%s failed: %s", job.key, error, extra=log_fields(job))
        else:
            LOG.exception("%s failed", job.key, exc_info=error, extra=log_fields(job))
        done.failures.append(f"{job.key}: {error}")
        reason = _explained(error)
        if decision is Stop.GIVE_UP and isinstance(error, ModelError):
            try:
                outcome = self.extraction.give_up(job, error)
            except ReverieError as second:
                reason = f"{reason}; {second}"
            else:
                done.outcomes.extend([outcome] if outcome else [])
                self.context.begin_anew(job)
                return
        self.context.put_back(job, decision, reason)

    def _fails_alone(self, job: Job, error: ModelError) -> bool:
        """Whether the provider fails in this job again though it answered others; then it alone waits."""
        ledger, provider = self.context.ledger, self.context.provider_name
        before = jobs.last_failed_call(ledger, job)
        if error.outcome not in PASSES or before is None:
            return False
        if not calls.answered_since(ledger, provider, before):
            return False
        outages.clear(ledger, provider)
        LOG.warning("%s alone waits: %s", job.key, error, extra=log_fields(job))
        latest = calls.last_call(ledger)
        self.context.postpone(job, retry.ALONE_SECONDS, _explained(error), failed_call=latest)
        return True

    def _put_off(self, job: Job, down: Outage | None, done: Pass, why: str) -> None:
        """Put a job back for a provider that is `down`: due at once, behind the others that wait with it.

        Where nothing holds for all, it waits alone, for what `why` says.
        """
        words = down.words if down else why
        LOG.warning("%s waits for the provider: %s", job.key, words, extra=log_fields(job))
        done.waiting = words
        # Without an outage to wait for, it would be taken up again at once, over and over.
        alone = retry.ALONE_SECONDS if job.kind == "dream" else retry.MINUTE
        wait = 0.0 if down else alone
        self.context.postpone(job, wait, "", failed_call=calls.last_call(self.context.ledger))

    def _policy(self, job: Job) -> RetryPolicy:
        return retry.DREAM if job.kind == "dream" else self._retry


def _explained(error: Exception) -> str:
    """Return what a job says of the error it waits or was parked for: its message and its fix."""
    text = cause(error)
    fix = getattr(error, "fix", "")
    return f"{text.rstrip('.')}. {fix}" if fix else text

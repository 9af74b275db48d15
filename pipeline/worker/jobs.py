"""The worker's jobs: claim one, extract, settle it, whatever happens.

The one place where any exception is caught for a job: it fails that job, with its reason kept, and no other.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from pipeline.core import faults
from pipeline.core.clock import parse_time
from pipeline.core.errors import (
    BusyStoreError,
    InvalidReplyError,
    LeaseLostError,
    LedgerError,
    QuotaError,
    RefusedError,
    ReverieError,
    SpendError,
    TooLongError,
    TruncatedError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.domain.job import Job, JobKind
from pipeline.extraction.run import Outcome, PhaseContext, give_up
from pipeline.extraction.strategies import ConversationStrategy, Strategy, TurnStrategy
from pipeline.intake import orphans
from pipeline.intake.drain import drain, print_session
from pipeline.ledger import conversations, entries, jobs, lookups, watermarks
from pipeline.recall.prepared import hook_state, session_memory
from pipeline.worker import dream_runner, index_refresh, prefetch_job, recall_log
from pipeline.worker.extraction_runner import QUARTER, ExtractionRunner

LOG = logging.getLogger("reverie.worker")
_HOPELESS = (RefusedError, InvalidReplyError, TooLongError, TruncatedError)
"""The dialogue, not the provider, is at fault: after the last try the worker moves past it."""
_PROVIDER_DOWN = (UnauthorisedError, UnavailableError, QuotaError)
"""No other job of this pass would fare better, and trying again at once would not help."""
_EXTRACTION: tuple[JobKind, ...] = ("extract_turn", "extract_conversation")
_AN_HOUR = 3600.0
_A_MOMENT = 120.0


@dataclass(slots=True)
class Pass:
    """What one pass did, for `reverie work` and the log."""

    events: int = 0
    quarantined: int = 0
    left: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    waiting: str = ""
    dreams: list[dict[str, str]] = field(default_factory=list)


def _told(error: Exception) -> str:
    said = f"{type(error).__name__}: {error}"
    fix = getattr(error, "fix", "")
    return f"{said.rstrip('.')}. {fix}" if fix else said


class Worker(ExtractionRunner):
    """One worker over one home: a reader that takes what to read from the spool and the ledger.

    `left` holds the ids of the events that the present pass could not take; the next pass tries them again.
    """

    # -- one pass ---------------------------------------------------------------------------------

    def run(self, *, now_too: bool = False) -> Pass:
        """Drain the spool and do every job that is due (`now_too`: each that waits, once)."""
        done = Pass()
        self.left.clear()
        jobs.release_leases(self.ledger, now=self._now())
        entries.recover_ingesting(self.ledger)
        self._drain(done)
        recall_log.take(self.ledger, self.home, self._now())
        if not self._extracts():
            hook_state.refresh(self.ledger, self.home, self.settings, self.clock)
            return done
        self._wake_conversations()
        down, tried = "", list[int]()
        while job := self._next(tried if now_too else (), now_too):
            tried.append(job.id)
            try:
                down = self._do(job, done)
            except LeaseLostError as error:
                LOG.warning("%s", error)
                continue
            if down:
                self._put_off(down, () if not now_too else tried)
                break
            self._drain(done)
        recall_log.count(self)
        dream_runner.ask(self)
        self.refresh()
        self._dream(done, down, now_too)
        index_refresh.refresh(self.home, self.ledger, self.settings, self.clock, self.touched)
        session_memory.sweep(self.home, self._now())
        hook_state.refresh(self.ledger, self.home, self.settings, self.clock)
        return done

    def next_due(self) -> float | None:
        """Return in how many seconds the next job is due, or None when none will be."""
        return jobs.next_due(self.ledger, now=self._now()) if self._extracts() else None

    def _extracts(self) -> bool:
        return self.settings.store.mode not in ("off", "observe")

    def _next(self, leave_out: Sequence[int], now_too: bool) -> Job | None:
        return jobs.claim(
            self.ledger,
            owner=self.owner,
            lease_seconds=self.settings.worker.lease_seconds,
            now=self._now(),
            kinds=_EXTRACTION,
            ignore_schedule=now_too,
            leave_out=leave_out,
        )

    def _put_off(self, reason: str, tried: Sequence[int]) -> None:
        """Let every other job that is due wait as well: the provider that failed one would fail them all."""
        while job := self._next(tried, now_too=False):
            jobs.postpone(self.ledger, job, run_after=self._now() + _AN_HOUR, reason=reason, now=self._now())

    def _drain(self, done: Pass) -> None:
        drained = drain(self.home, self.ledger, self.settings, self.clock, leave_out=self.left)
        self.left |= drained.left
        done.left = len(self.left)
        done.events += drained.events
        done.quarantined += drained.quarantined
        session_memory.keep_all(self.ledger, self.home, drained.keys)
        if drained.started and self._extracts():
            orphans.read(self.ledger, self.settings, self.clock, drained.started)

    def _wake_conversations(self) -> None:
        """Queue the conversations that fell silent lately; older ones wait for `reverie process`."""
        now = self.clock.now()
        limits = self.settings.extraction
        conversations.mark_ready(self.ledger, now=now, gap_minutes=limits.conversation_gap_minutes)
        oldest = now.timestamp() - limits.first_sight_days * 86_400
        for item in conversations.list_conversations(self.ledger, status="ready"):
            last = parse_time(item.last_message_at)
            old = last is None or last.timestamp() < oldest
            # One that waits keeps its time: it may have been put off.
            waits = lookups.is_waiting(self.ledger, "extract_conversation", str(item.id))
            if not (old or waits or print_session(self.ledger, item.source_file, self.settings)):
                key, due = str(item.id), self._now()
                jobs.enqueue(self.ledger, "extract_conversation", key, now=due, run_after=due)

    def _dream(self, done: Pass, down: str, now_too: bool) -> None:
        """Do every dream that is due: the boundary for its errors. With the provider `down`, all wait."""
        tried: list[int] = []
        while job := dream_runner.claim(self, leave_out=tried, ignore_schedule=now_too):
            tried.append(job.id)
            try:
                report = None if down else dream_runner.do(self, job)
                if down:
                    dream_runner.put_off(self, job, down, _AN_HOUR)
            except LeaseLostError as error:
                LOG.warning("%s", error)
                continue
            except _PROVIDER_DOWN as error:
                down = done.waiting = str(error)
                dream_runner.put_off(self, job, down, _AN_HOUR)
                continue
            except Exception as error:
                if not isinstance(error, ReverieError):
                    LOG.exception("the dream over %s failed", job.key)
                done.failures.append(f"{job.key}: {error}")
                dream_runner.fail(self, job, _told(error))
                continue
            if report is not None and report.word != "closed":
                done.dreams.append({"store": job.key, "word": report.word, "reason": report.reason})

    # -- one job ----------------------------------------------------------------------------------

    def _do(self, job: Job, done: Pass) -> str:
        """Do one job and settle it: the boundary for its errors. Returns "" or why no other can be done."""
        now = self._now
        try:
            done.outcomes.extend(self._extract(job))
        except (SpendError, BusyStoreError) as error:
            if isinstance(error, SpendError):
                done.waiting = str(error)
            wait = QUARTER if isinstance(error, SpendError) else _A_MOMENT
            jobs.postpone(self.ledger, job, run_after=now() + wait, reason=str(error), now=now())
        except _PROVIDER_DOWN as error:
            done.waiting = str(error)
            jobs.postpone(self.ledger, job, run_after=now() + _AN_HOUR, reason=str(error), now=now())
            return str(error)
        except Exception as error:
            if not isinstance(error, ReverieError):
                LOG.exception("job %s (%s) failed", job.id, job.key)
            done.failures.append(f"{job.key}: {error}")
            self._fail(job, error, done)
        else:
            interval = self.settings.extraction.turn_interval_seconds
            jobs.finish(self.ledger, job, now=now(), again_after=interval)
            if job.kind == "extract_turn":
                prefetch_job.choose(lambda: self._phase(job.key), self.settings.recall, self.home, job.key)
        faults.reach("worker.job_settled")
        return ""

    def _fail(self, job: Job, error: Exception, done: Pass) -> None:
        """Count a failed try; after the last, move past dialogue no model takes, or park the job."""
        attempts = self.settings.extraction.attempts
        told = _told(error)
        if isinstance(error, _HOPELESS) and job.attempts + 1 >= attempts:
            try:
                outcome = give_up(
                    self._phase(self._key(job)), self._strategy(job), f"{error.outcome}: {error}"
                )
            except ReverieError as second:
                told = f"{told}; {second}"
            else:
                done.outcomes.extend([outcome] if outcome else [])
                jobs.finish(self.ledger, job, now=self._now())
                return
        jobs.fail(self.ledger, job, told, now=self._now(), max_attempts=attempts)

    def _extract(self, job: Job) -> Sequence[Outcome]:
        strategy = self._strategy(job)
        phase = self._phase(self._key(job))
        if isinstance(strategy, TurnStrategy) and self._soon_read_whole(job.key, phase):
            return []
        if isinstance(strategy, ConversationStrategy):
            return self._conversation(phase, strategy, job)
        return self._spans(phase, strategy, job)

    def _soon_read_whole(self, key: str, phase: PhaseContext) -> bool:
        """Whether all that is unread belongs to conversations already queued to be read as a whole."""
        after = watermarks.watermark(self.ledger, key, phase.store_key, "turn")
        unread = {u.row for u in entries.utterances(self.ledger, key, after_row=after)}
        for item in conversations.list_conversations(self.ledger, key=key):
            waits = item.status in ("ready", "queued") and lookups.is_waiting(
                self.ledger, "extract_conversation", str(item.id)
            )
            # One too short to be read as a whole is read by turns, or what was said in it would be lost.
            if waits and not self._whole(item).skipped(self.ledger):
                unread -= {u.row for u in entries.utterances_of_conversation(self.ledger, item.id)}
        return not unread

    def _key(self, job: Job) -> str:
        if job.kind == "extract_conversation":
            return self._found(job).source_file
        return job.key

    def _strategy(self, job: Job) -> Strategy:
        limits = self.settings.extraction
        if job.kind == "extract_conversation":
            return self._whole(self._found(job))
        return TurnStrategy(job.key, limits)

    def _found(self, job: Job) -> conversations.Conversation:
        found = conversations.conversation(self.ledger, int(job.key))
        if found is None:
            raise LedgerError(f"conversation {job.key} is not in the ledger any more")
        return found

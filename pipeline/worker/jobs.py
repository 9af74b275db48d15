"""The worker's jobs: claim one, extract, settle it, whatever happens.

The one place where any exception is caught for a job: it fails that job, with its reason kept, and no other.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pipeline import paths
from pipeline.clock import Clock, parse_time
from pipeline.config import Settings
from pipeline.domain.job import Job
from pipeline.errors import (
    BusyStoreError,
    InvalidReplyError,
    LedgerError,
    ModelError,
    QuotaError,
    RefusedError,
    ReverieError,
    SpendError,
    TooLongError,
    TruncatedError,
    UnauthorisedError,
    UnavailableError,
)
from pipeline.extraction.run import Desk, Outcome, extract, give_up
from pipeline.extraction.strategies import ConversationStrategy, Strategy, TurnStrategy
from pipeline.ids import new_id
from pipeline.ledger import Ledger, calls, conversations, ingest, jobs, lookups, watermarks
from pipeline.llm import Client, open_provider
from pipeline.store import Store, foreign_dream_running
from pipeline.worker.drain import drain, print_session

LOG = logging.getLogger("reverie.worker")
_HOPELESS = (RefusedError, InvalidReplyError, TooLongError, TruncatedError)
"""The dialogue, not the provider, is at fault: after the last try the worker moves past it."""
_PROVIDER_DOWN = (UnauthorisedError, UnavailableError, QuotaError)
"""No other job of this pass would fare better, and trying again at once would not help."""
_AN_HOUR = 3600.0
_A_MOMENT = 120.0
_QUARTER = 900.0


@dataclass(slots=True)
class Pass:
    """What one pass did, for `reverie work` and the log."""

    events: int = 0
    quarantined: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    waiting: str = ""


class Worker:
    """One worker over one home. `store` overrides where memories go; `llm` is a provider's spec."""

    def __init__(
        self,
        home: Path,
        settings: Settings,
        clock: Clock,
        ledger: Ledger,
        *,
        llm: str | None = None,
        store: Path | None = None,
    ) -> None:
        self.home = home
        self.settings = settings
        self.clock = clock
        self.ledger = ledger
        self.llm = llm or settings.model.provider
        self.store = store
        self.owner = f"{os.getpid()}-{new_id()[:8]}"
        self._touched: dict[Path, Store] = {}
        self._client: Client | None = None
        self._client_known = False

    # -- one pass ---------------------------------------------------------------------------------

    def run(self, *, now_too: bool = False) -> Pass:
        """Drain the spool and do every job that is due (`now_too`: also those that wait their turn)."""
        done = Pass()
        jobs.release_leases(self.ledger, now=self._now())
        ingest.recover_ingesting(self.ledger)
        self._drain(done)
        if self.settings.store.mode in ("off", "observe"):
            return done
        self._wake_conversations()
        while job := jobs.claim(
            self.ledger,
            owner=self.owner,
            lease_seconds=self.settings.worker.lease_seconds,
            now=self._now(),
            ignore_schedule=now_too,
        ):
            if not self._do(job, done):
                break
            self._drain(done)
        self.refresh()
        return done

    def _drain(self, done: Pass) -> None:
        drained = drain(self.home, self.ledger, self.settings, self.clock)
        done.events += drained.events
        done.quarantined += drained.quarantined

    def _wake_conversations(self) -> None:
        """Queue the conversations that fell silent lately; older ones wait for `reverie process`."""
        now = self.clock.now()
        limits = self.settings.extraction
        conversations.mark_ready(self.ledger, now=now, gap_minutes=limits.conversation_gap_minutes)
        oldest = now.timestamp() - limits.first_sight_days * 86_400
        for item in conversations.list_conversations(self.ledger, status="ready"):
            last = parse_time(item.last_message_at)
            if (
                last is None
                or last.timestamp() < oldest
                or print_session(self.ledger, item.source_file, self.settings)
            ):
                continue
            jobs.enqueue(
                self.ledger, "extract_conversation", str(item.id), now=self._now(), run_after=self._now()
            )

    def read_file(self, key: str) -> list[Outcome]:
        """Extract everything of one file that has not been read, now; errors are the caller's.

        A conversation nobody has read is read as a whole; one that was read in part goes on by turns, so
        that only what is new reaches the model.
        """
        limits = self.settings.extraction
        conversations.mark_ready(
            self.ledger, now=self.clock.now(), gap_minutes=limits.conversation_gap_minutes
        )
        desk = self._desk(key)
        outcomes: list[Outcome] = []
        for item in conversations.list_conversations(self.ledger, key=key):
            rows = [u.row for u in ingest.utterances_of_conversation(self.ledger, item.id)]
            read = watermarks.watermark(self.ledger, key, desk.store_key, "turn")
            if not rows or rows[-1] <= read:
                continue
            if rows[0] > read and len(rows) >= limits.min_conversation_messages:
                outcomes.extend(self._conversation(desk, self._whole(item), None))
            else:
                turns = TurnStrategy(key, limits, first_sight=False, until_row=rows[-1])
                outcomes.extend(self._spans(desk, turns, None))
        self.refresh()
        return outcomes

    def read_spans(self, key: str, strategy: Strategy) -> list[Outcome]:
        """Do every span `strategy` finds in the file `key`, now."""
        return self._spans(self._desk(key), strategy, None)

    def read_conversations(self, key: str) -> list[Outcome]:
        """Read every conversation of the file `key` as a whole, also what was read turn by turn."""
        desk = self._desk(key)
        found = conversations.list_conversations(self.ledger, key=key)
        return [outcome for item in found for outcome in self._conversation(desk, self._whole(item), None)]

    # -- one job ----------------------------------------------------------------------------------

    def _do(self, job: Job, done: Pass) -> bool:
        """Do one job and settle it; False when the pass should end. The boundary for a job's errors."""
        now = self._now
        try:
            done.outcomes.extend(self._extract(job))
        except SpendError as error:
            done.waiting = str(error)
            jobs.postpone(self.ledger, job, run_after=now() + _QUARTER, reason=str(error), now=now())
            return False
        except BusyStoreError as error:
            jobs.postpone(self.ledger, job, run_after=now() + _A_MOMENT, reason=str(error), now=now())
            return False
        except _PROVIDER_DOWN as error:
            done.waiting = str(error)
            jobs.postpone(self.ledger, job, run_after=now() + _AN_HOUR, reason=str(error), now=now())
            return False
        except _HOPELESS as error:
            self._fail_or_pass(job, error, done)
        except Exception as error:
            if not isinstance(error, ReverieError):
                LOG.exception("job %s (%s) failed", job.id, job.key)
            done.failures.append(f"{job.key}: {error}")
            jobs.fail(
                self.ledger,
                job,
                f"{type(error).__name__}: {error}",
                now=now(),
                max_attempts=self.settings.extraction.attempts,
            )
        else:
            interval = self.settings.extraction.turn_interval_seconds
            jobs.finish(self.ledger, job, now=now(), again_after=interval)
        return True

    def _fail_or_pass(self, job: Job, error: ModelError, done: Pass) -> None:
        done.failures.append(f"{job.key}: {error}")
        if job.attempts + 1 < self.settings.extraction.attempts:
            jobs.fail(self.ledger, job, f"{error.outcome}: {error}", now=self._now(), max_attempts=10**6)
            return
        outcome = give_up(self._desk(self._key(job)), self._strategy(job), f"{error.outcome}: {error}")
        if outcome is not None:
            done.outcomes.append(outcome)
        jobs.finish(self.ledger, job, now=self._now(), again_after=0.0)

    def _extract(self, job: Job) -> Iterable[Outcome]:
        strategy = self._strategy(job)
        desk = self._desk(self._key(job))
        if isinstance(strategy, TurnStrategy) and self._soon_read_whole(job.key, desk):
            return []
        if isinstance(strategy, ConversationStrategy):
            return self._conversation(desk, strategy, job)
        return self._spans(desk, strategy, job)

    def _soon_read_whole(self, key: str, desk: Desk) -> bool:
        """Whether all that is unread belongs to conversations already queued to be read as a whole."""
        after = watermarks.watermark(self.ledger, key, desk.store_key, "turn")
        unread = {u.row for u in ingest.utterances(self.ledger, key, after_row=after)}
        for item in conversations.list_conversations(self.ledger, key=key):
            if item.status in ("ready", "queued") and lookups.is_waiting(
                self.ledger, "extract_conversation", str(item.id)
            ):
                unread -= {u.row for u in ingest.utterances_of_conversation(self.ledger, item.id)}
        return not unread

    def _spans(self, desk: Desk, strategy: Strategy, job: Job | None) -> list[Outcome]:
        outcomes = []
        while outcome := extract(desk, strategy):
            outcomes.append(outcome)
            if job is not None:
                jobs.heartbeat(
                    self.ledger, job, lease_seconds=self.settings.worker.lease_seconds, now=self._now()
                )
        return outcomes

    def _conversation(self, desk: Desk, strategy: ConversationStrategy, job: Job | None) -> list[Outcome]:
        item = strategy.conversation
        now = self.clock.now()
        if item.status == "ready":
            conversations.set_status(self.ledger, item.id, "queued", now=now)
        if item.status in ("ready", "queued"):
            conversations.set_status(self.ledger, item.id, "processing", now=now)
        outcomes = self._spans(desk, strategy, job)
        if item.status not in ("ready", "queued", "processing"):
            return outcomes
        skipped = [outcome for outcome in outcomes if outcome.word == "skipped"]
        if skipped:
            conversations.set_status(self.ledger, item.id, "skipped", reason=skipped[0].reason, now=now)
        else:
            conversations.set_status(self.ledger, item.id, "archived", now=now)
        return outcomes

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

    def _whole(self, item: conversations.Conversation) -> ConversationStrategy:
        limits = self.settings.extraction
        return ConversationStrategy(item, limits, minimum=limits.min_conversation_messages)

    def _desk(self, key: str) -> Desk:
        place = self.store or store_for(self.ledger, key)
        if foreign_dream_running(place, self.clock.now()):
            raise BusyStoreError(file=str(place), fix="It ends by itself; the work waits.")
        return Desk(
            ledger=self.ledger,
            store=self._open(place),
            client=self.client(),
            settings=self.settings,
            clock=self.clock,
        )

    def _open(self, place: Path) -> Store:
        limits = self.settings.store
        store = Store.open(place, create=True, index_lines=limits.index_lines, index_bytes=limits.index_bytes)
        self._touched[place] = store
        return store

    def refresh(self) -> None:
        """Bring the derived files of every store this worker used up to date."""
        for store in self._touched.values():
            store.reindex(now=self.clock.now())
        self._touched.clear()

    def client(self) -> Client | None:
        """Return the model client, made at the first need, or None when extraction goes by rules."""
        if not self._client_known:
            provider = open_provider(self.llm, self.settings.model, home=self.home)
            meter = calls.LedgerMeter(self.ledger, self.settings.spend, self.clock, run_id=self.owner)
            offline = provider.name == "offline"
            self._client = None if offline else Client(provider, meter, settings=self.settings.model)
            self._client_known = True
        return self._client

    def _now(self) -> float:
        return self.clock.now().timestamp()


def store_for(ledger: Ledger, key: str) -> Path:
    """Return the memory folder for the sessions of source file `key`, by where they began."""
    known = lookups.store_of(ledger, key)
    if known:
        return Path(known)
    cwd = lookups.first_cwd(ledger, key)
    place = paths.project_store(Path(cwd)) if cwd else paths.projects_dir() / Path(key).parent / "memory"
    # Remembered, since a worktree that is gone tomorrow can't be resolved to its repository any more.
    lookups.remember_store(ledger, key, str(place))
    return place

"""Reading one source file into its memory folder: what the worker's jobs and the commands have in common.

Every store that is opened here to be written gets a ``reindex`` job in the ledger, which `refresh` does: a
crash between a memory and the files derived from it leaves the job, so nothing derived stays stale.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

from pipeline.config import Settings
from pipeline.context import PhaseContext, open_store
from pipeline.core.clock import Clock
from pipeline.core.errors import BusyStoreError, StoreError
from pipeline.core.ids import new_id
from pipeline.domain.job import Job
from pipeline.extraction.run import Outcome, extract
from pipeline.extraction.strategies import ConversationStrategy, Strategy, TurnStrategy
from pipeline.ledger import Ledger, calls, conversations, entries, jobs, runs, watermarks
from pipeline.llm import Client, Provider, open_provider
from pipeline.search import semantic
from pipeline.store import Store, foreign_dream_running
from pipeline.worker import index_refresh
from pipeline.worker.index_refresh import ONE_STORE
from pipeline.worker.memory_folder import claim, store_for

LOG = logging.getLogger("reverie.worker")
QUARTER = 900.0


class ExtractionRunner:
    """Reads files of one home. `store` overrides where memories go; `llm` is a provider's spec."""

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
        self.left: set[str] = set()
        self.touched: set[Path] = set()
        self._stores: dict[Path, Store] = {}
        self._provider: Provider | None = None

    def read_file(self, key: str) -> list[Outcome]:
        """Extract everything of one file that has not been read, now; errors are the caller's.

        A conversation nobody has read is read as a whole; one that was read in part goes on by turns, so
        that only what is new reaches the model. What turns have passed by for good, the old part of a
        history at its first sight, is read as a whole as well.
        """
        limits = self.settings.extraction
        conversations.mark_ready(
            self.ledger, now=self.clock.now(), gap_minutes=limits.conversation_gap_minutes
        )
        phase = self._phase(key)
        outcomes: list[Outcome] = []
        for item in conversations.list_conversations(self.ledger, key=key):
            rows = [u.row for u in entries.utterances_of_conversation(self.ledger, item.id)]
            past = watermarks.watermark(self.ledger, key, phase.store_key, "turn")
            read = runs.rows_read(self.ledger, key, phase.store_key, "turn", "conversation")
            unread = [row for row in rows if not any(first <= row <= last for first, last in read)]
            if not unread:
                continue
            if unread[0] <= past:
                outcomes.extend(self._conversation(phase, self._whole(item, minimum=1), None))
            elif unread == rows and len(rows) >= limits.min_conversation_messages:
                outcomes.extend(self._conversation(phase, self._whole(item), None))
            else:
                turns = TurnStrategy(key, limits, first_sight=False, until_row=rows[-1])
                outcomes.extend(self._spans(phase, turns, None))
        self.refresh()
        index_refresh.refresh(self.home, self.ledger, self.settings, self.clock, self.touched)
        return outcomes

    def read_spans(self, key: str, strategy: Strategy) -> list[Outcome]:
        """Do every span `strategy` finds in the file `key`, now."""
        return self._spans(self._phase(key), strategy, None)

    def read_conversations(self, key: str) -> list[Outcome]:
        """Read every conversation of the file `key` as a whole, also what was read turn by turn."""
        phase = self._phase(key)
        found = conversations.list_conversations(self.ledger, key=key)
        return [outcome for item in found for outcome in self._conversation(phase, self._whole(item), None)]

    def refresh(self) -> None:
        """Bring the derived files of every store that was changed up to date."""
        while job := jobs.claim(
            self.ledger,
            owner=self.owner,
            lease_seconds=self.settings.worker.lease_seconds,
            now=self._now(),
            kinds=("reindex",),
        ):
            try:
                place = Path(job.key)
                if place.is_dir():
                    store = self._stores.get(place) or self.open_store(place)
                    store.reindex(now=self.clock.now())
                    semantic.keep_fresh(store, self.settings, self.ledger, self.clock, run_id=new_id())
            except (StoreError, OSError) as error:
                # The memories are safe; what is derived from them waits.
                LOG.warning("%s: %s", job.key, error)
                jobs.postpone(
                    self.ledger, job, run_after=self._now() + QUARTER, reason=str(error), now=self._now()
                )
            except ONE_STORE as error:
                # Whatever one store holds, the others' turn comes.
                LOG.exception("the derived files of %s can't be made", job.key)
                told = f"{type(error).__name__}: {error}"
                limit = self.settings.extraction.attempts
                jobs.fail(self.ledger, job, told, now=self._now(), max_attempts=limit)
            else:
                jobs.finish(self.ledger, job, now=self._now())
        self._stores.clear()

    # -- for the jobs too -------------------------------------------------------------------------

    def _spans(self, phase: PhaseContext, strategy: Strategy, job: Job | None) -> list[Outcome]:
        outcomes: list[Outcome] = []
        window = 0
        while outcome := extract(phase, strategy, window=window):
            outcomes.append(outcome)
            window = outcome.window
            if job is not None:
                jobs.heartbeat(
                    self.ledger, job, lease_seconds=self.settings.worker.lease_seconds, now=self._now()
                )
        return outcomes

    def _conversation(
        self, phase: PhaseContext, strategy: ConversationStrategy, job: Job | None
    ) -> list[Outcome]:
        item = strategy.conversation
        now = self.clock.now()
        if item.status == "ready":
            conversations.set_status(self.ledger, item.id, "queued", now=now)
        if item.status in ("ready", "queued"):
            conversations.set_status(self.ledger, item.id, "processing", now=now)
        outcomes = self._spans(phase, strategy, job)
        if item.status in ("ready", "queued", "processing"):
            # Asked anew rather than taken from the outcomes: a crash may have come after the last of them.
            reason = strategy.skipped(self.ledger)
            status = "skipped" if reason else "archived"
            conversations.set_status(self.ledger, item.id, status, reason=reason, now=now)
        return outcomes

    def _whole(self, item: conversations.Conversation, *, minimum: int | None = None) -> ConversationStrategy:
        limits = self.settings.extraction
        least = limits.min_conversation_messages if minimum is None else minimum
        return ConversationStrategy(item, limits, minimum=least)

    def _phase(self, key: str) -> PhaseContext:
        place = self.store or store_for(self.ledger, key)
        if foreign_dream_running(place, self.clock.now()):
            raise BusyStoreError(file=str(place), fix="It ends by itself; the work waits.")
        store = self.open_store(place)
        if self.store is None:
            claim(self.ledger, key, store)
        jobs.enqueue(self.ledger, "reindex", str(place), now=self._now(), run_after=self._now())
        return PhaseContext(
            ledger=self.ledger,
            store=store,
            client=self.client(),
            settings=self.settings,
            clock=self.clock,
        )

    def open_store(self, place: Path) -> Store:
        """Open the memory folder at `place`; a missing one is made at the first write."""
        store = open_store(place, self.settings, later=True)
        self._stores[place] = store
        self.touched.add(place)
        return store

    def client(self) -> Client | None:
        """Return a model client whose calls count as one run, or None when extraction goes by rules.

        The provider is opened at the first need and kept.
        """
        if self._provider is None:
            self._provider = open_provider(self.llm, self.settings.model, home=self.home)
        if self._provider.name == "offline":
            return None
        meter = calls.LedgerMeter(self.ledger, self.settings.spend, self.clock, run_id=new_id())
        return Client(self._provider, meter, settings=self.settings.model)

    def _now(self) -> float:
        return self.clock.now().timestamp()

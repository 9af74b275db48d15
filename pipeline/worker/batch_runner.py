"""A backlog that is read in batches, as a job that looks in now and then.

Each time it takes what has come, brings that into the stores, asks what is to be asked next, and goes
away. What it needs to go on stands in the ledger (`pipeline.ledger.batches`), so that it holds nothing
meanwhile and may die anywhere:

    batch written down ─► sent ─► its id kept ─► … ─► each result committed with its run ─► stores ─► next

Between the first two and the third nobody can know whether the provider has the batch, and it takes no key by
which to send it once. Then its batches of the last days are looked through for one with as many requests
that is nobody's: the requests' own ids show when it has ended. Until then nothing is sent again; only when
there is none, and `GRACE_SECONDS` have passed, it counts as never sent.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.core.errors import (
    ODD_DATA,
    PROVIDER_DOWN,
    BusyStoreError,
    ConfigError,
    ModelError,
    StoreError,
    cause,
)
from pipeline.core.ids import new_id
from pipeline.domain.job import Job, JobKind
from pipeline.extraction.outcome import Outcome
from pipeline.ledger import Ledger, batches, conversations, runs, utterances
from pipeline.ledger.batch_writing import Room, Wanted
from pipeline.ledger.batches import Batch, BatchReading, Order
from pipeline.record import record
from pipeline.worker.batch_books import NoBooks
from pipeline.worker.batch_flight import Flight
from pipeline.worker.batch_sending import Sender, short_id
from pipeline.worker.context import WorkerContext, log_fields
from pipeline.worker.extraction_runner import TO_READ, ExtractionRunner
from pipeline.worker.retry import MINUTE, batch_wait

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.ledger.conversations import Conversation
    from pipeline.llm.batching import BatchProvider
    from pipeline.llm.request import Request
    from pipeline.worker.batch_books import BatchBooks

LOG = logging.getLogger("reverie.worker")
JOB: JobKind = "batch"
NO_BATCHES = (
    "it goes on when the provider that was asked is set again, or give it up with"
    " `reverie process --batch --cancel`"
)
SECOND_IS_NEXT = "the second reader is to be asked"
"""Why nothing comes of looking at an answered conversation while there is no room for its question."""
_LATER = 15 * MINUTE


@record
class BatchPass:
    """What one look did. The next is due in `wait` seconds, None when the order has ended."""

    outcomes: list[Outcome]
    wait: float | None
    reason: str = ""


def is_whole(ledger: Ledger, item: Conversation, store: Path, *, least: int) -> bool:
    """Whether a conversation is read as a whole: nothing of it was read into `store`, and it has as many as
    `least` messages."""
    rows = [u.row for u in utterances.utterances_of_conversation(ledger, item.id)]
    if item.status != "ready" or len(rows) < least:
        return False
    spans = runs.rows_read(ledger, item.source_file, str(store), "turn", "conversation")
    return not any(first <= row <= last for row in rows for first, last in spans)


class BatchRunner:
    """Reads conversations in batches, one order at a time. Errors are the caller's."""

    def __init__(
        self, context: WorkerContext, extraction: ExtractionRunner, books: BatchBooks | None = None
    ) -> None:
        self._context = context
        self._ledger = context.ledger
        self._extraction = extraction
        self._books = books or NoBooks()
        self._flight = Flight(context, self._books)
        self._sender = Sender(context, self._books, self._flight)

    def order(self, items: Sequence[Conversation], most_dollars: float, *, team: str = "") -> None:
        """Order conversations to be read for `most_dollars` at most; the job for it is due now.

        One for a `team` has no job: its worker looks at it. Raises ConfigError where the provider takes no
        batches.
        """
        self._provider()
        order_id, now = short_id(), self._context.now()
        with self._ledger.transaction():
            batches.note_order(
                self._ledger,
                order_id,
                [(item.id, item.source_file) for item in items],
                model=self._context.settings.model.model,
                most_dollars=most_dollars,
                now=now,
                team=team,
            )
            if not team:
                self._context.enqueue(JOB, order_id)

    def run(self, job: Job) -> BatchPass:
        """Take what has come of the order of a claimed job, and ask what is next."""
        order = batches.open_order(self._ledger)
        if order is None or order.id != job.key:
            return BatchPass([], None)
        return self.look(order, job)

    def look(self, order: Order, job: Job | None = None) -> BatchPass:
        """Take what has come of `order`, and ask what is next, for `job` if it has one."""
        try:
            provider = self._provider()
        except ConfigError as error:
            return self._without_provider(order, error)
        reasons = [self._flight.find(order, batch, provider) for batch in self._batches(order, "written")]
        failed: list[ModelError] = []
        for batch in self._batches(order, "sent"):
            try:
                reasons.append(self._flight.look_at(order, batch, provider, lambda: self._keep_alive(job)))
            except PROVIDER_DOWN:
                raise
            except ModelError as error:
                # It is about this batch alone: what came of the others is of use.
                failed.append(error)
        outcomes: list[Outcome] = []
        self._sender.has_more = True
        while self._sender.has_more:
            self._sender.has_more = False
            reasons.append(self._go_on(order, provider, job, outcomes))
        if failed:
            raise failed[0]
        return self._end(order, outcomes, next(filter(None, reasons), ""))

    def _without_provider(self, order: Order, error: ConfigError) -> BatchPass:
        """Wait until a provider is set that takes batches; an order that was canceled ends without it."""
        if order.state == "canceling":
            for batch in self._batches(order, "written", "sent"):
                self._flight.lose(batch, cause(error))
            return self._end(order, [], "")
        reason = f"{cause(error)}: {NO_BATCHES}"
        batches.note_wait(self._ledger, order.id, reason)
        return BatchPass([], _LATER, reason)

    def _end(self, order: Order, outcomes: list[Outcome], reason: str) -> BatchPass:
        """Return when the next look is due; an order of which nothing is left ends."""
        now = self._context.now()
        flying = self._batches(order, "written", "sent")
        open_ones = [*batches.readings(self._ledger, order.id, "answered")]
        open_ones += batches.readings(self._ledger, order.id, "waiting")
        if flying:
            wait = batch_wait(now - max(batch.written_at for batch in flying))
        elif open_ones and order.state == "open":
            wait = _LATER
        else:
            was_open = order.state == "open"
            batches.end_order(self._ledger, order.id, "done" if was_open else "canceled", now=now)
            LOG.info("batches: the order has ended")
            return BatchPass(outcomes, None)
        batches.note_wait(self._ledger, order.id, reason)
        return BatchPass(outcomes, wait, reason)

    # -- the provider -----------------------------------------------------------------------------

    def _provider(self) -> BatchProvider:
        from pipeline.llm.batching import takes_batches

        return takes_batches(self._context.provider())

    def _batches(self, order: Order, *states: str) -> list[Batch]:
        return batches.list_batches(self._ledger, order.id, *states)

    # -- the next questions -----------------------------------------------------------------------

    def _keep_alive(self, job: Job | None) -> None:
        if job is not None:
            self._context.keep_alive(job)

    def _go_on(self, order: Order, provider: BatchProvider, job: Job | None, outcomes: list[Outcome]) -> str:
        """Bring in what was answered and ask what is next; return why not all is asked that could be."""
        room = Room(self._ledger, self._context.settings.spend, order, now=self._context.now())
        questions = self._sender.empty()
        waits = ""
        for state in ("answered", "waiting") if order.state == "open" else ("answered",):
            for reading in batches.readings(self._ledger, order.id, state):
                if room.refused and (state == "waiting" or reading.reason):
                    continue
                try:
                    found = self._step(reading, outcomes, job)
                except (StoreError, OSError) as error:
                    waits = waits or self._held_up(reading, error)
                    continue
                if found is None or order.state != "open" or not room.take(found[0]):
                    continue
                questions.add(*found)
                if questions.is_full:
                    waits = self._sender.send(order, provider, questions) or waits
                    questions = self._sender.empty()
        if questions.wanted:
            waits = self._sender.send(order, provider, questions) or waits
        return room.refused or waits

    def _held_up(self, reading: BatchReading, error: StoreError | OSError) -> str:
        if not isinstance(error, BusyStoreError):
            LOG.warning("%s waits: %s", reading.key, cause(error))
        return f"{reading.key}: {cause(error)}"

    def _step(
        self, reading: BatchReading, outcomes: list[Outcome], job: Job | None
    ) -> tuple[Wanted, Request, dict[str, Any]] | None:
        """Bring in what of a conversation was answered; return its next question, None for none.

        Raises StoreError or OSError where its store can't be used now.
        """
        self._keep_alive(job)
        item = conversations.conversation(self._ledger, reading.conversation)
        if item is None or item.status not in TO_READ:
            # Deleted meanwhile, or passed over by a person.
            batches.move(self._ledger, reading, "done")
            return None
        try:
            return self._stepped(reading, item, outcomes, job)
        except ODD_DATA as error:
            LOG.exception("%s can't be read in a batch", reading.key, exc_info=error, extra=log_fields(job))
            batches.leave_alone(self._ledger, reading, f"{type(error).__name__}", now=self._context.now())
            return None

    def _stepped(
        self, reading: BatchReading, item: Conversation, outcomes: list[Outcome], job: Job | None
    ) -> tuple[Wanted, Request, dict[str, Any]] | None:
        from pipeline.extraction import later
        from pipeline.llm.batching import Deferred, schema_for

        strategy = self._extraction.whole(item)
        folder = self._extraction.reading_in_batch(reading.key)
        phase = replace(folder.phase, client=self._context.asking())
        done: list[Outcome] = []
        try:
            if reading.run_id and (outcome := later.go_on(phase, strategy, reading.run_id)):
                done.append(outcome)
            passed, put = later.next_question(phase, strategy)
            done += passed
        except Deferred as deferred:
            # Only a run that is there asks this way: the second reader.
            batches.move(self._ledger, reading, "answered", run_id=reading.run_id, reason=SECOND_IS_NEXT)
            return self._wanted(reading, reading.run_id, deferred.request, schema_for(deferred), "")
        finally:
            outcomes += done
            for outcome in done:
                if outcome.wrote:
                    self._context.owe(folder.store_path)
                fields = log_fields(job, source=reading.key, run=outcome.run_id)
                LOG.info("extraction: %s %s", outcome.word, outcome.reason, extra=fields)
        if put is None:
            self._extraction.settle(item, strategy)
            batches.move(self._ledger, reading, "done")
            return None
        question = Deferred(self._context.asking().as_sent(put.request), strategy.schema)
        kept = json.dumps(put.kept, ensure_ascii=False)
        return self._wanted(reading, new_id(), question.request, schema_for(question), kept)

    def _wanted(
        self, reading: BatchReading, run_id: str, request: Request, schema: dict[str, Any], kept: str
    ) -> tuple[Wanted, Request, dict[str, Any]]:
        from pipeline.llm.request import estimate, request_digest

        digest = request_digest(request, schema)
        wanted = Wanted(
            reading.conversation,
            reading.key,
            run_id,
            request.purpose,
            request.model,
            digest,
            estimate(request, schema),
            kept,
        )
        return wanted, request, schema

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pipeline.core import faults
from pipeline.core.errors import (
    ODD_DATA,
    PROVIDER_DOWN,
    BusyStoreError,
    ConfigError,
    ModelError,
    StoreError,
    TooLongError,
    cause,
)
from pipeline.core.ids import new_id
from pipeline.domain.job import Job, JobKind
from pipeline.extraction.outcome import Outcome
from pipeline.ledger import batch_writing, batches, conversations, outages
from pipeline.ledger.batch_writing import Room, Wanted
from pipeline.ledger.batches import Batch, BatchReading, Order
from pipeline.record import changing, field, record
from pipeline.worker.context import WorkerContext, log_fields
from pipeline.worker.extraction_runner import TO_READ, ExtractionRunner
from pipeline.worker.retry import MINUTE, batch_wait

if TYPE_CHECKING:
    from pipeline.ledger.conversations import Conversation
    from pipeline.llm.batching import BatchProvider, BatchRequest, BatchState
    from pipeline.llm.request import Request

LOG = logging.getLogger("reverie.worker")
JOB: JobKind = "batch"
GRACE_SECONDS = 10 * MINUTE
"""A batch that the provider does not list so long after it was written down was never sent."""
LOOK_BACK_SECONDS = 48 * 60 * MINUTE
"""So far back its batches are looked through: clocks may be apart."""
MOST_REQUESTS = 1_000
MOST_CHARS = 8_000_000
"""What one batch holds, since all of it is in memory while it is sent; the provider takes far more."""
OTHER_LOGIN = (
    "a batch was sent with another key or address: set that again, or give it up with"
    " `reverie process --batch --cancel`"
)
NO_BATCHES = (
    "it goes on when the provider that was asked is set again, or give it up with"
    " `reverie process --batch --cancel`"
)
SECOND_IS_NEXT = "the second reader is to be asked"
"""Why nothing comes of looking at an answered conversation while there is no room for its question."""
_IN_DOUBT = "it is not known yet whether the last batch was sent; nothing is sent twice"
_LATER = 15 * MINUTE
_LACK_SECONDS = 24 * 60 * MINUTE
"""A result that the provider does not show so long after its batch was written down is lost."""


@record
class BatchPass:
    """What one look did. The next is due in `wait` seconds, None when the order has ended."""

    outcomes: list[Outcome]
    wait: float | None
    reason: str = ""


@changing
class _Questions:
    """Questions that are to be sent together."""

    wanted: list[Wanted] = field(default_factory=list)
    requests: list[tuple[Request, dict[str, Any]]] = field(default_factory=list)
    chars: int = 0

    @property
    def is_full(self) -> bool:
        return len(self.wanted) >= MOST_REQUESTS or self.chars >= MOST_CHARS


def _short_id() -> str:
    """Return a name that tells nothing: requests are named after it, and go to the provider."""
    return new_id().replace("-", "")[:16]


class BatchRunner:
    """Reads conversations in batches, one order at a time. Errors are the caller's."""

    def __init__(self, context: WorkerContext, extraction: ExtractionRunner) -> None:
        self._context = context
        self._ledger = context.ledger
        self._extraction = extraction

    def order(self, items: Sequence[Conversation], most_dollars: float) -> None:
        """Order conversations to be read for `most_dollars` at most; the job for it is due now.

        Raises ConfigError where the provider takes no batches.
        """
        self._provider()
        order_id, now = _short_id(), self._context.now()
        with self._ledger.transaction():
            batches.note_order(
                self._ledger,
                order_id,
                [(item.id, item.source_file) for item in items],
                model=self._context.settings.model.model,
                most_dollars=most_dollars,
                now=now,
            )
            self._context.enqueue(JOB, order_id)

    def run(self, job: Job) -> BatchPass:
        """Take what has come of the order of a claimed job, and ask what is next."""
        order = batches.open_order(self._ledger)
        if order is None or order.id != job.key:
            return BatchPass([], None)
        try:
            provider = self._provider()
        except ConfigError as error:
            return self._without_provider(order, error)
        reasons = [self._find(order, batch, provider) for batch in self._batches(order, "written")]
        failed: list[ModelError] = []
        for batch in self._batches(order, "sent"):
            try:
                reasons.append(self._look_at(order, batch, provider, job))
            except PROVIDER_DOWN:
                raise
            except ModelError as error:
                # It is about this batch alone: what came of the others is of use.
                failed.append(error)
        outcomes: list[Outcome] = []
        reasons.append(self._go_on(order, provider, job, outcomes))
        if failed:
            raise failed[0]
        return self._end(order, outcomes, next(filter(None, reasons), ""))

    def _without_provider(self, order: Order, error: ConfigError) -> BatchPass:
        """Wait until a provider is set that takes batches; an order that was canceled ends without it."""
        if order.state == "canceling":
            for batch in self._batches(order, "written", "sent"):
                batches.lose(self._ledger, batch.id, cause(error), now=self._context.now())
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

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Note it where the provider turns out to be down."""
        try:
            yield
        except ModelError as error:
            self._context.note_failure(error)
            raise

    def _batches(self, order: Order, *states: str) -> list[Batch]:
        return batches.list_batches(self._ledger, order.id, *states)

    def _find(self, order: Order, batch: Batch, provider: BatchProvider) -> str:
        """Find out what became of a batch that may have been sent; return why that is open yet, or ""."""
        now = self._context.now()
        if batch.login != provider.login:
            if order.state == "open":
                return OTHER_LOGIN
            batches.lose(self._ledger, batch.id, "nobody knows whether it was sent", now=now)
            return ""
        in_doubt = False
        with self._heard():
            for state in provider.recent_batches(batch.written_at - LOOK_BACK_SECONDS):
                if state.requests != batch.requests or batches.is_known(self._ledger, state.id):
                    continue
                if not state.ended:
                    in_doubt = True
                elif not state.gone and self._is_ours(batch, state, provider):
                    batches.note_sent(self._ledger, batch.id, state.id, now=now)
                    LOG.info("batch %s was sent after all, as %s", batch.id, state.id)
                    return ""
        if in_doubt or now - batch.written_at < GRACE_SECONDS:
            return _IN_DOUBT
        LOG.warning("batch %s was never sent", batch.id)
        batches.drop(self._ledger, batch.id, now=now)
        return ""

    def _is_ours(self, batch: Batch, state: BatchState, provider: BatchProvider) -> bool:
        results = provider.batch_results(state.id)
        first = next((result for result in results if result.custom_id), None)
        return first is not None and batches.has_item(self._ledger, batch.id, first.custom_id)

    def _look_at(self, order: Order, batch: Batch, provider: BatchProvider, job: Job) -> str:
        """Take the results of a batch if it has ended; return what it waits for else, or ""."""
        with self._heard():
            state = provider.batch(batch.provider_id)
        if state is None or state.gone:
            if batch.login != provider.login and order.state == "open":
                return OTHER_LOGIN
            LOG.warning("the results of batch %s are not there any more", batch.provider_id)
            reason = "the provider has the results no more"
            batches.lose(self._ledger, batch.id, reason, now=self._context.now())
            return ""
        if not state.ended:
            if order.state == "canceling" and not batch.canceled:
                with self._heard():
                    provider.cancel_batch(batch.provider_id)
                batches.note_canceled(self._ledger, batch.id)
            return ""
        return self._take(order, batch, provider, job)

    def _take(self, order: Order, batch: Batch, provider: BatchProvider, job: Job) -> str:
        """Take the results of a batch that has ended; return what is said where some are not there."""
        from pipeline.worker.batch_results import Results

        taking, known, nobodys = Results(self._context, order, batch), 0, 0
        with self._heard():
            for result in provider.batch_results(batch.provider_id):
                taking.take(result)
                known += batches.has_item(self._ledger, batch.id, result.custom_id)
                nobodys += not result.custom_id
                self._context.keep_alive(job)
        missing, now = batches.items(self._ledger, batch.id), self._context.now()
        # Where no line is one of ours something else has answered.
        if len(missing) > (nobodys if known else 0) and now - batch.written_at < _LACK_SECONDS:
            return f"the results lack {len(missing)} of {batch.requests} requests; they are read again"
        for item in missing:
            with self._ledger.transaction():
                batches.lose_item(self._ledger, item, "its result is not there, or can't be read", now=now)
        batches.note_taken(self._ledger, batch.id, now=now)
        faults.reach("batch.taken")
        return ""

    # -- the next questions -----------------------------------------------------------------------

    def _go_on(self, order: Order, provider: BatchProvider, job: Job, outcomes: list[Outcome]) -> str:
        """Bring in what was answered and ask what is next; return why not all is asked that could be."""
        room = Room(self._ledger, self._context.settings.spend, order, now=self._context.now())
        questions = _Questions()
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
                self._add(questions, *found)
                if questions.is_full:
                    self._send(order, provider, questions)
                    questions = _Questions()
        if questions.wanted:
            self._send(order, provider, questions)
        return room.refused or waits

    def _held_up(self, reading: BatchReading, error: StoreError | OSError) -> str:
        if not isinstance(error, BusyStoreError):
            LOG.warning("%s waits: %s", reading.key, cause(error))
        return f"{reading.key}: {cause(error)}"

    def _step(
        self, reading: BatchReading, outcomes: list[Outcome], job: Job
    ) -> tuple[Wanted, Request, dict[str, Any]] | None:
        """Bring in what of a conversation was answered; return its next question, None for none.

        Raises StoreError or OSError where its store can't be used now.
        """
        self._context.keep_alive(job)
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
        self, reading: BatchReading, item: Conversation, outcomes: list[Outcome], job: Job
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

    def _add(self, questions: _Questions, wanted: Wanted, request: Request, schema: dict[str, Any]) -> None:
        questions.wanted.append(wanted)
        questions.requests.append((request, schema))
        questions.chars += len(request.system) + sum(len(message.content) for message in request.messages)

    def _send(self, order: Order, provider: BatchProvider, questions: _Questions) -> None:
        """Write a batch down, send it, and keep its id."""
        from pipeline.llm.batching import BatchRequest

        batch_id, now = _short_id(), self._context.now()
        items, _ = batch_writing.write(
            self._ledger,
            order,
            batch_id,
            questions.wanted,
            caps=self._context.settings.spend,
            provider=provider.name,
            login=provider.login,
            now=now,
        )
        if not items:
            return
        requests = [
            BatchRequest(item.custom_id, request, schema)
            for item, (request, schema) in zip(items, questions.requests, strict=False)
        ]
        faults.reach("batch.written")
        state = self._submitted(batch_id, provider, requests)
        faults.reach("batch.sent")
        batches.note_sent(self._ledger, batch_id, state.id, now=self._context.now())
        outages.clear(self._ledger, provider.name)
        LOG.info("batch %s with %d requests is sent as %s", batch_id, len(items), state.id)

    def _submitted(
        self, batch_id: str, provider: BatchProvider, requests: Sequence[BatchRequest]
    ) -> BatchState:
        try:
            with self._heard():
                return provider.submit(requests)
        except ModelError as error:
            if not error.sent:
                batches.drop(self._ledger, batch_id, now=self._context.now())
            if isinstance(error, TooLongError):
                raise ModelError(f"The batch is too large for the provider: {error}") from error
            raise

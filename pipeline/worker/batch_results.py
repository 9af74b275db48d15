"""What came of one batch, request by request, into the ledger: see `pipeline.worker.batch_runner`."""

from __future__ import annotations

import logging

from pipeline.core import faults
from pipeline.core.errors import LedgerError, ModelError, TooLongError
from pipeline.ledger import batches
from pipeline.ledger.batches import Batch, Item, Order
from pipeline.llm import budget, error_phrases
from pipeline.llm.batching import UNREADABLE, BatchResult
from pipeline.worker.context import WorkerContext
from pipeline.worker.session_store import store_for

LOG = logging.getLogger("reverie.worker")


class Results:
    """Takes the results of one batch of an order."""

    def __init__(self, context: WorkerContext, order: Order, batch: Batch) -> None:
        self._context = context
        self._ledger = context.ledger
        self._order = order
        self._batch = batch
        self._client = context.asking()

    def take(self, result: BatchResult) -> None:
        """Commit a result with its run and what it cost, in one transaction; one that was is left alone."""
        item = batches.item(self._ledger, self._batch.id, result.custom_id)
        if item is None:
            return
        with self._ledger.transaction():
            if result.reply is None:
                self._unanswered(item, result)
            else:
                self._answered(item, result)
        faults.reach("batch.result_kept")

    def _unanswered(self, item: Item, result: BatchResult) -> None:
        now, word = self._context.now(), result.kind
        if word == UNREADABLE:
            batches.lose_item(self._ledger, item, result.reason, now=now)
            return
        if word == "errored":
            word = TooLongError.outcome if error_phrases.is_too_long(result.reason) else ModelError.outcome
        batches.settle(self._ledger, item, word, budget.Usage(), 0.0, now=now)
        batches.leave_alone(self._ledger, item, f"{word}: {result.reason}".rstrip(": "), now=now)

    def _answered(self, item: Item, result: BatchResult) -> None:
        reply, now = result.reply, self._context.now()
        assert reply is not None, "its caller has looked"
        dollars = budget.dollars(reply.model, reply.usage, batched=True)
        outcome = "ok"
        try:
            self._commit(item, result)
        except ModelError as error:
            outcome = error.outcome
            batches.leave_alone(self._ledger, item, f"{outcome}: {error}", now=now)
        except LedgerError as error:
            # What it was about was deleted, or read by somebody else.
            LOG.warning("a reply of batch %s is of no use any more: %s", item.batch_id, error)
            batches.move(self._ledger, item, "left")
        batches.settle(self._ledger, item, outcome, reply.usage, dollars, now=now)

    def _commit(self, item: Item, result: BatchResult) -> None:
        """Keep a reply with its run. Raises ModelError for one of no use, LedgerError without a run."""
        from pipeline.extraction import later
        from pipeline.extraction.schema import ConversationExtraction, Verification

        reply, now = result.reply, self._context.clock.now()
        assert reply is not None, "its caller has looked"
        if item.purpose == later.SECOND:
            with self._ledger.transaction():
                later.commit_second(
                    self._ledger, item.run_id, self._client.taken(reply, Verification), now=now
                )
        else:
            kept = batches.asked(item)
            if not kept:
                raise LedgerError("the dialogue was deleted", file=str(self._ledger.path))
            value = self._client.taken(reply, ConversationExtraction)
            with self._ledger.transaction():
                later.commit_first(
                    self._ledger,
                    item.run_id,
                    item.key,
                    kept,
                    value,
                    # As it is now: the project may have moved since the question.
                    store=str(self._context.store_override or store_for(self._ledger, item.key)),
                    digest=item.digest,
                    model=reply.model,
                    provider=reply.provider,
                    now=now,
                )
        batches.move(self._ledger, item, "answered", run_id=item.run_id)

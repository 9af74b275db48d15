"""What came of one batch, request by request, into the ledger: see `pipeline.worker.batch_runner`."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pipeline.core import faults
from pipeline.core.errors import LedgerError, ModelError, TooLongError
from pipeline.ledger import batch_writing, batches
from pipeline.ledger.batches import Batch, Item, Order
from pipeline.llm import budget, error_phrases
from pipeline.llm.batching import UNREADABLE, BatchResult
from pipeline.worker.batch_books import Asked, BatchBooks
from pipeline.worker.context import WorkerContext
from pipeline.worker.session_store import store_for

if TYPE_CHECKING:
    from pydantic import BaseModel

    from pipeline.llm.request import RawReply

LOG = logging.getLogger("reverie.worker")


class Results:
    """Takes replies to requests that were asked in batches; `books` hear of each before the ledger does."""

    def __init__(self, context: WorkerContext, books: BatchBooks) -> None:
        self._context = context
        self._ledger = context.ledger
        self._books = books
        self._client = context.asking()

    def take(self, batch: Batch, result: BatchResult) -> None:
        """Commit a result with its run and what it cost, in one transaction; one that was is left alone."""
        item = batches.item(self._ledger, batch.id, result.custom_id)
        if item is None:
            return
        if result.reply is None:
            self._unanswered(item, result)
        else:
            self._answered(item, result.reply)
        faults.reach("batch.result_kept")

    def lose(self, item: Item, reason: str) -> None:
        """Note that the result of one request can't be had."""
        self._books.settle(item.custom_id, None, usage=budget.Usage(), dollars=None)
        batches.lose_item(self._ledger, item, reason, now=self._context.now())

    def bring_in(self, order: Order, known: Asked) -> None:
        """Take up a request that was asked before: its reply, or the batch that it is in.

        One whose reply nobody can read is asked singly.
        """
        wanted, now = known.wanted, self._context.now()
        if known.reply is None and known.batch_id:
            batch = Batch(
                known.batch_id, order.id, "sent" if known.provider_id else "written", known.provider_id,
                known.login, known.requests, now - known.age, None, None, canceled=0,
            )  # fmt: skip
            batch_writing.adopt(self._ledger, batch, known.custom_id, wanted, provider=known.provider)
            return
        item = Item(
            known.custom_id, known.batch_id, order.id, wanted.conversation, wanted.key, wanted.run_id,
            wanted.purpose, wanted.digest, 0, "", wanted.asked_json,
        )  # fmt: skip
        if known.reply is None:
            batches.leave_alone(self._ledger, item, "the reply that was kept can't be read", now=now)
            return
        with self._ledger.transaction():
            self._kept(item, known.reply, self._read(item, known.reply))

    def _unanswered(self, item: Item, result: BatchResult) -> None:
        now, word = self._context.now(), result.kind
        if word == UNREADABLE:
            self.lose(item, result.reason)
            return
        if word == "errored":
            word = TooLongError.outcome if error_phrases.is_too_long(result.reason) else ModelError.outcome
        self._books.settle(item.custom_id, None, usage=budget.Usage(), dollars=0.0)
        with self._ledger.transaction():
            batches.settle(self._ledger, item, word, budget.Usage(), 0.0, now=now)
            batches.leave_alone(self._ledger, item, f"{word}: {result.reason}".rstrip(": "), now=now)

    def _answered(self, item: Item, reply: RawReply) -> None:
        dollars = budget.dollars(reply.model, reply.usage, batched=True)
        value = self._read(item, reply)
        of_use = None if isinstance(value, ModelError) else reply
        self._books.settle(item.custom_id, of_use, usage=reply.usage, dollars=dollars)
        faults.reach("batch.result_settled")
        with self._ledger.transaction():
            outcome = self._kept(item, reply, value)
            batches.settle(self._ledger, item, outcome, reply.usage, dollars, now=self._context.now())

    def _read(self, item: Item, reply: RawReply) -> BaseModel | ModelError:
        """Return what a reply says, or why it is of no use."""
        try:
            return self._client.taken(reply, _schema_of(item))
        except ModelError as error:
            return error

    def _kept(self, item: Item, reply: RawReply, value: BaseModel | ModelError) -> str:
        """Keep a reply with its run, if it is of use; return how its call ended."""
        try:
            self._commit(item, reply, value)
        except ModelError as error:
            reason = f"{error.outcome}: {error}"
            batches.leave_alone(self._ledger, item, reason, now=self._context.now())
            return error.outcome
        except LedgerError as error:
            # What it was about was deleted, or read by somebody else.
            LOG.warning("a reply of batch %s is of no use any more: %s", item.batch_id, error)
            batches.move(self._ledger, item, "left")
        return "ok"

    def _commit(self, item: Item, reply: RawReply, value: BaseModel | ModelError) -> None:
        """Keep a reply with its run. Raises ModelError for one of no use, LedgerError without a run."""
        from pipeline.extraction import later
        from pipeline.extraction.schema import ConversationExtraction, Verification

        now = self._context.clock.now()
        kept = batches.asked(item)
        if item.purpose != later.SECOND and not kept:
            raise LedgerError("the dialogue was deleted", file=str(self._ledger.path))
        if isinstance(value, ModelError):
            raise value
        if isinstance(value, Verification):
            with self._ledger.transaction():
                later.commit_second(self._ledger, item.run_id, value, now=now)
        elif isinstance(value, ConversationExtraction):
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


def _schema_of(item: Item) -> type[BaseModel]:
    from pipeline.extraction import later
    from pipeline.extraction.schema import ConversationExtraction, Verification

    return Verification if item.purpose == later.SECOND else ConversationExtraction

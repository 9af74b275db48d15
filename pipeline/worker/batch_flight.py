"""A batch from when it is written down to the last of its results: see `pipeline.worker.batch_runner`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.core import faults
from pipeline.core.errors import ModelError
from pipeline.ledger import batch_writing, batches
from pipeline.ledger.batches import Batch, Order
from pipeline.worker.context import WorkerContext
from pipeline.worker.retry import MINUTE

if TYPE_CHECKING:
    from pipeline.llm.batching import BatchProvider, BatchState
    from pipeline.worker.batch_books import BatchBooks
    from pipeline.worker.batch_results import Results

LOG = logging.getLogger("reverie.worker")
GRACE_SECONDS = 10 * MINUTE
"""A batch that the provider does not list so long after it was written down was never sent."""
LOOK_BACK_SECONDS = 48 * 60 * MINUTE
"""So far back its batches are looked through: clocks may be apart."""
OTHER_LOGIN = (
    "a batch was sent with another key or address: set that again, or give it up with"
    " `reverie process --batch --cancel`"
)
_IN_DOUBT = "it is not known yet whether the last batch was sent; nothing is sent twice"
_LACK_SECONDS = 24 * 60 * MINUTE
"""A result that the provider does not show so long after its batch was written down is lost."""


class Flight:
    """What becomes of batches that were written down. `books` hear of it before the ledger does."""

    def __init__(self, context: WorkerContext, books: BatchBooks) -> None:
        self._context = context
        self._ledger = context.ledger
        self._books = books

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Note it where the provider turns out to be down."""
        try:
            yield
        except ModelError as error:
            self._context.note_failure(error)
            raise

    def find(self, order: Order, batch: Batch, provider: BatchProvider) -> str:
        """Find out what became of a batch that may have been sent; return why that is open yet, or ""."""
        now = self._context.now()
        if batch.login != provider.login:
            if order.state == "open":
                return OTHER_LOGIN
            self.lose(batch, "nobody knows whether it was sent")
            return ""
        in_doubt = False
        with self.heard():
            for state in provider.recent_batches(batch.written_at - LOOK_BACK_SECONDS):
                if state.requests != batch.requests or batches.is_known(self._ledger, state.id):
                    continue
                if not state.ended:
                    in_doubt = True
                elif not state.gone and self._is_ours(batch, state, provider):
                    self.sent(batch.id, state)
                    LOG.info("batch %s was sent after all, as %s", batch.id, state.id)
                    return ""
        if in_doubt or now - batch.written_at < GRACE_SECONDS:
            return _IN_DOUBT
        LOG.warning("batch %s was never sent", batch.id)
        self.drop(batch.id)
        return ""

    def _is_ours(self, batch: Batch, state: BatchState, provider: BatchProvider) -> bool:
        results = provider.batch_results(state.id)
        first = next((result for result in results if result.custom_id), None)
        return first is not None and batch_writing.is_of(batch.id, first.custom_id)

    def sent(self, batch_id: str, state: BatchState) -> None:
        """Note that the provider has a batch, which is `state` there."""
        self._books.sent(batch_id, state.id)
        batches.note_sent(self._ledger, batch_id, state.id, now=self._context.now())

    def drop(self, batch_id: str) -> None:
        """Note that the provider never got a batch."""
        self._books.drop(batch_id)
        batches.drop(self._ledger, batch_id, now=self._context.now())

    def lose(self, batch: Batch, reason: str) -> None:
        """Note that nobody can have the results of a batch, as `reason` says why."""
        results = self.results()
        for item in batches.items(self._ledger, batch.id):
            results.lose(item, reason)
        batches.lose(self._ledger, batch.id, reason, now=self._context.now())

    def results(self) -> Results:
        """Return what takes replies."""
        from pipeline.worker.batch_results import Results

        return Results(self._context, self._books)

    def look_at(self, order: Order, batch: Batch, provider: BatchProvider, alive: Callable[[], None]) -> str:
        """Take the results of a batch if it has ended; return what it waits for else, or ""."""
        with self.heard():
            state = provider.batch(batch.provider_id)
        if state is None or state.gone:
            if batch.login != provider.login and order.state == "open":
                return OTHER_LOGIN
            LOG.warning("the results of batch %s are not there any more", batch.provider_id)
            self.lose(batch, "the provider has the results no more")
            return ""
        if not state.ended:
            if order.state == "canceling" and not batch.canceled:
                with self.heard():
                    provider.cancel_batch(batch.provider_id)
                batches.note_canceled(self._ledger, batch.id)
            return ""
        return self._take(batch, provider, alive)

    def _take(self, batch: Batch, provider: BatchProvider, alive: Callable[[], None]) -> str:
        """Take the results of a batch that has ended; return what is said where some are not there."""
        results, known, nobodys = self.results(), 0, 0
        with self.heard():
            for result in provider.batch_results(batch.provider_id):
                results.take(batch, result)
                known += batches.has_item(self._ledger, batch.id, result.custom_id)
                nobodys += not result.custom_id
                alive()
        missing, now = batches.items(self._ledger, batch.id), self._context.now()
        # Where no line is one of ours something else has answered.
        if len(missing) > (nobodys if known else 0) and now - batch.written_at < _LACK_SECONDS:
            return f"the results lack {len(missing)} of {batch.requests} requests; they are read again"
        for item in missing:
            results.lose(item, "its result is not there, or can't be read")
        batches.note_taken(self._ledger, batch.id, now=now)
        faults.reach("batch.taken")
        return ""

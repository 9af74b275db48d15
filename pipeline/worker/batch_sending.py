"""Questions on their way into batches: written down, sent, and made smaller where the provider takes no more.

    questions ─► written down ─► still ours? ─► sent ─► id kept
                     ▲                           │
                     └──── in two halves ◄───────┘ too large

One that is too large by itself is read the ordinary way, which asks about less at once.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pipeline.core import faults
from pipeline.core.errors import LeaseLostError, ModelError, TooLongError
from pipeline.core.ids import new_id
from pipeline.ledger import batch_writing, batches, outages
from pipeline.record import changing, field
from pipeline.worker.batch_flight import Flight
from pipeline.worker.context import WorkerContext

if TYPE_CHECKING:
    from pipeline.ledger.batch_writing import Wanted
    from pipeline.ledger.batches import Item, Order
    from pipeline.llm.batching import BatchProvider, BatchRequest, BatchState
    from pipeline.llm.request import Request
    from pipeline.worker.batch_books import BatchBooks

LOG = logging.getLogger("reverie.worker")
MOST_REQUESTS = 1_000
MOST_CHARS = 8_000_000
"""What one batch holds, since all of it is in memory while it is sent; the provider takes far more."""


def short_id() -> str:
    """Return a name that tells nothing: requests are named after it, and go to the provider."""
    return new_id().replace("-", "")[:16]


@changing
class Questions:
    """Questions that are to be sent together, `most_chars` or a little more of them."""

    most_chars: int = MOST_CHARS
    wanted: list[Wanted] = field(default_factory=list)
    requests: list[tuple[Request, dict[str, Any]]] = field(default_factory=list)
    chars: int = 0

    def add(self, wanted: Wanted, request: Request, schema: dict[str, Any]) -> None:
        """Put one more in."""
        self.wanted.append(wanted)
        self.requests.append((request, schema))
        self.chars += len(request.system) + sum(len(message.content) for message in request.messages)

    @property
    def is_full(self) -> bool:
        """Whether no more belongs in."""
        return len(self.wanted) >= MOST_REQUESTS or self.chars >= self.most_chars

    def only(self, numbers: Sequence[int]) -> Questions:
        """Return those of `numbers`, the first being 1."""
        found = Questions(self.most_chars)
        for number in numbers:
            found.add(self.wanted[number - 1], *self.requests[number - 1])
        return found


@changing
class _Written:
    """What of some questions was written down as a batch: its `items`, and those `questions` in their order.

    `refused` says why it is not all of them.
    """

    batch_id: str
    items: list[Item]
    questions: Questions
    refused: str


class Sender:
    """Sends questions in batches. `has_more` says that replies came in, so that there may be more to ask."""

    def __init__(self, context: WorkerContext, books: BatchBooks, flight: Flight) -> None:
        self._context = context
        self._ledger = context.ledger
        self._books = books
        self._flight = flight
        self._most_chars = MOST_CHARS
        self.has_more = False

    def empty(self) -> Questions:
        """Return where to put questions, as many as the provider has taken up to now."""
        return Questions(self._most_chars)

    def send(self, order: Order, provider: BatchProvider, questions: Questions) -> str:
        """Ask `questions`, in as few batches as the provider takes; return why some were left out, or "".

        Raises ModelError where a batch is not taken for another reason than its size, and LeaseLostError
        where the work is another machine's by now.
        """
        reason, rest = "", [questions]
        while rest:
            written = self._written(order, provider, rest.pop(0))
            reason = written.refused or reason
            if not written.items:
                continue
            try:
                self._sent(written, provider)
            except TooLongError as error:
                if error.sent:
                    raise
                rest = [*self._smaller(written, error), *rest]
        return reason

    def _written(self, order: Order, provider: BatchProvider, questions: Questions) -> _Written:
        """Write a batch down, of what is not asked yet and has room."""
        batch_id = short_id()
        entered = self._books.write(batch_id, questions.wanted, provider)
        for known in entered.asked:
            self._flight.results().bring_in(order, known)
            self.has_more = True
        faults.reach("batch.entered")
        items, _ = batch_writing.write(
            self._ledger,
            order,
            batch_id,
            [(number, questions.wanted[number - 1]) for number in entered.taken],
            caps=self._context.settings.spend,
            provider=provider.name,
            login=provider.login,
            now=self._context.now(),
        )
        if left := [batch_writing.custom_id(batch_id, number) for number in entered.taken[len(items) :]]:
            self._books.drop(batch_id, left)
        return _Written(batch_id, items, questions.only(entered.taken[: len(items)]), entered.refused)

    def _sent(self, written: _Written, provider: BatchProvider) -> None:
        """Send a batch that was written down, and keep its id."""
        from pipeline.llm.batching import BatchRequest

        requests = [
            BatchRequest(item.custom_id, *asked)
            for item, asked in zip(written.items, written.questions.requests, strict=True)
        ]
        faults.reach("batch.written")
        # Last of all: who was suspended since it was written down may have lost it to another machine.
        if not self._books.still_ours(written.batch_id, [item.custom_id for item in written.items]):
            self._flight.drop(written.batch_id)
            raise LeaseLostError("another machine goes on with it, so the batch was not sent")
        state = self._submitted(written.batch_id, provider, requests)
        faults.reach("batch.sent")
        self._flight.sent(written.batch_id, state)
        outages.clear(self._ledger, provider.name)
        LOG.info("batch %s with %d requests is sent as %s", written.batch_id, len(requests), state.id)

    def _submitted(
        self, batch_id: str, provider: BatchProvider, requests: Sequence[BatchRequest]
    ) -> BatchState:
        try:
            with self._flight.heard():
                return provider.submit(requests)
        except ModelError as error:
            if not error.sent:
                self._flight.drop(batch_id)
            raise

    def _smaller(self, written: _Written, error: TooLongError) -> list[Questions]:
        """Return the halves of a batch that was too large to be taken; one request alone is read singly."""
        number = len(written.items)
        if number == 1:
            (item,) = written.items
            LOG.warning("%s is too large for a batch, and is read singly: %s", item.key, error)
            batches.leave_alone(self._ledger, item, f"{error.outcome}: {error}", now=self._context.now())
            return []
        half = number // 2
        self._most_chars = min(self._most_chars, written.questions.chars // 2)
        LOG.info("a batch of %d requests is too large for the provider, and goes in halves", number)
        return [
            written.questions.only(range(1, half + 1)),
            written.questions.only(range(half + 1, number + 1)),
        ]

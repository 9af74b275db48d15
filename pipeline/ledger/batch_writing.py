"""Writing a batch down before it is sent, as far as the caps and what was agreed to leave room for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pipeline.ledger import calls
from pipeline.ledger.batches import BATCH_COLUMNS, ITEM_COLUMNS, Batch, Item, Order, dollars_of, move
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.llm import budget
from pipeline.llm.budget import Spent, Usage
from pipeline.record import names_of, record

if TYPE_CHECKING:
    from pipeline.config import SpendSettings


@record
class Wanted:
    """A request to be put into a batch, without its text."""

    conversation: int
    key: str
    run_id: str
    purpose: str
    model: str
    digest: str
    estimate: Usage
    asked_json: str


class Room:
    """What the caps and an order leave for more requests; `take` says of each whether it still fits."""

    def __init__(self, ledger: Ledger, caps: SpendSettings, order: Order, *, now: Moment) -> None:
        self._caps = caps
        self._order = order
        self._left = order.most_dollars - sum(dollars_of(ledger, order.id))
        self._spent = calls.spent(ledger, now=now)
        self.refused = calls.paused(ledger, now=now) or ""

    def take(self, wanted: Wanted) -> bool:
        """Count a request in, if it fits; else `refused` says why, for good."""
        estimate, model = wanted.estimate, wanted.model
        cost = budget.dollars(model, estimate, batched=True)
        if not self.refused:
            self.refused = budget.refusal(self._caps, self._spent, estimate, model, batched=True) or ""
        if not self.refused and cost > self._left + 1e-9:
            self.refused = f"what was agreed to (${self._order.most_dollars:.2f}) is used up"
        if self.refused:
            return False
        self._left -= cost
        so_far = self._spent
        self._spent = Spent(
            0, so_far.hour_calls + 1, so_far.hour_tokens + estimate.total, so_far.day_dollars + cost
        )
        return True


def write(
    ledger: Ledger,
    order: Order,
    batch_id: str,
    requests: Sequence[tuple[int, Wanted]],
    *,
    caps: SpendSettings,
    provider: str,
    login: str,
    now: Moment,
) -> tuple[list[Item], str]:
    """Write down a batch that is about to be sent: of `requests`, each with its number in it, as many from
    the first on as there is room for. Return their items, and why it is not all of them.

    Their calls count from now on at what they may cost at most.
    """
    at = seconds(now)
    with ledger.transaction():
        room = Room(ledger, caps, order, now=at)
        taken = []
        for number, request in requests:
            if not room.take(request):
                break
            taken.append((number, request))
        if taken:
            ledger.execute(
                f"INSERT INTO batches ({BATCH_COLUMNS}) VALUES (?, ?, 'written', '', ?, ?, ?, NULL, NULL, 0)",
                (batch_id, order.id, login, len(taken), at),
            )
        items = [
            _enter(ledger, order.id, batch_id, custom_id(batch_id, number), request, provider=provider, at=at)
            for number, request in taken
        ]
    return items, room.refused


def custom_id(batch_id: str, number: int) -> str:
    """Return the id under which the provider gives the result of the request `number` of a batch."""
    return f"rv-{batch_id}-{number}"


def is_of(batch_id: str, request: str) -> bool:
    """Whether a request of that id is of that batch."""
    return request.startswith(f"rv-{batch_id}-")


def adopt(ledger: Ledger, batch: Batch, request: str, wanted: Wanted, *, provider: str) -> None:
    """Go on with a request that another machine has put into `batch`, which is of an order here from now on.

    Its call counts at the most it may cost, as one's own does.
    """
    with ledger.transaction():
        ledger.execute(
            f"INSERT INTO batches ({BATCH_COLUMNS}) VALUES ({_places(Batch)}) ON CONFLICT (id) DO UPDATE SET"
            " order_id = excluded.order_id, state = excluded.state, provider_id = excluded.provider_id",
            [getattr(batch, name) for name in names_of(Batch)],
        )
        ledger.execute("DELETE FROM batch_items WHERE custom_id = ?", (request,))
        _enter(ledger, batch.order_id, batch.id, request, wanted, provider=provider, at=batch.written_at)


def _enter(
    ledger: Ledger,
    order_id: str,
    batch_id: str,
    request: str,
    wanted: Wanted,
    *,
    provider: str,
    at: float,
) -> Item:
    usage, model = wanted.estimate, wanted.model
    call_id = ledger.execute(
        "INSERT INTO model_calls (run_id, purpose, provider, model, prompt_digest, outcome, input_tokens,"
        " output_tokens, cache_write_tokens, cache_read_tokens, estimated, dollars, started_at, batch)"
        " VALUES (?, ?, ?, ?, ?, 'started', ?, ?, ?, ?, 1, ?, ?, ?)",
        (wanted.run_id, wanted.purpose, provider, model, wanted.digest, usage.input_tokens,
         usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens,
         budget.dollars(model, usage, batched=True), at, batch_id),
    ).lastrowid  # fmt: skip
    assert call_id is not None, "an INSERT always has a row id"
    item = Item(
        request, batch_id, order_id, wanted.conversation, wanted.key, wanted.run_id,
        wanted.purpose, wanted.digest, call_id, "", wanted.asked_json,
    )  # fmt: skip
    values = [getattr(item, name) for name in names_of(Item)]
    ledger.execute(f"INSERT INTO batch_items ({ITEM_COLUMNS}) VALUES ({_places(Item)})", values)
    # A second reader's question is about the run there is, a first one's about a run to come.
    move(ledger, item, "asked", run_id="" if wanted.asked_json else wanted.run_id)
    return item


def _places(kind: type[Batch] | type[Item]) -> str:
    return ", ".join("?" * len(names_of(kind)))

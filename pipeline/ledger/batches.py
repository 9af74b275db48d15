"""Batches: a backlog that is asked in batches, from the order for it to the last reply.

    order    a person's yes to read conversations for so much at most; one is open at a time
    reading  one conversation of it
    batch    what was sent at once        written ─► sent ─► taken
                                             │          └──► lost      its results are gone
                                             └─► dropped               it never reached the provider
    item     one request of a batch, and the model call that it is

    waiting ─► asked ─► answered ─► asked … ─► done         what a reading is doing
                 └─► alone                                   its request failed: it is read the ordinary way
    waiting, asked, answered ─► left                         canceled

A batch is written down, with its calls at what they may cost at most, before it is sent, and its id at the
provider when that is known. While it is under way its calls count towards the caps (`calls.spent`); a call
that is settled counts from then on, since nobody can say when in between it was charged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pipeline.ledger import jobs
from pipeline.ledger.connection import Ledger, Moment, seconds
from pipeline.llm.budget import Usage
from pipeline.record import names_of, record

OrderState = Literal["open", "canceling", "canceled", "done"]
_OPEN = "state IN ('waiting', 'asked', 'answered')"


@record
class Order:
    """A backlog to be read in batches; `waits` says what it waits for, if not for a batch.

    `team` is the id of the team for whose workers it is read, "" for one's own.
    """

    id: str
    state: OrderState
    model: str
    most_dollars: float
    made_at: float
    ended_at: float | None
    waits: str
    team: str = ""


@record
class BatchReading:
    """One conversation of an order; `run_id` is its run that has a reply, `reason` why it is read alone."""

    order_id: str
    conversation: int
    key: str
    run_id: str
    reason: str
    state: str


@record
class Batch:
    """One batch, `id` being ours. `login` tells the settings and logins that it was sent with from others."""

    id: str
    order_id: str
    state: str
    provider_id: str
    login: str
    requests: int
    written_at: float
    sent_at: float | None
    taken_at: float | None
    canceled: int


@record
class Item:
    """One request. `outcome` is "" until its result was taken; by `asked_json` the reply is judged."""

    custom_id: str
    batch_id: str
    order_id: str
    conversation: int
    key: str
    run_id: str
    purpose: str
    digest: str
    call_id: int
    outcome: str
    asked_json: str


@record
class Progress:
    """How far an order is: its readings by state, and the requests and dollars under way and settled."""

    order: Order
    readings: dict[str, int]
    batches: int
    requests: int
    since: float | None
    reserved_dollars: float
    spent_dollars: float

    @property
    def total(self) -> int:
        """Return how many conversations were ordered."""
        return sum(self.readings.values())

    @property
    def read(self) -> int:
        """Return how many conversations were read in batches."""
        return self.readings.get("done", 0)


_ORDER = ", ".join(names_of(Order))
_READING = ", ".join(names_of(BatchReading))
BATCH_COLUMNS = ", ".join(names_of(Batch))
ITEM_COLUMNS = ", ".join(names_of(Item))


# -- orders and their readings ------------------------------------------------------------------------


def note_order(
    ledger: Ledger,
    order_id: str,
    readings: Iterable[tuple[int, str]],
    *,
    model: str,
    most_dollars: float,
    now: Moment,
    team: str = "",
) -> None:
    """Note an order to read conversations, each with its file's key. Raises LedgerError beside another."""
    with ledger.transaction():
        ledger.execute(
            f"INSERT INTO batch_orders ({_ORDER}) VALUES (?, 'open', ?, ?, ?, NULL, '', ?)",
            (order_id, model, most_dollars, seconds(now), team),
        )
        ledger.executemany(
            f"INSERT INTO batch_readings ({_READING}) VALUES (?, ?, ?, '', '', 'waiting')",
            [(order_id, conversation, key) for conversation, key in readings],
        )


def open_order(ledger: Ledger) -> Order | None:
    """Return the order that is not ended yet, or None."""
    row = ledger.row(f"SELECT {_ORDER} FROM batch_orders WHERE ended_at IS NULL")
    return None if row is None else Order(*row)


def last_order(ledger: Ledger) -> Order | None:
    """Return the order that was made last, or None."""
    row = ledger.row(f"SELECT {_ORDER} FROM batch_orders ORDER BY made_at DESC, id DESC LIMIT 1")
    return None if row is None else Order(*row)


def cancel(ledger: Ledger, order_id: str) -> None:
    """Note that a person wants no more of an order."""
    ledger.execute("UPDATE batch_orders SET state = 'canceling' WHERE id = ? AND state = 'open'", (order_id,))


def note_wait(ledger: Ledger, order_id: str, reason: str) -> None:
    """Note what an order waits for besides batches, "" for nothing."""
    ledger.execute("UPDATE batch_orders SET waits = ? WHERE id = ?", (reason, order_id))


def end_order(ledger: Ledger, order_id: str, state: OrderState, *, now: Moment) -> None:
    """Note that nothing more comes of an order; what of it was not read is left."""
    with ledger.transaction():
        ledger.execute(
            f"UPDATE batch_readings SET state = 'left' WHERE order_id = ? AND {_OPEN}", (order_id,)
        )
        ledger.execute(
            "UPDATE batch_orders SET state = ?, waits = '', ended_at = ? WHERE id = ?",
            (state, seconds(now), order_id),
        )


def readings(ledger: Ledger, order_id: str, state: str) -> list[BatchReading]:
    """Return the readings of an order that are in `state`, in the order of what was said."""
    rows = ledger.rows(
        f"SELECT {_READING} FROM batch_readings WHERE order_id = ? AND state = ? ORDER BY conversation",
        (order_id, state),
    )
    return [BatchReading(*row) for row in rows]


def move(
    ledger: Ledger, reading: BatchReading | Item, state: str, *, run_id: str = "", reason: str = ""
) -> None:
    """Bring a reading, or that of an item, to `state`."""
    ledger.execute(
        "UPDATE batch_readings SET state = ?, run_id = ?, reason = ? WHERE order_id = ? AND conversation = ?",
        (state, run_id, reason, reading.order_id, reading.conversation),
    )


def holds(ledger: Ledger, key: str) -> bool:
    """Whether something of the file `key` is being read in batches, so that nobody else may read it."""
    found = ledger.value(f"SELECT 1 FROM batch_readings WHERE key = ? AND {_OPEN} LIMIT 1", (key,))
    return found is not None


def held(ledger: Ledger) -> set[str]:
    """Return the keys of the files of which something is being read in batches."""
    return {row["key"] for row in ledger.rows(f"SELECT DISTINCT key FROM batch_readings WHERE {_OPEN}")}


def keys(ledger: Ledger, order_id: str) -> set[str]:
    """Return the keys of the files of an order."""
    rows = ledger.rows("SELECT DISTINCT key FROM batch_readings WHERE order_id = ?", (order_id,))
    return {row["key"] for row in rows}


def leave_alone(ledger: Ledger, reading: BatchReading | Item, reason: str, *, now: Moment) -> None:
    """Let a conversation be read the ordinary way, as `reason` says why; of a canceled order it is left.

    One of a team's gets no job: who has its transcript from the team's queue reads it.
    """
    state, team = ledger.rows("SELECT state, team FROM batch_orders WHERE id = ?", (reading.order_id,))[0]
    if state == "canceling":
        move(ledger, reading, "left", reason=reason)
        return
    move(ledger, reading, "alone", reason=reason)
    if team:
        return
    at = seconds(now)
    jobs.enqueue(ledger, "extract_conversation", str(reading.conversation), now=at, run_after=at)


def give_up(ledger: Ledger, order_id: str, key: str, *, now: Moment) -> None:
    """Leave what is open of the file `key` to somebody else; what is under way for it counts as charged."""
    with ledger.transaction():
        rows = ledger.rows(
            f"SELECT {ITEM_COLUMNS} FROM batch_items WHERE order_id = ? AND key = ? AND outcome = ''",
            (order_id, key),
        )
        for row in rows:
            _charge(ledger, Item(*row), now=now)
        ledger.execute(
            f"UPDATE batch_readings SET state = 'left' WHERE order_id = ? AND key = ? AND {_OPEN}",
            (order_id, key),
        )


# -- batches ------------------------------------------------------------------------------------------


def list_batches(ledger: Ledger, order_id: str, *states: str) -> list[Batch]:
    """Return the batches of an order that are in one of `states`, oldest first."""
    places = ", ".join("?" * len(states))
    rows = ledger.rows(
        f"SELECT {BATCH_COLUMNS} FROM batches WHERE order_id = ? AND state IN ({places})"
        " ORDER BY written_at, id",
        (order_id, *states),
    )
    return [Batch(*row) for row in rows]


def is_known(ledger: Ledger, provider_id: str) -> bool:
    """Whether a batch of that id at the provider is one of those written down here."""
    return ledger.value("SELECT 1 FROM batches WHERE provider_id = ?", (provider_id,)) is not None


def note_sent(ledger: Ledger, batch_id: str, provider_id: str, *, now: Moment) -> None:
    """Note under which id the provider has a batch."""
    ledger.execute(
        "UPDATE batches SET state = 'sent', provider_id = ?, sent_at = ? WHERE id = ? AND state = 'written'",
        (provider_id, seconds(now), batch_id),
    )


def note_canceled(ledger: Ledger, batch_id: str) -> None:
    """Note that the provider was asked to end a batch early."""
    ledger.execute("UPDATE batches SET canceled = 1 WHERE id = ?", (batch_id,))


def note_taken(ledger: Ledger, batch_id: str, *, now: Moment) -> None:
    """Note that all that came of a batch has been taken."""
    ledger.execute("UPDATE batches SET state = 'taken', taken_at = ? WHERE id = ?", (seconds(now), batch_id))


def drop(ledger: Ledger, batch_id: str, *, now: Moment) -> None:
    """Note that a batch never reached the provider: its calls cost nothing, its readings wait again."""
    with ledger.transaction():
        for item in items(ledger, batch_id):
            settle(ledger, item, "failed", Usage(), 0.0, now=now, sent=False)
            ledger.execute(
                "UPDATE batch_readings SET state = iif(run_id = '', 'waiting', 'answered')"
                " WHERE order_id = ? AND conversation = ?",
                (item.order_id, item.conversation),
            )
        ledger.execute(
            "UPDATE batches SET state = 'dropped', taken_at = ? WHERE id = ?", (seconds(now), batch_id)
        )


def lose(ledger: Ledger, batch_id: str, reason: str, *, now: Moment) -> None:
    """Note that the results of a batch can't be had: each counts as charged, and is read alone."""
    with ledger.transaction():
        for item in items(ledger, batch_id):
            lose_item(ledger, item, reason, now=now)
        ledger.execute(
            "UPDATE batches SET state = 'lost', taken_at = ? WHERE id = ?", (seconds(now), batch_id)
        )


def lose_item(ledger: Ledger, item: Item, reason: str, *, now: Moment) -> None:
    """Note that the result of one request can't be had: it counts as charged, and is read alone."""
    _charge(ledger, item, now=now)
    leave_alone(ledger, item, reason, now=now)


def _charge(ledger: Ledger, item: Item, *, now: Moment) -> None:
    """Settle a request as lost, at the most it may have cost."""
    call = ledger.row("SELECT * FROM model_calls WHERE id = ?", (item.call_id,))
    usage = Usage(call["input_tokens"], call["output_tokens"], estimated=True) if call else Usage()
    settle(ledger, item, "lost", usage, call["dollars"] if call else 0.0, now=now)


# -- items --------------------------------------------------------------------------------------------


def items(ledger: Ledger, batch_id: str) -> list[Item]:
    """Return the items of a batch whose results were not taken."""
    rows = ledger.rows(
        f"SELECT {ITEM_COLUMNS} FROM batch_items WHERE batch_id = ? AND outcome = '' ORDER BY call_id",
        (batch_id,),
    )
    return [Item(*row) for row in rows]


def item(ledger: Ledger, batch_id: str, custom_id: str) -> Item | None:
    """Return an item of a batch, None where there is no such one or its result was taken."""
    row = ledger.row(
        f"SELECT {ITEM_COLUMNS} FROM batch_items WHERE custom_id = ? AND batch_id = ? AND outcome = ''",
        (custom_id, batch_id),
    )
    return None if row is None else Item(*row)


def has_item(ledger: Ledger, batch_id: str, custom_id: str) -> bool:
    """Whether a batch has an item of that id, its result taken or not."""
    found = ledger.value(
        "SELECT 1 FROM batch_items WHERE custom_id = ? AND batch_id = ?", (custom_id, batch_id)
    )
    return found is not None


def settle(
    ledger: Ledger,
    request: Item,
    outcome: str,
    usage: Usage,
    dollars: float,
    *,
    now: Moment,
    sent: bool = True,
) -> None:
    """Note what came of an item and what its call took; what its reply was to be judged by is dropped.

    Call it in one transaction with what is made of the reply.
    """
    at = seconds(now)
    ledger.execute(
        "UPDATE batch_items SET outcome = ?, asked_json = '' WHERE custom_id = ?",
        (outcome, request.custom_id),
    )
    ledger.execute(
        "UPDATE model_calls SET outcome = ?, input_tokens = ?, output_tokens = ?, cache_write_tokens = ?,"
        " cache_read_tokens = ?, estimated = ?, dollars = ?, started_at = max(started_at, ?), ended_at = ?,"
        " sent = ? WHERE id = ? AND ended_at IS NULL",
        (outcome, usage.input_tokens, usage.output_tokens, usage.cache_write_tokens, usage.cache_read_tokens,
         int(usage.estimated), dollars, at, at, int(sent), request.call_id),
    )  # fmt: skip


def asked(request: Item) -> dict[str, Any]:
    """Return what the reply to an item is judged by, {} where it was deleted meanwhile."""
    found = json.loads(request.asked_json or "{}")
    return found if isinstance(found, dict) else {}


# -- how far it is ------------------------------------------------------------------------------------


def progress(ledger: Ledger, order: Order) -> Progress:
    """Return how far `order` is."""
    states = ledger.rows(
        "SELECT state, count(*) AS number FROM batch_readings WHERE order_id = ? GROUP BY state", (order.id,)
    )
    flying = list_batches(ledger, order.id, "written", "sent")
    reserved, spent = dollars_of(ledger, order.id)
    return Progress(
        order,
        {row["state"]: row["number"] for row in states},
        len(flying),
        sum(batch.requests for batch in flying),
        min((batch.written_at for batch in flying), default=None),
        reserved,
        spent,
    )


def dollars_of(ledger: Ledger, order_id: str) -> tuple[float, float]:
    """Return what the calls of an order that are under way may cost, and what the others did."""
    row = ledger.row(
        "SELECT sum(iif(ended_at IS NULL, dollars, 0.0)), sum(iif(ended_at IS NULL, 0.0, dollars))"
        " FROM model_calls INDEXED BY calls_batch WHERE batch <> ''"
        " AND batch IN (SELECT id FROM batches WHERE order_id = ?)",
        (order_id,),
    )
    return (row[0] or 0.0, row[1] or 0.0) if row is not None else (0.0, 0.0)

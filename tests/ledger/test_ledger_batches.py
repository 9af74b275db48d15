"""What a batch reserves, and that with it and single calls no cap is passed, however long it is under way."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from pipeline.config import SpendSettings
from pipeline.core.clock import FixedClock
from pipeline.core.errors import LedgerError, SpendError
from pipeline.ledger import batches, runs
from pipeline.ledger.batch_writing import Wanted, write
from pipeline.ledger.batches import Item
from pipeline.ledger.calls import LedgerMeter, spent
from pipeline.ledger.connection import Ledger
from pipeline.llm.budget import Usage
from tests.ledger.build import START

HAIKU = "claude-haiku-4-5"
EACH = Usage(1_000, 1_000, estimated=True)
COST = 0.003
"""Of EACH in a batch, in dollars."""
CAPS: dict[str, Any] = {"calls_per_hour": 100, "tokens_per_hour": 1_000_000, "dollars_per_day": 100.0}


def order(led: Ledger, number: int = 5, most: float = 10.0) -> batches.Order:
    readings = [(n, f"s{n}.jsonl") for n in range(1, number + 1)]
    batches.note_order(led, "order", readings, model=HAIKU, most_dollars=most, now=START)
    found = batches.open_order(led)
    assert found is not None
    return found


def written(led: Ledger, number: int = 5, most: float = 10.0, **caps: Any) -> tuple[list[Item], str]:
    """Write a batch of `number` requests, or as many as there is room for."""
    wanted = [
        Wanted(n, f"s{n}.jsonl", f"run{n}", "extract.conversation", HAIKU, "digest", EACH, '{"lines": {}}')
        for n in range(1, number + 1)
    ]
    settings = SpendSettings(**(CAPS | caps))
    numbered = list(enumerate(wanted, start=1))
    return write(
        led,
        order(led, number, most),
        "b1",
        numbered,
        caps=settings,
        provider="anthropic",
        login="l",
        now=START,
    )


def later(hours: float) -> datetime:
    return START + timedelta(hours=hours)


@pytest.mark.parametrize(
    ("caps", "number", "word"),
    [
        ({}, 5, ""),
        ({"calls_per_hour": 3}, 3, "spend.calls_per_hour"),
        ({"tokens_per_hour": 4_000}, 2, "spend.tokens_per_hour"),
        ({"dollars_per_day": 4.5 * COST}, 4, "spend.dollars_per_day"),
        ({"most": 2.5 * COST}, 2, "agreed to"),
    ],
)
def test_a_batch_is_as_large_as_there_is_room(
    led: Ledger, caps: dict[str, Any], number: int, word: str
) -> None:
    items, why = written(led, **caps)
    assert len(items) == number and word in why
    assert len(batches.readings(led, "order", "asked")) == number
    assert spent(led, now=START).day_dollars == pytest.approx(number * COST)


def test_what_is_under_way_counts_however_old_and_what_is_settled_from_then_on(led: Ledger) -> None:
    items, _ = written(led)
    batches.note_sent(led, "b1", "msgbatch_1", now=START)
    for hours in (0, 2, 23.9, 30, 90):
        found = spent(led, now=later(hours))
        assert (found.hour_calls, found.hour_tokens) == (5, 10_000)
        assert found.day_dollars == pytest.approx(5 * COST)
    meter = LedgerMeter(
        led, SpendSettings(**(CAPS | {"dollars_per_day": 5 * COST})), FixedClock(later(90)), run_id="single"
    )
    with pytest.raises(SpendError, match=r"spend\.dollars_per_day"):
        meter.begin(purpose="p", provider="anthropic", model=HAIKU, prompt_digest="d", estimate=EACH)
    for item in items:
        batches.settle(led, item, "ok", Usage(100, 10), 0.0001, now=later(90))
    batches.note_taken(led, "b1", now=later(90))
    assert spent(led, now=later(113)).day_dollars == pytest.approx(0.0005)
    assert spent(led, now=later(115)).day_dollars == 0
    assert spent(led, now=later(90.5)).hour_tokens == 550 and spent(led, now=later(92)).hour_tokens == 0
    meter.begin(purpose="p", provider="anthropic", model=HAIKU, prompt_digest="d", estimate=EACH)


def test_a_batch_that_was_never_sent_costs_nothing_and_is_asked_anew(led: Ledger) -> None:
    written(led)
    batches.drop(led, "b1", now=later(1))
    assert spent(led, now=later(1)).day_dollars == 0 and spent(led, now=later(1)).hour_calls == 0
    assert len(batches.readings(led, "order", "waiting")) == 5


def test_a_result_is_taken_once(led: Ledger) -> None:
    [first, *_], _ = written(led)
    batches.settle(led, first, "ok", Usage(100, 10), 0.5, now=START)
    batches.settle(led, first, "ok", Usage(100, 10), 0.7, now=START)
    assert batches.item(led, "b1", first.custom_id) is None and len(batches.items(led, "b1")) == 4
    assert batches.progress(led, order_again(led)).spent_dollars == 0.5


def order_again(led: Ledger) -> batches.Order:
    found = batches.last_order(led)
    assert found is not None
    return found


def test_one_order_is_open_at_a_time_and_holds_its_files(led: Ledger) -> None:
    order(led)
    with pytest.raises(LedgerError):
        batches.note_order(led, "other", [], model=HAIKU, most_dollars=1, now=START)
    assert batches.holds(led, "s1.jsonl") and len(batches.held(led)) == 5
    batches.end_order(led, "order", "canceled", now=later(1))
    assert not batches.held(led) and batches.open_order(led) is None
    batches.note_order(led, "other", [(9, "s9.jsonl")], model=HAIKU, most_dollars=1, now=later(2))
    assert batches.held(led) == {"s9.jsonl"}


def test_dialogue_that_is_deleted_goes_from_what_a_reply_is_judged_by_too(led: Ledger) -> None:
    items, _ = written(led)
    runs.drop_replies(led, "s2.jsonl", pending=True)
    kept = {item.key: batches.asked(item) for item in batches.items(led, "b1")}
    assert kept["s2.jsonl"] == {} and kept["s1.jsonl"] == {"lines": {}}
    assert len(kept) == len(items)

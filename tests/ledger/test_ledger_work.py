"""Watermarks, events, runs, tombstones and the inbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import LedgerError
from pipeline.domain.action import DreamAction, MemoryAction, RunSummary
from pipeline.ledger.carry_over import drop_forgotten_names, forgotten_names
from pipeline.ledger.connection import Ledger, open_ledger
from pipeline.ledger.events import Event, list_events, record_events
from pipeline.ledger.inbox import add_inbox, count_here, count_inbox, decide_inbox, list_inbox
from pipeline.ledger.runs import (
    Run,
    commit_reply,
    finish_run,
    list_runs,
    of_memory,
    pending_run,
    run,
    start_run,
)
from pipeline.ledger.watermarks import set_watermark, watermark


def test_a_watermark_never_moves_back(led: Ledger) -> None:
    assert watermark(led, "k", "s", "turn") == 0
    for row in (5, 9, 7):
        set_watermark(led, "k", "s", "turn", row)
    assert watermark(led, "k", "s", "turn") == 9


def test_watermarks_are_kept_apart_by_file_store_and_strategy(led: Ledger) -> None:
    set_watermark(led, "k", "s", "turn", 5)
    assert [
        watermark(led, *which) for which in (("j", "s", "turn"), ("k", "t", "turn"), ("k", "s", "whole"))
    ] == [
        0,
        0,
        0,
    ]


def event(name: str, at: float = 1) -> Event:
    return Event(name, "Stop", "s", "/t/s.jsonl", "/w", "{}", at)


def test_an_event_drained_twice_is_new_once(led: Ledger) -> None:
    assert record_events(led, [event("a"), event("b"), event("a")]) == [event("a"), event("b")]
    assert record_events(led, [event("b"), event("c", 2)]) == [event("c", 2)]
    assert list_events(led, limit=2) == [event("c", 2), event("b")]


def start(led: Ledger, id: str = "r1", *, now: float = 1, **more: Any) -> None:
    values: Any = {
        "kind": "turn",
        "key": "k",
        "store": "s",
        "strategy": "turn",
        "from_row": 1,
        "through_row": 5,
    }
    start_run(led, id=id, now=now, **(values | more))


def answer(led: Ledger, id: str = "r1", reply: str = '{"a": 1}') -> None:
    commit_reply(led, id, reply, prompt_digest="d", model="m", provider="p", now=2)


def known(led: Ledger, id: str = "r1") -> Run:
    found = run(led, id)
    assert found is not None
    return found


def test_a_run_keeps_its_reply_until_it_is_applied(led: Ledger) -> None:
    start(led)
    assert pending_run(led, "k", "s", "turn") is None
    answer(led)
    pending = pending_run(led, "k", "s", "turn")
    assert pending == known(led)
    assert (pending.reply_json, pending.model, pending.from_row, pending.through_row) == (
        '{"a": 1}',
        "m",
        1,
        5,
    )
    assert pending_run(led, "k", "s", "other") is None
    finish_run(led, "r1", outcome="applied", summary=RunSummary(), now=3)
    assert pending_run(led, "k", "s", "turn") is None
    assert (known(led).outcome, known(led).finished_at) == ("applied", 3)


def test_a_pending_run_outlives_the_process(led: Ledger) -> None:
    start(led)
    answer(led)
    with open_ledger(led.path) as other:
        found = pending_run(other, "k", "s", "turn")
        assert found is not None and found.id == "r1"


def test_the_oldest_pending_run_comes_first(led: Ledger) -> None:
    for id, now in (("late", 9), ("early", 3)):
        start(led, id, now=now)
        answer(led, id)
    found = pending_run(led, "k", "s", "turn")
    assert found is not None and found.id == "early"


def test_end_of_run_and_watermark_commit_together(led: Ledger) -> None:
    start(led)
    with pytest.raises(ZeroDivisionError), led.transaction():
        finish_run(led, "r1", outcome="applied", summary=RunSummary(), now=3)
        set_watermark(led, "k", "s", "turn", 5)
        1 / 0  # noqa: B018
    assert known(led).outcome is None
    assert watermark(led, "k", "s", "turn") == 0


@pytest.mark.parametrize("outcome", ["applied", "nothing", "skipped", "failed:refused"])
def test_the_same_end_twice_is_no_fault(led: Ledger, outcome: str) -> None:
    start(led)
    for _ in range(2):
        finish_run(led, "r1", outcome=outcome, summary=RunSummary(), now=3)
    assert known(led).outcome == outcome


def _second_reply(led: Ledger) -> None:
    answer(led)
    answer(led)


def _reply_after_end(led: Ledger) -> None:
    finish_run(led, "r1", outcome="nothing", summary=RunSummary(), now=3)
    answer(led)


def _other_end(led: Ledger) -> None:
    finish_run(led, "r1", outcome="nothing", summary=RunSummary(), now=3)
    finish_run(led, "r1", outcome="applied", summary=RunSummary(), now=4)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (_second_reply, "take a reply: it has its reply"),
        (_reply_after_end, r"take a reply: it has ended \(nothing\)"),
        (_other_end, r"end as applied: it has ended \(nothing\)"),
        (lambda led: answer(led, "r2"), "is not known"),
        (
            lambda led: finish_run(led, "r1", outcome="fine", summary=RunSummary(), now=3),
            "'fine' is no outcome",
        ),
        (start, "UNIQUE"),
    ],
)
def test_a_run_takes_one_reply_and_one_end(led: Ledger, what, message: str) -> None:
    start(led)
    with pytest.raises(LedgerError, match=message):
        what(led)


def test_runs_are_listed_newest_first(led: Ledger) -> None:
    for number in range(4):
        start(led, f"r{number}", now=number, key="odd" if number % 2 else "even")
    assert [each.id for each in list_runs(led, limit=3)] == ["r3", "r2", "r1"]
    assert [each.id for each in list_runs(led, key="even")] == ["r2", "r0"]
    assert run(led, "r9") is None


def test_the_runs_of_a_memory_are_found_by_its_id_alone(led: Ledger) -> None:
    made, met = MemoryAction("created", "m2", "m1", "m2.md"), MemoryAction("known", "m2", "m1")
    other = MemoryAction("withdrawn", "m1", "m2", reason='it names "m1"')
    done: list[tuple[MemoryAction | DreamAction, ...]]
    done = [(made, made), (other,), (DreamAction("merge", ("m1",)),), (met,)]
    for number, actions in enumerate(done):
        start(led, f"r{number}", now=9 - number)
        finish_run(led, f"r{number}", outcome="applied", summary=RunSummary(actions=actions), now=10)
    finish_run(led, "r0", outcome="applied", summary=RunSummary(actions=(made,)), now=11)
    assert of_memory(led, "m1") == ["r3", "r0"]
    assert of_memory(led, "m2") == ["r1"] and of_memory(led, "") == []
    assert known(led, "r1").summary == RunSummary(actions=(other,))


def test_forgotten_names_of_an_earlier_version_are_given_once_by_store(led: Ledger) -> None:
    for store, name, at in (("s", "b", 9), ("s", "a", 5), ("t", "c", 7)):
        led.execute(
            "INSERT INTO tombstones (store, name, memory_id, at, reason) VALUES (?, ?, 'm', ?, 'asked')",
            (store, name, at),
        )
    assert forgotten_names(led, "s") == [("a", 5, "asked"), ("b", 9, "asked")]
    drop_forgotten_names(led, "s")
    assert forgotten_names(led, "s") == [] and len(forgotten_names(led, "t")) == 1


def propose(led: Ledger, store: str = "s", payload: str = "{}", run_id: str = "r1") -> int:
    return add_inbox(led, store, kind="memory", payload_json=payload, reason="low", run_id=run_id, now=1)


def test_a_proposal_repeated_by_its_run_is_put_in_once(led: Ledger) -> None:
    first = propose(led)
    assert propose(led) == first
    assert propose(led, run_id="r2") != first
    assert propose(led, run_id="") != propose(led, run_id="")
    assert count_inbox(led) == 4


def test_the_inbox_is_listed_by_store_and_state(led: Ledger) -> None:
    mine, _other = propose(led), propose(led, "t")
    (item,) = list_inbox(led, "s")
    assert (item.id, item.kind, item.payload_json, item.reason, item.state) == (
        mine,
        "memory",
        "{}",
        "low",
        "open",
    )
    decide_inbox(led, mine, "rejected", now=7)
    assert (count_inbox(led, "s"), count_inbox(led), count_inbox(led, "s", None)) == (0, 1, 1)
    assert [(each.id, each.decided_at) for each in list_inbox(led, "s", "rejected")] == [(mine, 7)]


def test_what_waits_here_counts_that_of_all_projects_while_there_is_their_folder(
    led: Ledger, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    everyone = home / "memory"
    propose(led, "/s"), propose(led, "/t"), propose(led, str(everyone), run_id="r2")
    assert count_here(led, home, Path("/s")) == 1
    everyone.mkdir(parents=True)
    assert [count_here(led, home, store) for store in (Path("/s"), Path("/u"), everyone)] == [2, 1, 1]


def test_only_an_open_proposal_can_be_decided(led: Ledger) -> None:
    item = propose(led)
    decide_inbox(led, item, "accepted", now=2)
    with pytest.raises(LedgerError, match="is not open"):
        decide_inbox(led, item, "rejected", now=3)
    assert list_inbox(led, state="accepted")[0].decided_at == 2

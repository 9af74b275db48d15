"""How much is not read, and why."""

from __future__ import annotations

import pytest

from pipeline.domain.action import RunSummary
from pipeline.ledger import conversations, runs, unread
from pipeline.ledger.connection import Ledger
from pipeline.ledger.files import mark_gone
from tests.ledger.build import KEY, START, ingest, said


@pytest.mark.parametrize(
    ("entrypoint", "origin", "printed"),
    [
        ("sdk-cli", "", True),
        ("sdk-ts", "", True),
        ("sdk-ts", "peer", True),
        ("sdk-ts", "human", False),
        ("cli", "", False),
        ("claude-vscode", "human", False),
        (None, "", False),
    ],
)
def test_a_session_into_which_nobody_types_is_a_programs(
    led: Ledger, entrypoint: str | None, origin: str, printed: bool
) -> None:
    ingest(led, [said(0, entrypoint=None), said(1, entrypoint=entrypoint), said(2, origin=origin)])
    assert unread.is_printed(led, KEY) is printed
    assert unread.reasons(led, print_sessions=False) == ({unread.PRINTED: 1} if printed else {})
    assert unread.reasons(led, print_sessions=True) == {}
    assert not unread.is_printed(led, "unknown.jsonl")


def test_everything_that_is_passed_over_has_its_reason(led: Ledger) -> None:
    ingest(led, [said(0)], bad=[(3, "not JSON")])
    mark_gone(led, "never-read.jsonl", START)
    conversations.set_status(led, 1, "skipped", reason="fewer than 5 messages", now=START)
    for number, reason in enumerate(["only acknowledgements", "only acknowledgements", ""]):
        runs.start_run(
            led, id=f"r{number}", kind="extract", key=KEY, store="s", strategy="turn",
            from_row=1, through_row=1, now=START,
        )  # fmt: skip
        runs.finish_run(led, f"r{number}", outcome="skipped", summary=RunSummary(reason), now=START)
    assert unread.reasons(led, print_sessions=False) == {
        unread.NO_RECORD: 1,
        unread.GONE: 1,
        "conversations: fewer than 5 messages": 1,
        "turns: only acknowledgements": 2,
        "turns: passed over": 1,
    }


@pytest.mark.parametrize(
    ("outcome", "first", "last", "unread_too"),
    [
        ("proposed", 1, 1, False),
        ("nothing", 1, 4, False),
        ("failed:unextractable", 1, 1, False),
        ("skipped", 1, 1, True),
        ("failed:timeout", 1, 1, True),
        ("applied", 2, 4, True),
    ],
)
def test_a_short_conversation_that_was_read_by_turns_was_read(
    led: Ledger, outcome: str, first: int, last: int, unread_too: bool
) -> None:
    ingest(led, [said(0)])
    conversations.set_status(led, 1, "skipped", reason="fewer than 5 messages", now=START)
    runs.start_run(
        led, id="r", kind="extract", key=KEY, store="s", strategy="turn",
        from_row=first, through_row=last, now=START,
    )  # fmt: skip
    runs.finish_run(led, "r", outcome=outcome, summary=RunSummary(""), now=START)
    found = unread.reasons(led, print_sessions=False)
    assert ("conversations: fewer than 5 messages" in found) is unread_too


def test_a_damaged_summary_counts_all_the_same(led: Ledger) -> None:
    runs.start_run(
        led, id="r", kind="extract", key=KEY, store="s", strategy="turn", from_row=1, through_row=1, now=START
    )
    runs.finish_run(led, "r", outcome="skipped", summary=RunSummary("x"), now=START)
    led.execute("UPDATE runs SET summary_json = '{broken'")
    assert unread.reasons(led, print_sessions=False) == {"turns: passed over": 1}

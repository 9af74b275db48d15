"""What a person, a crash and a review do to a conversation."""

from __future__ import annotations

import pytest

from pipeline.core.errors import LedgerError
from pipeline.domain.action import RunSummary
from pipeline.ledger import inbox, jobs, runs
from pipeline.ledger.connection import Ledger
from pipeline.ledger.conversation_states import ASKED, PERSONS, end_reviews, recover, transition, why_review
from pipeline.ledger.conversations import Conversation, conversation, set_status
from tests.ledger.build import KEY, START, at, ingest, later, said

JOB = "extract_conversation"


def in_state(led: Ledger, state: str) -> int:
    ingest(led, [said(0, when=at(0))])
    led.execute("UPDATE memory_conversations SET status = ?", (state,))
    return 1


def status(led: Ledger) -> tuple[str, str]:
    found = conversation(led, 1)
    assert found is not None
    return found.status, found.reason


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("active", "ready", ""),
        ("active", "skipped", "by hand"),
        ("active", "queued", ASKED),
        ("ready", "queued", ASKED),
        ("skipped", "queued", ASKED),
        ("review", "queued", ASKED),
        ("review", "archived", "by hand"),
        ("queued", "skipped", "by hand"),
    ],
)
def test_a_person_moves_a_conversation(led: Ledger, before: str, after: str, reason: str) -> None:
    number = in_state(led, before)
    moved = transition(led, number, after, now=START)
    assert (moved.status, moved.reason) == (after, reason) == status(led)
    assert jobs.is_waiting(led, JOB, "1") == (after == "queued")


@pytest.mark.parametrize("after", PERSONS)
@pytest.mark.parametrize("before", ["processing", "archived"])
def test_what_is_read_or_done_with_is_not_moved(led: Ledger, before: str, after: str) -> None:
    number = in_state(led, before)
    if before != after:
        with pytest.raises(LedgerError):
            transition(led, number, after, now=START)
    assert status(led)[0] == before


@pytest.mark.parametrize("state", ["queued", "processing"])
def test_what_a_crash_left_is_ready_again_unless_a_job_has_it(led: Ledger, state: str) -> None:
    in_state(led, state)
    jobs.enqueue(led, JOB, "1", now=0.0, run_after=0.0)
    assert recover(led, now=START) == []
    led.execute("DELETE FROM jobs")
    assert recover(led, now=START) == [1]
    assert status(led)[0] == "ready"


def after_runs(led: Ledger, *outcomes: str) -> Conversation:
    in_state(led, "processing")
    for number, outcome in enumerate(outcomes):
        runs.start_run(
            led, id=f"r{number}", kind="extraction", key=KEY, store="/s", strategy="conversation",
            from_row=1, through_row=1, now=START,
        )  # fmt: skip
        runs.finish_run(led, f"r{number}", outcome=outcome, summary=RunSummary(), now=START)
        if outcome == "proposed":
            inbox.add_inbox(
                led, "/s", kind="add", payload_json="{}", reason="x", run_id=f"r{number}", now=START
            )
    found = conversation(led, 1)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("outcomes", "word"),
    [
        (["applied"], ""),
        (["nothing"], ""),
        (["proposed"], "inbox"),
        (["proposed", "applied"], ""),
        ([runs.GIVEN_UP, "applied"], "unreadable"),
    ],
)
def test_a_review_is_for_what_a_person_has_to_look_at(led: Ledger, outcomes: list[str], word: str) -> None:
    found = why_review(led, after_runs(led, *outcomes))
    assert word in found and bool(word) == bool(found)


def test_a_review_ends_when_nothing_waits_any_more(led: Ledger) -> None:
    item = after_runs(led, "proposed")
    set_status(led, item.id, "review", reason=why_review(led, item), now=START)
    assert end_reviews(led, now=START) == []
    inbox.decide_inbox(led, 1, "rejected", now=later(1))
    assert end_reviews(led, now=later(2)) == [item.id]
    assert status(led) == ("archived", "")

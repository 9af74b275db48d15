"""Every conversation comes to its end, whichever way it was read, and a file that is gone is known to be."""

from __future__ import annotations

import json
import signal

import pytest

from pipeline.ledger import files
from tests.support.loopback import LoopbackApi, keep_nothing
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

SOON, LATER = "2026-03-02T11:00:00Z", "2026-03-20T09:00:00Z"


def talk(shop: Workshop, exchanges: int) -> Transcript:
    session = shop.session()
    for number in range(exchanges):
        session.user(f"Shelf {number:02d} holds {number * 17} boxes.")
        session.assistant("Noted.")
    return session


def states(shop: Workshop, now: str = LATER) -> list[tuple[str, str]]:
    listed = json.loads(shop.reverie("conversations", "--json", REVERIE_NOW=now).stdout)
    return [(item["status"], item["reason"]) for item in listed]


def test_a_short_conversation_that_process_read_is_not_ready_for_ever(
    shop: Workshop, api: LoopbackApi
) -> None:
    shop.write(talk(shop, 1))
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_NOW=LATER)
    assert states(shop) == [("ready", "")]
    shop.reverie("process", REVERIE_NOW=LATER)
    assert len(shop.memories()) == 1 and states(shop) == [("skipped", "fewer than 5 messages")]
    asked = len(api.prompts)
    shop.reverie("process", REVERIE_NOW=LATER)
    assert len(api.prompts) == asked


@pytest.mark.parametrize("more", [0, 2], ids=["read by turns", "read in part"])
def test_what_turns_have_read_is_archived_by_process(shop: Workshop, api: LoopbackApi, more: int) -> None:
    session = talk(shop, 4)
    shop.fire(session)
    shop.work(REVERIE_NOW=SOON[:11] + "09:05:00Z")
    for number in range(more):
        session.user(f"Rack {number:02d} is empty.")
        session.assistant("Noted.")
    shop.write(session)
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_NOW=LATER)
    assert states(shop) == [("ready", "")]
    assert shop.reverie("process", REVERIE_NOW=LATER).returncode == 0
    assert states(shop) == [("archived", "")] and len(shop.memories()) == 4 + more


def test_what_only_made_proposals_is_in_review_until_they_are_decided(
    shop: Workshop, api: LoopbackApi
) -> None:
    shop.write(talk(shop, 3))
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_NOW=LATER)
    shop.reverie("process", REVERIE_NOW=LATER, REVERIE_STORE__MODE="propose")
    [(status, reason)] = states(shop)
    assert status == "review" and "inbox" in reason and shop.memories() == []
    found = json.loads(shop.reverie("inbox", "list", "--json", REVERIE_NOW=LATER).stdout)
    for item in found:
        assert shop.reverie("inbox", "reject", str(item["id"]), REVERIE_NOW=LATER).returncode == 0
    assert states(shop) == [("archived", "")]


@pytest.mark.parametrize(
    "point", ["extract.before_call", "extract.after_reply_commit", "extract.after_cursor"]
)
def test_a_process_that_is_killed_leaves_nothing_at_work(
    shop: Workshop, api: LoopbackApi, point: str
) -> None:
    shop.write(talk(shop, 3))
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_NOW=LATER)
    killed = shop.reverie("process", REVERIE_NOW=LATER, REVERIE_CRASH_AT=point)
    assert killed.returncode == -signal.SIGKILL and states(shop)[0][0] == "processing"
    assert shop.reverie("process", REVERIE_NOW=LATER).returncode == 0
    assert states(shop) == [("archived", "")] and len(shop.memories()) == 3


def test_a_failure_gives_a_conversation_back(shop: Workshop, api: LoopbackApi) -> None:
    shop.write(talk(shop, 3))
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_NOW=LATER)
    api.answer = lambda prompt: "this is no JSON"
    assert shop.reverie("process", REVERIE_NOW=LATER).returncode != 0
    assert states(shop) == [("ready", "")]


def test_a_person_may_have_a_short_conversation_read_whole(shop: Workshop, api: LoopbackApi) -> None:
    api.answer = keep_nothing
    shop.write(talk(shop, 1))
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_NOW=LATER)
    shop.reverie("transition", "skipped", "1", REVERIE_NOW=LATER)
    assert shop.reverie("transition", "queued", "1", REVERIE_NOW=LATER).returncode == 0
    assert shop.reverie("work", REVERIE_NOW=LATER).returncode == 0
    assert states(shop)[0][0] == "archived" and "<conversation>" in api.prompts[-1]


def test_what_a_person_passed_over_while_it_waited_is_not_read(shop: Workshop, api: LoopbackApi) -> None:
    shop.write(talk(shop, 3))
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_NOW=LATER)
    for status in ("queued", "skipped"):
        assert shop.reverie("transition", status, "1", REVERIE_NOW=LATER).returncode == 0
    shop.reverie("work", REVERIE_NOW=LATER)
    assert states(shop) == [("skipped", "by hand")] and api.prompts == []


@pytest.mark.parametrize("hook", ["SessionEnd", "SessionStart"])
def test_the_worker_notices_that_a_transcript_is_gone(shop: Workshop, api: LoopbackApi, hook: str) -> None:
    session = talk(shop, 1)
    shop.fire(session)
    shop.work(REVERIE_NOW=SOON)
    other = session if hook == "SessionEnd" else shop.session(2)
    shop.fire(other, hook)
    for path in shop.folder.glob("*.jsonl"):
        path.unlink()
    shop.work(REVERIE_NOW=SOON)
    with shop.ledger() as ledger:
        assert files.counts(ledger)["gone"] == 1

"""A provider that is down costs time only: one state for all jobs, one question for all, nothing given up."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest

from bench import outage
from pipeline.core.clock import FixedClock
from pipeline.domain.job import Job
from pipeline.ledger import calls, jobs, outages, runs
from pipeline.llm.retry import LEAST_SHARE
from pipeline.worker import Pass
from tests.support.loopback import (
    LoopbackApi,
    NoReply,
    Refusal,
    keep_each_line,
    keep_nothing,
    person_lines,
    well,
)
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop, at

NOW = "2026-03-02T09:05:00+00:00"
HOUR = 3_600
DAY = 24 * HOUR


def talk(shop: Workshop, number: int = 1, **values: Any) -> Transcript:
    session = shop.session(number, **values)
    session.user(f"Shelf {number:02d} holds {number * 17} boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    return session


def work(shop: Workshop, later: float = 0.0, *, now_too: bool = False) -> Pass:
    with shop.worker(FixedClock(at(NOW) + timedelta(seconds=later))) as worker:
        return worker.run(now_too=now_too)


def turns(shop: Workshop) -> list[Job]:
    with shop.ledger() as ledger:
        return [job for job in jobs.list_jobs(ledger) if job.kind == "extract_turn"]


def down(shop: Workshop) -> outages.Outage | None:
    with shop.ledger() as ledger:
        return outages.known(ledger, "anthropic")


def held(shop: Workshop) -> str:
    board = json.loads((shop.home / "recall" / "board.json").read_text("utf-8"))
    return str(board["stores"][str(shop.store)]["held"])


def command(shop: Workshop, *arguments: str, later: float = 0.0) -> str:
    moment = at(NOW) + timedelta(seconds=later)
    done = shop.reverie(*arguments, REVERIE_NOW=moment.isoformat())
    return done.stdout + done.stderr


def test_a_day_of_outage_ends_by_itself(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in outage.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    ways = [way for way in outage.WAYS.values() if way is not NoReply.SILENCE]
    found = outage.simulate(shop, api, wanted=8, hours=12, ways=ways)
    assert found.all_done is not None and found.all_done <= found.ended + HOUR
    assert (found.given_up, found.memories) == (0, 8)
    assert found.rows == len(found.asked) <= 24, "some while the wait grows, then one an hour"
    assert max(found.waits) >= outage.ASKED_WAIT and min(found.waits[2:]) >= 60 * LEAST_SHARE


@pytest.mark.parametrize(
    ("status", "message"), [(401, "invalid x-api-key"), (403, "not allowed"), (402, "no credit")]
)
def test_bug_i3_no_stop_cancels_the_hour(shop: Workshop, api: LoopbackApi, status: int, message: str) -> None:
    api.answer = lambda prompt: Refusal(status, message)
    for number in range(1, 4):
        talk(shop, number)
    assert message in work(shop).waiting
    session = talk(shop, 4)
    for minute in range(2, 45, 2):
        shop.fire(session, "SessionEnd" if minute % 4 else "Stop")
        work(shop, minute * 60)
    assert len(api.prompts) == len(shop.books()["runs"]) == 1, "no job is so much as taken up"
    assert [(job.state, job.attempts) for job in turns(shop)] == [("waiting", 0)] * 4
    assert message in held(shop) and "model.api_key_env" in held(shop) + " model.api_key_env" * (
        status == 402
    )
    assert re.search(rf"! 4 turns .*wait: HTTP {status}", command(shop, "status", later=2700))
    api.answer = keep_each_line
    work(shop, HOUR)
    assert len(shop.memories()) == 4 and down(shop) is None


def test_each_pass_asks_one_question_for_all_that_wait(shop: Workshop, api: LoopbackApi) -> None:
    api.answer = lambda prompt: Refusal(529, "Overloaded", {"retry-after": "600"})
    for number in range(1, 6):
        talk(shop, number)
    for later in (0, 600, 1_200, 1_800, 3_000):
        work(shop, later)
    assert len(api.prompts) == 5
    asked = [person_lines(prompt)[-1][1] for prompt in api.prompts]
    assert len(set(asked)) == 5, "a different job each time, so that none can hold up the others"


def test_bug_i9_retry_after_is_kept_to_the_second_across_processes(shop: Workshop, api: LoopbackApi) -> None:
    talk(shop)
    api.answer = lambda prompt: Refusal(429, "slow down", {"retry-after": "4000"})
    work(shop)
    work(shop, 3_999)
    assert len(api.prompts) == 1
    api.answer = keep_each_line
    work(shop, 4_000)
    assert shop.memories() == ["shelf-01-holds"]


def test_a_passing_trouble_is_told_to_a_person_only_when_it_lasts(shop: Workshop, api: LoopbackApi) -> None:
    session = talk(shop)
    api.answer = lambda prompt: Refusal(529, "Overloaded", {"retry-after": "1800"})
    work(shop)
    assert held(shop) == "" and "Overloaded" in command(shop, "status")
    for later in (1_800, 3_700):
        shop.fire(session)
        work(shop, later)
    assert "HTTP 529: Overloaded" in held(shop)
    told = command(shop, "doctor", later=3_800)
    assert "does not answer (3 tries, the first 63 min ago): HTTP 529" in " ".join(told.split())


def test_settings_that_change_end_the_wait(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(shop)
    api.answer = lambda prompt: Refusal(404, "model: claude-haiku-4-5")
    work(shop)
    found = down(shop)
    assert found is not None and "no model called claude-haiku-4-5" in found.words
    assert "model.model" in found.fix
    api.answer = keep_each_line
    monkeypatch.setenv("REVERIE_MODEL__MODEL", "claude-haiku-4-5-20251001")
    work(shop, 1)
    assert shop.memories() == ["shelf-01-holds"]


def test_a_call_that_a_person_makes_ends_the_wait_of_all(shop: Workshop, api: LoopbackApi) -> None:
    for number in (1, 2):
        talk(shop, number)
    api.answer = lambda prompt: Refusal(401, "invalid x-api-key")
    work(shop)
    api.answer, api.ping = keep_each_line, well
    work(shop, 60)
    assert shop.memories() == [], "nothing has changed that would let it through"
    assert "answered with" in command(shop, "doctor", "--online", later=70)
    work(shop, 80)
    assert len(shop.memories()) == 2


def test_a_command_that_a_person_typed_does_not_wait(shop: Workshop, api: LoopbackApi) -> None:
    for number in (1, 2):
        talk(shop, number)
    api.answer = lambda prompt: Refusal(529, "Overloaded", {"retry-after": "4000"})
    work(shop)
    assert "waiting: HTTP 529" in command(shop, "work", later=10) and len(api.prompts) == 2, "once for both"
    api.answer = keep_each_line
    command(shop, "work", later=20)
    assert len(shop.memories()) == 2


# -- whose fault it is ----------------------------------------------------------------------------

SENTENCE = "Welcome to the guest network. Have a pleasant stay."


def test_bug_i4_a_sentence_nobody_listed_makes_no_dialogue_unreadable(
    shop: Workshop, api: LoopbackApi
) -> None:
    session = talk(shop)
    talk(shop, 2)
    api.answer = lambda prompt: SENTENCE
    assert SENTENCE in work(shop).waiting
    assert len(api.prompts) == 4, "the turn and the small question, each with a repair round"
    for later in range(HOUR, DAY, HOUR):
        shop.fire(session)
        work(shop, later)
    assert len(api.prompts) <= 4 + 2 * 24, "afterwards the small question alone, once an hour"
    assert SENTENCE in held(shop) and SENTENCE in command(shop, "status", later=DAY)
    assert "does not answer" in (told := command(shop, "doctor", later=DAY)) and "model.base_url" in told
    with shop.ledger() as ledger:
        assert runs.given_up(ledger) == [] and jobs.list_jobs(ledger, state="parked") == []
    api.answer, api.ping = keep_each_line, well
    work(shop, DAY + HOUR)
    assert len(shop.memories()) == 2 and down(shop) is None


def test_an_answer_of_no_use_counts_once_the_provider_is_seen_to_be_well(
    shop: Workshop, api: LoopbackApi
) -> None:
    talk(shop)
    api.answer, api.ping = (lambda prompt: "this is no JSON"), well
    work(shop)
    (job,) = turns(shop)
    assert (job.attempts, len(api.pings)) == (1, 1) and down(shop) is None


@pytest.mark.parametrize("ping", [well, lambda prompt: Refusal(422, "odd")], ids=["well", "not well"])
def test_an_error_without_a_name_counts_only_where_the_provider_is_well(
    shop: Workshop, api: LoopbackApi, ping: Any
) -> None:
    talk(shop)
    api.answer, api.ping = (lambda prompt: Refusal(422, "odd")), ping
    work(shop)
    (job,) = turns(shop)
    assert job.attempts == (ping is well) and (down(shop) is None) == (ping is well)


def test_the_question_after_the_cap_lets_the_job_wait(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_SPEND__CALLS_PER_HOUR", "2")
    talk(shop)
    api.answer, api.ping = (lambda prompt: "this is no JSON"), well
    assert "spend.calls_per_hour" in work(shop).waiting
    (job,) = turns(shop)
    assert job.attempts == 0 and job.run_after == at(NOW).timestamp() + 900


def test_one_turn_that_gets_no_answer_in_time_holds_up_no_other(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_MODEL__TIMEOUT_SECONDS", "2")

    def late(prompt: str) -> Any:
        return (
            NoReply.SILENCE
            if "Shelf 01" in prompt.rpartition("<new_dialogue>")[2]
            else keep_each_line(prompt)
        )

    api.answer = late
    talk(shop)
    work(shop)
    found = down(shop)
    assert found is not None and found.outcome == "timeout"
    talk(shop, 2)
    work(shop, 60)
    assert shop.memories() == ["shelf-02-holds"] and down(shop) is None, "the others go on at once"
    waiting = next(job for job in turns(shop) if job.state == "waiting")
    assert waiting.attempts == 0 and waiting.run_after == at(NOW).timestamp() + 60 + HOUR
    assert "in 2 s" in waiting.last_error
    api.answer = keep_each_line
    work(shop, 60 + HOUR)
    assert len(shop.memories()) == 2


def test_what_comes_after_an_unreadable_stretch_is_read_at_once(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_EXTRACTION__WINDOW_CHARS", "200")
    session = shop.session()
    for number in (1, 2):
        session.user(f"Shelf {number:02d} holds boxes, and " + "so on, " * 20)
        session.assistant("Noted.")
    shop.fire(session)

    def answer(prompt: str) -> Any:
        return "no JSON" if "Shelf 01" in person_lines(prompt)[0][1] else keep_each_line(prompt)

    api.answer, api.ping = answer, well
    for later in (0, 100, 1000):
        work(shop, later)
    assert shop.memories() == ["shelf-02-holds"] and [job.state for job in turns(shop)] == ["done"]


# -- everything that asks -------------------------------------------------------------------------


def test_a_dream_waits_for_the_provider_and_counts_no_failure(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_DREAM__ENABLED", "true")
    monkeypatch.setenv("REVERIE_DREAM__SESSIONS", "1")

    def answer(prompt: str) -> Any:
        return keep_each_line(prompt) if "dialogue>" in prompt else Refusal(529, "Overloaded")

    api.answer = answer
    monkeypatch.setenv("REVERIE_MODEL__ATTEMPTS", "1")
    for number in range(1, 7):
        talk(shop, number)
    for later in (0, 2 * HOUR, 2 * HOUR + 30):
        work(shop, later)
    asked = [prompt for prompt in api.prompts if "dialogue>" not in prompt]
    with shop.ledger() as ledger:
        (dream,) = [job for job in jobs.list_jobs(ledger, state="waiting") if job.kind == "dream"]
    assert dream.attempts == 0 and dream.run_after <= at(NOW).timestamp() + 2 * HOUR + 30
    assert len(asked) == 2 and down(shop) is not None


def test_a_reply_of_no_use_to_a_dream_pauses_the_dream_alone(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_DREAM__ENABLED", "true")
    monkeypatch.setenv("REVERIE_DREAM__SESSIONS", "1")
    api.answer = lambda prompt: keep_each_line(prompt) if "dialogue>" in prompt else SENTENCE
    api.ping = lambda prompt: SENTENCE
    for number in range(1, 7):
        talk(shop, number)
    work(shop)
    work(shop, 2 * HOUR)
    with shop.ledger() as ledger:
        (dream,) = [job for job in jobs.list_jobs(ledger, state="waiting") if job.kind == "dream"]
    assert dream.attempts == 0 and dream.run_after >= at(NOW).timestamp() + 3 * HOUR
    assert down(shop) is None
    talk(shop, 7)
    work(shop, 2 * HOUR + 60)
    assert len(shop.memories()) == 7


def test_choosing_in_advance_notes_the_outage_for_all(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_RECALL__MODEL_SELECTION", "true")
    monkeypatch.setenv("REVERIE_MODEL__ATTEMPTS", "1")

    def answer(prompt: str) -> Any:
        return Refusal(401, "invalid x-api-key") if "<notes>" in prompt else keep_each_line(prompt)

    api.answer = answer
    session = talk(shop)
    work(shop)
    asked = len(api.prompts)
    session.user("Shelf 02 holds 34 boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    work(shop, 600)
    assert len(api.prompts) == asked == 2


# -- clocks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ahead", [5 * DAY, 30 * DAY, 200 * DAY])
def test_bug_i6_an_outage_that_a_clock_ahead_noted_is_over(
    shop: Workshop, api: LoopbackApi, ahead: int
) -> None:
    talk(shop, start=(at(NOW) + timedelta(seconds=ahead)).isoformat())
    api.answer = lambda prompt: Refusal(401, "invalid x-api-key")
    work(shop, ahead)
    api.answer = keep_each_line
    work(shop, 60)
    assert shop.memories() == ["shelf-01-holds"]


@pytest.mark.parametrize("ahead", [30 * DAY, 200 * DAY])
def test_bug_i6_no_job_waits_for_a_clock_that_was_ahead(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch, ahead: int
) -> None:
    """A run that ended then, a cap met then, a Stop of then: none of them holds up what comes after."""
    session = talk(shop, start=(at(NOW) + timedelta(seconds=ahead)).isoformat())
    api.answer = keep_each_line
    work(shop, ahead)
    monkeypatch.setenv("REVERIE_SPEND__CALLS_PER_HOUR", "0")
    session.user("Shelf 02 holds 34 boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    work(shop, ahead + 200)
    monkeypatch.setenv("REVERIE_SPEND__CALLS_PER_HOUR", "60")
    work(shop, 60)
    assert len(shop.memories()) == 2
    session.user("Shelf 03 holds 51 boxes.")
    session.assistant("Noted.")
    shop.fire(session)
    work(shop, 120)
    assert [job.run_after for job in turns(shop) if job.state == "waiting"] <= [at(NOW).timestamp() + 240]
    work(shop, 240)
    assert len(shop.memories()) == 3


def test_bug_i3_a_stop_does_not_shorten_the_wait_after_a_failure(shop: Workshop, api: LoopbackApi) -> None:
    session = talk(shop)
    api.answer, api.ping = (lambda prompt: "this is no JSON"), well
    work(shop)
    work(shop, 60)
    for later in (120, 240, 360):
        shop.fire(session)
        work(shop, later)
    assert len(api.prompts) == 4 and turns(shop)[0].run_after == at(NOW).timestamp() + 660
    with shop.ledger() as ledger:
        assert {call.outcome for call in calls.list_calls(ledger)} == {"invalid", "ok"}


def test_the_worker_stays_only_for_what_it_may_ask(shop: Workshop, api: LoopbackApi) -> None:
    talk(shop)
    api.answer = lambda prompt: Refusal(429, "slow down", {"retry-after": "4000"})
    work(shop)
    with shop.worker(FixedClock(at(NOW) + timedelta(seconds=1_000))) as worker:
        assert worker.next_due() == 3_000
    api.answer = keep_nothing
    work(shop, 4_000)
    with shop.worker(FixedClock(at(NOW) + timedelta(seconds=4_000))) as worker:
        assert worker.next_due() is None

"""After a turn was read the worker lets a model choose for the next prompt, where the settings say so."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from pipeline.core.clock import FixedClock
from pipeline.ledger import calls
from pipeline.worker import Pass
from tests.support.loopback import LoopbackApi, Refusal, keep_each_line
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop, at

NOW = "2026-03-02T09:05:00+00:00"


@pytest.fixture
def on(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.setenv("REVERIE_RECALL__MODEL_SELECTION", "true")
    return shop


@pytest.fixture
def api(api: LoopbackApi) -> LoopbackApi:
    api.answer = lambda prompt: {"names": chosen(prompt)} if "<notes>" in prompt else keep_each_line(prompt)
    return api


def chosen(prompt: str) -> list[str]:
    return [line.split(":")[0].removeprefix("- ") for line in prompt.splitlines() if line.startswith("- ")][
        :1
    ]


EXTRACTED = ["extract.turn", "extract.verify"]


def turn(shop: Workshop, hook: str = "Stop") -> Transcript:
    session = shop.session()
    session.user("Shelf 01 holds 17 boxes.")
    session.assistant("Noted.")
    shop.fire(session, hook)
    return session


def work(shop: Workshop, *, later: float = 0.0) -> Pass:
    with shop.worker(FixedClock(at(NOW) + timedelta(seconds=later))) as worker:
        return worker.run()


def picks(shop: Workshop) -> list[dict[str, Any]]:
    files = sorted((shop.home / "recall" / "sessions").glob("*.picks.json"))
    return [json.loads(file.read_bytes()) for file in files]


def purposes(shop: Workshop) -> list[str]:
    with shop.ledger() as ledger:
        return [call.purpose for call in calls.list_calls(ledger)][::-1]


def test_what_was_just_learned_can_be_chosen(on: Workshop, api: LoopbackApi) -> None:
    turn(on)
    done = work(on)
    assert [outcome.word for outcome in done.outcomes] == ["applied"] and done.failures == []
    (value,) = picks(on)
    assert value["names"] == on.memories() and value["store"] == str(on.store)
    assert purposes(on) == [*EXTRACTED, "recall.select"]


def test_nobody_is_asked_unless_the_settings_say_so(shop: Workshop, api: LoopbackApi) -> None:
    turn(shop)
    work(shop)
    assert picks(shop) == [] and purposes(shop) == EXTRACTED


def test_nobody_is_asked_while_recall_is_off(
    on: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_RECALL__ENABLED", "false")
    turn(on)
    work(on)
    assert picks(on) == [] and purposes(on) == EXTRACTED


def test_nobody_is_asked_for_a_session_that_has_ended(on: Workshop, api: LoopbackApi) -> None:
    turn(on, "SessionEnd")
    work(on)
    assert picks(on) == [] and purposes(on) == EXTRACTED


@pytest.mark.parametrize("answer", [Refusal(401), Refusal(400), "no JSON at all"])
def test_a_choice_that_fails_fails_nothing_else(on: Workshop, api: LoopbackApi, answer: Any) -> None:
    api.answer = lambda prompt: answer if "<notes>" in prompt else keep_each_line(prompt)
    turn(on)
    done = work(on)
    assert ([outcome.word for outcome in done.outcomes], done.failures) == (["applied"], [])
    assert picks(on) == [] and len(on.memories()) == 1


def test_a_cap_on_calls_leaves_the_choice_out(
    on: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_SPEND__CALLS_PER_HOUR", "2")
    turn(on)
    done = work(on)
    assert done.failures == [] and done.waiting == ""
    assert picks(on) == [] and purposes(on) == EXTRACTED

"""Replies that are wrong on purpose: asked for with one more paragraph, and only in the evaluation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import InputError
from pipeline.evaluation.manner import SECOND_READER, InManner
from pipeline.evaluation.scoring import Score
from pipeline.evaluation.suite import MANNERS
from pipeline.evaluation.suite_run import Choice, evaluate
from pipeline.llm.fakes import ScriptedProvider
from pipeline.llm.prompts import load, names
from pipeline.llm.request import Message, Request
from tests.architecture.source import PACKAGE, imports, modules, strings
from tests.support.eval_suite import NAME, lay_out
from tests.support.loopback import LoopbackApi, keep_each_line, serving

FIRST = Request("extract.conversation", "claude-haiku-4-5", "The rules.", (Message("user", "dialogue"),), 500)


def recorded(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_bytes()) for file in sorted(folder.glob("*.json"))]


def use(api: LoopbackApi, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in api.environment.items():
        monkeypatch.setenv(name, value)


def test_each_manner_has_its_prompt_and_there_is_no_other() -> None:
    assert [name for name in names() if name.startswith("eval.")] == [f"eval.{manner}" for manner in MANNERS]


@pytest.mark.parametrize("manner", MANNERS)
def test_the_request_is_the_same_but_for_one_paragraph_of_system_text(manner: str) -> None:
    inner = ScriptedProvider(["{}", "{}"])
    InManner(inner, manner).send(FIRST, {})
    (asked,) = inner.history
    assert asked.system == f"{FIRST.system}\n\n{load(f'eval.{manner}').body}" and asked.manner == manner
    assert (asked.purpose, asked.model, asked.messages, asked.max_tokens) == (
        FIRST.purpose, FIRST.model, FIRST.messages, FIRST.max_tokens
    )  # fmt: skip


def test_the_second_reader_is_asked_as_ever() -> None:
    inner = ScriptedProvider(["{}"])
    asked = Request(SECOND_READER, "m", "s", (), 1)
    InManner(inner, "careless").send(asked, {})
    assert inner.history == [asked]


def test_nothing_outside_the_evaluation_can_ask_so() -> None:
    outside = [module for module in modules(PACKAGE, "hooks") if module.unit not in ("evaluation", "cli")]
    assert not [m.path for m in outside if any(name.startswith("pipeline.evaluation") for name in imports(m))]
    prompt = re.compile(r"^eval\.(?:careless|obeying|$)")
    others = [module for module in modules(PACKAGE, "hooks") if module.unit != "evaluation"]
    assert not [m.path for m in others for text in strings(m) if prompt.match(text)]


def test_a_recording_lies_apart_says_its_manner_and_plays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lay_out(tmp_path)
    with serving(keep_each_line) as api:
        use(api, monkeypatch)
        (first,) = evaluate(tmp_path, Choice(manner="careless", llm="record"))
    kept = recorded(folder / "cassettes-careless")
    assert [(value["purpose"], value.get("manner")) for value in kept] == [
        ("extract.conversation", "careless"),
        ("extract.verify", None),
    ]
    assert not (folder / "cassettes").exists()
    monkeypatch.delenv("REVERIE_MODEL__BASE_URL")
    again, plain = evaluate(tmp_path, Choice(only=NAME, manner="careless")), evaluate(tmp_path, Choice())
    scores = [next(again), *(found for found in plain if isinstance(found, Score))]
    assert isinstance(first, Score)
    assert [(found.manner, found.came) for found in scores] == [("careless", 3)] * 2
    assert (first.manner, first.came) == ("careless", 3)


@pytest.mark.parametrize(
    "choice",
    [
        Choice(manner="sloppy"),
        Choice(manner="careless", pieces=2),
        Choice(manner="obeying", llm="offline"),
        Choice(half="upper"),
        Choice(only="nowhere"),
    ],
)
def test_what_cannot_be_asked_is_said(tmp_path: Path, choice: Choice) -> None:
    lay_out(tmp_path)
    with pytest.raises(InputError):
        list(evaluate(tmp_path, choice))

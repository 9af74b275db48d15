"""What a model writes by tool with the person's words is theirs when the second reader, or they, say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.app import inbox
from pipeline.app.application import App
from pipeline.app.history import history, undo, whole_id
from pipeline.app.on_behalf import Wish, remember
from pipeline.core import paths
from pipeline.core.errors import OverloadedError, RefusedError
from pipeline.llm.fakes import Scripted
from pipeline.worker import Worker, WorkerContext
from tests.support.model import TwoReaders, borne_out
from tests.support.transcripts import Transcript

TYPED = "When the retry limit is hit, we move the job of the payment queue to the morning."
QUOTE = "we move the job of the payment queue to the morning"
TURNED = "We move the job of the payment queue to the morning when the limit is hit; retry it there."
"""The person's words, nearly, with another meaning: nobody said that it is tried again there."""


@pytest.fixture
def app(tmp_path: Path) -> App:
    folder = tmp_path / "project"
    folder.mkdir()
    talk = Transcript("6f1d2a50-0b1e-4c57-9a30-6f6e65000000", cwd=str(folder))
    talk.user("Good morning.")
    talk.assistant("What about the queue?")
    talk.user(TYPED)
    talk.assistant("I see.")
    talk.user("Fine.")
    talk.write(paths.project_folder(folder) / f"{talk.session_id}.jsonl")
    return App(folder=folder)


def written(app: App, **more: Any) -> str:
    kept = remember(app, Wish(**{"text": TURNED, "kind": "feedback", "quote": QUOTE, **more}))
    assert kept.origin == "assistant-written"
    return kept.name


def by_worker(app: App, reader: Callable[[str], Scripted] = borne_out) -> list[str]:
    """Let a worker look once; return what the second reader was shown."""
    provider = TwoReaders([{"memories": [], "withdrawals": []}], reader)
    with app.ledger() as ledger:
        context = WorkerContext(
            app.home, app.settings, app.clock, ledger, provider=provider, sleep=lambda seconds: None
        )
        Worker(context).run()
        context.close_stores()
    return [request.messages[0].content for request in provider.second.history]


def origin(app: App, name: str) -> str:
    return app.open_store().read(name).memory.origin


def waits(app: App) -> list[str]:
    return [row["kind"] for row in inbox.waiting(app)]


def saying(**opinion: Any) -> Callable[[str], Scripted]:
    return lambda prompt: borne_out(prompt, c1=opinion)


def test_it_is_theirs_once_the_second_reader_has_said_so(app):
    name = written(app)
    assert waits(app) == ["cited"]
    shown = by_worker(app)
    assert origin(app, name) == "user-stated" and waits(app) == []
    assert next((entry.by, entry.what.split()[0]) for entry in history(app))[0] == "the second reader"
    (page,) = shown
    assert page.startswith(f"## c1 (new; feedback)\nstatement: {TURNED}\n")
    assert f"PERSON: {TYPED}" in page and "ASSISTANT: What about the queue?" in page
    assert by_worker(app) == []


NOT_THEIRS: dict[str, dict[str, Any]] = {
    "stretched": {"verdict": "stretched", "how": "nobody said that it is tried again"},
    "not said": {"verdict": "not_said"},
    "the assistant's": {"words": "assistant"},
    "somebody else's": {"words": "third_party", "flags": ["third_party"]},
    "for the moment": {"lasts": "no"},
    "in part": {"lasts": "part", "narrower": [{"statement": "We move the job."}]},
}


@pytest.mark.parametrize("case", NOT_THEIRS)
def test_what_their_words_do_not_bear_out_stays_the_assistants(app, case):
    name = written(app)
    before = (app.open_store().root / app.open_store().read(name).path).read_bytes()
    by_worker(app, saying(**NOT_THEIRS[case]))
    document = app.open_store().read(name)
    assert (app.open_store().root / document.path).read_bytes() == before
    assert document.memory.origin == "assistant-written" and waits(app) == []


@pytest.mark.parametrize(
    "reply", [saying(verdict="perhaps"), lambda _: RefusedError("no")], ids=["odd", "no"]
)
def test_without_a_clear_answer_the_person_is_asked_and_the_model_not_again(app, reply):
    name = written(app)
    by_worker(app, reply)
    (row,) = inbox.waiting(app)
    assert "no clear answer" in row["reason"] and origin(app, name) == "assistant-written"
    assert by_worker(app) == [] and waits(app) == ["cited"]


def test_while_the_provider_is_down_it_waits_and_is_asked_later(app):
    name = written(app)
    by_worker(app, lambda _: OverloadedError("busy"))
    assert origin(app, name) == "assistant-written" and waits(app) == ["cited"]
    with app.ledger() as ledger:
        ledger.execute("DELETE FROM outages")
    by_worker(app)
    assert origin(app, name) == "user-stated"


def test_a_yes_makes_it_theirs_and_a_no_leaves_it_as_it_is(app):
    first, second = written(app), written(app, text=f"{TURNED} Move it.", title="Another")
    numbers = [row["id"] for row in inbox.waiting(app)]
    _, seen = inbox.shown(app, numbers[0])
    assert not seen.problem
    inbox.accept(app, numbers[0])
    inbox.reject(app, numbers[1])
    assert (origin(app, first), origin(app, second)) == ("user-confirmed", "assistant-written")
    assert not app.open_store().forgotten().names and by_worker(app) == []
    undo(app, whole_id(app.open_store(), history(app)[0].short))
    assert origin(app, first) == "assistant-written" and waits(app) == ["cited"]
    assert not app.open_store().forgotten().names
    # They took their own yes back: nobody gives it in their stead, nor where they took back a no.
    assert by_worker(app) == [] and waits(app) == ["cited"]
    assert inbox.take_back_rejections(app, numbers[1:]) == 1
    assert by_worker(app) == [] and waits(app) == ["cited", "cited"]


def test_what_is_too_long_to_be_read_waits_for_the_person(app):
    name = written(app, text=f"{TURNED} " + "Move the job of the payment queue. " * 70, most=5_000)
    assert by_worker(app) == [] and origin(app, name) == "assistant-written"
    assert ["too long" in row["reason"] for row in inbox.waiting(app)] == [True]


def test_a_memory_that_changed_meanwhile_is_nobodys_but_its_writers(app):
    name = written(app)
    file = app.open_store().root / app.open_store().read(name).path
    file.write_text(file.read_text("utf-8").replace("retry it there", "drop it there"), "utf-8")
    assert by_worker(app) == [] and waits(app) == []
    assert origin(app, name) == "assistant-written"


def test_the_title_and_steps_are_read_as_well(app):
    written(app, text=TURNED, kind="procedure", title="Queue morning retry", steps=("move the job",))
    (page,) = by_worker(app)
    assert "Queue morning retry." in page and "1. move the job" in page

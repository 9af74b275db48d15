"""From two sessions' commands to a proposal, by the real worker: read, compared, asked about, and waiting."""

import pytest

from pipeline.core.clock import FixedClock
from pipeline.ledger import files, inbox, retention
from pipeline.worker.procedures.looking import commands_of, propose
from tests.support.loopback import keep_each_line, well
from tests.support.transcripts import Transcript
from tests.support.workshop import at

NOW = "2026-03-02T09:05:00+00:00"
STEPS = ("sed -i s/old/1.{0}/ pyproject.toml", "make test", "git tag v1.{0}")
PROCEDURE = {
    "title": "Release a version",
    "when": "When a version is to be released.",
    "steps": [
        {"text": "Set the version in `pyproject.toml`.", "commands": ["a1"]},
        {"text": "Run `make test`.", "commands": ["a2"]},
        {"text": "Tag it: `git tag v<version>`.", "commands": ["a3"]},
    ],
}


def answer(prompt):
    if "dialogue>" in prompt:
        return keep_each_line(prompt)
    return PROCEDURE if "[a1]" in prompt else {"operations": []}


@pytest.fixture
def dreamy(shop, api, monkeypatch):
    api.answer, api.ping = answer, well
    monkeypatch.setenv("REVERIE_DREAM__ENABLED", "true")
    return shop


def release(shop, number):
    session = shop.session(number)
    session.user(f"Release version {number}, please. Shelf {number:02d} holds {number * 17} boxes.")
    for step in STEPS:
        session.tool("Bash", {"command": step.format(number)})
    session.assistant("Released.")
    shop.fire(session)


def work(shop):
    with shop.worker(FixedClock(at(NOW))) as worker:
        return worker.run()


def waiting(shop):
    with shop.ledger() as ledger:
        return [item for item in inbox.list_inbox(ledger) if item.payload.get("type") == "procedure"]


def test_what_two_sessions_did_is_proposed_by_the_next_dream(dreamy, api):
    for number in range(1, 6):
        release(dreamy, number) if number < 3 else talk(dreamy, number)
    work(dreamy)
    (item,) = waiting(dreamy)
    assert item.payload["name"] == "release-a-version" and len(item.payload["steps"]) == 3
    assert [source["quote"] for source in item.payload["sources"]] == [step.format(2) for step in STEPS]
    questions = [prompt for prompt in api.prompts if "[a1]" in prompt]
    assert len(questions) == 1 and "Release version 2, please." in questions[0]


def talk(shop, number):
    session = shop.session(number)
    session.user(f"Shelf {number:02d} holds {number * 17} boxes.")
    session.assistant("Noted.")
    shop.fire(session)


@pytest.mark.parametrize("ignored", [False, True])
def test_commands_of_projects_left_alone_are_not_read(dreamy, api, monkeypatch, ignored):
    monkeypatch.setenv("REVERIE_DREAM__PROCEDURES", "false")
    for number in range(1, 3):
        release(dreamy, number)
    work(dreamy)
    monkeypatch.setenv("REVERIE_DREAM__PROCEDURES", "true")
    if ignored:
        monkeypatch.setenv("REVERIE_PROJECTS__IGNORE", str(dreamy.project))
    with dreamy.worker(FixedClock(at(NOW))) as worker:
        store = worker.context.opened_store(dreamy.store)
        assert propose(worker.context.phase(store), store.scan()) == (0 if ignored else 1)


def test_of_a_session_whose_words_were_deleted_nothing_is_shown(dreamy, api, monkeypatch):
    monkeypatch.setenv("REVERIE_DREAM__PROCEDURES", "false")
    for number in range(1, 3):
        release(dreamy, number)
    work(dreamy)
    monkeypatch.setenv("REVERIE_DREAM__PROCEDURES", "true")
    with dreamy.worker(FixedClock(at(NOW))) as worker:
        ledger, store = worker.context.ledger, worker.context.opened_store(dreamy.store)
        (first, *_) = [key for key, _, _ in files.latest_of(ledger, str(dreamy.store), limit=9)]
        retention.delete(ledger, [first], first=len, unread=True)
        assert len(files.latest_of(ledger, str(dreamy.store), limit=9)) == 1
        assert propose(worker.context.phase(store), store.scan()) == 0
    assert not [prompt for prompt in api.prompts if "[a1]" in prompt]


def test_a_command_counts_with_its_result_and_the_wish_before_it(tmp_path):
    session = Transcript()
    session.user("Build it.")
    session.tool("Bash", {"command": "make build"})
    session.tool("Bash", {"command": "make test"}, "Exit code 2", is_error=True)
    session.tool("Read", {"file_path": "/a.py"})
    session.user("Once more.")
    session.tool("Bash", {"command": "make test"})
    session.sidechain("look around")
    found = commands_of(session.write(tmp_path / "a.jsonl"))
    assert [(c.text, c.succeeded, c.asked) for c in found] == [
        ("make build", True, "Build it."),
        ("make test", False, "Build it."),
        ("make test", True, "Once more."),
    ]

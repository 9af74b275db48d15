"""Background work beside a team's folder, and over one that a repository brings: it writes nothing there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pipeline.core.clock import FixedClock
from pipeline.core.home import Home
from pipeline.ledger import inbox
from pipeline.search import index_reader
from pipeline.worker import Pass
from tests.support.loopback import LoopbackApi
from tests.support.recall import memory_text
from tests.support.workshop import Workshop, at

NOW = "2026-03-02T09:05:00+00:00"
THEIRS = "The crane is oiled by the night shift."


def talk(shop: Workshop, text: str = "Shelf 01 holds 17 boxes.") -> None:
    """Play a turn of a session up to its Stop hook."""
    session = shop.session()
    session.user(text)
    session.assistant("Noted.")
    shop.fire(session)


def work(shop: Workshop) -> Pass:
    with shop.worker(FixedClock(at(NOW))) as worker:
        return worker.run(now_too=True)


def theirs(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "crane-oil.md"
    file.write_text(memory_text("crane-oil", THEIRS, THEIRS), "utf-8")
    return file


def files(folder: Path) -> dict[str, bytes]:
    found = [file for file in folder.rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in found}


@pytest.fixture
def brought(shop: Workshop) -> Path:
    """The folder of memories that the project's repository brings, which the person let count."""
    folder = shop.project / "docs" / "memory"
    theirs(folder)
    (shop.project / ".claude").mkdir()
    text = json.dumps({"autoMemoryDirectory": str(folder)})
    (shop.project / ".claude" / "settings.json").write_text(text)
    shop.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    row = {"root": os.path.realpath(shop.project), "folder": str(folder)}
    Home(shop.home).allowed.write_text(json.dumps(row) + "\n")
    return folder


def test_a_team_s_folder_below_the_project_s_is_indexed_and_left_as_it_is(
    shop: Workshop, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs(shop.store / "team")
    before = files(shop.store / "team")
    monkeypatch.setenv("REVERIE_DREAM__ENABLED", "true")
    talk(shop)
    work(shop)
    assert [file.name for file in shop.store.glob("shelf*.md")] == ["shelf-01-holds.md"]
    with index_reader.Reader(index_reader.index_path(str(shop.home), str(shop.store / "team"))) as reader:
        assert list(reader.all_paths()) == ["crane-oil.md"]
    said = shop.reverie("recall", "who oils the crane?")
    assert THEIRS in said.stdout and 'by="the team"' in said.stdout
    asked = len(api.prompts)
    shop.reverie("consolidate", "--force")
    assert len(api.prompts) >= asked
    work(shop)
    assert files(shop.store / "team") == before, "neither counts of uses nor anything a dream makes"
    assert not any(THEIRS in prompt for prompt in api.prompts), "no model is asked about it"


def test_what_is_said_waits_for_a_yes_where_others_read_it(
    shop: Workshop, brought: Path, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(brought)
    monkeypatch.setenv("REVERIE_DREAM__ENABLED", "true")
    talk(shop)
    (outcome,) = work(shop).outcomes
    assert (outcome.word, outcome.proposals) == ("proposed", 1)
    shop.reverie("recall", "who oils the crane?")
    assert "Others write in this folder too" in shop.reverie("consolidate", "--force").stdout
    work(shop)
    assert files(brought) == before
    with shop.ledger() as ledger:
        (item,) = inbox.list_inbox(ledger, str(brought))
    assert "17 boxes" in json.dumps(item.payload["sources"])

    refused = shop.reverie("inbox", "accept", str(item.id), CLAUDECODE="1")
    assert refused.returncode == 1 and files(brought) == before, "Claude says no yes for a person"
    assert shop.reverie("inbox", "accept", str(item.id)).returncode == 0
    assert files(brought)["crane-oil.md"] == before["crane-oil.md"]
    text = (brought / "shelf-01-holds.md").read_text("utf-8")
    assert "sources: []" in text and "session" not in text, "others read the fact, not who said it to whom"


def test_a_no_leaves_no_quote_where_others_read_it(shop: Workshop, brought: Path, api: LoopbackApi) -> None:
    talk(shop)
    work(shop)
    with shop.ledger() as ledger:
        (item,) = inbox.list_inbox(ledger, str(brought))
    assert shop.reverie("inbox", "reject", str(item.id)).returncode == 0
    assert all(b"17 boxes" not in data for data in files(brought).values())

"""A team's folder as a store: flat, without files of ours, and its notes believed in nothing."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.core.errors import StoreError
from pipeline.core.ids import digest
from pipeline.domain.memory import Evidence
from pipeline.hooklib import ownership
from pipeline.revision import Door
from pipeline.store import Store
from pipeline.verify.flaw import Flaw
from tests.support.stores import NOW, memory, save, tree

SAID = Evidence(session="s", uuid="u", quote="the crane is oiled at night", at="2026-11-20T09:00:00+00:00")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "memory" / "team"
    made.mkdir(parents=True)
    return made


def test_a_memory_lies_flat_and_alone(folder: Path) -> None:
    store = Store.open(folder)
    save(store, memory("oil", type="decision"), memory("grease", type="project"))
    assert set(tree(folder)) == {"oil.md", "grease.md"}
    assert store.reindex(now=NOW) == [] and set(tree(folder)) == {"oil.md", "grease.md"}
    assert {item.hand for item in store.scan().documents} == {ownership.TEAMS}


def test_what_notes_in_the_folder_say_was_written_here_makes_nothing_ours(folder: Path) -> None:
    text = b"---\nname: oil\ndescription: Oil at night.\norigin: user-stated\n---\nOil at night.\n"
    (folder / "oil.md").write_bytes(text)
    (folder / ".reverie").mkdir()
    (folder / ownership.WRITTEN).write_text(json.dumps(["oil.md", digest(text)]) + "\n")
    store = Store.open(folder)
    found = store.read("oil")
    assert found.hand == ownership.TEAMS
    assert not store.is_ours(found) and not store.is_as_written(found)


def test_code_alone_changes_nothing_and_a_yes_leaves_out_who_said_it(folder: Path) -> None:
    store = Store.open(folder)
    alone = Door(store, now=NOW)
    flaw = alone.create(memory("oil", type="project"))
    assert isinstance(flaw, Flaw) and flaw.to_inbox and tree(folder) == {}

    door = Door(store, now=NOW, approved=True)
    assert isinstance(door.create(memory("me", type="user")), Flaw)
    door.create(memory("oil", type="project", sources=(SAID,)))
    door.write("run-1", "add oil")
    assert store.read("oil").memory.sources == ()
    assert SAID.quote.encode() not in b"".join(f.read_bytes() for f in folder.rglob("*") if f.is_file())

    found = store.read("oil")
    for attempt in (alone.retire(found, "old"), alone.revise(found, memory("oil", body="Other.\n"))):
        assert isinstance(attempt, Flaw) and attempt.to_inbox


def test_what_was_turned_down_is_known_again_without_a_quote(folder: Path) -> None:
    store = Store.open(folder)
    store.note_forgotten([SAID], name="oil", reason="rejected", now=datetime(2026, 11, 21, tzinfo=UTC))
    assert SAID.quote not in (folder / ".reverie" / "forgotten.jsonl").read_text()
    assert store.forgotten().bars([SAID])
    assert not store.forgotten().bars([replace(SAID, quote="the crane is red")])


def test_under_claude_code_nothing_is_written_but_all_is_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(Store.open(folder), memory("oil", type="project"))
    before = tree(folder, skip=())
    monkeypatch.setenv("CLAUDECODE", "1")
    store = Store.open(folder)
    with pytest.raises(StoreError, match="a person's word only"):
        save(store, memory("grease", type="project"), id="run-2")
    with pytest.raises(StoreError, match="a person's word only"):
        store.undo("run-1")
    assert store.read("oil").name == "oil" and tree(folder, skip=()) == before


def test_to_look_at_a_team_s_folder_finishes_no_change_that_somebody_left_there(folder: Path) -> None:
    (folder / ".reverie").mkdir()
    (folder / ".reverie" / "intent.json").write_text("{}")
    before = tree(folder, skip=())
    store = Store.open(folder)
    assert store.scan().documents == [] and tree(folder, skip=()) == before


def test_a_project_s_store_does_not_hold_what_the_team_s_does(folder: Path) -> None:
    save(Store.open(folder), memory("oil", type="project"))
    own = Store.open(folder.parent)
    save(own, memory("grease", type="project"))
    own.reindex(now=NOW)
    assert [item.name for item in own.scan().documents] == ["grease"] and not own.is_team
    assert "oil" not in (folder.parent / "MEMORY.md").read_text("utf-8")
    assert set(tree(folder)) == {"oil.md"}

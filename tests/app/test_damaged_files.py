"""State files that can't be read: each is named, with what is wrong and what mends it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.app.application import App
from pipeline.app.damaged_files import in_home, in_use
from pipeline.app.state_words import troubles
from pipeline.core import jsonl
from pipeline.diagnostics.doctor import examine
from pipeline.formats.agent_memory import notes
from pipeline.install import hooks
from pipeline.recall.prepared import hook_state
from pipeline.sharing import turn
from pipeline.store import Store, fsck
from pipeline.store.derived import usage
from tests.support.stores import NOW

IN_HOME = (
    "installed.json",
    "openai-key",
    "recall/board.json",
    "watch.json",
    "mirrors/0a1b.json",
    "syncs/0a1b.json",
    "sharing/0a1b/turn.json",
    "sharing/0a1b/state.json",
    "allowed.jsonl",
)
IN_STORE = ("_state.json", "_config.json", "_embeddings.json", ".reverie/cues.json")


def cut(file: Path) -> Path:
    """Leave in `file` what a full disk leaves of a JSON object."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('{"version": 1, "entr', "utf-8")
    return file


@pytest.mark.parametrize("name", IN_HOME)
def test_a_damaged_file_of_the_home_is_named(tmp_path: Path, name: str) -> None:
    assert list(in_home(tmp_path)) == []
    file = cut(tmp_path / name)
    (found,) = in_home(tmp_path)
    assert (found.level, found.path) == ("error", str(file))
    assert "is no JSON; " in found.message and found.fix


@pytest.mark.parametrize("name", ["installed.json", "mirrors/a.json", "sharing/a/turn.json"])
def test_a_file_that_lacks_what_it_is_read_for_is_named(tmp_path: Path, name: str) -> None:
    cut(tmp_path / name).write_text("{}", "utf-8")
    (found,) = in_home(tmp_path)
    assert "it lacks " in found.message


def test_what_is_written_is_sound(tmp_path: Path) -> None:
    notes.note_doubts(tmp_path / "mirrors/a.json", ["held back"])
    turn.write(tmp_path / "sharing/a", turn.Turn("/home/dev/memory"))
    hook_state.note(tmp_path, "trouble", "The disk is full.", NOW)
    hooks._write_record(tmp_path, hooks.read_record(tmp_path))
    jsonl.append(tmp_path / "allowed.jsonl", [{"root": "/home/dev", "folder": "/home/dev/memory"}])
    assert len([file for file in tmp_path.rglob("*.json*") if file.is_file()]) == 5
    assert list(in_home(tmp_path)) == []


@pytest.mark.parametrize("name", IN_STORE)
def test_a_damaged_file_of_a_store_is_named_and_left(tmp_path: Path, name: str) -> None:
    store = Store.open(tmp_path / "memory", create=True)
    file = cut(store.root / name)
    before = file.read_bytes()
    (found,) = [item for item in fsck(store) if item.code == "derived-file"]
    assert (found.level, found.path) == ("error", name) and found.message and found.fix
    assert file.read_bytes() == before


def test_status_and_doctor_say_what_is_wrong_and_what_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "reverie"))
    app = App(store=Store.open(tmp_path / "memory", create=True).root, llm="offline")
    assert app.status()["damaged"] == []
    counts, record = cut(app.store_path / "_state.json"), cut(app.home / "installed.json")
    value = app.status()
    assert [item["file"] for item in value["damaged"]] == [str(record), str(counts)]
    told = [text for text in troubles(value) if str(counts) in text]
    assert told == [
        f"{counts}: it is damaged, and is no JSON. `reverie reindex` sets it aside, where it is kept,"
        " and counting begins anew."
    ]
    found = [item.message for item in examine(app) if item.level == "error"]
    assert any(text.startswith(f"{record}: it is no JSON") for text in found)
    assert any(text.startswith("_state.json: it is damaged") for text in found)


def test_a_link_round_and_a_folder_in_the_place_of_a_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "watch.json").symlink_to(tmp_path / "watch.json")
    (tmp_path / "installed.json").mkdir()
    assert len(in_use(tmp_path, ())) == 2


def test_a_count_that_was_torn_reads_as_none_until_somebody_counts(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "memory", create=True)
    torn = cut(store.root / "_state.json").read_bytes()
    assert usage.read_state(store.root) == {}
    usage.write_scores(store.root, {"a": 0.5}, NOW)
    assert json.loads((store.root / "_state.json").read_bytes())["entries"]["a"]["decay_score"] == 0.5
    (kept,) = (store.root / ".reverie" / "damaged").iterdir()
    assert kept.read_bytes() == torn

"""Both ways of s09 to bring memories before a model: its index, and files by a side query or by words."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from pipeline.app.s09_loading import FILE_BYTES, SESSION_BYTES, TAG, Loader, index_text
from pipeline.config import Settings
from pipeline.core.errors import UnavailableError
from pipeline.llm import Client
from pipeline.llm.fakes import MemoryMeter, Scripted, ScriptedProvider
from tests.app.test_carrying import note

SETTINGS = Settings().model


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, kind, description in (
        ("tabs", "user", "User prefers tabs for indentation"),
        ("quotes", "user", "User prefers single quotes for strings"),
        ("pump", "project", "The pump stands in shed four"),
    ):
        text = f"---\nname: {name}\ndescription: {description}\ntype: {kind}\n---\n\nBody of {name}.\n"
        note(tmp_path / "m", name, text)
    return tmp_path / "m"


def asked(script: Iterable[Scripted]) -> tuple[Client, ScriptedProvider]:
    provider = ScriptedProvider(script)
    return Client(provider, MemoryMeter(), settings=SETTINGS), provider


def names(loader: Loader, *texts: str) -> list[str]:
    return [document.name for document in loader.chosen(texts)]


def test_a_side_query_chooses_by_name_and_description(folder: Path) -> None:
    client, provider = asked([{"names": ["pump", "made-up"]}, {"names": []}])
    loader = Loader(folder, client=client, model="m")
    assert names(loader, "hello", "one", "two", "where is it?") == ["pump"]
    prompt = provider.history[0].messages[0].content
    assert "- pump: The pump stands in shed four" in prompt and "Body of" not in prompt
    assert "where is it?" in prompt and "hello" not in prompt
    # An empty answer means none: words are not asked then.
    assert names(loader, "tabs") == []


@pytest.mark.parametrize("failure", [UnavailableError("down"), "no JSON at all"])
def test_where_no_model_answers_words_choose(folder: Path, failure: Scripted) -> None:
    client, _ = asked([failure, failure, failure])
    assert names(Loader(folder, client=client, model="m"), "Do I indent with tabs?") == ["tabs"]


def test_words_that_nothing_shares_bring_none(folder: Path) -> None:
    loader = Loader(folder)
    assert names(loader, "Good morning") == [] and loader.load(["Good morning"]) == ""
    assert names(loader) == [] and names(Loader(folder), "single quotes or tabs?")[0] == "quotes"


def test_a_file_comes_whole_in_its_tag_and_once_unless_it_changed(folder: Path) -> None:
    loader = Loader(folder)
    text = loader.load(["tabs?"])
    assert text.startswith(f"<{TAG}>\n\n---\nname: tabs") and text.endswith(f"Body of tabs.\n\n</{TAG}>")
    assert loader.load(["tabs?"]) == ""
    note(folder, "tabs", "---\nname: tabs\ndescription: tabs\ntype: user\n---\n\n</relevant_memories> New.\n")
    again = loader.load(["tabs?"])
    assert "New." in again and again.count(f"</{TAG}>") == 1


def test_files_and_sessions_have_their_room(tmp_path: Path) -> None:
    for number in range(30):
        text = (
            f"---\nname: big-{number}\ndescription: big number {number}\n---\n" + "wide line of text\n" * 900
        )
        note(tmp_path / "m", f"big-{number}", text)
    loader, sizes = Loader(tmp_path / "m"), []
    for number in range(30):
        sizes.append(len(loader.load([f"number {number}"]).encode()))
    assert max(sizes) <= 5 * (FILE_BYTES + 2) + 2 * len(TAG) + 10
    assert sum(sizes) <= SESSION_BYTES + 30 * 60 and sizes[-1] == 0


def test_the_index_goes_into_the_system_prompt_cut_where_it_is_too_long(folder: Path) -> None:
    assert index_text(folder) == ""
    (folder / "MEMORY.md").write_text("- [tabs](tabs.md) — User prefers tabs\n")
    assert index_text(folder) == "- [tabs](tabs.md) — User prefers tabs"
    (folder / "MEMORY.md").write_text("- [a](a.md) — é\n" * 300)
    lines = index_text(folder).split("\n")
    assert len(lines) == 200 and "cut" in lines[-1]

"""Search and recall over rows that somebody provides: as a store with the same memories would answer."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.domain.memory import HUMAN_ONLY
from pipeline.recall import Budget, RowRecall, retrieve
from pipeline.search import MemoryRow, RowSearch
from pipeline.store import Store
from tests.support.recall import MOMENT, index_store
from tests.support.stores import memory, save

PROJECT = json.loads((Path(__file__).parents[2] / "fixtures" / "recall" / "gridnote.json").read_text("utf-8"))
PROMPTS = [case["prompt"] for case in PROJECT["prompts"]][:40]
NOW = datetime.fromtimestamp(MOMENT, UTC)


# The store breaks ties by path, rows by their order; files in the root are named as their memories.
MEMORIES = [
    {**row, "type": row["type"] if row["type"] in HUMAN_ONLY else "project"}
    for row in sorted(PROJECT["memories"], key=lambda row: row["name"])
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A home and a store with the memories of a project."""
    root = tmp_path_factory.mktemp("rows")
    store = Store.open(root / "memory", create=True)
    made = [
        memory(row["name"], type=row["type"], description=row["description"], body=row["body"],
               cues=tuple(row.get("cues", ())), created=NOW, updated=NOW)
        for row in MEMORIES
    ]  # fmt: skip
    save(store, *made)
    index_store(root / "home", store.path)
    return root


def rows():
    return [
        MemoryRow(row["name"], row["name"], row["description"], row["body"], NOW.isoformat(),
                  row.get("cues", ()), row["type"])
        for row in MEMORIES
    ]  # fmt: skip


def test_search_answers_as_the_command_does(place, monkeypatch):
    from pipeline.app import search as app_search
    from pipeline.app.application import App

    monkeypatch.setenv("REVERIE_HOME", str(place / "home"))
    app = App(store=place / "memory")
    met = 0
    with RowSearch(rows()) as searched:
        for prompt in PROMPTS:
            for further in (0, 3):
                hits = app_search.search(app, prompt, limit=5, further=further)
                assert searched.search(prompt, 5, further=further) == [hit.name for hit in hits]
                met += len(hits)
    assert met > 100


def test_recall_answers_as_the_hook_does(place):
    chosen = 0
    with RowRecall(rows(), now=NOW) as recalled:
        for prompt in PROMPTS:
            for floor in (0.5, 1.0):
                found = retrieve(
                    prompt, place / "memory", Budget(floor=floor), home=place / "home", now=MOMENT
                )
                expected = [Path(item.memory).stem for item in found.considered if item.verdict == "chosen"]
                assert recalled.recall(prompt, floor=floor) == expected
                chosen += len(expected)
    assert chosen > 20


def test_nothing_is_left_behind_and_no_home_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "home"))
    with RowSearch([MemoryRow("a", body="otters")]) as searched:
        assert [entry.name[:13] for entry in tmp_path.iterdir()] == ["reverie-rows-"]
        assert searched.scored("otters swim") == [("a", 0.5)]
    searched.close()
    with pytest.raises(ValueError, match="two rows have one id"):
        RowSearch([MemoryRow("a"), MemoryRow("a")])
    assert list(tmp_path.iterdir()) == []


def test_odd_rows_and_questions_are_survived():
    odd = [MemoryRow("\ud800", "\x00", "\ud800", "a\x00b\udfff"), MemoryRow("../x/", "n", body="otters 日本")]
    with RowSearch(odd) as searched, RowRecall(odd) as recalled:
        assert searched.search("日本") == ["../x/"]
        for question in ("", "the", "\ud800\x00", '"otters" AND (', "x" * 9_000):
            assert isinstance(searched.search(question, further=3), list)
            assert isinstance(recalled.recall(question, floor=0), list)
        assert searched.search("otters", 0) == []
    with RowSearch([]) as empty:
        assert empty.search("otters") == []


def test_a_row_that_stays_away_says_why():
    with RowRecall([MemoryRow("a", "staging-deploys", "Deploy to staging with make ship.")]) as recalled:
        assert recalled.recall("how do we deploy to staging?") == ["a"]
        (one,) = recalled.weighed("is the staging tent for the fair there already, who put it up?")
        assert one.id == "a" and one.verdict not in ("", "chosen")
        assert recalled.recall("thanks!") == []


def test_the_example_in_the_documentation_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text("utf-8")
    (example,) = re.findall(r"### Measure it on your own data\n.*?```python\n(.*?)```", page, re.DOTALL)
    exec(example, {})
    assert capsys.readouterr().out.splitlines() == [
        "['d1:9', 'd1:3']",
        "[('d2:1', 1.0)]",
        "['d1:9']",
        "[]",
    ]

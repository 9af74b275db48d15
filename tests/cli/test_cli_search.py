"""`reverie search`: what it finds and where it looks, and that `reindex` builds the index anew."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from pipeline.search.fts import index_file
from pipeline.store import Store
from tests.cli.conftest import session
from tests.support.stores import memory, save

OTTERS = memory(
    "otters",
    description="Where otters swim.",
    body="# Otters\n\n- Otters swim in the river.\n- They eat fish.\n",
)
LONG = memory("long-walk", description="A walk.", body="before " * 40 + "heron\n")


def home(desk):
    return desk.project.parent / ".claude" / "reverie"


@pytest.fixture
def lake(desk):
    """A project with two memories, one of them very long, and a user-scope store with one."""
    save(Store.open(desk.store, create=True), OTTERS, LONG)
    save(
        Store.open(home(desk) / "memory", create=True), memory("everywhere", body="Otters are everywhere.\n")
    )
    return desk


def names(desk, *arguments):
    return [hit["name"] for hit in desk.here("search", *arguments, "--json").json]


def test_it_shows_name_type_date_score_and_the_line_that_fits(lake):
    head, first, *_ = lake.here("search", "where", "otters", "swim").out.splitlines()
    assert head.split() == ["score", "name", "type", "said", "snippet", "for"]
    score, name, kind, said, *snippet = first.split()
    assert (score, name, kind, said) == ("1.00", "otters", "feedback", "2026-11-27")
    assert " ".join(snippet) == "- Otters swim in the river. this project"


def test_json_has_all_of_it(lake):
    (hit,) = lake.here("search", "fish", "--json").json
    assert hit == {
        "score": 1.0, "name": "otters", "type": "feedback", "said": "2026-11-27T10:00:00+00:00",
        "snippet": "- They eat fish.", "description": "Where otters swim.", "store": str(lake.store),
        "path": "otters.md", "retired": False, "scope": "project", "via": "",
    }  # fmt: skip


def test_a_long_line_is_cut_and_a_name_that_fits_needs_no_line(lake):
    (cut,) = lake.here("search", "heron", "--json").json
    assert (len(cut["snippet"]), cut["snippet"][-1]) == (100, "…")
    (named,) = lake.here("search", "walk", "--json").json
    assert named["snippet"] == "A walk."


def test_the_score_is_the_share_of_the_question_rare_words_weighing_more(lake):
    save(Store.open(lake.store), memory("fish", body="Fish swim. Some swim fast."), id="run-2")
    found = lake.here("search", "otters", "fish", "swim", "--json").json
    scores = {hit["name"]: hit["score"] for hit in found}
    assert scores["otters"] == 1.0
    assert list(scores) == ["otters", "fish", "everywhere"]
    assert 0.4 < scores["fish"] < 0.67


def test_a_single_character_finds_what_begins_with_it(lake):
    (lake.store / "keys.md").write_text("本番の鍵は使わない。\n")
    (hit,) = lake.here("search", "鍵", "--json").json
    assert (hit["name"], hit["score"]) == ("keys", 1.0)


@pytest.mark.parametrize("query", ["otters", "WHO"])
def test_what_both_scopes_say_is_said_once(lake, query):
    everyone = Store.open(home(lake) / "memory")
    swim = replace(OTTERS, body=OTTERS.body + "- The WHO likes them.\n")
    save(Store.open(lake.store), replace(swim, name="swimmers"), id="run-2")
    save(
        everyone,
        replace(swim, name="copied"),
        replace(swim, name="other", body="The WHO: otters.\n"),
        id="r-3",
    )
    found = lake.here("search", query, "--json").json
    assert {(hit["name"], hit["scope"]) for hit in found} >= {("swimmers", "both"), ("other", "user")}
    assert "copied" not in {hit["name"] for hit in found}
    assert ("copied", "user") in {
        (hit["name"], hit["scope"]) for hit in lake.here("search", query, "--user", "--json").json
    }


def test_both_scopes_are_looked_at_and_the_limit_holds(lake):
    assert sorted(names(lake, "otters")) == ["everywhere", "otters"]
    assert len(names(lake, "otters", "--limit", "1")) == 1


def test_it_finds_what_was_written_a_moment_ago_and_not_what_is_gone(lake):
    (lake.store / "new.md").write_text("A kingfisher.\n")
    assert names(lake, "kingfisher") == ["new"]
    (lake.store / "new.md").unlink()
    assert lake.here("search", "kingfisher").out == "no memory has these words\n"


def test_a_project_without_a_store_still_has_the_user_scope(desk):
    save(Store.open(home(desk) / "memory", create=True), memory("everywhere", body="Otters."))
    assert names(desk, "otters") == ["everywhere"]


def test_every_known_store_is_looked_at_on_demand(desk, tmp_path):
    folder = (
        desk.project.parent / ".claude" / "projects" / str(desk.project).replace("/", "-").replace("_", "-")
    )
    folder.mkdir(parents=True)
    desk.here("extract", "--transcript", session(desk.project).write(folder))
    elsewhere = tmp_path / "elsewhere"
    save(Store.open(elsewhere, create=True), OTTERS)
    assert names(desk, "branches", "--store", elsewhere) == []
    (hit,) = desk.here("search", "branches", "--all", "--store", elsewhere, "--json").json
    assert hit["store"] == str(desk.store)
    assert str(desk.store) in desk.here("search", "branches", "--all", "--store", elsewhere).out
    assert len(names(desk, "branches", "--all")) == 1


def test_what_is_retired_comes_on_demand_only(lake):
    lake.here("forget", "otters")
    (lake.store / "said.md").write_text("---\nname: said\narchived: true\n---\nOtters were here.\n")
    assert names(lake, "otters") == ["everywhere"]
    lake.here("forget", "long-walk")
    assert "1 more is retired: --retired shows them." in lake.here("search", "otters").err
    assert "2 more are retired" in lake.here("search", "otters", "heron").err
    assert "retired" not in lake.here("search", "badger").err
    held = index_file(home(lake), lake.store / "archive")
    assert b"heron" in held.read_bytes()
    for file in (lake.store / "archive").rglob("*.md"):
        file.rename(lake.project / file.name)
    lake.here("reindex")
    assert b"heron" not in held.read_bytes(), "what was deleted in the archive leaves its index"
    for file in lake.project.glob("*.md"):
        file.rename(lake.store / "archive" / "2026" / file.name)
    found = lake.here("search", "otters", "--retired", "--json").json
    assert {(hit["name"], hit["retired"]) for hit in found} == {
        ("everywhere", False),
        ("otters", True),
        ("said", True),
    }
    assert "otters (retired)" in lake.here("search", "otters", "--retired").out


@pytest.mark.parametrize("word", ["C++", "R", "WHO", "IT", '"it"'])
def test_bug_p3_a_word_that_no_index_holds_is_found_as_it_is_written(desk, word):
    desk.here("add", "The C++ part is built by R, the WHO data is read by IT.", "--name", "parts")
    desk.here("add", "What is who and in what is it?", "--name", "small")
    found = [hit["name"] for hit in desk.here("search", word, "--json").json]
    assert found == (["parts", "small"] if word == '"it"' else ["parts"])
    assert desk.here("search", "C#").out == "no memory has these words\n"


@pytest.mark.parametrize(
    ("arguments", "message", "fix"),
    [
        ([" "], "no word to look for", "a word of the memory"),
        (["otters", "--store", "missing"], "there is no memory folder", "--store"),
    ],
)
def test_what_can_not_be_asked_is_an_error_that_says_what_to_do(desk, arguments, message, fix):
    said = desk.here("search", *arguments, code=1)
    assert message in said.err
    assert fix in said.err


def test_reindex_builds_the_index_anew_and_sweeps_those_of_stores_that_are_gone(lake, tmp_path):
    lake.here("search", "otters")
    file, gone = index_file(home(lake), lake.store), tmp_path / "gone"
    save(Store.open(gone, create=True), OTTERS)
    lake.here("reindex", "--store", gone)
    left = index_file(home(lake), gone)
    gone.rename(tmp_path / "moved")
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE documents SET shown = '{}'")
    connection.close()
    assert left.exists()
    lake.here("reindex")
    assert (left.exists(), names(lake, "heron")) == (False, ["long-walk"])


HIDDEN = ["king\u200bfisher", "king\u2060fisher", "\ufeffkingfisher", "king\u00adfisher", "king\u200cfisher"]


@pytest.mark.parametrize("query", HIDDEN, ids=ascii)
def test_bug_what_nobody_sees_within_a_word_is_looked_past(desk, query):
    desk.here("add", "The kingfisher nests below the weir.", "--name", "weir")
    assert names(desk, query) == ["weir"]
    assert "The kingfisher nests" in desk.here("recall", f"where does the {query} nest?").out


def test_bug_with_vectors_on_it_is_said_that_none_is_near(desk):
    desk.here("add", "Deploys happen on Tuesdays.")
    near = {"REVERIE_EMBEDDINGS__PROVIDER": "openai", "REVERIE_EMBEDDINGS__OPENAI_MODEL": "m"}
    near["REVERIE_EMBEDDINGS__OPENAI_BASE_URL"] = "http://127.0.0.1:9"
    assert desk.here("search", "otters").out == "no memory has these words\n"
    told = "no memory has these words, and none is near in meaning\n"
    assert desk.here("search", "otters", **near).out == told

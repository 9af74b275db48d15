"""Memories for all projects: every command reaches them by name, and what both scopes say is said once."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.config import Settings
from pipeline.consolidation.commit.execute import promote
from pipeline.core.home import Home
from pipeline.revision import Door
from pipeline.store import Store
from tests.cli.conftest import make_desk
from tests.support.hooks import HOOKS, note_python
from tests.support.stores import NOW, memory

TERSE = "I want terse answers without summaries."
NAME = "terse-answers"


@pytest.fixture
def both(desk):
    """A project with one memory, and one more for all projects."""
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    desk.here("add", "--user", TERSE, "--name", NAME, "--type", "feedback")
    return desk


def home(desk):
    return Path(desk.here("status", "--json").json["home"])


def shelf(desk):
    return Store.open(Home(home(desk)).user_store)


def test_add_user_keeps_it_for_all_projects(both, tmp_path):
    assert [document.name for document in shelf(both).scan().documents] == [NAME]
    other = make_desk(tmp_path / "elsewhere")
    other.env["HOME"] = both.env["HOME"]
    rows = other.here("list", "--json").json
    assert [(row["name"], row["scope"]) for row in rows] == [(NAME, "user")]
    assert NAME in other.here("recall", "do you want terse answers without summaries?").out


def test_list_shows_both_scopes_and_each_alone(both):
    rows = both.here("list", "--json").json
    assert {(row["name"], row["scope"]) for row in rows} == {("deploy-day", "project"), (NAME, "user")}
    assert [row["name"] for row in both.here("list", "--user", "--json").json] == [NAME]
    assert [row["name"] for row in both.here("list", "--store", both.store, "--json").json] == ["deploy-day"]
    assert "all projects" in both.here("list").out


@pytest.mark.parametrize("command", ["show", "why", "pin", "unpin", "diff", "forget"])
@pytest.mark.parametrize("option", [[], ["--user"]], ids=["found", "asked"])
def test_bug_d3_every_command_finds_a_name_in_both_scopes(both, command, option):
    said = both.here(command, NAME, *option)
    assert NAME in said.out
    assert "all projects" in said.out or command == "show"
    assert both.here(command, "deploy-day").out
    assert both.here(command, "deploy-day", "--user", code=1).err


def test_bug_d3_what_was_forgotten_for_all_projects_is_recalled_nowhere(both):
    both.here("forget", NAME)
    assert both.here("recall", "do you want terse answers without summaries?").out == ""
    assert [row["name"] for row in both.here("list", "--retired", "--json").json] == [NAME]
    assert "was forgotten" in both.here("show", NAME, code=1).err
    assert "(for all projects)" in both.here("restore", NAME).out
    assert NAME in both.here("search", "terse").out and NAME in both.here("search", "terse", "--user").out


def test_of_two_of_one_name_the_project_s_is_meant_and_the_other_is_told(both):
    both.here("add", "Answers here are long.", "--name", NAME)
    said = both.here("show", NAME)
    assert "Answers here are long." in said.out and "--user means that one" in said.err
    said = both.here("forget", NAME)
    assert "for all projects" not in said.out and "--user means that one" in said.err
    assert TERSE in both.here("show", NAME).out


def test_equal_text_in_both_scopes_is_one_line_of_the_list(both):
    said = both.here("add", TERSE, code=1).err
    assert f"{NAME} says this already for all projects" in said
    both.here("add", TERSE, "--force", "--name", "also-terse", "--type", "feedback")
    rows = both.here("list", "--json").json
    assert {(row["name"], row["scope"]) for row in rows} == {
        ("deploy-day", "project"),
        ("also-terse", "both"),
    }


def test_bug_d3_recall_says_what_both_scopes_have_once(both):
    both.here("add", TERSE, "--force", "--name", NAME, "--type", "feedback")
    found = both.here("recall", "do you want terse answers without summaries?", "--json").json
    assert [item["name"] for item in found["items"]] == [NAME]
    assert "the same as a better one" in [item["verdict"] for item in found["considered"]]


def test_bug_d3_the_start_of_a_session_says_once_what_both_scopes_have(both):
    both.here("add", TERSE, "--force", "--name", NAME, "--type", "feedback")
    both.here("add", "--user", "Never commit secrets.", "--name", "no-secrets")
    fields = {
        "hook_event_name": "SessionStart",
        "session_id": "5e55-1",
        "cwd": str(both.project),
        "source": "startup",
    }
    hook = [sys.executable, "-I", "-S", str(HOOKS / "recall.py"), "SessionStart"]
    note_python(both.project.parent / ".claude" / "reverie")
    told = subprocess.run(
        hook, input=json.dumps(fields).encode(), env=both.env, capture_output=True
    ).stdout.decode()
    # MEMORY.md of the project is loaded by Claude Code itself.
    assert "Never commit secrets" in told and TERSE.rstrip(".") not in told
    assert TERSE.rstrip(".") in (both.store / "MEMORY.md").read_text("utf-8")


def test_history_shows_both_scopes_and_undo_takes_the_newest_of_them(desk):
    both = desk
    desk.here(
        "add", "Deploys happen on Tuesdays.", "--name", "deploy-day", REVERIE_NOW="2026-11-20T10:00:00Z"
    )
    desk.here("add", "--user", TERSE, "--name", NAME, REVERIE_NOW="2026-11-20T10:00:01Z")
    rows = both.here("history", "--json").json
    assert [(row["what"], row["scope"]) for row in rows] == [
        (f"created {NAME}", "user"),
        ("created deploy-day", "project"),
    ]
    assert "where" in both.here("history").out.splitlines()[0]
    assert "for all projects" in both.here("undo").out
    assert [row["name"] for row in both.here("list", "--json").json] == ["deploy-day"]
    both.here("undo", "undo-" + rows[0]["short"])
    assert NAME in both.here("list").out
    assert "for all projects" not in both.here("undo", rows[1]["short"]).out
    assert [row["name"] for row in both.here("list", "--json").json] == [NAME]


def test_a_name_that_is_near_is_offered(both):
    for asked in ("terse", "terse-answer", "TERSE"):
        assert f"Did you mean {NAME}?" in both.here("show", asked, code=1).err
    for asked in ("zebra", NAME[0]):
        assert "Did you mean" not in both.here("show", asked, code=1).err
    both.here("forget", NAME)
    assert f"Did you mean {NAME}?" in both.here("restore", "terse", code=1).err


def test_forget_takes_several_and_none_when_one_is_not_there(both):
    before = both.here("list", "--json").json
    both.here("forget", "deploy-day", "nobody", code=1)
    assert both.here("list", "--json").json == before
    gone = both.here("forget", "deploy-day", NAME, "--json").json
    assert [(row["forgotten"], row["scope"]) for row in gone] == [("deploy-day", "project"), (NAME, "user")]
    assert both.here("list", "--json").json == []


def test_nothing_for_all_projects_yet_says_how_to_begin(desk):
    assert "reverie add --user" in desk.here("list", "--user").err
    assert "reverie add --user" in desk.here("show", "x", "--user", code=1).err
    assert json.loads(desk.here("history", "--user", "--json").out) == []


# -- a dream that keeps something for all projects -------------------------------------------------------

RUN = "ccaed97c-0000-4000-8000-000000000000"


@pytest.fixture(params=[True, False], ids=["with-more", "promotion-alone"])
def promoted(desk, request):
    """A project in which a dream promoted a memory, and perhaps wrote another one here."""
    desk.here("add", TERSE, "--name", NAME, "--type", "feedback")
    store = Store.open(desk.store)
    fact = store.read(NAME).memory
    if request.param:
        door = Door(store, now=NOW + timedelta(days=999))
        door.create(memory("noted-by-dream", body="A note.\n", type="project"))
        door.write(RUN, "dream")
    copy = replace(fact, id="99999999-0000-4000-8000-000000000000", path="")
    promote(home(desk), Settings(), RUN, [copy], now=NOW + timedelta(days=999))
    return desk


def names_here(desk):
    return {(row["name"], row["scope"]) for row in desk.here("list", "--json").json}


@pytest.mark.parametrize("given", [["ccaed97c"], [RUN], []], ids=["short", "whole", "newest"])
def test_bug_d2_a_dream_that_promotes_is_undone_whole(promoted, given):
    before = names_here(promoted)
    assert (NAME, "both") in before
    assert any(row["short"].startswith("ccaed97c") for row in promoted.here("history", "--json").json)
    said = promoted.here("undo", *given)
    assert "for all projects" in said.out
    assert names_here(promoted) == {(NAME, "project")}
    assert shelf(promoted).scan().documents == []
    promoted.here(*said.err.split("`")[1].split()[1:])
    assert names_here(promoted) == before


def test_what_was_promoted_can_be_undone_alone_and_is_shown_by_diff(promoted):
    assert "all projects" in promoted.here("diff", "ccaed97c").out
    promoted.here("undo", "ccaed97c", "--user")
    assert (NAME, "project") in names_here(promoted)


def test_going_back_step_by_step_says_where_the_next_step_is(desk):
    desk.here("add", "--user", TERSE, "--name", NAME, REVERIE_NOW="2026-11-20T10:00:00Z")
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "day", REVERIE_NOW="2026-11-20T10:00:01Z")
    desk.here("undo")
    said = desk.here("undo", code=1).err
    assert f"the latest change that is not undone is for all projects: add {NAME}; the last undo" in said
    assert "was for this project" in said and "the latest for" not in said
    assert str(desk.project.parent) not in said
    assert "`reverie undo --user` takes it back" in said
    assert "undid add" in desk.here("undo", "--user").out


def test_going_back_names_what_still_stands_in_either_place(desk):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "day", REVERIE_NOW="2026-11-20T10:00:00Z")
    desk.here("add", "--user", TERSE, "--name", NAME, REVERIE_NOW="2026-11-20T10:00:01Z")
    desk.here("add", "The shop has two tills.", "--name", "tills", REVERIE_NOW="2026-11-20T10:00:02Z")
    desk.here("undo", REVERIE_NOW="2026-11-20T10:00:03Z")
    first = desk.here("history", "--json").json[-1]["short"]
    said = " ".join(desk.here("undo", code=1).err.split())
    assert "nothing more" not in said
    assert f"not undone is for all projects: add {NAME}; the last undo was for this project" in said
    assert f"`reverie undo --user` takes it back; `reverie undo {first}` the latest for this project" in said
    desk.here("undo", "--user", REVERIE_NOW="2026-11-20T10:00:04Z")
    said = " ".join(desk.here("undo", code=1).err.split())
    assert "not undone is for this project: add day; the last undo was for all projects" in said
    assert f"`reverie undo {first}` takes it back; `reverie history`" in said
    assert desk.here("undo", first).out
    assert desk.here("list", "--json").json == []

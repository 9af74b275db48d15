"""Folders in a team's: each is meant as it is named, what was done there is undone, and no link leads out."""

import json
import os

import pytest

from pipeline.hooklib import ownership

LEAD = "Mara leads the release crew."
ASKED = "who leads the release crew?"
AT = "2030-01-01T10:00:0{}Z"


@pytest.fixture
def shared(desk):
    """A project with a memory of its own, and two folders in its team's, one of which has one below it."""
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    for name in ("alpha/deep", "beta"):
        (desk.store / "team" / name).mkdir(parents=True)
    return desk


def visible(folder):
    """Return path and bytes of every file below `folder` but those of our own."""
    found = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    return {path: file.read_bytes() for path, file in found.items() if ".reverie" not in path.split("/")}


def add(desk, folder, second=0, name="lead"):
    return desk.here("add", "--store", folder, LEAD, "--name", name, REVERIE_NOW=AT.format(second))


def undo(desk, second, *more):
    return desk.here("undo", *more, REVERIE_NOW=AT.format(second))


def forget(desk, second, *more):
    return desk.here("forget", *more, "lead", REVERIE_NOW=AT.format(second))


# -- the folder that was named ----------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["alpha", "beta", "alpha/deep"])
def test_a_folder_that_was_named_is_meant_and_none_below_it(shared, below):
    folder = shared.store / "team"
    add(shared, folder / below)
    assert list(visible(folder)) == [f"{below}/lead.md"]
    rows = {row["name"]: (row["scope"], row["path"]) for row in shared.here("list", "--json").json}
    assert rows["lead"] == ("team", f"{below}/lead.md")


def test_a_folder_alone_has_no_deeper_memories_than_it_has_in_the_whole(shared, tmp_path):
    deep = shared.store / "team" / "alpha" / "deep"
    (deep / "more").mkdir()
    for folder, name in ((deep, "seen"), (deep / "more", "unseen")):
        (folder / f"{name}.md").write_text(f"---\nname: {name}\ndescription: {LEAD}\n---\n{LEAD}\n")
    for named in ("team", "team/alpha", "team/alpha/deep"):
        rows = shared.here("list", "--store", shared.store / named, "--json").json
        assert [row["name"] for row in rows] == ["seen"], named


def test_so_deep_that_nobody_reads_it_nothing_is_written_in_a_team_s_folder(shared):
    deep = shared.store / "team" / "alpha" / "deep"
    (deep / "more" / "still").mkdir(parents=True)
    for folder in (deep / "more", deep / "more" / "still"):
        command = ["add", "--store", folder, "I have a hearing aid.", "--type", "user"]
        said = shared.here(*command, code=1).err
        assert "so deep in a team's folder" in said and f"at most as deep as {deep}" in said
    assert visible(shared.store / "team") == {}


# -- what was done there ----------------------------------------------------------------------------------


@pytest.mark.parametrize("below", ["alpha", "alpha/deep"])
def test_the_project_s_history_and_undo_know_what_was_added_to_one_folder(shared, below):
    folder = shared.store / "team"
    add(shared, folder / below)
    row = shared.here("history", "--json").json[0]
    assert (row["what"], row["scope"], row["state"]) == ("created lead", "team", "")
    assert LEAD in shared.here("diff").out and LEAD in shared.here("diff", row["short"]).out
    said = undo(shared, 1)
    assert "for the team" in said.out and visible(folder) == {}
    assert shared.here("history", "--json").json[1]["state"] == "undone"
    again = said.err.split("`reverie undo ")[1].split("`")[0]
    undo(shared, 2, again)
    assert list(visible(folder)) == [f"{below}/lead.md"]


@pytest.mark.parametrize("by", ["team", "store"])
def test_what_was_forgotten_in_one_folder_comes_back_by_every_way_that_is_named(shared, by):
    folder = shared.store / "team"
    add(shared, folder / "alpha")
    before = visible(folder)
    named = ["--team"] if by == "team" else ["--store", folder / "alpha"]
    for second, look in ((1, "forget"), (4, "why")):
        said = forget(shared, second, *named).err
        if look == "why":
            said = shared.here("why", "lead", code=1).err
        command = said.split("`reverie ")[1].split("`")[0]
        assert command == "restore --team lead"
        assert "alpha/lead.md" not in visible(folder)
        shared.here(*command.split(), REVERIE_NOW=AT.format(second + 1))
        assert visible(folder)["alpha/lead.md"] == before["alpha/lead.md"]
    forget(shared, 6, *named)
    undo(shared, 7)
    assert visible(folder)["alpha/lead.md"] == before["alpha/lead.md"]


@pytest.mark.parametrize("by", ["team", "store"])
def test_what_one_folder_s_notes_tell_is_no_hand_s_work_to_the_other_s(shared, by):
    folder = shared.store / "team"
    (folder / "beta").rmdir()
    if by == "team":
        add(shared, folder / "alpha")
        forget(shared, 1, "--team")
    else:
        shared.here("add", "--team", LEAD, "--name", "lead", REVERIE_NOW=AT.format(0))
        forget(shared, 1, "--store", folder / "alpha")
    rows = shared.here("history", "--json").json
    assert [(row["by"], row["what"]) for row in rows][:2] == [("you", "forgot lead"), ("you", "created lead")]
    assert rows[0]["short"] in shared.here("diff").out
    assert "was forgotten" in shared.here("show", "lead", code=1).err
    undo(shared, 2)
    undo(shared, 3)
    assert "alpha/lead.md" not in visible(folder)


def test_what_left_one_folder_is_listed_with_all_that_left(shared):
    add(shared, shared.store / "team" / "alpha")
    forget(shared, 1, "--store", shared.store / "team" / "alpha")
    assert [(row["name"], row["scope"]) for row in shared.here("list", "--retired", "--json").json] == [
        ("lead", "team")
    ]
    assert "restore --team lead" in shared.here("restore", "lead", code=1).err


def test_no_memory_of_one_folder_is_pinned(shared):
    add(shared, shared.store / "team" / "alpha")
    before = visible(shared.store / "team")
    for named in ([], ["--store", shared.store / "team" / "alpha"]):
        assert "no dream touches what is theirs" in shared.here("pin", *named, "lead", code=1).err
    assert visible(shared.store / "team") == before


def test_each_command_that_brings_something_back_names_the_folder_it_is_in(desk, tmp_path):
    other = tmp_path / "other notes"
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    desk.here("add", "--user", LEAD, "--name", "lead")
    other.mkdir()
    add(desk, other)
    assert f"`reverie restore --store '{other}' lead`" in forget(desk, 1, "--store", other).err
    assert (
        f"`reverie restore --store '{other}' lead`" in desk.here("why", "--store", other, "lead", code=1).err
    )
    assert f"`reverie undo --store '{other}' " in undo(desk, 2, "--store", other).err
    assert "`reverie restore --user lead`" in forget(desk, 3, "--user").err
    assert "`reverie restore deploy-day`" in desk.here("forget", "deploy-day").err
    assert "`reverie restore deploy-day`" in desk.here("why", "deploy-day", code=1).err


# -- links ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["team/linked", "team/alpha/linked", "linked", "graph/linked"])
@pytest.mark.parametrize("below", ["", "/in/it"])
def test_no_word_goes_through_a_link_in_a_memory_folder(shared, tmp_path, place, below):
    away = tmp_path / "away"
    (away / "in" / "it").mkdir(parents=True)
    link = shared.store / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(away)
    before = visible(shared.store)
    said = shared.here("add", "--store", f"{link}{below}", LEAD, code=1).err
    assert "a link in a memory folder is not followed" in said and str(link) in said
    assert f"--store {os.path.realpath(away)}{below}" in said
    assert not [path for path in away.rglob("*") if path.is_file()]
    for command in (["list"], ["forget", "lead"], ["restore", "lead"], ["undo"], ["reindex"]):
        assert "is not followed" in shared.here(*command, "--store", f"{link}{below}", code=1).err
    assert visible(shared.store) == before


def test_a_link_that_no_one_else_could_have_laid_is_the_person_s_wish(desk, tmp_path):
    real = tmp_path / "notes"
    real.mkdir()
    link = tmp_path / "memory" / "linked"
    link.parent.mkdir()
    link.symlink_to(real)
    desk.here("add", "--store", link, LEAD, "--name", "lead")
    assert (real / "lead.md").is_file()
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    short = tmp_path / "short"
    short.symlink_to(desk.store)
    (desk.store / "team" / "alpha").mkdir(parents=True)
    add(desk, short / "team" / "alpha")
    assert (desk.store / "team" / "alpha" / "lead.md").is_file()


def test_a_link_in_place_of_the_team_s_folder_is_said_to_be_one(desk, tmp_path):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    (tmp_path / "away").mkdir()
    (desk.store / "team").symlink_to(tmp_path / "away")
    for command in (["list", "--team"], ["add", "--team", LEAD], ["forget", "--team", "lead"]):
        said = desk.here(*command, code=1).err
        assert "the team's folder is a link, which is not followed" in said and f"{desk.store}/team" in said
    assert "is not followed" in desk.here("add", "--store", desk.store / "team", LEAD, code=1).err
    assert not list((tmp_path / "away").iterdir())


# -- one id in two folders ----------------------------------------------------------------------------------


@pytest.fixture
def twins(desk):
    """A project and its team with a memory of one id each, which say two things."""
    desk.here("add", LEAD, "--name", "lead")
    (folder := desk.store / "team").mkdir()
    own = (desk.store / "lead.md").read_text("utf-8")
    (folder / "crew.md").write_text(own.replace("name: lead", "name: crew").replace("Mara", "Odile"))
    (row,) = [row for row in desk.here("list", "--json").json if row["scope"] == "project"]
    ident = desk.here("show", "lead", "--json").json["memory"]["id"]
    assert ident in (folder / "crew.md").read_text("utf-8") and row["name"] == "lead"
    return desk, ident


def test_of_one_id_in_two_folders_recall_tells_both_with_their_scope(twins):
    desk, _ = twins
    for indexed in (False, True):
        if indexed:
            desk.here("reindex")
        told = desk.run("recall", ASKED).out
        assert "Mara leads" in told and "Odile leads" in told
        assert told.count('scope="team"') == 1 and told.count('by="the user"') == 1


def test_an_id_means_the_project_s_and_with_team_the_team_s(twins):
    desk, ident = twins
    assert (
        "Mara leads" in desk.here("show", ident).out
        and "Odile leads" in desk.here("show", "--team", ident).out
    )
    assert (
        "the team's" not in desk.here("why", ident).out
        and "the team's" in desk.here("why", "--team", ident).out
    )
    assert "--team means that one" in desk.here("why", ident).err


def test_to_forget_by_id_takes_the_project_s_and_leaves_the_team_s(twins):
    desk, ident = twins
    crew = (desk.store / "team" / "crew.md").read_bytes()
    said = desk.here("forget", ident, REVERIE_NOW=AT.format(1))
    assert "forgotten  lead" in said.out and "--team means that one" in said.err
    assert (desk.store / "team" / "crew.md").read_bytes() == crew
    assert f"`reverie forget --team {ident}`" in desk.here("forget", ident, code=1).err
    desk.here("forget", "--team", ident, REVERIE_NOW=AT.format(2))
    assert not visible(desk.store / "team").keys() & {"crew.md"}
    desk.here("restore", "lead", REVERIE_NOW=AT.format(3))
    desk.here("restore", "--team", "crew", REVERIE_NOW=AT.format(4))
    assert (desk.store / "team" / "crew.md").read_bytes() == crew


def test_a_team_s_folder_below_one_that_the_repository_brings_is_the_team_s_too(desk):
    folder = desk.project / "docs" / "memory"
    for file, name in ((folder / "lead.md", "Mara"), (folder / "team" / "crew.md", "Odile")):
        file.parent.mkdir(parents=True, exist_ok=True)
        text = LEAD.replace("Mara", name)
        file.write_text(f"---\nname: {file.stem}\ndescription: {text}\n---\n{text}\n")
    (desk.project / ".claude").mkdir()
    settings = json.dumps({"autoMemoryDirectory": str(folder)})
    (desk.project / ".claude" / "settings.json").write_text(settings)
    desk.here("allow", "--yes")
    rows = desk.here("list", "--json").json
    assert {row["name"]: (row["scope"], row["by"]) for row in rows} == {
        "lead": ("team", "the team"),
        "crew": ("team", "the team"),
    }
    told = desk.run("recall", ASKED).out
    assert told.count('scope="team"') == 2 and "Mara leads" in told and "Odile leads" in told
    assert "`reverie forget --team crew`" in desk.here("forget", "crew", code=1).err
    assert ownership.is_team(str(folder / "team"))
    (folder / "linked").symlink_to(desk.project)
    assert "is not followed" in desk.here("add", "--store", folder / "linked", LEAD, code=1).err

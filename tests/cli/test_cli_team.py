"""A team's folder: shown with its scope, changed at a person's yes only, and never with what is theirs."""

import json

import pytest

from pipeline.hooklib import ownership

RELEASE = "Releases are cut from the branch called harbour."
ASKED = "which branch are releases cut from?"


@pytest.fixture
def shared(desk):
    """A project with one memory of its own and one of its team's."""
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    folder = desk.store / "team"
    folder.mkdir()
    text = f"---\nname: release-branch\ndescription: {RELEASE}\norigin: hand-written\n---\n{RELEASE}\n"
    (folder / "release-branch.md").write_text(text)
    return desk


def files(folder):
    """Return path and bytes of every file below `folder`."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()
    }


def visible(folder):
    return {path for path in files(folder) if not path.startswith(".reverie/")}


def test_every_look_names_the_team_and_writes_nothing_there(shared):
    folder = shared.store / "team"
    before = files(folder)
    rows = {row["name"]: row for row in shared.run("list", "--json").json}
    assert [(name, rows[name]["scope"], rows[name]["by"]) for name in sorted(rows)] == [
        ("deploy-day", "project", "the user"),
        ("release-branch", "team", "the team"),
    ]
    assert "the team" in shared.here("list").out
    assert [row["name"] for row in shared.here("list", "--team", "--json").json] == ["release-branch"]
    assert RELEASE in shared.here("show", "release-branch").out
    assert [hit["scope"] for hit in shared.here("search", "harbour", "--json").json] == ["team"]
    recalled = shared.run("recall", ASKED).out
    assert 'scope="team"' in recalled and 'by="the team"' in recalled
    status = shared.here("status")
    assert "1 memory of the team in" in status.out
    assert f"{folder}: 1 memory, nothing wrong; others write there too" in shared.here("doctor").out
    assert "team's folder the search index alone" in shared.here("reindex").err
    assert files(folder) == before


def test_why_believes_nothing_that_a_team_s_file_says_of_itself(shared):
    said = shared.here("why", "release-branch").out
    assert "the team's" in said and "the team; it claims to be hand-written" in said
    assert "you said it" not in said and "added by you" not in said
    assert "others write in this folder too" in said


def test_what_the_team_wrote_gets_no_line_of_ours_in_the_person_s_index(shared):
    shared.here("reindex")
    assert "release-branch" not in (shared.store / "MEMORY.md").read_text("utf-8")


def test_add_team_writes_one_plain_file_and_undo_takes_it_away(shared):
    folder = shared.store / "team"
    before = files(folder)
    said = shared.run(
        "add",
        "--team",
        "The staging database is reset on Fridays.",
        "--name",
        "staging",
        REVERIE_NOW="2030-01-01T10:00:00Z",
    )
    assert "(the team's)" in said.out
    assert visible(folder) == {"release-branch.md", "staging.md"}
    text = (folder / "staging.md").read_text("utf-8")
    assert "sources: []" in text and "session" not in text
    assert shared.here("list", "--team").out.count("staging") >= 1
    assert shared.here("history", "--json").json[0]["scope"] == "team"
    assert "for the team" in shared.run("undo").out
    assert (
        visible(folder) == {"release-branch.md"}
        and files(folder)["release-branch.md"] == before["release-branch.md"]
    )


@pytest.mark.parametrize("kind", ["decision", "reference", "task"])
def test_a_kind_with_a_folder_of_its_own_lies_flat_in_the_team_s(shared, kind):
    shared.here("add", "--team", "Queues are drained before a release.", "--name", "queues", "--type", kind)
    assert "queues.md" in visible(shared.store / "team")
    (row,) = [row for row in shared.here("list", "--team", "--json").json if row["name"] == "queues"]
    assert row["type"] == kind


def test_add_team_goes_into_the_one_store_that_the_team_has(shared):
    folder = shared.store / "team"
    (folder / "platform").mkdir()
    shared.here("add", "--team", "Queues are drained before a release.", "--name", "queues")
    assert (folder / "platform" / "queues.md").is_file()
    (folder / "mobile").mkdir()
    said = shared.here("add", "--team", "Builds are signed at night.", "--name", "signing", code=1).err
    assert "the team has 2 folders: mobile, platform" in said and f"--store {folder}/mobile" in said
    shared.here("add", "--store", folder / "mobile", "Builds are signed at night.", "--name", "signing")
    assert (folder / "mobile" / "signing.md").is_file()
    names = {row["name"]: row["scope"] for row in shared.here("list", "--json").json}
    assert names["signing"] == names["queues"] == "team"


def test_the_changes_of_the_teams_memories_alone_are_listed_shown_and_undone(shared):
    shared.here("add", "--team", "Queues are drained before a release.", "--name", "queues")
    shared.here("add", "Builds are signed at night.", "--name", "signing")
    (row,) = shared.here("history", "--team", "--json").json
    assert (row["what"], row["scope"]) == ("created queues", "team")
    assert "Queues are drained" in shared.here("diff", "--team").out
    shared.here("undo", "--team")
    names = {row["name"] for row in shared.here("list", "--json").json}
    assert "signing" in names and "queues" not in names


def test_without_a_team_s_folder_none_is_made(desk):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    assert "no team's folder" in desk.here("add", "--team", "Builds are signed at night.", code=1).err
    assert not (desk.store / "team").exists()


@pytest.mark.parametrize(
    ("text", "more", "why"),
    [
        ("The deploy password is hunter2-Tr0ub4dor.", [], "holds a secret"),
        ("I have a hearing aid on the left side.", ["--type", "user"], "is about you yourself"),
    ],
)
def test_no_secret_and_nothing_about_the_person_goes_to_the_team(shared, text, more, why):
    folder = shared.store / "team"
    before = visible(folder)
    assert why in shared.here("add", "--team", text, *more, "--force", code=1).err
    assert visible(folder) == before


def test_forget_needs_the_word_team_and_then_can_be_undone(shared):
    folder = shared.store / "team"
    before = files(folder)
    said = shared.here("forget", "release-branch", code=1).err
    assert "release-branch is the team's" in said and "`reverie forget --team release-branch`" in said
    assert files(folder) == before
    shared.here("forget", "deploy-day", "release-branch", code=1)
    assert "deploy-day" in shared.here("list").out, "none goes where one may not"
    said = shared.here("forget", "--team", "release-branch", REVERIE_NOW="2030-01-01T10:00:00Z")
    assert "(the team's)" in said.out and "`reverie restore --team release-branch`" in said.err
    assert "release-branch.md" not in visible(folder) and shared.here("recall", ASKED).out == ""
    assert "restore --team" in shared.here("restore", "release-branch", code=1).err
    shared.here("restore", "--team", "release-branch", REVERIE_NOW="2030-01-01T10:00:01Z")
    assert files(folder)["release-branch.md"] == before["release-branch.md"]
    assert "removed" in shared.here("undo", REVERIE_NOW="2030-01-01T10:00:02Z").out
    shared.here("undo", REVERIE_NOW="2030-01-01T10:00:03Z")
    assert files(folder)["release-branch.md"] == before["release-branch.md"]


def test_forgetting_leaves_no_quote_in_a_folder_that_others_read(shared):
    file = shared.store / "team" / "release-branch.md"
    quote = "please cut them from harbour"
    source = f'sources: [{{session: s-1, uuid: u-1, quote: "{quote}", at: "2026-11-20T09:00:00Z"}}]'
    file.write_text(file.read_text().replace("origin:", f"{source}\norigin:"))
    shared.here("forget", "--team", "release-branch")
    notes = (shared.store / "team" / ".reverie" / "forgotten.jsonl").read_text()
    assert quote not in notes and "release-branch" in notes


def test_a_team_s_memory_is_not_pinned(shared):
    before = files(shared.store / "team")
    assert "no dream touches what is theirs" in shared.here("pin", "release-branch", code=1).err
    assert files(shared.store / "team") == before


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT"])
@pytest.mark.parametrize(
    "command", [("add", "--team", "Builds are signed at night."), ("forget", "--team", "release-branch")]
)
def test_claude_says_no_yes_for_a_person(shared, command, mark):
    folder = shared.store / "team"
    before = files(folder)
    said = shared.run(*command, code=1, **{mark: "1"}).err
    assert "at a person's word only, and Claude Code started this command" in said
    assert files(folder) == before


def test_of_two_of_one_name_the_project_s_is_meant_and_the_team_s_is_told(shared):
    shared.here("add", "Releases are cut at noon.", "--name", "release-branch")
    said = shared.here("show", "release-branch")
    assert "at noon" in said.out and "--team means that one" in said.err
    assert RELEASE in shared.here("show", "--team", "release-branch").out
    shared.here("forget", "release-branch")
    assert RELEASE in shared.here("show", "release-branch").out


def test_no_dream_over_a_team_s_folder_however_asked(shared):
    before = files(shared.store / "team")
    said = shared.here("consolidate", "--force", "--store", shared.store / "team")
    assert "Others write in this folder too" in said.out + said.err
    assert files(shared.store / "team") == before


# -- a folder that the repository brings along, which a person let count ---------------------------------


@pytest.fixture
def brought(desk):
    """A project whose memory folder is part of the repository and has somebody's memory in it."""
    folder = desk.project / "docs" / "memory"
    folder.mkdir(parents=True)
    (folder / "release-branch.md").write_text(
        f"---\nname: release-branch\ndescription: {RELEASE}\n---\n{RELEASE}\n"
    )
    (desk.project / ".claude").mkdir()
    text = json.dumps({"autoMemoryDirectory": str(folder)})
    (desk.project / ".claude" / "settings.json").write_text(text)
    desk.here("allow", "--yes")
    assert desk.store == folder
    return desk


def test_a_repository_s_folder_is_the_team_s_once_it_is_allowed(brought):
    (row,) = brought.run("list", "--json").json
    assert (row["scope"], row["by"]) == ("team", "the team")
    assert "changed at your word only" in brought.here("status").out
    assert 'scope="team"' in brought.run("recall", ASKED).out
    assert ownership.WRITTEN.split("/")[0] not in {path.split("/")[0] for path in files(brought.store)}


def test_a_yes_may_write_into_a_repository_s_folder_but_not_what_is_about_the_person(brought):
    said = brought.here("add", "I have a hearing aid on the left side.", "--type", "user", code=1).err
    assert "is about you yourself" in said and "reverie add --user" in said
    assert "(the team's)" in brought.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day").out
    assert "deploy-day.md" in visible(brought.store)
    (row,) = [row for row in brought.here("list", "--json").json if row["name"] == "deploy-day"]
    assert row["by"] == "the team", "whoever can write there could have"
    brought.here("undo")
    assert "deploy-day.md" not in visible(brought.store)


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_PROJECT_DIR"])
def test_claude_writes_nothing_into_a_repository_s_folder(brought, mark):
    before = files(brought.store)
    assert "person's word" in brought.here("add", "Deploys happen on Tuesdays.", code=1, **{mark: "1"}).err
    assert files(brought.store) == before

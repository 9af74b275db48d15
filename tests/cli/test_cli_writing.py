"""`add`, `procedure`, `update`, `edit`, and the pages: what a person types, and what comes of it."""

import pytest


@pytest.fixture
def editor(desk):
    """Make `edit` run a shell script, which gets the file as its first argument."""

    def make(script):
        file = desk.project.parent / "editor"
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return {"VISUAL": str(file)}

    return make


def memory(desk, name):
    return desk.here("show", name, "--json").json["memory"]


def test_a_procedure_and_a_task_are_written_and_changed(desk):
    told = desk.here(
        "procedure", "Deploy it", "--step", "Run tests", "--step", "Push", "--precondition", "On main",
        "--tag", "ci",
    )  # fmt: skip
    assert told.out.startswith("created    deploy-it (graph/procedures/deploy-it-")
    assert memory(desk, "deploy-it")["steps"] == ["Run tests", "Push"]
    desk.here(
        "add", "Move the board.", "--type", "task", "--name", "move", "--blocker", "DNS", "--title", "Mv"
    )
    told = desk.here("update", "move", "--status", "done", "--blocker", "", "--add-tag", "infra")
    assert told.out.startswith("updated    move (") and "reverie undo" in told.err
    found = memory(desk, "move")
    assert (found["status"], found["blockers"], found["tags"], found["title"]) == (
        "done",
        [],
        ["infra"],
        "Mv",
    )
    assert found["completed_at"]
    desk.here("undo")
    assert (memory(desk, "move")["blockers"], memory(desk, "move")["status"]) == (["DNS"], "")


@pytest.mark.parametrize(
    ("command", "says", "code"),
    [
        (["update", "it"], "nothing is named that should change", 1),
        (["update", "nobody", "--title", "x"], "nobody", 1),
        (["update", "it", "--importance", "7"], "from 0 to 1", 2),
        (["update", "it", "--step", "x"], "has no steps", 2),
        (["procedure", "T"], "a procedure has steps", 1),
        (["edit", "it", "--file", "/nonexistent"], "can't be read", 1),
        (["tags", "x"], "no memory has the tag", 1),
    ],
)
def test_what_is_asked_wrongly_is_said(desk, command, says, code):
    desk.here("add", "It holds.", "--name", "it", "--type", "project")
    assert says in desk.here(*command, code=code).err


def test_edit_writes_what_the_editor_leaves(desk, editor):
    desk.here("add", "Ship on Mondays.", "--name", "ship", "--type", "project")
    told = desk.here("edit", "ship", **editor('sed -i s/Mondays/Tuesdays/ "$1"'))
    assert told.out.startswith("updated    ship")
    assert "Tuesdays" in desk.here("show", "ship").out and "Mondays" in desk.here("diff").out
    assert desk.here("edit", "ship", **editor(":")).out.startswith("unchanged  ship")


def test_an_edit_that_can_t_be_read_is_kept_and_taken_up_again(desk, editor):
    desk.here("add", "Ship on Mondays.", "--name", "ship", "--type", "project")
    before = desk.here("show", "ship").out
    broken = editor("""sed -i "s/^title: .*/title: 'a' b c/; s/Mondays/Fridays/" "$1" """)
    said = desk.here("edit", "ship", code=1, **broken).err
    assert "your text was not written" in said and desk.here("show", "ship").out == before
    (draft,) = desk.project.parent.rglob("drafts/*.md")
    assert str(draft) in "".join(said.split()) and "Fridays" in draft.read_text()
    draft.write_text(draft.read_text().replace("'a' b c", "A"))
    assert desk.here("edit", "ship", "--file", draft).out.startswith("updated    ship")
    assert "Fridays" in desk.here("show", "ship").out


def test_the_pages_are_printed(desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship", "--type", "decision", "--tag", "ci")
    assert "- [Ship on Mondays.](graph/decisions/ship-" in desk.here("core").out
    assert desk.here("reflection").out.startswith("# Reflection Summary (auto-generated)\n")
    desk.here("episode", "Talked it over", "--summary", "Mondays it is.", "--memory", "ship")
    rows = desk.here("episodes", "--json").json
    assert [row["title"] for row in rows] == ["Talked it over", "Ship on Mondays"]
    assert "Talked it over (note)" in desk.here("episodes", "--type", "note").out
    assert desk.here("tags").out == "ci  1 memory\n" and "no tag stands" in desk.here("tags", "ci").out


def test_reflect_dreams_and_makes_the_page(desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship", "--type", "decision")
    assert "REFLECTION.md" not in [file.name for file in desk.store.iterdir()]
    desk.here("reflect", "--dry-run")
    assert not (desk.store / "REFLECTION.md").exists()
    desk.here("reflect")
    assert (desk.store / "REFLECTION.md").exists()


def test_reflect_since_a_day_takes_what_was_changed_from_then_on(desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship", "--type", "decision")
    desk.here("reflect")
    looked = [
        desk.here("reflect", "--dry-run", *more, "--json").json["changed"] for more in ((), ("--since", "2d"))
    ]
    assert looked == [0, 1]
    assert "is yet to come" in desk.here("reflect", "--since", "2999-01-01", code=2).err
    assert "is no day" in desk.here("reflect", "--since", "someday", code=2).err


def test_add_says_which_type_was_chosen(desk):
    assert desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day").out.startswith(
        "created    deploy-day (project, "
    )


def test_diff_shows_old_values_beside_new_ones(desk):
    desk.here("add", "It holds.", "--name", "it", "--importance", "0.5", "--tag", "a", "--type", "project")
    desk.here("update", "it", "--importance", "0.85", "--add-tag", "b")
    said = desk.here("diff").out
    assert "importance: 0.5 → 0.85" in said and "tags: a → a; b" in said


@pytest.mark.parametrize("command", [["add", "It holds."], ["update", "it"]])
def test_tags_at_once_are_refused_with_how_to_give_them(desk, command):
    said = desk.here(*command, "--tags", "a,b", code=2).err
    assert "No such option: --tags" in said and "Give --tag once for each." in said
    assert "give it once for each" in desk.here("add", "It holds.", "--tag", "a,b", code=1).err

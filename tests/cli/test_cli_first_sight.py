"""The first sight of a memory folder: one screen, in `init` too, and not a byte is written."""

import pytest
from rich.cells import cell_len

from tests.cli.conftest import make_desk
from tests.cli.test_cli_widths import ESCAPES, on_terminal
from tests.support.claude_folder import claude_folder
from tests.support.stores import tree


@pytest.fixture
def known(tmp_path):
    """A project in which Claude Code has kept memories for long, and Reverie is new."""
    desk = make_desk(tmp_path)
    claude_folder(desk.store, transcripts=desk.store.parent)
    return desk


def test_it_fits_one_screen_of_80_by_24(known):
    before = tree(known.store, skip=())
    lines = [
        line
        for text in on_terminal(known, 80, "audit", "--short")
        for line in ESCAPES.sub("", text).rstrip("\n").split("\n")
    ]
    # The line in which it is typed and the one of the next prompt are on the screen as well.
    assert len(lines) <= 22 and max(map(cell_len, lines)) <= 80
    assert lines[0].startswith("60 memories in ")
    assert "    1  can't be read: broken.md" in lines
    assert "    2  are not in MEMORY.md, so no session is told of them: feedback_4.md, …" in lines
    assert tree(known.store, skip=()) == before


def test_examples_stand_where_they_fit(known):
    lines = known.here("audit", "--short", code=1).out.splitlines()
    assert "    1  may contradict another one: retry_second.md and retry_first.md" in lines
    assert "    1  says what another one says, or has its name: tabs_two.md and tabs_one.md" in lines
    (known.store / f"{'long_' * 12}name.md").write_text("---\nname: 'a' b\n---\nx\n")
    lines = known.here("audit", "--short", code=1).out.splitlines()
    assert "    2  can't be read: broken.md, …" in lines


def test_init_shows_it_and_leaves_the_folder_as_it_was(known):
    before = tree(known.store, skip=())
    said = known.here("init", "--yes")
    assert "60 memories in " in said.out and "wait for your yes: `reverie adopt`" in said.out
    assert "40 files Claude wrote would take part" in said.out and "Nothing was changed." in said.err
    assert tree(known.store, skip=()) == before


def test_stamps_of_sessions_that_nobody_knows_wait_for_one_yes(tmp_path):
    desk = make_desk(tmp_path)
    claude_folder(desk.store, sound=True)
    said = desk.here("init", "--yes").out
    assert "60 files nobody knows who wrote wait for your yes" in said and "Claude wrote" not in said
    assert "These 60 files: each is kept" in desk.here("adopt", "--yes").out
    assert "nothing to adopt" in desk.here("adopt", "--dry-run").out


def test_init_in_a_folder_of_our_own_shows_nothing(tmp_path):
    desk = make_desk(tmp_path)
    assert "memories in" not in desk.here("init", "--yes").out
    desk.here("add", "Gulls are counted at dawn.")
    assert "memory in" not in desk.here("init").out and "memories in" not in desk.here("init").out
    (desk.store / "theirs.md").write_text("---\nname: theirs\ndescription: x\ntype: user\n---\nWords.\n")
    assert "2 memories in" in desk.here("init").out


def test_as_json_it_is_counts_and_paths(known):
    value = known.here("audit", "--short", "--json", code=1).json
    assert (value["memories"], value["more"]) == (60, 0) and len(value["plan"]) == 3
    assert value["rows"][0] == {
        "kind": "unreadable",
        "number": 1,
        "about": "can't be read",
        "paths": ["broken.md"],
    }


def test_another_folder_is_named_in_what_to_type_next(known, tmp_path):
    other = claude_folder(tmp_path / "other", sound=True)
    said = known.here("audit", "--short", other)
    assert "Nothing is wrong with them." in said.out and f"`reverie audit {other}` names each" in said.err


def test_without_a_folder_it_is_the_one_of_the_project(known):
    said = known.here("audit", code=1)
    assert "moved_code.md:7: dead-path: names src/parser/old.py" in said.out and "--project" not in said.err

"""What stands in a memory folder and can't be taken: it is named with its cause, wherever a person looks."""

import os
import socket

import pytest

from tests.support.stores import tree

FACT = "---\nname: {0}\ndescription: Says {0}.\ntype: project\n---\n\nSays {0}.\n"
BOTH = "<<<<<<< ours\n- [one](one.md) — one\n=======\n- [two](two.md) — two\n>>>>>>> theirs\n"
IN_INDEX = (
    "MEMORY.md:3: a merge left both sides of a conflict, from line 3 to 7."
    " Keep one side, and remove the lines with <<<<<<<, ======= and >>>>>>>."
)


@pytest.fixture
def odd(desk, tmp_path, monkeypatch):
    """A folder with a memory, and with a pipe, a socket and a folder that have names of memories."""
    desk.here("add", "Gulls are counted at dawn.", "--name", "gulls")
    os.mkfifo(desk.store / "pipe.md")
    (desk.store / "folder.md").mkdir()
    # A socket's path may have a hundred bytes only.
    monkeypatch.chdir(desk.store)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("plug.md")
    return desk


CAUSES = {
    "folder.md": "a folder, no file",
    "pipe.md": "a pipe, no file",
    "plug.md": "a socket, no file",
}


def test_what_is_no_file_is_named_with_its_cause(odd):
    left = {row["path"]: row["why"] for row in odd.here("adopt", "--dry-run", "--json").json["left"]}
    assert left == CAUSES
    said = odd.here("list").err.splitlines()
    for path, why in CAUSES.items():
        assert f"{path}: {why}. Move it out of the memory folder." in said
    (line,) = odd.here("status", "--json").json["left_out"]
    assert line == (
        "3 entries have names of memories and are no files: folder.md, pipe.md, plug.md (`reverie doctor`)"
    )
    told = odd.here("doctor", code=1).out
    assert all(f"{path}: {why}" in " ".join(told.split()) for path, why in CAUSES.items())


@pytest.mark.parametrize("command", ["show", "why", "forget"])
def test_a_name_whose_file_cannot_be_taken_is_not_called_unknown(odd, command):
    (odd.store / "bad.md").write_text("---\nname: 'a' b\n---\nx\n")
    (odd.store / "two-sides.md").write_text(f"---\nname: two-sides\n---\n\n{BOTH}")
    said = odd.here(command, "bad", code=1).err
    assert "bad.md:2: front matter: " in said and "no memory is called" not in said
    said = " ".join(odd.here(command, "two_sides", code=1).err.split())
    assert "two-sides.md:5: a merge left both sides of a conflict, from line 5 to 9" in said
    assert "Keep one side" in said
    assert "pipe.md: it can't be read: a pipe, no file" in " ".join(
        odd.here(command, "pipe", code=1).err.split()
    )
    assert "no memory is called 'worse'" in odd.here(command, "worse", code=1).err


@pytest.fixture
def merged(desk):
    """A folder whose MEMORY.md has a conflict outside of Reverie's block."""
    desk.here("add", "Gulls are counted at dawn.", "--name", "gulls")
    index = desk.store / "MEMORY.md"
    block = index.read_text("utf-8").removeprefix("# Memory\n\n")
    index.write_text(f"# Memory\n\n{BOTH}\n{block}", "utf-8")
    return desk


@pytest.mark.parametrize(
    "words", [("list",), ("reindex",), ("add", "Boats leave at six."), ("adopt", "--dry-run")]
)
def test_a_conflict_in_the_index_is_said_and_stays(merged, words):
    assert IN_INDEX in merged.here(*words).err.splitlines()
    assert BOTH in (merged.store / "MEMORY.md").read_text("utf-8")


def test_status_and_doctor_tell_of_it_once_and_no_more_than_is_so(merged):
    assert merged.here("status", "--json").json["left_out"] == [IN_INDEX]
    told = " ".join(merged.here("doctor", code=1).out.split())
    assert told.count("a merge left both sides of a conflict") == 1
    assert "until then it is not recalled" not in told and "UTF-8" not in told


def test_marks_in_the_block_go_at_the_next_write_and_the_lines_of_both_sides_stay(merged):
    index = merged.store / "MEMORY.md"
    text = index.read_text("utf-8").replace(BOTH, "")
    first, _, rest = text.partition("- [")
    index.write_text(f"{first}{BOTH}- [{rest}", "utf-8")
    assert "a merge left both sides" in merged.here("list").err
    assert "a merge" not in merged.here("reindex").err
    after = index.read_text("utf-8")
    assert (
        "<<<<<<<" not in after and "- [one](one.md) — one\n" in after and "- [two](two.md) — two\n" in after
    )


def test_marks_of_a_merge_in_our_own_records_are_called_so(desk):
    desk.here("add", "Gulls are counted at dawn.", "--name", "gulls")
    desk.here("add", "Boats leave at six.", "--name", "boats")
    log = desk.store / ".reverie" / "written.jsonl"
    first, *others = [line for line in log.read_text("utf-8").splitlines() if line]
    log.write_text(
        "\n".join(["<<<<<<< ours", first, "=======", *others, ">>>>>>> theirs", '{"to', ""]), "utf-8"
    )
    before = tree(desk.store, skip=())
    told = " ".join(desk.here("doctor", code=1).out.split())
    assert "written.jsonl: a merge left both sides of a conflict, from line 1 to" in told
    assert "of two lines about one file the last counts" in told
    assert told.count("was torn by a crash") == 1, "the line that was torn, none of the marks"
    assert tree(desk.store, skip=()) == before

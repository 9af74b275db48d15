"""`patterns`, `similar`, `coaccess`, `errors` and their pictures, as a person calls them."""

import subprocess
import sys

import pytest

from pipeline.formats.keisei.plots import PNG
from tests.architecture.source import ROOT
from tests.support.transcripts import Transcript

IDS = [f"{n}e551011-0000-4000-8000-000000000000" for n in range(3)]


@pytest.fixture
def used(desk):
    """A home with three sessions: a release in two of them, and one that only looked."""
    folder = desk.project.parent / ".claude/projects/shop"
    folder.mkdir(parents=True)
    for number, session in enumerate(IDS):
        talk = Transcript(session, cwd="/home/dev/shop", start=f"2026-03-0{number + 2}T09:00:00Z")
        talk.user("Release the shop, please." if number < 2 else "Where are the docs?")
        if number < 2:
            talk.tool("Edit", {"file_path": "/home/dev/shop/version.py"})
            talk.tool("Edit", {"file_path": "/home/dev/shop/CHANGES.md"})
            talk.tool("Bash", {"command": "git commit -am release"})
            talk.tool("Bash", {"command": "git push"})
            talk.tool("Bash", {"command": "make $TARGET"}, "make: *** no rule", is_error=True)
        else:
            talk.tool("Read", {"file_path": "/home/dev/shop/README.md"})
        talk.write(folder)
    return desk


def rows(said):
    return [line.split() for line in said.out.splitlines()[1:]]


def test_patterns_lists_the_steps_that_come_again(used):
    said = used.here("patterns")
    assert said.out.splitlines()[1] == (
        "Edit *.py → Edit *.md → git commit → git push  2      2         2026-03-03"
    )
    found = used.here("patterns", "--json").json
    assert {place["session"] for place in found[0]["occurrences"]} == set(IDS[:2])
    assert used.here("patterns", "--commands", "--json").json[0]["steps"] == ["git commit", "git push"]
    assert used.here("patterns", "--failed", "--json").json[0]["steps"][-1] == "make"


def test_patterns_lists_classes(used):
    found = {row[0]: row[1:3] for row in rows(used.here("patterns", "--classes"))}
    assert found["tool_use:Bash"] == ["6", "2"] and found["tool_error:Bash"] == ["2", "2"]
    assert "user" in found and used.here("patterns", "--classes", "--session", IDS[2], "--json").json == []


def test_coaccess_lists_pairs_below_their_folder(used):
    assert rows(used.here("coaccess")) == [["CHANGES.md", "version.py", "2", "2", "/home/dev/shop/"]]
    assert used.here("coaccess", "README.md").out == "no files were used together\n"


def test_errors_lists_sessions_and_tools(used):
    assert rows(used.here("errors")) == [
        ["0e551011", "2026-03-02", "5", "1", "20", "%", "0", "0", "Bash", "1"],
        ["1e551011", "2026-03-03", "5", "1", "20", "%", "0", "0", "Bash", "1"],
        ["2e551011", "2026-03-04", "1", "0", "0", "%", "0", "0"],
    ]
    assert used.here("errors", "--json").json[0]["share"] == 0.2
    assert rows(used.here("errors", "--by-tool"))[0] == ["Bash", "6", "2", "33", "%"]


def test_similar_takes_the_beginning_of_an_id_a_file_or_words(used, tmp_path):
    row = used.here("similar", "0e55", "--json").json["similar"][0]
    assert (row["session"], row["score"]) == (IDS[1], 1.0)
    assert rows(used.here("similar", "--text", "docs"))[0][0] == "2e551011"
    alone = Transcript("9e551011-0000-4000-8000-000000000000", cwd="/home/dev/shop")
    alone.user("Release the shop again")
    file = alone.write(tmp_path)
    assert {item["session"] for item in used.here("similar", str(file), "--json").json["similar"]} == set(
        IDS[:2]
    )


def test_what_is_known_as_a_secret_is_in_no_answer(used):
    projects = used.project.parent / ".claude/projects/shop"
    for number in (7, 8):
        talk = Transcript(f"{number}e551011-0000-4000-8000-000000000000", cwd="/home/dev/shop")
        talk.user("Connect with Zk4-plum-Tiger9 to the database")
        talk.write(projects)
    assert "plum" in used.here("similar", "7e55", "--json").out
    telling = Transcript("6e551011-0000-4000-8000-000000000000", cwd="/home/dev/shop")
    telling.user("The database password is Zk4-plum-Tiger9.")
    used.here("ingest", "--file", str(telling.write(used.project)))
    assert "plum" not in used.here("similar", "7e55", "--json").out


def test_what_is_no_question_is_refused(used):
    assert "Name a session" in used.here("similar", code=2).err
    assert "there is no such file or session" in used.here("similar", "nobody", code=1).err
    assert "--classes" in used.here("patterns", "--classes", "--commands", code=2).err
    assert "there is no such folder" in used.here("errors", "--dir", "none", code=1).err


@pytest.mark.parametrize(
    "command", ["patterns", "patterns --classes", "coaccess", "errors", "errors --by-tool"]
)
def test_a_home_without_sessions_has_an_answer(desk, command):
    assert desk.here(*command.split()).out
    assert desk.here(*command.split(), "--json").json == []


def test_a_transcript_that_can_not_be_read_is_named(used):
    (used.project.parent / ".claude/projects/shop/odd.jsonl").mkdir()
    bad = used.project.parent / ".claude/projects/shop/other.jsonl"
    bad.write_bytes(b"SQLite format 3\0" + b"\0" * 200)
    said = used.here("errors")
    assert len(rows(said)) == 3 and str(bad) in said.err


def test_only_the_newest_can_be_asked_about(used):
    said = used.here("errors", "--newest", "1")
    assert len(rows(said)) == 1 and "of 3" in said.err


DRAWN = ["patterns", "patterns --classes", "coaccess", "errors", "journal sessions"]
"""Of the pictures two are always drawn, and the others if the whole is run."""


@pytest.mark.parametrize(
    "command", [*DRAWN[::4], *(pytest.param(each, marks=pytest.mark.whole) for each in DRAWN[1:4])]
)
def test_a_picture_is_drawn_and_the_same_twice(used, tmp_path, command):
    pytest.importorskip("matplotlib")
    used.here("ingest", "--dir", str(used.project.parent / ".claude/projects"))
    used.here("journal", "update")
    one, other = tmp_path / "one.png", tmp_path / "other.png"
    assert f"drawn: {one}" in used.here(*command.split(), "--plot", str(one)).err
    used.here(*command.split(), "--plot", str(other))
    assert one.read_bytes() == other.read_bytes() and one.read_bytes().startswith(PNG)
    used.here(*command.split(), "--plot", str(one))  # A picture may be drawn anew.


@pytest.mark.parametrize("command", ["patterns", "coaccess", "errors", "journal sessions"])
def test_nothing_to_draw_is_a_picture_too(desk, tmp_path, command):
    pytest.importorskip("matplotlib")
    desk.here(*command.split(), "--plot", str(tmp_path / "empty.png"))
    assert (tmp_path / "empty.png").read_bytes().startswith(PNG)


def test_what_is_no_picture_is_not_written_over(used, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "notes.md").write_text("mine", "utf-8")
    assert "is no picture" in used.here("errors", "--plot", str(tmp_path / "notes.md"), code=1).err
    assert (tmp_path / "notes.md").read_text("utf-8") == "mine"


WITHOUT = """
import sys
sys.modules["matplotlib"] = None
from pathlib import Path
from pipeline.core.errors import InputError
from pipeline.formats.keisei import plots
try:
    plots.durations([1], Path(sys.argv[1]))
except InputError as error:
    print(error, error.fix)
"""


def test_without_matplotlib_it_is_said_what_to_install(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tmp_path / "x.png")], cwd=ROOT, capture_output=True, text=True
    )
    assert "extra `plots`" in done.stdout and not (tmp_path / "x.png").exists()

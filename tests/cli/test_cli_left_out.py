"""Files that can't be read, or that a merge left unsettled: said in one line wherever they are missed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.hooklib.memory_format import OVERFLOW
from pipeline.recall.live import store_files
from pipeline.search.index_reader import Reader, index_path
from tests.support.stores import settled

BROKEN = "---\nname: x\ndescription: 'a' b\n---\nThe mailer listens on port 8025.\n"
BOTH = "<<<<<<< HEAD\nIt is 8025.\n=======\nIt is 8026.\n>>>>>>> theirs\n"
LENIENT = "---\nname: mailer\ndescription: port: 8025\n---\nThe mailer listens there.\n"


def home_of(desk) -> Path:
    return desk.project.parent / ".claude" / "reverie"


@pytest.fixture
def spoilt(desk):
    """A store of which four files can't be read and one holds both sides of a merge."""
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    for name in "dcba":
        (desk.store / f"broken-{name}.md").write_text(BROKEN)
    (desk.store / "merged.md").write_text(f"---\nname: merged\n---\n{BOTH}")
    (desk.store / "mailer.md").write_text(LENIENT)
    return desk


UNREAD = "4 files can't be read: broken-a.md, broken-b.md, broken-c.md … (`reverie doctor` lists all)"
UNSETTLED = "1 file holds both sides of a merge: merged.md (`reverie doctor`)"


@pytest.mark.parametrize("command", ["list", "reindex"])
def test_many_files_are_one_line_on_stderr(spoilt, command: str) -> None:
    said = spoilt.here(command).err.splitlines()
    assert [line for line in said if line in (UNREAD, UNSETTLED)] == [UNREAD, UNSETTLED]
    assert not [line for line in said if line.startswith("broken")]


def test_a_few_are_told_where_they_stand(desk) -> None:
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    (desk.store / "merged.md").write_text(f"---\nname: merged\n---\n{BOTH}")
    assert desk.here("list").err.splitlines()[-1] == (
        "merged.md:4: a merge left both sides of a conflict, from line 4 to 8. Keep one side, and remove the"
        " lines with <<<<<<<, ======= and >>>>>>>; until then it is not recalled."
    )


def test_status_says_so_on_its_screen_and_as_json(spoilt) -> None:
    said = " ".join(spoilt.here("status").out.split())
    assert UNREAD in said and UNSETTLED in said
    assert spoilt.here("status", "--json").json["left_out"] == [UNREAD, UNSETTLED]


OPENED = """
import atexit, sys
opened = set()
sys.addaudithook(lambda event, told: event == "open" and opened.add(str(told[0])))
atexit.register(lambda: print(*(file for file in opened if file.endswith(".md")), sep="\\n", file=sys.stderr))
sys.argv = ["reverie", "status"]
from pipeline.cli.main import run
run()
"""


def test_status_opens_no_memory_that_the_index_knows(spoilt) -> None:
    for number in range(20):
        (spoilt.store / f"known-{number}.md").write_text(LENIENT)
    spoilt.here("reindex")
    settled(spoilt.store)
    (spoilt.store / "known-7.md").write_text(BROKEN)
    done = subprocess.run(
        [sys.executable, "-c", OPENED],
        cwd=spoilt.project,
        env=spoilt.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert UNREAD.replace("4 files", "5 files") in " ".join(done.stdout.split())
    opened = {Path(line).name for line in done.stderr.splitlines() if Path(line).parent == spoilt.store}
    assert opened - {"MEMORY.md"} == {*(f"broken-{name}.md" for name in "abcd"), "merged.md", "known-7.md"}


def test_a_dreams_report_says_so(spoilt) -> None:
    said = spoilt.here("consolidate", "--force").out
    assert f"## Took no part\n\n- {UNREAD}\n- {UNSETTLED}\n" in said
    (file,) = (home_of(spoilt) / "reports").glob("*.json")
    assert json.loads(file.read_bytes())["unread"] == [UNREAD, UNSETTLED]


def test_doctor_names_each(spoilt) -> None:
    said = spoilt.here("doctor", code=1).out
    for name in "abcd":
        assert f"broken-{name}.md: line 3: front matter: text behind the value" in said
    assert "Quote the value, or remove the line; the file is left as it is until then." in said
    assert "merged.md: a merge left both sides of a conflict, from line 4 to 8" in said
    assert said.count("merged.md") == 1


def test_what_the_client_reads_is_listed_found_and_in_the_index(spoilt) -> None:
    assert [row["name"] for row in spoilt.here("list", "--json").json] == ["deploy-day", "mailer"]
    assert [row["name"] for row in spoilt.here("search", "8025", "--json").json] == ["mailer"]
    spoilt.here("reindex")
    assert "](mailer.md)" in (spoilt.store / "MEMORY.md").read_text()
    more = (spoilt.store / OVERFLOW).read_text()
    assert "- [broken-a](broken-a.md) — front matter can't be read\n" in more
    assert "- [merged](merged.md) — a merge left both sides of a conflict\n" in more


def test_the_index_knows_each_file_so_that_no_hook_reads_it_again(spoilt) -> None:
    spoilt.here("reindex")
    with Reader(index_path(str(home_of(spoilt)), str(spoilt.store))) as reader:
        known = reader.all_paths()
        assert reader.candidates(["8025"], 60)[0].path == "mailer.md"
    assert known == store_files.listing(str(spoilt.store))
    said = spoilt.here("doctor", code=1).out
    assert "search index: 2 memories, up to date" in said
    (spoilt.store / "broken-a.md").write_text(BROKEN.replace("'a' b", "mended"))
    assert known["broken-a.md"] != store_files.listing(str(spoilt.store))["broken-a.md"]
    spoilt.here("reindex")
    assert "broken-a" not in (spoilt.store / OVERFLOW).read_text()

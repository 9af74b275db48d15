"""What a person kept private, and secrets, in all that is derived from the use of tools."""

import sqlite3

import pytest

from pipeline.formats.keisei import agents_file
from pipeline.formats.keisei.claims import claimed
from pipeline.ledger.session_times import Spoken
from pipeline.worker.procedures.looking import commands_of
from tests.cli.conftest import make_desk
from tests.support.transcripts import Transcript

IDS = [f"4e551011-0000-4000-8000-{n:012}" for n in range(2)]
PRIVATE = "echo <private>zebra crossing && git zebra</private>; git commit -am x && git push"
TOKEN = "ghp_" + "9f3kQ2mXv7Lr1TzB8wYc5NdHs4JpGa6EuZ0R"


@pytest.fixture
def used(tmp_path):
    """A home with two sessions that hold a private word wherever a call of a tool has a text."""
    desk = make_desk(tmp_path)
    folder = desk.project.parent / ".claude/projects/shop"
    folder.mkdir(parents=True)
    for number, session in enumerate(IDS):
        talk = Transcript(session, cwd="/home/dev/shop", start=f"2026-03-0{number + 2}T09:00:00Z")
        talk.user("Release it. <private>zebra</private>")
        talk.tool("Bash", {"command": PRIVATE})
        talk.tool("Edit", {"file_path": "/home/dev/<private>zebra</private>/a.py"})
        talk.tool("Read", {"file_path": "/home/dev/b.<private>zebra"})
        talk.tool("Task", {"subagent_type": "<private>zebra</private>", "description": "<private>zebra"})
        talk.tool("x<private>zebra</private>", {"a": 1}, "no", is_error=True)
        talk.tool(TOKEN, {"a": 1}, "no", is_error=True)
        talk.write(folder)
    return desk


@pytest.mark.parametrize(
    "command",
    [
        *("patterns", "patterns --failed", "patterns --classes", "coaccess", "errors", "errors --by-tool"),
        *("agents", "traces list", f"traces show {IDS[0]}", f"traces export {IDS[0]} --annotated"),
        f"similar {IDS[0]}",
    ],
)
def test_no_answer_holds_what_is_private(used, command):
    plain = () if "export" in command else ("--json",)
    shown = used.here(*command.split()).out + used.here(*command.split(), *plain).out
    assert shown and "zebra" not in shown and TOKEN[:20] not in shown


def test_what_stands_around_a_private_part_still_counts(used):
    steps = used.here("patterns", "--json").json[0]["steps"]
    assert steps[:2] == ["git commit", "git push"]


def test_a_procedure_is_looked_for_in_commands_without_it(used, tmp_path):
    file = used.project.parent / f".claude/projects/shop/{IDS[0]}.jsonl"
    assert [command.text for command in commands_of(file)] == ["echo ; git commit -am x && git push"]


def test_a_claim_that_ends_within_a_private_part_is_none():
    text = (
        "<private>the\nzebra took 18 min</private> [REAL: x]\nall took 3 s [REAL: <private>zebra</private>y]"
    )
    lines = list(claimed([Spoken(IDS[0], "2026-03-02T09:00:00Z", text)]))
    assert [(line["value"], line["pointer"]) for line in lines] == [("all took 3 s", "y")]


def test_another_program_s_ledger_of_agents_is_shown_without_it(used, tmp_path):
    file = tmp_path / "agents.sqlite"
    with sqlite3.connect(file) as made:
        made.execute("CREATE TABLE agents (id, session_id, agent_type, description, branch)")
        texts = ("<private>zebra</private>kind", "for <private>zebra", TOKEN)
        made.execute("INSERT INTO agents VALUES ('a', 's', ?, ?, ?)", texts)
    target = tmp_path / "ours.sqlite"
    shown = used.here("agents", "--ledger", str(file), "--to", str(target), "--json").json
    assert (shown[0]["agent_type"], shown[0]["description"]) == ("kind", "for")
    assert TOKEN not in shown[0]["branch"] and TOKEN not in str(list(agents_file.read(target)))

"""Sub-agents of transcripts as a ledger to look at and to query."""

import sqlite3

import pytest

from pipeline.formats.keisei import agents_file
from pipeline.formats.keisei.agents import agents
from tests.cli.conftest import make_desk
from tests.support.transcripts import assistant, tool_result, tool_use, user, write_lines

SHELL = "SELECT id, COALESCE(tokens_in,0)+COALESCE(tokens_out,0) AS tok FROM agents WHERE tok > 100000" \
        " ORDER BY tok DESC LIMIT 20;"  # fmt: skip
NOTED = (
    "<task-notification>\n<task-id>a3</task-id>\n<status>completed</status>\n<result>fine</result>\n<usage>"
    "<total_tokens>7000</total_tokens>\n<tool_uses>2</tool_uses>\n<duration_ms>9000</duration_ms></usage>"
    "\n</task-notification>"
)


def at(second, **more):
    return {"timestamp": f"2026-01-20T14:00:{second:02}.000Z", "sessionId": "s1", "gitBranch": "main", **more}


def started(tool_id, kind, what, second, tool="Task"):
    asked = {"subagent_type": kind, "description": what, "prompt": "p"}
    return assistant([tool_use(tool, asked, tool_id)], **at(second))


def answer(total, wrote, **more):
    return {"totalTokens": total, "usage": {"output_tokens": wrote}, "totalToolUseCount": 4} | more


def ended(tool_id, result, second, **more):
    return tool_result("ok", tool_id, toolUseResult=result, **at(second), **more)


@pytest.fixture
def transcript(tmp_path):
    """A session with five sub-agents: done, failed, in the background, never answered, and still at it."""
    return write_lines(
        tmp_path / "p" / "s1.jsonl",
        [
            started("t1", "Explore", "Look around", 0),
            ended("t1", answer(150000, 800, agentId="a1", totalDurationMs=5000), 5),
            started("t2", "Plan", "Plan it", 6),
            ended("t2", "Error: no such type", 7, is_error=True),
            started("t3", "Explore", "In the background", 8, tool="Agent"),
            ended("t3", {"status": "async_launched", "agentId": "a3"}, 8),
            b'{"torn\n',
            started("t4", "Explore", "Forgotten", 9),
            started("t5", "Explore", "Still at it", 10, tool="Agent"),
            ended("t5", {"status": "async_launched", "agentId": "a5", "totalTokens": 0}, 10),
            user(NOTED, **at(20)),
        ],
    )


def test_each_sub_agent_has_its_end_and_its_tokens(transcript):
    found = [
        (agent.id, agent.agent_type, agent.status, agent.duration_ms, tokens.tokens_in, tokens.tokens_out)
        for agent in agents([transcript])
        for tokens in (agent.tokens,)
    ]
    assert found == [
        ("a1", "Explore", "done", 5000, 149200, 800),
        ("t2", "Plan", "failed", None, 0, 0),
        ("a3", "Explore", "done", 9000, 7000, 0),
        ("t4", "Explore", "running", None, 0, 0),
        ("a5", "Explore", "running", None, 0, 0),
    ]


@pytest.mark.parametrize("place", ["s1/subagents/agent-a1.jsonl", "agent-a1.jsonl"])
def test_the_calls_of_a_sub_agents_own_transcript_are_counted(transcript, place):
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 90, "cache_read_input_tokens": 500}
    write_lines(
        transcript.parent / place,
        [
            assistant("a", message_id="m1", usage=usage | {"output_tokens": 1}, **at(1)),
            assistant("b", message_id="m1", usage=usage | {"output_tokens": 7}, **at(2)),
            assistant("c", message_id="m2", usage=usage | {"output_tokens": 5}, **at(3)),
        ],
    )
    tokens = next(agents([transcript])).tokens
    assert (tokens.tokens_in, tokens.tokens_out, tokens.cache_read, tokens.counted) == (
        200,
        12,
        1000,
        "calls",
    )


def test_no_secret_stands_in_what_a_sub_agent_was_for(tmp_path):
    key = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    file = write_lines(tmp_path / "s.jsonl", [started("t1", "Explore", f"Try {key}\nnow", 0)])
    assert [agent.description for agent in agents([file])] == ["Try [redacted:token] now"]


def test_a_fork_counts_no_sub_agent_twice(transcript, tmp_path):
    fork = tmp_path / "p" / "s2.jsonl"
    fork.write_bytes(transcript.read_bytes())
    assert len(list(agents([transcript, fork, tmp_path / "gone.jsonl"]))) == 5


def test_the_published_query_runs_on_what_is_written(transcript, tmp_path):
    file = tmp_path / "new" / "ledger.sqlite"
    assert agents_file.write(file, agents([transcript])) == 5
    with sqlite3.connect(file) as connection:
        assert connection.execute(SHELL).fetchall() == [("a1", 150000)]
    connection.close()
    assert [agent.id for agent in agents_file.read(file)] == ["a1", "a3", "a5", "t2", "t4"]
    assert file.stat().st_mode & 0o777 == 0o600 and len(list(file.parent.iterdir())) == 1


def test_a_ledger_of_another_program_is_only_read(tmp_path):
    file = tmp_path / "ledger.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE agents (id TEXT, dna TEXT, started_ts INTEGER, finished_ts INTEGER,"
                           " status TEXT, tokens_in INTEGER, tokens_out INTEGER)")  # fmt: skip
        connection.execute("INSERT INTO agents VALUES ('x', 'role::caps', 100, 160, 'merged', 120000, NULL)")
    connection.close()
    before = file.read_bytes()
    desk = make_desk(tmp_path / "home")
    row = desk.here("agents", "--ledger", str(file), "--over", "100000", "--json").json[0]
    assert (row["id"], row["agent_type"], row["duration_ms"], row["tokens"]["tokens_in"]) == (
        "x", "role::caps", 60_000, 120_000,
    )  # fmt: skip
    assert file.read_bytes() == before and sorted(path.name for path in tmp_path.iterdir()) == [
        "home",
        file.name,
    ]


def test_a_file_that_is_no_ledger_is_refused_and_none_is_written_over(transcript, tmp_path):
    desk = make_desk(tmp_path / "home")
    assert "can't be read as a ledger" in desk.here("agents", "--ledger", str(transcript), code=1).err
    done = desk.here("agents", "--dir", str(tmp_path), "--to", str(transcript), code=1)
    assert "is there already" in done.err


def test_sub_agents_become_tasks_once(transcript, tmp_path):
    desk = make_desk(tmp_path)
    projects = desk.project.parent / ".claude/projects"
    projects.mkdir(parents=True)
    transcript.parent.rename(projects / "shop")
    assert desk.here("journal", "update", "--json").json["tasks"] == 2
    assert desk.here("journal", "update", "--json").json["tasks"] == 0
    found = desk.here("task", "list", "--json").json
    assert [(row["name"], row["duration_s"], row["source"]) for row in found] == [
        ("Look around", 5, "sub-agent"),
        ("In the background", 9, "sub-agent"),
    ]

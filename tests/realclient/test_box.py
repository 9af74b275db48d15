"""The harness itself, with the client alone or a stand-in hook: it can see what the other tests look for."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.realclient.box import NotSealedError, OpenBox, require_sealed
from tests.realclient.scripted_api import MODEL, SESSION, STRUCTURED, Rule

pytestmark = pytest.mark.realclient

StandIn = Callable[[str, str], Path]
SCHEMA = '{"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}'
ASK = "claude -p --output-format json --tools '' --strict-mcp-config --max-turns 3 --json-schema "
ASK += shlex.quote(SCHEMA)
LOCKED = ASK + " --safe-mode --no-session-persistence"
WORD = Rule([{"tool": STRUCTURED, "input": {"word": "tabs"}}], kind=MODEL)


def test_turns_resume_one_session(open_box: OpenBox) -> None:
    machine = open_box(Rule(["Noted."], when="use tabs"))
    first = machine.headless("Please use tabs")
    second = machine.headless("And now?", resume=first.result["session_id"])
    assert [first.result["result"], second.result["result"]] == ["Noted.", "Done."]
    assert [path.stem for path in machine.transcripts()] == [first.result["session_id"]]
    assert "Please use tabs" in machine.journal.asked(SESSION)[-1].everything


def test_tool_calls_run_and_are_followed_up(open_box: OpenBox) -> None:
    call = {"tool": "Bash", "input": {"command": "echo hello > said.txt", "description": "say it"}}
    machine = open_box(Rule([call], when="say hello", after_tool=["Said."]))
    assert machine.headless("say hello").result["result"] == "Said."
    assert (machine.project / "said.txt").read_text("utf-8") == "hello\n"


def test_memory_index_reaches_the_next_session(open_box: OpenBox) -> None:
    machine = open_box()
    machine.memory.mkdir(parents=True)
    (machine.memory / "MEMORY.md").write_text("- [Tabs](tabs.md) — indent with tabs\n", encoding="utf-8")
    machine.headless("hello")
    assert "indent with tabs" in machine.journal.asked(SESSION)[0].everything


def test_stand_in_hook_fires_in_a_typed_session(open_box: OpenBox, stand_in: StandIn) -> None:
    machine = open_box(Rule(["Good day."], when="good morning"))
    plugin = stand_in("Stop", 'cat >> "$HOME/stopped"')
    with machine.terminal("--plugin-dir", str(plugin)) as terminal:
        terminal.type("good morning to you")
        terminal.shows("Good day.")
    fired = json.loads((machine.home / "stopped").read_text("utf-8"))
    assert fired["hook_event_name"] == "Stop"
    assert Path(fired["transcript_path"]) in machine.transcripts()


@pytest.mark.parametrize(("ask", "sessions"), [(ASK, 1), (LOCKED, 0)], ids=["careless", "locked"])
def test_nested_sessions_leave_traces_unless_locked(open_box: OpenBox, ask: str, sessions: int) -> None:
    machine = open_box(WORD)
    machine.run("sh", "-c", f"echo 'one word' | {ask}")
    assert [request.kind for request in machine.journal.asked()] == [MODEL]
    assert len(machine.transcripts()) == sessions


def test_a_hook_that_waits_for_the_model_delays_the_exit(open_box: OpenBox, stand_in: StandIn) -> None:
    machine = open_box(WORD)
    waiting = stand_in("Stop", f"cat > /dev/null; echo 'one word' | {LOCKED} > /dev/null")
    turn = machine.headless("hello", "--plugin-dir", str(waiting))
    reply = machine.journal.wait("reply", lambda noted: noted.detail["kind"] == MODEL)
    assert reply.number < turn.exit.number


def test_box_refuses_a_process_that_can_reach_more_than_loopback() -> None:
    with pytest.raises(NotSealedError, match="eth0"):
        require_sealed(["eth0", "lo"])


def test_inside_there_is_only_loopback(open_box: OpenBox) -> None:
    machine = open_box()
    seen = machine.run(sys.executable, "-c", "print(open('/proc/self/net/dev').read().count(':'))")
    assert seen == "1\n"

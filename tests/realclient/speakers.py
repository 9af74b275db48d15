"""Scenes in which a person, a program or a model decides about a tool use, played to the real client.

Each gives the transcript that the client wrote. `fixtures/speakers/` keeps them, shortened by `shortened`;
`tests/support/speakers.py` says what of each is a person's.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.realclient import relayed_words
from tests.realclient.box import Box, OpenBox
from tests.realclient.relayed_words import FORM, TOOLS, WORDS
from tests.realclient.scripted_api import PATIENCE, SESSION, Asked, Block, Rule

HOOKED = ("PreToolUse", "PermissionRequest", "PostToolUse", "Stop")
_RELAY = [sys.executable, relayed_words.__file__]


def _heard(prompt: str) -> str:
    """What the assistant says when the tool's result has come back."""
    return f"Heard of {prompt}."


def _uses(prompt: str, tool: str, given: dict[str, Any]) -> Rule:
    return Rule([{"tool": tool, "input": given}], when=prompt, after_tool=(_heard(prompt),))


def _bash(prompt: str, command: str) -> Rule:
    return _uses(prompt, "Bash", {"command": command, "description": "Run it"})


def _settings(box: Box, **settings: Any) -> None:
    (box.home / ".claude").mkdir(exist_ok=True)
    (box.home / ".claude" / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


def _answered(box: Box, times: int) -> None:
    """Wait until the session's requests have been answered so often."""

    def enough(_: object) -> bool:
        return sum(noted.detail["kind"] == SESSION for noted in box.journal.all("reply")) >= times

    box.journal.wait("reply", enough)


def _transcript(box: Box) -> Path:
    (found,) = box.transcripts()
    return found


def refusals(open_box: OpenBox) -> Path:
    """Refuse a command with a comment, a file with none, and add a comment to a command that may run."""
    box = open_box(
        _bash("clean up please", "touch build"),
        _uses("take a note", "Write", {"file_path": "notes.txt", "content": "x"}),
        _bash("one more time", "touch other"),
    )
    with box.terminal("--permission-mode", "default") as terminal:
        terminal.type("clean up please")
        terminal.shows("❯ 1. Yes")
        terminal.press_until("Up", "❯ 4. No")
        terminal.press_until("Tab", "tell Claude what to do differently")
        terminal.write("never touch build, use make clean")
        terminal.press_until("Enter", _heard("clean up please"))
        terminal.type("one more time")
        terminal.shows("❯ 1. Yes")
        terminal.press_until("Tab", "tell Claude what to do next")
        terminal.write("and then run the linter")
        terminal.press_until("Enter", _heard("one more time"))
        terminal.type("take a note")
        terminal.shows("❯ 1. Yes")
        terminal.press_until("Escape", "Rejected write")
    return _transcript(box)


def _plan(asked: Asked) -> list[Block]:
    """Write the plan into the file that the client named for it."""
    found = re.search(r"(/[^\s`'\"]*/plans/[\w-]+\.md)", asked.everything)
    assert found, asked.everything[-2000:]
    return [{"tool": "Write", "input": {"file_path": found[1], "content": "# Plan\n\n1. Move the parser\n"}}]


def plans(open_box: OpenBox) -> Path:
    """Refuse a plan with a comment, then approve it with one."""
    shown: tuple[Block, ...] = ({"tool": "ExitPlanMode", "input": {}},)
    box = open_box(Rule(_plan, when="plan it", after_tool=shown))
    played = 0
    with box.terminal("--permission-mode", "plan") as terminal:
        for prompt, comment, key in (
            ("plan it please", "keep the old name", "Enter"),
            ("plan it anew", "but name it tab", "BTab"),
        ):
            terminal.type(prompt)
            terminal.shows("Would you like to proceed?")
            terminal.press_until("Up", "❯ 3. Tell Claude")
            terminal.write(comment)
            terminal.press_past(key, "Would you like to proceed?")
            played += 3  # the prompt, the file written, the plan decided
            box.journal.wait("request", lambda _, least=played: len(box.journal.asked(SESSION)) >= least)  # type: ignore[misc]
            terminal.shows("Done.")
    return _transcript(box)


def forms(open_box: OpenBox) -> Path:
    """Answer a form in words of one's own."""
    box = open_box(_uses("ask me which", "AskUserQuestion", FORM))
    with box.terminal("--permission-mode", "default") as terminal:
        terminal.type("ask me which")
        terminal.shows("❯ 1. black")
        terminal.press_until("3", "❯ 3. ")
        terminal.write("yapf please")
        terminal.press_until("Enter", _heard("ask me which"))
    return _transcript(box)


def suggested(open_box: OpenBox) -> Path:
    """Choose otherwise in a form whose answer the model has put in, where a rule lets the form pass."""
    box = open_box(_uses("ask me which", "AskUserQuestion", relayed_words.ANSWERED))
    _settings(box, permissions={"allow": ["AskUserQuestion"]})
    with box.terminal("--permission-mode", "default") as terminal:
        terminal.type("ask me which")
        terminal.shows("❯ 1. black")
        # This dialog drops what comes within its first moments.
        terminal.press_until("2", _heard("ask me which"), seconds=2)
    return _transcript(box)


def server(open_box: OpenBox) -> Path:
    """Let a server return a person's refusal, answers and approval."""
    box = open_box(*(_uses(f"call {name} now", f"mcp__relay__{name}", {}) for name in TOOLS))
    _settings(box, permissions={"allow": ["mcp__relay"]})
    config = box.root / "servers.json"
    command, *arguments = [*_RELAY, "server"]
    servers = {"mcpServers": {"relay": {"command": command, "args": arguments}}}
    config.write_text(json.dumps(servers), encoding="utf-8")
    with box.terminal("--mcp-config", str(config)) as terminal:
        for number, name in enumerate(TOOLS, start=1):
            terminal.type(f"call {name} now")
            # The client may say something of its own behind the result, so what is answered is not sure.
            _answered(box, 2 * number)
    return _transcript(box)


def hooks(open_box: OpenBox) -> Path:
    """Let hooks block calls and the end of a turn with the words, and answer a form."""
    box = open_box(
        _bash("run the first", "echo before"),
        _bash("run the second", "touch asked"),
        _bash("run the third", "echo after"),
        _uses("ask me which", "AskUserQuestion", FORM),
        Rule(["Bye."], when="that is all"),
    )
    run = [{"hooks": [{"type": "command", "command": shlex.join([*_RELAY, "hook"])}]}]
    _settings(box, hooks=dict.fromkeys(HOOKED, run))
    with box.terminal("--permission-mode", "default") as terminal:
        for prompt in ("run the first", "run the second", "ask me which"):
            terminal.type(prompt)
            terminal.shows(_heard(prompt))
        terminal.type("run the third")
        terminal.shows("PostToolUse:Bash hook reported a problem")
        terminal.type("that is all")
        terminal.shows("Ran 1 stop hook")
    return _transcript(box)


PASTE = "\n".join(f"2026-03-02 09:00:{at:02d} ERROR line {at} of the log" for at in range(30))


def pasted(open_box: OpenBox) -> Path:
    """Paste a log behind a few typed words."""
    box = open_box(Rule(["As you say."]))
    with box.terminal() as terminal:
        terminal.write("what is wrong here:")
        terminal.paste(PASTE)
        terminal.shows("[Pasted text #1")
        terminal.press_until("Enter", "As you say.")
    return _transcript(box)


def host(open_box: OpenBox) -> Path:
    """Let a program that runs the client deny a call with the words."""
    box = open_box(_bash("clean up please", "touch build"))
    spoken = ("--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
    command = ["claude", "-p", *spoken, "--permission-prompt-tool", "stdio", "--permission-mode", "default"]
    prompt = {"type": "user", "message": {"role": "user", "content": "clean up please"}}
    with subprocess.Popen(
        command, cwd=box.project, env=box.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin and running.stdout
        print(json.dumps(prompt), file=running.stdin, flush=True)
        for line in running.stdout:
            told = json.loads(line)
            if told["type"] == "result":
                break
            if told["type"] == "control_request":
                denied = {"behavior": "deny", "message": WORDS}
                reply = {"subtype": "success", "request_id": told["request_id"], "response": denied}
                answer = {"type": "control_response", "response": reply}
                print(json.dumps(answer), file=running.stdin, flush=True)
        running.stdin.close()
        running.wait(PATIENCE)
    return _transcript(box)


SCENES: dict[str, Callable[[OpenBox], Path]] = {
    scene.__name__: scene for scene in (refusals, plans, forms, suggested, server, hooks, host, pasted)
}
_KEPT = ("user", "assistant", "queue-operation")
_ATTACHED = ("hook_blocking_error", "queued_command")
_LEFT_OUT = ("usage", "diagnostics", "context_management", "container", "stop_details")


def shortened(transcript: Path) -> list[dict[str, Any]]:
    """Return the records of a transcript in which somebody may speak, without paths of this machine."""
    text = transcript.read_text("utf-8")
    root = str(Path(re.search(r'"cwd":"([^"]+)"', text)[1]).parent)  # type: ignore[index]
    text = text.replace(root, "/home/dev").replace(relayed_words.__file__, "/home/dev/relay.py")
    text = text.replace(sys.executable, "python3")
    found = []
    for line in text.splitlines():
        record = json.loads(line)
        held = record.get("attachment") or {}
        if record["type"] not in _KEPT and held.get("type") not in _ATTACHED:
            continue
        message = record.get("message")
        if isinstance(message, dict):
            record["message"] = {name: value for name, value in message.items() if name not in _LEFT_OUT}
        found.append(record)
    return found

"""The hook before a tool's use: the rule about it, once a session, or nothing; never a word on permission."""

import json
import os
from typing import Any

import pytest

from pipeline.store import Store
from tests.support.recall import Desk
from tests.support.stores import memory, save

NPM = "Use pnpm in this project, never npm."
COMMIT = "Commit messages are in English and at most 50 characters long."


@pytest.fixture
def ruled(desk: Desk) -> Desk:
    """A project with rules of the person's, and the hook switched on."""
    desk.env["REVERIE_RECALL__BEFORE_TOOLS"] = "true"
    store = Store.open(desk.store, create=True)
    rule(store, "never-npm", NPM)
    rule(store, "commit-messages", COMMIT, type="workflow")
    rule(store, "legacy-stays", "Never edit anything in legacy/.", type="procedure")
    rule(store, "npm-cache", "The npm cache is on the big disk.", type="project")
    desk.index()
    return desk


def rule(store: Store, name: str, text: str, **values: Any) -> None:
    save(store, memory(name, description=text, body=f"{text}\n", **{"type": "feedback", **values}), id=name)


def bash(desk: Desk, command: str, **fields: Any) -> str:
    return desk.hook("PreToolUse", tool_name="Bash", tool_input={"command": command}, **fields)


def test_a_command_brings_the_rule_about_it_once_a_session(ruled: Desk) -> None:
    text = bash(ruled, "cd web && npm install left-pad")
    assert 'name="never-npm"' in text and NPM in text and 'by="the user"' in text
    assert "commit-messages" not in text and "npm-cache" not in text
    assert "run npm" not in text, "a moment is not shown"
    assert bash(ruled, "npm install") == ""
    assert bash(ruled, "npm install", session_id="s-2") == text
    line, other = ruled.session_lines()[0], ruled.session_lines("s-2")[0]
    assert (line["hook"], line["chars"], line["prompt"]) == ("PreToolUse", len(text), "")
    assert line["items"] == other["items"] and line["items"][0]["why"] == ["before: npm"]
    assert ruled.log() == []


def test_nothing_is_said_of_permission(ruled: Desk) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "npm i"}, "cwd": str(ruled.project)}
    printed = json.loads(ruled.run("PreToolUse", json.dumps({"session_id": "s", **call}).encode()))
    assert set(printed) == {"hookSpecificOutput", "systemMessage"}
    assert set(printed["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert printed["hookSpecificOutput"]["hookEventName"] == "PreToolUse"


@pytest.mark.parametrize("command", ["pnpm install", "git status", "cat legacy/a.go", "echo npm", "", "npmx"])
def test_most_commands_bring_nothing_and_leave_nothing(ruled: Desk, command: str) -> None:
    assert bash(ruled, command) == ""
    assert not (ruled.home / "recall").exists() and ruled.log() == []


@pytest.mark.parametrize("tool", ["Edit", "Write", "NotebookEdit"])
def test_a_file_brings_the_rule_about_its_folder(ruled: Desk, tool: str) -> None:
    key = "notebook_path" if tool == "NotebookEdit" else "file_path"

    def edit(path: str) -> str:
        return ruled.hook("PreToolUse", tool_name=tool, tool_input={key: f"{ruled.project}/{path}"})

    assert edit("src/legacy.go") == ""
    assert 'name="legacy-stays"' in edit("cmd/legacy/a.go")


def test_a_folder_above_the_project_is_no_place_in_it(ruled: Desk, tmp_path: Any) -> None:
    ruled.project = tmp_path / "legacy" / "project"
    ruled.project.mkdir(parents=True)
    rule(Store.open(ruled.store, create=True), "legacy-stays", "Never edit anything in legacy/.")
    ruled.index()
    given = {"file_path": f"{ruled.project}/a.go"}
    assert ruled.hook("PreToolUse", tool_name="Edit", tool_input=given) == ""
    given = {"file_path": f"{ruled.project}/legacy/a.go"}
    assert "legacy-stays" in ruled.hook("PreToolUse", tool_name="Edit", tool_input=given)


def test_what_a_prompt_brought_is_not_said_again(ruled: Desk) -> None:
    assert "commit-messages" in ruled.hook(prompt="write a commit message for the staged changes")
    assert bash(ruled, "git commit -m x") == ""
    assert "commit-messages" in bash(ruled, "git commit -m x", session_id="s-2")
    assert ruled.hook(prompt="write a commit message for the staged changes", session_id="s-2") == ""


def test_a_sub_agent_is_told_nothing(ruled: Desk) -> None:
    assert bash(ruled, "npm install", agent_id="a-1") == ""


@pytest.mark.parametrize(
    "env",
    [
        {"REVERIE_RECALL__BEFORE_TOOLS": "false"},
        {"REVERIE_RECALL__ENABLED": "false"},
        {"REVERIE_STORE__MODE": "observe"},
        {"REVERIE_RECALL__MEMORIES": "0"},
        {"REVERIE_RECALL__SESSION_CHARS": "10"},
        {"REVERIE_INSIDE": "1"},
    ],
    ids=str,
)
def test_it_can_be_switched_off(ruled: Desk, env: dict[str, str]) -> None:
    ruled.env.update(env)
    assert bash(ruled, "npm install") == "" and ruled.session_lines() == []


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"tool_name": "Bash"},
        {"tool_name": "Bash", "tool_input": []},
        {"tool_name": "Bash", "tool_input": {"command": 7}},
        {"tool_name": "Edit", "tool_input": {"file_path": None}},
        {"tool_name": "Bash", "tool_input": {"command": "npm \ud800 install\x00"}, "session_id": 7},
        {"tool_name": "Read", "tool_input": {"file_path": "/x/legacy/"}},
    ],
    ids=str,
)
def test_odd_input_is_survived_in_silence(ruled: Desk, fields: dict[str, Any]) -> None:
    payload = {"cwd": str(ruled.project), **fields}
    ruled.run("PreToolUse", json.dumps(payload).encode())
    assert ruled.log() == []


def test_a_file_that_only_says_that_a_person_said_it_brings_nothing(desk: Desk) -> None:
    desk.env["REVERIE_RECALL__BEFORE_TOOLS"] = "true"
    desk.write("never-npm", NPM, NPM, type="feedback", origin="user-stated")
    desk.index()
    assert bash(desk, "npm install") == ""


@pytest.mark.parametrize(("origin", "shown"), [("user-confirmed", True), ("assistant-inferred", False)])
def test_a_guess_of_claudes_is_no_rule(ruled: Desk, origin: str, shown: bool) -> None:
    rule(Store.open(ruled.store), "no-wget", "Never use `wget`.", type="workflow", origin=origin)
    ruled.index()
    assert bool(bash(ruled, "wget x")) is shown


def test_a_rule_edited_by_hand_or_gone_since_the_index_is_not_told(ruled: Desk) -> None:
    (ruled.store / "never-npm.md").unlink()
    (file,) = ruled.store.rglob("commit-messages*.md")
    file.write_text(file.read_text("utf-8") + "Always.\n", "utf-8")
    assert bash(ruled, "npm install") == bash(ruled, "git commit") == ""


def test_a_damaged_index_is_logged_and_the_tool_goes_on(ruled: Desk) -> None:
    ruled.index_file().write_bytes(b"no database at all" * 100)
    assert bash(ruled, "npm install") == ""
    assert ruled.log()[0].startswith("PreToolUse: no rule is looked up")


def test_without_an_index_nothing_is_said(ruled: Desk) -> None:
    os.unlink(ruled.index_file())
    assert bash(ruled, "npm install") == "" and ruled.log() == []


def test_the_launcher_passes_it_on(ruled: Desk) -> None:
    call = {"tool_name": "Bash", "tool_input": {"command": "npm i"}}
    assert NPM in ruled.hook("PreToolUse", launcher=True, **call)


# -- the prompt's side -----------------------------------------------------------------------------------

ORDERS = {
    "write a commit message for the staged changes": "commit-messages",
    "run npm install": "never-npm",
    "edit legacy/foo.go so that it compiles": "legacy-stays",
}


@pytest.mark.parametrize("prompt", ORDERS)
def test_an_order_brings_the_rule_about_it(ruled: Desk, prompt: str) -> None:
    text = ruled.hook(prompt=prompt)
    assert f'name="{ORDERS[prompt]}"' in text and text.count("<recollection") == 1


@pytest.mark.parametrize(
    "prompt", ["does the npm test in CI cost much?", "the commit hook failed", "list the legacy names"]
)
def test_a_mention_brings_none(ruled: Desk, prompt: str) -> None:
    assert ruled.hook(prompt=prompt) == ""


def test_an_order_finds_a_rule_that_is_newer_than_the_index(ruled: Desk) -> None:
    rule(Store.open(ruled.store), "no-migrations-friday", "No new migrations on a Friday.")
    assert "no-migrations-friday" in ruled.hook(prompt="create a migration for the new column")

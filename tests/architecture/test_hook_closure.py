"""What a hook loads, as the interpreter tells it of a real run: a person waits for each of these modules.

What `python -I -S` loads by itself is left out. A module that is missing here is either put off, replaced by
something cheaper, or added on purpose: it costs every prompt.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipeline.recall.prepared.hook_state import note_config
from tests.support.recall import HOOKS, NOW, Desk

CAPTURE = {"__future__", "fcntl", "select", "spooling", "start_worker"}
REGULAR_EXPRESSIONS = {
    *("_collections", "_functools", "_operator", "_sre", "collections", "copyreg", "enum", "functools"),
    *("itertools", "keyword", "operator", "re", "re._casefix", "re._compiler", "re._constants"),
    *("re._parser", "reprlib", "types"),
}
HOOKLIB = {"pipeline", "pipeline.hooklib"} | {
    f"pipeline.hooklib.{name}"
    for name in (
        *("claude_settings", "digests", "events", "home_files", "jsonish", "ownership", "places", "plain"),
        *("projects", "settings", "times", "zone"),
    )
}
RECALL = {
    *(CAPTURE | REGULAR_EXPRESSIONS | HOOKLIB),
    *("recall", "pipeline.recall", "pipeline.recall.live"),
    *(
        f"pipeline.recall.live.{name}"
        for name in ("announced", "fence", "hook", "person", "project", "session_file", "values")
    ),
    *("pipeline.hooklib.memory_format", "pipeline.safety", "pipeline.safety.invisible"),
    "pipeline.safety.markup",
    *("_bisect", "_json", "binascii", "bisect"),
}
START = RECALL | {
    f"pipeline.recall.live.{name}" for name in ("session_budget", "session_sections", "session_start")
}
PROMPT = {
    *RECALL,
    *(
        f"pipeline.recall.live.{name}"
        for name in (
            "anchors",
            "candidates",
            "orders",
            "overruled",
            "question",
            "rank",
            "retrieval",
            "spoken",
        )
    ),
    *(f"pipeline.text.{name}" for name in ("action_words", "actions", "file_patterns", "shell")),
    *("pipeline.recall.live.overruled", "pipeline.recall.live.spoken", "pipeline.recall.live.store_files"),
    "pipeline.text.overruling",
    *("pipeline.hooklib.host_commands", "pipeline.search", "pipeline.search.index_reader"),
    *("pipeline.hooklib.asleep", "pipeline.search.meaning"),
    *("pipeline.text", "pipeline.text.pasted", "pipeline.text.scripts", "pipeline.text.tokens"),
    *("_sha256", "_sha2", "_sqlite3", "math", "unicodedata"),
}
TOOL = {
    *(CAPTURE | REGULAR_EXPRESSIONS | HOOKLIB),
    *("recall", "pipeline.recall", "pipeline.recall.live", "pipeline.recall.live.hook"),
    *("pipeline.recall.live.before_tool", "pipeline.recall.live.store_files"),
    *("pipeline.hooklib.memory_format", "pipeline.search", "pipeline.search.index_reader", "pipeline.text"),
    *(f"pipeline.text.{name}" for name in ("actions", "file_patterns", "scripts", "shell", "tokens")),
    *("_json", "_sha256", "_sha2", "_sqlite3", "unicodedata"),
}
"""Before a tool that no rule is about: nearly every use of one."""
STATUS = CAPTURE | REGULAR_EXPRESSIONS | HOOKLIB | {"_json", "pipeline.hooklib.statusline"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A project with a memory and its index."""
    desk = Desk(tmp_path)
    desk.write("staging-deploys", "Deploy to staging with make ship.", "Needs the vpn.")
    desk.index()
    return desk


def run(cwd: Path, *command: str, payload: bytes = b"") -> tuple[set[str], str]:
    """Run Python on `command` as the host does; return the modules it imports and what it prints."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", *command],
        input=payload,
        env={**os.environ, "REVERIE_NOW": NOW},
        cwd=cwd, capture_output=True, timeout=60, check=True,
    )  # fmt: skip
    lines = done.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if "|" in line}, done.stdout.decode()


def loaded(cwd: Path, hook: str, event: str = "", **fields: Any) -> tuple[set[str], str]:
    """Run a hook; return what it loads, the interpreter's own left out, and what it prints."""
    own, _ = run(cwd, "-c", "import os")
    payload = {"session_id": "s-1", "cwd": str(cwd), "hook_event_name": event, **fields}
    modules, printed = run(cwd, str(HOOKS / hook), event, payload=json.dumps(payload).encode())
    return modules - own, printed


def test_the_capture_hook_loads_nothing_of_ours(desk: Desk) -> None:
    modules, printed = loaded(desk.project, "capture.py", "Stop")
    assert printed == "" and list((desk.home / "spool").iterdir())
    assert modules - CAPTURE == set()


def test_a_prompt_that_is_answered_loads_what_is_listed(desk: Desk) -> None:
    modules, printed = loaded(
        desk.project, "recall.py", "UserPromptSubmit", prompt="how do we deploy to staging?"
    )
    assert "make ship" in printed and "pipeline.search.index_reader" in modules
    assert modules - PROMPT == set()


def test_a_tool_that_no_rule_is_about_loads_what_is_listed(desk: Desk) -> None:
    (desk.home / "config.toml").write_text("[recall]\nbefore_tools = true\n", "utf-8")
    note_config(desk.home)
    desk.write("ask-first", "Never push without asking.", type="feedback")
    desk.index()
    call = {"tool_name": "Bash", "tool_input": {"command": "git status"}}
    modules, printed = loaded(desk.project, "recall.py", "PreToolUse", **call)
    assert printed == "" and "pipeline.recall.live.before_tool" in modules
    assert modules - TOOL == set()


@pytest.mark.parametrize("source", ["startup", "compact"])
def test_a_sessions_start_loads_what_is_listed(desk: Desk, source: str) -> None:
    loaded(desk.project, "recall.py", "UserPromptSubmit", prompt="how do we deploy to staging?")
    modules, _ = loaded(desk.project, "recall.py", "SessionStart", source=source)
    assert "pipeline.recall.live.session_start" in modules
    assert modules - START == set()


def test_the_status_line_loads_what_is_listed(desk: Desk) -> None:
    modules, printed = loaded(desk.project, "statusline.py")
    assert printed.strip() and "pipeline.hooklib.statusline" in modules
    assert modules - STATUS == set()

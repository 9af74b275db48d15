"""Sessions whose every event was counted by hand, and the journals of a home that the recipes read.

`ONE` mixes both shapes of line in one file; `TWO` is Claude Code's own; `OLD` has the flat shape only.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.support.transcripts import assistant, tool_use, user, write_lines

ONE = "0a5e1c10-1111-4111-8111-111111111111"
TWO = "1b6f2d20-2222-4222-8222-222222222222"
OLD = "2c703e30-3333-4333-8333-333333333333"
FOUR = "3d814f40-4444-4444-8444-444444444444"
LONG_COMMAND = "cd shop\nmake " + "x" * 200


def stamped(session: str, at: str, uuid: str, record: dict[str, Any]) -> dict[str, Any]:
    """Return `record` in the envelope of a line of Claude Code's."""
    return {
        "parentUuid": None,
        "sessionId": session,
        "cwd": "/home/dev/shop",
        "gitBranch": "main",
        "uuid": uuid,
        "timestamp": at,
        **record,
    }


def result(tool_id: str, content: Any, **extra: Any) -> dict[str, Any]:
    """Return a tool_result block."""
    return {"type": "tool_result", "tool_use_id": tool_id, "content": content, **extra}


def one() -> list[Any]:
    """Return the lines of `ONE`: eleven, of which two hold two events each."""
    return [
        stamped(ONE, "2026-04-24T23:59:00.000Z", "u1", user("Run the audit of the shop.")),
        stamped(
            ONE,
            "2026-04-24T23:59:05.000Z",
            "u2",
            assistant([tool_use("Bash", {"command": "ls -la"}, "t1")]),
        ),
        stamped(ONE, "2026-04-24T23:59:06.500Z", "u3", user([result("t1", "total 0")])),
        stamped(
            ONE,
            "2026-04-25T00:00:10.311Z",
            "u4",
            assistant(
                [
                    {"type": "text", "text": "Both at once."},
                    tool_use("Bash", {"command": "make test"}, "t2"),
                    tool_use("Read", {"file_path": "/home/dev/shop/a.py"}, "t3"),
                ]
            ),
        ),
        stamped(
            ONE,
            "2026-04-25T00:00:12.000Z",
            "u5",
            user(
                [
                    result("t2", "Permission denied, try again", is_error=True),
                    result("t3", [{"type": "text", "text": "# again: retry the worktree, it failed"}]),
                ],
                toolUseResult="Error: Permission denied",
            ),
        ),
        stamped(ONE, "2026-04-25T00:01:00.000Z", "u6", user("Stop doing that, try again later.")),
        stamped(ONE, "2026-04-25T00:01:05.000Z", "u7", assistant("Sorry, I will not retry.")),
        {"ts": 1777075200, "kind": "tool_use", "tool": "Bash", "is_error": False, "message": "ls"},
        {
            "ts": 1777075260,
            "kind": "tool_result",
            "tool": "Read",
            "file_path": "/home/dev/shop/b.py",
            "is_error": True,
            "message": "no such file",
        },
        {"type": "summary", "summary": "An audit", "leafUuid": "u7"},
        stamped(
            ONE,
            "2026-04-25T01:30:00+02:00",
            "u8",
            assistant([tool_use("Bash", {"command": LONG_COMMAND}, "t4")]),
        ),
    ]


def two() -> list[Any]:
    """Return the lines of `TWO`: a prompt, a call and its result."""
    return [
        stamped(TWO, "2026-05-01T08:00:00.000Z", "v1", user("Where are we?")),
        stamped(
            TWO,
            "2026-05-01T08:00:02.000Z",
            "v2",
            assistant([tool_use("Bash", {"command": 'echo "hi"', "description": "Say hi"}, "w1")]),
        ),
        stamped(TWO, "2026-05-01T08:00:03.000Z", "v3", user([result("w1", "hi")])),
    ]


def old() -> list[Any]:
    """Return the lines of `OLD`: five flat ones, of which three say their class."""
    return [
        {"ts": 1700000000, "kind": "tool_use", "tool": "Read", "file_path": "/a", "message": "x"},
        {"ts": 1700000001, "kind": "tool_result", "tool": "Read", "file_path": "/a", "message": "x"},
        {"ts": 1700000002, "kind": "other", "event_class": "worktree_error", "message": "worktree failed"},
        {"ts": 1700000003, "kind": "other", "event_class": "user_correction", "message": "опять"},
        {"ts": 1700000004, "kind": "tool_use", "tool": "Edit", "event_class": "tool_use:Edit", "message": ""},
    ]


CLASSES = {
    "tool_use:Bash": 5,
    "user": 2,
    "tool_result": 4,
    "assistant": 1,
    "tool_use:Read": 2,
    "tool_error:Bash": 1,
    "tool_error:Read": 1,
    "user_correction": 2,
    "summary": 1,
    "worktree_error": 1,
    "tool_use:Edit": 1,
}
"""How often each class is in the three sessions, counted by hand."""
TASKS = [
    {"kind": "task", "name": "audit-shop", "start_epoch": 1, "end_epoch": 11, "duration_s": 10},
    {"kind": "task", "name": "audit-rules", "start_epoch": 20, "end_epoch": 50, "duration_s": 30},
    {"kind": "task", "name": "wave10-audit", "start_epoch": 60, "end_epoch": 80, "duration_s": 20},
    {"kind": "task", "name": "wave10-split", "start_epoch": 90, "end_epoch": 96, "duration_s": 6},
    {"kind": "stop", "name": "audit-shop", "start_epoch": 1, "end_epoch": 500, "duration_s": 499, "exit": 0},
]
SESSIONS = [
    {"kind": "session", "id": ONE, "start_epoch": 1, "end_epoch": 112, "duration_s": 111},
    {"kind": "session", "id": TWO, "start_epoch": 5, "end_epoch": 8, "duration_s": 3},
    {"kind": "session", "id": OLD, "start_epoch": 5, "end_epoch": 9, "duration_s": 4},
]
AGENTS = [("small", 10, 20), ("large", 90_000, 20_000), ("one-sided", 150_000, None)]


def transcripts(projects: Path) -> list[Path]:
    """Write the three sessions where Claude Code keeps them."""
    folder = projects / "-home-dev-shop"
    return [
        write_lines(folder / f"{name}.jsonl", lines)
        for name, lines in ((ONE, one()), (TWO, two()), (OLD, old()))
    ]


def with_agent(projects: Path) -> Path:
    """Write one more session, in which a sub-agent took five seconds and 150,000 tokens."""
    asked = {"subagent_type": "Explore", "description": "Look around", "prompt": "?"}
    outcome = {"agentId": "a1", "totalDurationMs": 5000, "totalTokens": 150_000, "totalToolUseCount": 4}
    lines = [
        stamped(FOUR, "2026-05-02T08:00:00.000Z", "x1", assistant([tool_use("Task", asked, "y1")])),
        stamped(
            FOUR,
            "2026-05-02T08:00:05.000Z",
            "x2",
            user([result("y1", "seen")], toolUseResult=outcome | {"usage": {"output_tokens": 800}}),
        ),
    ]
    return write_lines(projects / "-home-dev-shop" / f"{FOUR}.jsonl", lines)


def journals(claude: Path) -> None:
    """Write journals and an agents' ledger in the documented shape into the folder `claude`."""
    metrics = claude / "memory" / "time-metrics"
    for name, rows in (("tasks", TASKS), ("sessions", SESSIONS)):
        write_lines(metrics / f"{name}.jsonl", [{**row, "ts": "2026-04-29T04:57:45Z"} for row in rows])
    (claude / "agents").mkdir(parents=True)
    with closing(sqlite3.connect(claude / "agents" / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("CREATE TABLE agents (id TEXT PRIMARY KEY, tokens_in INTEGER, tokens_out INTEGER)")
        ledger.executemany("INSERT INTO agents VALUES (?, ?, ?)", AGENTS)


def rows_of(text: str | bytes) -> list[dict[str, Any]]:
    """Return the lines of an export."""
    return [json.loads(line) for line in text.splitlines()]

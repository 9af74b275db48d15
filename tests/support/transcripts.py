"""Builders of Claude Code transcripts for tests.

``Transcript`` chains records by parentUuid, five seconds apart, with ids that are the same in every run.
The plain functions make one record each; ``write_lines`` puts any mix of them into a file.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

Record = dict[str, Any]

SESSION = "6f1d2a50-0b1e-4c57-9a30-0d5c1b7e4a01"
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file). "
)
REFUSED_BARE = REFUSED + "STOP what you are doing and wait for the user to tell you how to proceed."
REFUSED_SAID = REFUSED + "To tell you how to proceed, the user said:\n"


def user(content: Any, **extra: Any) -> Record:
    """Return a user record; `content` is text or a list of blocks."""
    return {"type": "user", "message": {"role": "user", "content": content}, **extra}


def assistant(content: Any, **extra: Any) -> Record:
    """Return an assistant record; text becomes one text block. ``message_id``/``usage`` go inside."""
    message: Record = {
        "id": extra.pop("message_id", None),
        "type": "message",
        "role": "assistant",
        "model": extra.pop("model", "claude-sonnet-4-5"),
        "content": [{"type": "text", "text": content}] if isinstance(content, str) else content,
        "stop_reason": None,
        "usage": extra.pop("usage", {"input_tokens": 10, "output_tokens": 5}),
    }
    if message["id"] is None:
        del message["id"]
    return {"type": "assistant", "message": message, **extra}


def attachment(kind: str, **fields: Any) -> Record:
    """Return an attachment record of subtype `kind`."""
    return {"type": "attachment", "attachment": {"type": kind, **fields}}


def tool_use(name: str, tool_input: Record, tool_id: str = "toolu_1") -> Record:
    """Return a tool_use block."""
    return {"type": "tool_use", "id": tool_id, "name": name, "input": tool_input}


def tool_result(content: Any, tool_id: str = "toolu_1", **extra: Any) -> Record:
    """Return a user record that carries one tool result; ``is_error`` goes into the block."""
    block: Record = {"type": "tool_result", "tool_use_id": tool_id, "content": content}
    if extra.pop("is_error", False):
        block["is_error"] = True
    return user([block], **extra)


def enqueue(text: str, **extra: Any) -> Record:
    """Return a queue-operation record of a prompt typed while the assistant worked; it has no uuid."""
    return {"type": "queue-operation", "operation": "enqueue", "content": text, **extra}


def encode(record: Any) -> bytes:
    """Return one line's bytes, newline included; bytes pass unchanged, so a test can write anything."""
    if isinstance(record, bytes):
        return record
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def write_lines(path: Path, records: Iterable[Any], *, append: bool = False) -> Path:
    """Write `records` to `path`, one a line, making its folder; return `path`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab" if append else "wb") as out:
        for record in records:
            out.write(encode(record))
    return path


class Transcript:
    """A session under construction. Each speaking method adds records and returns the last one's uuid."""

    def __init__(
        self,
        session_id: str = SESSION,
        cwd: str = "/home/dev/shop",
        start: str = "2026-03-02T09:00:00Z",
        *,
        step_seconds: float = 5.0,
        entrypoint: str = "cli",
    ) -> None:
        self.session_id = session_id
        self.cwd = cwd
        self.entrypoint = entrypoint
        self.now = datetime.fromisoformat(start).astimezone(UTC)
        self.step = timedelta(seconds=step_seconds)
        self.records: list[Any] = []
        self.parent: str | None = None
        self._made = 0

    def _id(self, word: str) -> str:
        self._made += 1
        raw = hashlib.sha256(f"{self.session_id}/{word}/{self._made}".encode()).digest()[:16]
        return str(uuid.UUID(bytes=raw, version=4))

    def stamp(self) -> str:
        """Return the present time of the session and move it on by one step."""
        text = self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self.now += self.step
        return text

    def add(self, record: Record) -> str:
        """Chain `record` behind the last one: fill in what it lacks of the envelope; return its uuid."""
        envelope: Record = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session_id,
            "version": "2.1.119",
            "gitBranch": "main",
            "entrypoint": self.entrypoint,
            "uuid": self._id(str(record["type"])),
            "timestamp": self.stamp(),
        }
        whole = {**envelope, **record}
        self.records.append(whole)
        self.parent = str(whole["uuid"])
        return self.parent

    def raw(self, record: Any) -> None:
        """Add `record` (or bytes) as it stands, outside the chain."""
        self.records.append(record)

    def user(self, text: Any, **extra: Any) -> str:
        """Add a prompt typed by the person."""
        return self.add(user(text, **extra))

    def assistant(self, text: Any, **extra: Any) -> str:
        """Add assistant prose (or a list of blocks)."""
        extra.setdefault("message_id", f"msg_{self._made + 1:04d}")
        return self.add(assistant(text, **extra))

    def tool(self, name: str, tool_input: Record | None = None, result: Any = "ok", **extra: Any) -> str:
        """Add a tool use and its result; `extra` goes to the result record."""
        tool_id = f"toolu_{self._made + 1:04d}"
        self.assistant([tool_use(name, tool_input or {}, tool_id)])
        return self.add(tool_result(result, tool_id, **extra))

    def queued(self, text: str, **extra: Any) -> str:
        """Add a prompt typed while the assistant worked, as newer clients keep it."""
        return self.add(attachment("queued_command", prompt=text, commandMode="prompt", **extra))

    def enqueue(self, text: str) -> None:
        """Add a queue operation, which is all that older clients keep of such a prompt."""
        self.raw(enqueue(text, timestamp=self.stamp(), sessionId=self.session_id))

    def queue(self, operation: str) -> None:
        """Add a queue operation without content: ``dequeue`` or ``remove``."""
        self.raw(
            {
                "type": "queue-operation",
                "operation": operation,
                "timestamp": self.stamp(),
                "sessionId": self.session_id,
            }
        )

    def answer(self, question: str, answer: str, options: Iterable[str] = ("Yes", "No")) -> str:
        """Add an AskUserQuestion with the person's answer."""
        asked = {
            "question": question,
            "header": "Choice",
            "multiSelect": False,
            "options": [{"label": label, "description": ""} for label in options],
        }
        said = f'User has answered your questions: "{question}"="{answer}". You can now continue.'
        outcome = {"questions": [asked], "answers": {question: answer}}
        return self.tool("AskUserQuestion", {"questions": [asked]}, said, toolUseResult=outcome)

    def refusal(self, comment: str = "", tool: str = "Bash", tool_input: Record | None = None) -> str:
        """Add a tool use the person rejected, with what they typed (empty: nothing)."""
        text = REFUSED_SAID + comment if comment else REFUSED_BARE
        return self.tool(tool, tool_input, text, is_error=True, toolUseResult=f"Error: {text}")

    def slash(self, command: str, args: str = "") -> str:
        """Add a slash command with its arguments; `command` is without the slash."""
        return self.user(
            f"<command-message>{command}</command-message>\n<command-name>/{command}</command-name>\n"
            f"<command-args>{args}</command-args>"
        )

    def compact(self, summary: str) -> str:
        """Add a compaction: the boundary, then the summary the client writes as a user record."""
        before = self.parent
        self.add(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "parentUuid": None,
                "logicalParentUuid": before,
                "compactMetadata": {"trigger": "auto", "preTokens": 150000},
            }
        )
        text = f"This session is being continued from a previous conversation.\n\n{summary}"
        return self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)

    def sidechain(self, prompt: str, reply: str = "done") -> str:
        """Add a subagent's exchange; the main chain goes on from where it was."""
        before = self.parent
        self.add(user(prompt, isSidechain=True, agentId="a1", parentUuid=None))
        self.add(assistant(reply, isSidechain=True, agentId="a1"))
        self.parent = before
        return before or ""

    def gap(self, minutes: float) -> None:
        """Let `minutes` pass."""
        self.now += timedelta(minutes=minutes)

    def rewind(self, to: str | None) -> None:
        """Make the next record hang on the record `to`, as when the person edits an earlier prompt."""
        self.parent = to

    def lines(self) -> bytes:
        """Return the file's bytes."""
        return b"".join(encode(record) for record in self.records)

    def write(self, path: Path) -> Path:
        """Write the session to `path`, or to ``<session>.jsonl`` inside it when it is a folder."""
        target = path / f"{self.session_id}.jsonl" if path.is_dir() else path
        return write_lines(target, self.records)

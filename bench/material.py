"""Makes what the benches read: transcripts with the mix of lines real ones have, and stores of memories.

The shares and sizes are those counted over some 211,000 lines of public transcripts: for each prompt about
twelve tool calls with their results, seven thoughts, six texts and twenty progress lines; a tool result
takes 11 KB, its text standing there twice, an assistant's line 1.5 KB. Everything is the same in each run.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

TEXT = """
the build of parser fails when a token crosses two lines so we keep the rest for later and test it again with
release notes from config key value cache worker index return import self path None def class if not in error
line file read write open close session memory prompt model reply schema query order table
"""
WORDS = TEXT.split()
CODE = ("    def ", "return ", '"name": ', "if key is None:", "# ", "self.", "import ", "raise ", "assert ")
TYPES = ("user", "feedback", "project", "reference")


def prose(chance: random.Random, size: int) -> str:
    """Return about `size` characters of sentences."""
    words: list[str] = []
    while size > 0:
        words.append(chance.choice(WORDS))
        size -= len(words[-1]) + 1
    return " ".join(words)


def code(chance: random.Random, size: int) -> str:
    """Return about `size` characters of lines that look like a program's."""
    lines: list[str] = []
    while size > 0:
        lines.append(chance.choice(CODE) + prose(chance, chance.randrange(10, 70)))
        size -= len(lines[-1]) + 1
    return "\n".join(lines)


def _size(chance: random.Random, mean: int) -> int:
    """Return a size with a long tail, as sizes have: most are small, a few very large."""
    return int(min(20 * mean, mean * chance.lognormvariate(-0.5, 1.0)))


class Session:
    """A session's records in file order; `turn` gives those of one prompt and all that follows it."""

    def __init__(self, seed: int = 7) -> None:
        self.chance = random.Random(seed)
        self.session = self._id()
        self.parent: str | None = None
        self.now = datetime(2026, 3, 2, 9, tzinfo=UTC)
        # Made once and cut from, since making text takes longer than writing it.
        self.code = code(self.chance, 400_000)
        self.prose = prose(self.chance, 100_000)

    def _id(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128), version=4))

    def _cut(self, text: str, mean: int) -> str:
        size = _size(self.chance, mean)
        start = self.chance.randrange(max(1, len(text) - size))
        return text[start : start + size]

    def record(self, kind: str, **fields: Any) -> dict[str, Any]:
        self.now += timedelta(seconds=self.chance.randrange(1, 9))
        made = {
            "parentUuid": self.parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/dev/shop",
            "sessionId": self.session,
            "version": "2.1.119",
            "gitBranch": "main",
            "type": kind,
            **fields,
            "uuid": self._id(),
            "timestamp": self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        self.parent = str(made["uuid"])
        return made

    def assistant(self, block: dict[str, Any]) -> dict[str, Any]:
        message = {
            "model": "claude-opus-4-5",
            "id": f"msg_{self.chance.getrandbits(64):x}",
            "type": "message",
            "role": "assistant",
            "content": [block],
            "stop_reason": None,
            "usage": {"input_tokens": 9, "cache_read_input_tokens": 41_000, "output_tokens": 120},
        }
        return self.record("assistant", message=message, requestId=f"req_{self.chance.getrandbits(64):x}")

    def _tool(self) -> Iterator[dict[str, Any]]:
        call = f"toolu_{self.chance.getrandbits(64):x}"
        given = {"command": self._cut(self.code, 500), "description": self._cut(self.prose, 60)}
        yield self.assistant({"type": "tool_use", "id": call, "name": "Bash", "input": given})
        for number in range(self.chance.choice((0, 1, 1, 2, 4))):
            data = {"type": "bash_progress", "output": self._cut(self.code, 1_400), "elapsed": number}
            yield self.record("progress", data=data, toolUseID=call, parentToolUseID=call)
        output = self._cut(self.code, 5_000)
        block = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": False}
        result = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        yield self.record("user", message={"role": "user", "content": [block]}, toolUseResult=result)

    def turn(self) -> Iterator[dict[str, Any]]:
        """Yield the records of one turn, some 57 of them and 190 KB."""
        yield {
            "type": "file-history-snapshot",
            "messageId": self._id(),
            "snapshot": {"trackedFileBackups": {}},
        }
        yield self.record("user", message={"role": "user", "content": self._cut(self.prose, 160)})
        for number in range(12):
            if number % 2:
                thought = {"type": "thinking", "thinking": "", "signature": self._cut(self.prose, 900)}
                yield self.assistant(thought)
                yield self.assistant({"type": "text", "text": self._cut(self.prose, 400)})
            yield from self._tool()
        yield self.assistant({"type": "text", "text": self._cut(self.prose, 1_200)})
        yield self.record("system", subtype="turn_duration", durationMs=81_000, isMeta=False)


def encode(records: Iterator[dict[str, Any]]) -> bytes:
    """Return records as the lines of a transcript."""
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def write_transcript(path: Path, megabytes: float, session: Session | None = None) -> Session:
    """Write a transcript of that size to `path`; return its session, whose next turns can follow."""
    session = session or Session()
    left = int(megabytes * 1_000_000)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as out:
        while left > 0:
            left -= out.write(encode(session.turn()))
    return session

"""Claude at work in a memory folder: files as its client leaves them, and the transcript that tells of it.

    claude = Claude(bench)
    claude.hears("we deploy from the release branch")
    claude.writes("deploys", "Deploys go out from the release branch.")
    claude.edits("deploys", "release", "stable")
    claude.read()                  # what the worker does: the transcript into the ledger

The client stamps the front matter and says in the result of a call what it left in the file.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pipeline.config import Settings
from pipeline.core.clock import Clock
from pipeline.intake.ingest import ingest_file
from pipeline.ledger import Ledger
from tests.support.transcripts import Transcript, assistant, tool_result, tool_use, write_lines


def stamped(name: str, text: str, session: str, at: datetime, kind: str = "project") -> str:
    """A memory file as the client writes it."""
    return (
        f"---\nname: {name}\ndescription: {text.split('. ')[0].rstrip('.')[:120]}\nmetadata:\n"
        f"  node_type: memory\n  type: {kind}\n  originSessionId: {session}\n  modified: {stamp(at)}\n"
        f"---\n\n{text}\n"
    )


def stamp(at: datetime) -> str:
    """A time as the client writes it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def patch(before: str, after: str) -> list[dict[str, Any]]:
    """The client's account of a change, with three lines around it."""
    old, new = before.split("\n"), after.split("\n")
    hunks = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines: list[str] = []
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [f" {line}" for line in old[i1:i2]]
            else:
                lines += [f"-{line}" for line in old[i1:i2]] + [f"+{line}" for line in new[j1:j2]]
        hunks.append({"oldStart": group[0][1] + 1, "newStart": group[0][3] + 1, "lines": lines})
    return hunks


@dataclass
class Claude:
    """One session in which the client writes in the folder `root`; the clock moves with each step."""

    ledger: Ledger
    root: Path
    clock: Clock
    session: str = "c1a0de00-0000-4000-8000-000000000001"
    talk: Transcript = field(init=False)
    _told: int = 0

    def __post_init__(self) -> None:
        start = self.clock.now().isoformat()
        self.talk = Transcript(self.session, start=start, step_seconds=1.0)

    @property
    def transcript(self) -> Path:
        return self.root.parent / f"{self.session}.jsonl"

    def hears(self, text: str) -> None:
        self.talk.user(text)

    def writes(self, name: str, text: str, *, kind: str = "project", raw: str | None = None) -> Path:
        """Let the Write tool make or replace ``<name>.md``."""
        file = self.root / f"{name}.md"
        asked = f"---\nname: {name}\nmetadata:\n  type: {kind}\n---\n\n{text}\n" if raw is None else raw
        at = self.talk.now + timedelta(milliseconds=40)
        left = stamped(name, text, self.session, at, kind) if raw is None else raw
        before = file.read_text("utf-8") if file.exists() else None
        kind_of = "create" if before is None else "update"
        told = {"type": kind_of, "filePath": str(file), "content": left, "originalFile": before}
        self._call("Write", {"file_path": str(file), "content": asked}, told)
        put(file, left, at)
        return file

    def edits(self, name: str, old: str, new: str) -> Path:
        """Let the Edit tool put `new` in the place of `old`."""
        file = self.root / f"{name}.md"
        before, at = file.read_text("utf-8"), self.talk.now + timedelta(milliseconds=40)
        assert old in before
        left = restamped(before.replace(old, new, 1), at)
        told = {"filePath": str(file), "originalFile": before, "structuredPatch": patch(before, left)}
        given = {"file_path": str(file), "old_string": old, "new_string": new}
        self._call("Edit", given, {**told, "userModified": False})
        put(file, left, at)
        return file

    def fails(self, tool: str, given: dict[str, Any]) -> None:
        """Let a call be refused: nothing is written."""
        self._call(tool, given, "Error: refused", is_error=True)

    def read(self) -> None:
        """Take the transcript into the ledger."""
        write_lines(self.transcript, self.talk.records[self._told :], append=bool(self._told))
        self._told = len(self.talk.records)
        ingest_file(
            self.ledger,
            self.transcript,
            key=self.transcript.name,
            settings=Settings(),
            clock=self.clock,
            quiet=True,
            asked_for=True,
        )

    def _call(self, tool: str, given: dict[str, Any], told: Any, **block: Any) -> None:
        tool_id = f"toolu_{self.session[-4:]}_{len(self.talk.records):04d}"
        self.talk.add(assistant([tool_use(tool, given, tool_id)]))
        self.talk.add(tool_result("done", tool_id, toolUseResult=told, **block))


def restamped(text: str, at: datetime) -> str:
    """`text` with the client's stamp brought up to date, where there is one."""
    lines = [
        f"  modified: {stamp(at)}" if line.startswith("  modified: ") else line for line in text.split("\n")
    ]
    return "\n".join(lines)


def put(file: Path, text: str | bytes, at: datetime) -> None:
    """Write `file` at the time `at`."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    os.utime(file, (at.timestamp(), at.timestamp()))

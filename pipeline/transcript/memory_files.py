"""What the assistant wrote into memory files: calls of tools, once their results say they were done.

A call is one record, its result a later one. A call that failed or was refused changes nothing and is told
nowhere. The result has what was written: the client stamps a memory file's front matter, so the bytes on the
disk are those of the result, and of the call only where an older client does not tell.
"""

from __future__ import annotations

import re
from typing import Any

from pipeline.core.ids import text_digest
from pipeline.domain.authorship import NEW
from pipeline.domain.speech import TOUCHING, MemoryWrite
from pipeline.safety.late import late
from pipeline.transcript.tools import is_memory_path, may_be_memory

SAVED = "memory_saved"
"""Stands for the tool where the client tells only that its own extraction wrote the file."""
_MARKDOWN = late(r"\.md\Z", re.IGNORECASE)
_LONGEST_PATH = 4096
_MOST_OPEN = 64


class OpenWrites:
    """The calls that would write a markdown file and have no result yet, by id, the oldest first."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, str, str, str | None, object]] = {}

    @property
    def any_open(self) -> bool:
        """Whether a call waits for its result: most sessions write no markdown file."""
        return bool(self._open)

    def waits_for(self, tool_id: str) -> bool:
        """Say whether that call may have written a markdown file and has no result yet."""
        return tool_id in self._open

    def begin(self, blocks: list[Any], uuid: str, at: str | None) -> None:
        """Take in the calls of an assistant's record `uuid`, made at `at`."""
        for block in blocks:
            name = block.get("name") if isinstance(block, dict) else None
            if not isinstance(name, str) or name not in TOUCHING:
                continue
            given, tool_id = block.get("input"), block.get("id")
            path = given.get("file_path") if isinstance(given, dict) else None
            if not isinstance(tool_id, str) or not isinstance(path, str) or not isinstance(given, dict):
                continue
            if len(path) > _LONGEST_PATH or "\0" in path or not _MARKDOWN.search(path):
                continue
            whole = given.get("content") if name == "Write" else None
            self._open[tool_id] = (path, uuid, name, at, whole)
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]

    def end(self, record: dict[str, Any], blocks: list[Any], until: str | None) -> tuple[MemoryWrite, ...]:
        """Return what the results in a person's record, `blocks` of it, say was written; forget those calls.

        `until` is when the record was written.
        """
        results = [b for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result"]
        found = []
        for result in results:
            tool_id = result.get("tool_use_id")
            begun = self._open.pop(tool_id, None) if isinstance(tool_id, str) else None
            if begun is None or result.get("is_error"):
                continue
            # A record with several results has one object for all of them, which then tells of none.
            outcome = record.get("toolUseResult") if len(results) == 1 else None
            if isinstance(outcome, str):
                continue  # The text of an error, or of a refusal.
            path, uuid, tool, at, whole = begun
            held = outcome if isinstance(outcome, dict) else {}
            if is_memory_path(path) or may_be_memory(path) or held.get("memdirStamped") is True:
                text = _written(held, whole)
                left = "" if text is None else text_digest(text)
                changed = held.get("userModified") is True
                found.append(MemoryWrite(path, uuid, tool, at, until, left, _before(held), changed))
        return tuple(found)


def _before(held: dict[str, Any]) -> str:
    """Return the digest of what the file held before, `NEW` where there was none, "" where nobody tells."""
    original = held.get("originalFile")
    if isinstance(original, str):
        return text_digest(original)
    return NEW if held.get("type") == "create" else ""


def _written(held: dict[str, Any], whole: object) -> str | None:
    """Return the whole text that a call left in its file, None where that can't be told."""
    content, original = held.get("content"), held.get("originalFile")
    if isinstance(content, str):
        return content
    if isinstance(original, str):
        return patched(original, held.get("structuredPatch"))
    return whole if isinstance(whole, str) and "structuredPatch" not in held else None


def patched(original: str, hunks: object) -> str | None:
    """Return `original` with the client's `hunks` applied, None where one does not fit it."""
    if not isinstance(hunks, list) or not hunks:
        return None
    lines = original.split("\n")
    shift = 0
    for hunk in hunks:
        if not isinstance(hunk, dict) or not isinstance(hunk.get("oldStart"), int):
            return None
        marked = hunk.get("lines")
        if not isinstance(marked, list) or not all(isinstance(line, str) for line in marked):
            return None
        old = [line[1:] for line in marked if line[:1] in (" ", "-")]
        new = [line[1:] for line in marked if line[:1] in (" ", "+")]
        start = max(hunk["oldStart"] - 1, 0) + shift
        if lines[start : start + len(old)] != old:
            return None
        lines[start : start + len(old)] = new
        shift += len(new) - len(old)
    return "\n".join(lines)

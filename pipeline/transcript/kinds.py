"""Telling other programs' files from Claude Code's transcripts, so that none is mis-read as speech.

Such files turn up under the same names (real-material §4.20). Only the beginning is looked at.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from pipeline.core.errors import InputError

_CODEX = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
_STREAM = frozenset({"stream_event", "rate_limit_event"})
_FIX = "Name a .jsonl session file of Claude Code."


def _of_record(record: dict[str, Any]) -> str:
    """Return the kind a first record gives away, or ""."""
    kind = record.get("type")
    if not isinstance(kind, str):
        kind = ""
    if kind in _CODEX and "payload" in record:
        return "a Codex rollout"
    if kind in _STREAM or (kind == "system" and record.get("subtype") == "init"):
        return "the stream-json output of claude -p"
    if "projectHash" in record and "messages" in record:
        return "a Gemini CLI session"
    return ""


def _kind(start: bytes) -> str:
    """Return what a file beginning with `start` is instead of a transcript, or ""."""
    if start.startswith(b"SQLite format 3\0"):
        return "an SQLite database"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b"\0 \t\r\n")
    first, newline, _ = text.partition(b"\n")
    if newline and first.strip() in (b"{", b"["):
        return "a pretty-printed JSON document, perhaps a Gemini CLI session"
    try:
        record = orjson.loads(first)
    except ValueError:
        return "a file without a single JSON object" if newline and text and b"{" not in text else ""
    return _of_record(record) if isinstance(record, dict) else ""


def refuse_other_formats(start: bytes, path: Path) -> None:
    """Raise InputError naming the kind if `start`, a file's first bytes, shows that it is no transcript."""
    kind = _kind(start)
    if kind:
        raise InputError(f"{kind}, not a transcript of Claude Code", file=str(path), fix=_FIX)

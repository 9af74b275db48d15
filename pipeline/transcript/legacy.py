"""Flat trace lines of an older tool: ``ts``, ``kind``, ``tool``, ``message`` (seed 1, K-07, K-08).

They may stand in one file with Claude Code's own records, so each line is decided for itself.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pipeline.core.clock import parse_time

KINDS = frozenset({"tool_use", "tool_result", "other"})


def is_legacy(record: dict[str, Any]) -> bool:
    """Say whether `record` is a flat trace line."""
    kind = record.get("kind")
    return "type" not in record and isinstance(kind, str) and kind in KINDS and "ts" in record


def moment(record: dict[str, Any]) -> datetime | None:
    """Return when the line was written: ``ts`` is in epoch seconds."""
    seconds = record.get("ts")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return parse_time(seconds)
    if not 0 <= seconds < 253_000_000_000:
        return None
    return parse_time(datetime.fromtimestamp(seconds, UTC))


def words(record: dict[str, Any]) -> str:
    """Return a person's words: only a line the older tool classed as the user's own counts.

    Any other message may be a tool's or the assistant's; the line does not say.
    """
    message, classed = record.get("message"), record.get("event_class")
    if record.get("kind") != "other" or record.get("tool") or record.get("is_error"):
        return ""
    if not isinstance(classed, str) or not classed.startswith("user"):
        return ""
    return message if isinstance(message, str) else ""

"""Traces as files that need no program of ours: a record a line, compact, without secrets.

Plain, a line is the transcript's own record. Annotated, there is a line for each event, which begins with its
class (awk counts by the text ``"event_class":"``) and has, where the event has them, the flat shape's
``tool``, ``file_path`` and ``is_error``; session and time stand in every line that has any, the time in UTC.
The transcript itself is only read (K-C1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC
from typing import Any

import orjson

from pipeline.core.clock import parse_time
from pipeline.formats.keisei.classes import Classified, classify, strict_counts
from pipeline.formats.keisei.events import Event
from pipeline.record import changing, field
from pipeline.safety.structured import Cleaner, json_text
from pipeline.transcript.records import text_field

_TOOL_BLOCKS = ("tool_use", "tool_result")


@changing
class Tally:
    """What was exported of one trace."""

    lines: int = 0
    calls: int = 0
    errors: int = 0
    classes: dict[str, int] = field(default_factory=dict)


def lines(
    events: Iterable[Event],
    cleaner: Cleaner,
    *,
    annotated: bool = False,
    strict: bool = False,
    tally: Tally | None = None,
) -> Iterator[bytes]:
    """Yield the lines of an export, newlines included, one after another as `events` come."""
    counted = Tally() if tally is None else tally
    for event in events:
        if strict and not strict_counts(event):
            continue
        if not annotated and event.number:
            continue
        if event.typed:
            cleaner.learn(event.typed)
        found = classify(event, strict=strict)
        _count(counted, event, found)
        yield _encoded(cleaner.value(_annotated(event, found) if annotated else event.record))


def _count(tally: Tally, event: Event, found: Classified) -> None:
    tally.lines += 1
    tally.calls += event.role == "tool_use"
    tally.errors += event.is_error
    tally.classes[found.label] = tally.classes.get(found.label, 0) + 1


def _encoded(value: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(value) + b"\n"
    except TypeError:
        return json_text(value).encode() + b"\n"


def _annotated(event: Event, found: Classified) -> dict[str, Any]:
    """Return the record of `event` with what it says of the event, class first."""
    record = event.record
    added: dict[str, Any] = {"event_class": found.label}
    if found.cues:
        added["event_cues"] = list(found.cues)
    if event.block or event.number:
        added["event_block"] = event.block
    if event.role:
        added |= {"tool": event.tool} if event.tool else {}
        added |= {"file_path": event.path} if event.path else {}
        added["is_error"] = event.is_error
    if not (text_field(record, "sessionId") or text_field(record, "session_id")):
        added["sessionId"] = event.session
    stamp = _stamp(event)
    if stamp:
        added["timestamp"] = stamp
    return {**added, **{name: value for name, value in _own(event).items() if name not in added}}


def _stamp(event: Event) -> str:
    """Return the line's own time in UTC with a Z, "" where it stands so in the record or there is none.

    As texts, times compare like times only if all are in one zone and one form (K-C3).
    """
    written = text_field(event.record, "timestamp") or ""
    if written.endswith("Z") and not event.flat:
        return ""
    moment = parse_time(written)
    if event.flat and event.at_ms is not None and "ts" in event.record:
        moment = parse_time(event.at)
    if moment is None:
        return ""
    parts = "milliseconds" if moment.microsecond else "seconds"
    return moment.astimezone(UTC).isoformat(timespec=parts).replace("+00:00", "Z")


def _own(event: Event) -> dict[str, Any]:
    """Return the record; of a line with several events what belongs to this one, words with the first."""
    record, message = event.record, event.record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not event.role or not isinstance(content, list) or not isinstance(message, dict):
        return record
    kept = [
        block
        for number, block in enumerate(content)
        if number == event.block or (event.number == 0 and not _is_of_tool(block))
    ]
    if len(kept) == len(content):
        return record
    whole = {**record, "message": {**message, "content": kept}}
    if event.number:
        whole.pop("toolUseResult", None)
    return whole


def _is_of_tool(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _TOOL_BLOCKS

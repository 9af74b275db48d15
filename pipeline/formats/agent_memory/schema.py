"""What a memory of agent-memory is: its fields, their limits, its line, and what may be filled in.

Records are plain mappings in the order in which they are written, so that fields of others stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from pipeline.core.clock import iso
from pipeline.core.ids import derived_id, new_id
from pipeline.formats.agent_memory.errors import invalid

Record = dict[str, Any]
CORE, LEARNING, TASK = "core", "learning", "task"
KINDS = (CORE, LEARNING, TASK)
IMPORTANCES = ("high", "medium", "low")
COMPLETED, IN_PROGRESS, BLOCKED = "completed", "in-progress", "blocked"
STATUSES = (COMPLETED, IN_PROGRESS, BLOCKED)
TIMES = ("created_at", "updated_at", "accessed_at")
MOST_CHARACTERS = 5_000
MOST_CATEGORY = 50
MOST_TAGS = 10
MOST_TAG_CHARACTERS = 30
MOST_LINE = 10_240
"""Bytes of a line without its break; 5,000 characters may take more, so both are counted."""
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", re.IGNORECASE)
_ORDER = (
    *("id", "type", "content", "category", "created_at", "updated_at", "accessed_at"),
    *("access_count", "tags", "importance", "archived", "task_metadata"),
)


def stamp(moment: datetime) -> str:
    """Return ``2026-01-01T10:00:00Z``, with milliseconds where there are any."""
    whole = moment.astimezone(UTC)
    spec = "milliseconds" if whole.microsecond else "seconds"
    return whole.isoformat(timespec=spec).replace("+00:00", "Z")


def moment_of(value: object) -> datetime | None:
    """Return the moment that a field names; None where it names none or has no zone."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def is_id(value: object) -> bool:
    """Whether `value` is a UUID of version 4."""
    return isinstance(value, str) and _UUID4.fullmatch(value) is not None


def made(
    kind: str,
    content: str,
    *,
    now: datetime,
    category: str | None = None,
    tags: Iterable[str] = (),
    importance: str = "medium",
    task_metadata: Mapping[str, Any] | None = None,
    ident: str = "",
) -> Record:
    """Return a new memory. Raises AgentMemoryError, INVALID_INPUT, for what is none."""
    at = stamp(now)
    record: Record = {"id": ident or new_id(), "type": kind, "content": content}
    if category:
        record["category"] = category
    record |= {"created_at": at, "updated_at": at, "accessed_at": at, "access_count": 0}
    record |= {"tags": list(dict.fromkeys(tags)), "importance": importance, "archived": False}
    given = dict(task_metadata or {})
    if kind == TASK and not given and category in STATUSES:
        given = {"status": category}
    if given:
        record["task_metadata"] = settled_task(given, now)
    require_sound(record)
    return record


def settled_task(given: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return task metadata in which what its status calls for is there: when it ended, what blocks it."""
    meta = {key: value for key, value in given.items() if value is not None}
    if meta.get("status") == COMPLETED:
        meta.setdefault("completed_at", stamp(now))
    else:
        meta.pop("completed_at", None)
    if meta.get("status") == BLOCKED:
        meta.setdefault("blockers", [])
    else:
        meta.pop("blockers", None)
    return meta


def require_sound(record: Record) -> bytes:
    """Return the line of `record` without its break. Raises INVALID_INPUT for what may not be written."""
    wrong = list(faults(record))
    if wrong:
        raise invalid("; ".join(wrong))
    line = line_of(record)
    if len(line) > MOST_LINE:
        raise invalid(
            f"the line would have {len(line):,} bytes, and a line has at most {MOST_LINE:,}",
            "Write less, or as two memories: letters beyond ASCII take two to four bytes each.",
        )
    return line


def line_of(record: Record) -> bytes:
    """Return `record` as one minified line, UTF-8, without its break."""
    try:
        return orjson.dumps({**{key: record[key] for key in _ORDER if key in record}, **record})
    except (TypeError, orjson.JSONEncodeError) as error:
        raise invalid(f"it can't be written as JSON: {error}") from error


def faults(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a memory by the schema."""
    if not is_id(record.get("id")):
        yield "id is a UUID of version 4"
    kind = record.get("type")
    if kind not in KINDS:
        yield f"type is one of {', '.join(KINDS)}"
    content = record.get("content")
    if not isinstance(content, str) or not content.strip():
        yield "content is a text that is not empty"
    elif len(content) > MOST_CHARACTERS:
        yield f"content has at most {MOST_CHARACTERS:,} characters, not {len(content):,}"
    category = record.get("category")
    if category is not None and (not isinstance(category, str) or len(category) > MOST_CATEGORY):
        yield f"category is a text of at most {MOST_CATEGORY} characters"
    yield from _faults_of_use(record)
    yield from _faults_of_tags(record.get("tags"))
    if record.get("importance") not in IMPORTANCES:
        yield f"importance is one of {', '.join(IMPORTANCES)}"
    if type(record.get("archived")) is not bool:
        yield "archived is true or false"
    if record.get("task_metadata") is not None:
        yield from _faults_of_task(record["task_metadata"], kind)


def _faults_of_use(record: Mapping[str, Any]) -> Iterator[str]:
    for name in TIMES:
        if moment_of(record.get(name)) is None:
            yield f"{name} is an ISO 8601 time with its zone"
    if not _is_count(record.get("access_count")):
        yield "access_count is a whole number of at least 0"


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _faults_of_tags(tags: object) -> Iterator[str]:
    if not isinstance(tags, list) or not all(isinstance(tag, str) and tag.strip() for tag in tags):
        yield "tags is a list of texts"
    elif len(tags) > MOST_TAGS:
        yield f"there are at most {MOST_TAGS} tags, not {len(tags)}"
    elif any(len(tag) > MOST_TAG_CHARACTERS for tag in tags):
        yield f"a tag has at most {MOST_TAG_CHARACTERS} characters"


def _faults_of_task(meta: object, kind: object) -> Iterator[str]:
    if kind != TASK:
        yield "only a task has task_metadata"
        return
    if not isinstance(meta, dict):
        yield "task_metadata is an object"
        return
    status = meta.get("status")
    if status not in STATUSES:
        yield f"task_metadata.status is one of {', '.join(STATUSES)}"
    if status == COMPLETED and moment_of(meta.get("completed_at")) is None:
        yield "task_metadata.completed_at is a time with its zone where the status is completed"
    blockers = meta.get("blockers", [] if status != BLOCKED else None)
    if not isinstance(blockers, list) or not all(isinstance(text, str) for text in blockers):
        yield "task_metadata.blockers is a list of texts where the status is blocked"
    if not isinstance(meta.get("outcome", ""), str):
        yield "task_metadata.outcome is a text"


def corrected(record: Mapping[str, Any], kind: str, raw: bytes, now: datetime) -> tuple[Record, list[str]]:
    """Return `record` with what is missing filled in, and which fields that were.

    Only defaults are filled in: no text is cut and no id that is there is changed.
    """
    found, fixed = dict(record), []

    def put(name: str, value: Any) -> None:
        found[name] = value
        fixed.append(name)

    if "id" not in found:
        put("id", derived_id("agent-memory", raw.decode("utf-8", "replace")))
    if "type" not in found:
        put("type", kind)
    for name, value in _times(found, now):
        put(name, value)
    if not _is_count(found.get("access_count")):
        put("access_count", 0)
    if found.get("tags") is None:
        put("tags", [])
    if found.get("importance") not in IMPORTANCES:
        put("importance", "medium")
    if type(found.get("archived")) is not bool:
        put("archived", False)
    meta = _whole_task(found.get("task_metadata"), moment_of(found["updated_at"]) or now)
    if meta is not None:
        put("task_metadata", meta)
    return found, fixed


def _whole_task(meta: object, at: datetime) -> dict[str, Any] | None:
    """Return task metadata with what was missing in it, None where nothing can be filled in."""
    if not isinstance(meta, dict) or meta.get("status") not in STATUSES:
        return None
    whole = settled_task(meta, at)
    return {**meta, **whole} if {*whole} - {*meta} else None


def _times(record: Record, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield the times that are missing or have no zone, each made of the nearest that is there."""
    known = [record[name] for name in TIMES if moment_of(record.get(name)) is not None]
    for name in TIMES:
        value = record.get(name)
        if moment_of(value) is None:
            yield name, _with_zone(value) or (known[0] if known else stamp(now))


def _with_zone(value: object) -> str:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return ""
    return iso(moment.replace(tzinfo=UTC)).replace("+00:00", "Z") if moment else ""

"""One memory of ours as one of agent-memory's, and back: what both have, and where the rest of each is kept.

What agent-memory has and we don't (tier, category, the exact time it was made) stands in our front matter
under ``agent_memory``; what we have and it doesn't (type, title, description, exact importance, steps) in its
line under ``reverie``. Sources, relations, anchors and former names are ours alone. Tier, category,
importance, tags and task are those of `fields`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from pipeline.core.clock import iso, parse_time
from pipeline.core.ids import derived_id
from pipeline.domain.memory import HUMAN_ONLY, MAX_DESCRIPTION, Memory
from pipeline.domain.sentences import folded, sentences
from pipeline.formats.agent_memory import fields, schema
from pipeline.formats.agent_memory.fields import OURS, THEIRS, kept_of
from pipeline.formats.agent_memory.schema import TASK, Record, stamp
from pipeline.hooklib.plain import one_line
from pipeline.safety.redaction import redact
from pipeline.store.files.described import description_after
from pipeline.store.files.frontmatter_schema import first_line
from pipeline.text.slugs import slugify

_MOST_TITLE = 70
_MARK = re.compile(r"\[redacted:[^\]\n]*\]")
_LEFT_OUT = "(a secret was left out)"
SHARED = ("type", "content", "category", "tags", "importance", "task_metadata")
"""The fields by which two memories are compared."""


def ident_of(ident: str) -> str:
    """Return the id by which a memory of ours is known there: its own where that is a UUID of version 4."""
    return ident.lower() if schema.is_id(ident) else derived_id("agent-memory", ident)


def shared(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of `record` by which it is compared, in one form."""
    found = {name: record[name] for name in SHARED if record.get(name)}
    found["content"] = found["content"].strip()
    meta = found.get("task_metadata")
    if meta:
        at = parse_time(meta.get("completed_at"))
        found["task_metadata"] = {**meta, **({"completed_at": iso(at)} if at else {})}
        found["task_metadata"] = {key: value for key, value in found["task_metadata"].items() if value}
    return found


_TEXTS = ("content", "category", "tags", "task_metadata")
"""The fields of a record in which a secret can stand."""


# -- out ----------------------------------------------------------------------------------------------


def record_of(memory: Memory, used: Mapping[str, Any], now: datetime) -> Record:
    """Return `memory` as agent-memory has it, without secrets; `used` is what our store counted of it.

    Whether it fits is for `schema.require_sound` to say: no text is cut. Tags that don't fit stay out.
    """
    kind = fields.tier_of(memory)
    created, updated = memory.created or now, memory.updated or memory.created or now
    exact = parse_time(kept_of(memory).get("created_at"))
    made = stamp(exact if exact and iso(exact) == iso(created) else created)
    record: Record = {
        "id": ident_of(memory.id),
        "type": kind,
        "content": memory.body.strip(),
        "created_at": made,
        "updated_at": stamp(updated),
        "accessed_at": stamp(parse_time(used.get("last_accessed")) or updated),
        "access_count": _count(used.get("access_count")),
        "tags": list(fields.tags_of(memory)),
        "importance": fields.word_of(memory.importance),
        "archived": False,
    }
    category = fields.category_of(memory)
    record |= {"category": category} if category else {}
    meta = fields.task_of(memory) if kind == TASK else {}
    record |= {"task_metadata": meta} if meta else {}
    return {
        **record,
        **_clean({name: record[name] for name in _TEXTS if name in record}),
        THEIRS: _clean(_ours_alone(memory)),
    }


def holds_secret(memory: Memory) -> bool:
    """Whether something is left out of `memory` where it goes out."""
    texts = [memory.whole_text, memory.name, memory.outcome, *memory.tags, *memory.blockers]
    return any(redact(text).found for text in texts if text)


def _count(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _ours_alone(memory: Memory) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": memory.type,
        "name": memory.name,
        "title": memory.title,
        "description": memory.description,
        "importance": memory.importance,
        "confidence": memory.confidence,
        "status": memory.status,
        "steps": list(memory.steps),
        "preconditions": list(memory.preconditions),
        "postconditions": list(memory.postconditions),
    }
    return {key: value for key, value in found.items() if value not in ("", [])}


# -- in -----------------------------------------------------------------------------------------------


def memory_of(record: Record) -> Memory:
    """Return `record` as a memory of ours that was imported, its secrets taken out.

    It is nobody's word: a type that only a person's words bear out becomes that of a project's fact.
    """
    given = record.get(THEIRS)
    more: dict[str, Any] = _clean(given) if isinstance(given, dict) else {}
    kind = fields.type_of(record, more.get("type"))
    kind = fields.plain_type(record["type"]) if kind in HUMAN_ONLY else kind
    content = _clean(record["content"]).strip()
    title = _text(more, "title")
    description = one_line(_text(more, "description"), MAX_DESCRIPTION) or first_line(content)
    kept = {"tier": record["type"], "created_at": record["created_at"]}
    kept |= {"category": _clean(record["category"])} if record.get("category") else {}
    memory = Memory(
        name=slugify(_text(more, "name") or title or description),
        description=description,
        type=kind,
        body=f"{content}\n",
        id=record["id"],
        title=title,
        tags=tuple(_clean(record["tags"])),
        importance=fields.importance_of(record["importance"], more.get("importance")),
        confidence=_share(more.get("confidence"), 0.8),
        created=parse_time(record["created_at"]),
        updated=parse_time(record["updated_at"]),
        origin="imported",
        extra={OURS: kept},
    )
    if kind == "procedure":
        memory = replace(
            memory,
            steps=_texts(more, "steps"),
            preconditions=_texts(more, "preconditions"),
            postconditions=_texts(more, "postconditions"),
        )
    return _with_task(memory, record, _text(more, "status"))


def changed_by(memory: Memory, record: Record, now: datetime) -> Memory:
    """Return `memory` with what `record` says otherwise; what only we have stays."""
    wanted = memory_of(record)
    kept = kept_of(wanted)
    values: dict[str, Any] = {"updated": now, "extra": {**memory.extra, OURS: {**kept_of(memory), **kept}}}
    if "category" not in kept:
        values["extra"][OURS].pop("category", None)
    if wanted.body.strip() != memory.body.strip():
        values["body"] = wanted.body
        values |= _of_body(memory, wanted.body)
    fitting = fields.tags_of(memory)
    if wanted.tags != fitting:
        values["tags"] = (*wanted.tags, *(tag for tag in memory.tags if tag not in fitting))
    if fields.word_of(memory.importance) != record["importance"]:
        values["importance"] = fields.WORTH[record["importance"]]
    return _with_task(replace(memory, **values), record, memory.status)


def _of_body(memory: Memory, body: str) -> dict[str, Any]:
    """Return title and description for a new `body`: what was made of the former text and isn't in it."""
    new = {sentence.folded for sentence in sentences(body)}
    values: dict[str, Any] = {"description": description_after(memory, body)}
    start = folded(memory.title.rstrip("….,;: "))
    old = [sentence.folded for sentence in sentences(memory.body)]
    if start and any(text.startswith(start) for text in old) and not any(t.startswith(start) for t in new):
        values["title"] = one_line(first_line(body), _MOST_TITLE).rstrip(".,;:")
    return values


def _with_task(memory: Memory, record: Record, status: str) -> Memory:
    """Return `memory` with the task metadata of `record`; a word of ours that means the same stays."""
    if memory.type != TASK:
        return memory
    found = fields.task_values(record, status)
    return replace(memory, **{name: _clean(value) for name, value in found.items()})


def _share(value: object, otherwise: float) -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if fits and isinstance(value, int | float) else otherwise


def _text(more: Mapping[str, Any], name: str) -> str:
    value = more.get(name)
    return value if isinstance(value, str) else ""


def _texts(more: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = more.get(name)
    return tuple(text for text in value if isinstance(text, str)) if isinstance(value, list) else ()


def _clean(value: Any) -> Any:
    """Return `value` without secrets in its texts: in a memory of ours not even their mark may stand."""
    if isinstance(value, str):
        return _MARK.sub(_LEFT_OUT, redact(value).text)
    if isinstance(value, dict):
        return {key: _clean(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(_clean(part) for part in value)
    return [_clean(part) for part in value] if isinstance(value, list) else value

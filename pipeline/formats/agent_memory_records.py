"""agent-memory as a format: each line of its three files a memory, written under its own lock.

What its own fields say of a memory is what they say in the mirror of a store (`agent_memory.fields`). What
its schema has no field for stands in one more, ``reverie``, as far as the line has room; where a person
changed what both say, the fields of its own count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.clock import iso
from pipeline.core.errors import InputError
from pipeline.core.ids import new_id
from pipeline.domain.memory import TYPES, Memory
from pipeline.formats.agent_memory import AgentMemory, fields, schema
from pipeline.formats.agent_memory.fields import CATEGORY, LONG_AGO, THEIRS
from pipeline.formats.agent_memory.layout import FILES
from pipeline.formats.agent_memory.options import load
from pipeline.formats.agent_memory.reading import Content, bytes_of, read
from pipeline.formats.agent_memory.schema import KINDS, TASK, Record
from pipeline.formats.carried import Carried, Plain, Reading, Written, require
from pipeline.hooklib.front_matter import text_of, texts_of
from pipeline.store.files.document import front_of
from pipeline.store.files.frontmatter_schema import first_line, to_memory

_LEAVING = ("sources", "replaces", "cues", "aliases", "relations", "anchors")
"""What leaves a line first that would be too long."""
_SHOWN = ("type", "importance", "tags", "status", "completed_at", "blockers", "outcome", "created", "updated")
"""Keys of front matter that the schema's own fields say, too."""


class AgentMemoryRecords(Plain):
    """A folder of agent-memory."""

    name = "agent-memory"
    about = "a folder with core_memories.jsonl, learnings.jsonl and tasks.jsonl"

    def read(self, path: Path) -> Reading:
        """Return the live memories of the folder at `path`; what is archived stays where it is."""
        require(path, folder=True)
        seen = Reading(rest={})
        for kind in KINDS:
            file = path / FILES[kind]
            if not file.is_file():
                continue
            seen.files[file] = bytes_of(file)
            content = seen.rest[kind] = read(file)
            for line in content.lines:
                if line.trouble:
                    seen.fault(file.name, line.number, line.why)
                if line.record is not None:
                    memory = decoded(line.record)
                    seen.records.append(
                        Carried(memory, line.record["id"], file.name, line.number, line.record)
                    )
        if not seen.files:
            raise InputError(
                "there is no file of agent-memory in it",
                file=str(path),
                fix="`reverie agent-memory init` makes them.",
            )
        return seen

    def there_and_back(self, memory: Memory) -> Memory:
        """Return what of `memory` is read again once it was written."""
        return decoded(orjson.loads(orjson.dumps(encoded(memory, None))))

    def why_not(self, memory: Memory) -> str:
        """Return why `memory` can't be written: its text is too long, or its id none of the format's."""
        wrong = list(schema.faults(encoded(memory, None)))
        if not wrong and len(schema.line_of(encoded(memory, None))) > schema.MOST_LINE:
            wrong = [f"a line has at most {schema.MOST_LINE:,} bytes"]
        return "; ".join(wrong)

    def write(self, path: Path, records: Sequence[Carried], gone: Collection[str], seen: Reading) -> Written:
        """Plan the files with `records` in them; other lines stay byte for byte, readable or not."""
        held: dict[str, Content] = seen.rest or {}
        wanted = {item.key: encoded(item.memory, item.raw) for item in records if item.key}
        fresh = [encoded(item.memory, None) for item in records if not item.key]
        files: dict[Path, bytes | None] = {}
        for kind in KINDS:
            content, file = held.get(kind), path / FILES[kind]
            before = _lines(content)
            lines = [
                raw if ident not in wanted else schema.require_sound(wanted[ident])
                for ident, raw in before
                if ident is None or ident not in gone
            ]
            lines += [schema.require_sound(item) for item in fresh if item["type"] == kind]
            number = len(lines)
            if number > load(path).most(kind) and number > len(before):
                raise InputError(
                    f"{file.name} would have {number:,} memories, over its limit",
                    file=str(file),
                    fix="`reverie agent-memory archive` makes room.",
                )
            if lines != [raw for _, raw in before]:
                files[file] = b"".join(line + b"\n" for line in lines)
        new = iter(item["id"] for item in fresh)
        return Written(files, [item.key or next(new) for item in records])

    @contextmanager
    def saving(self, path: Path) -> Iterator[None]:
        """Hold the folder's own lock, and make its index anew at the end."""
        folder = AgentMemory(path)
        with folder.writer():
            yield
            folder = AgentMemory(path)
        folder.rebuild()


def _lines(content: Content | None) -> list[tuple[str | None, bytes]]:
    """Return id and bytes of each line, None for one that counts for no memory."""
    found = content.lines if content is not None else []
    return [(line.record["id"] if line.record is not None else None, line.raw) for line in found]


def encoded(memory: Memory, base: Record | None) -> Record:
    """Return the line of `memory`: a new one, or `base` with what differs replaced."""
    if base is not None:
        return _onto(memory, base)
    tier, category = fields.tier_of(memory), fields.category_of(memory)
    created = memory.created or memory.updated or LONG_AGO
    record: Record = {
        "id": memory.id or new_id(),
        "type": tier,
        "content": memory.body.strip("\n"),
        **({CATEGORY: category} if category else {}),
        "created_at": schema.stamp(created),
        "updated_at": schema.stamp(memory.updated or created),
        "accessed_at": schema.stamp(memory.updated or created),
        "access_count": 0,
        "tags": list(fields.tags_of(memory)),
        "importance": fields.word_of(memory.importance),
        "archived": False,
    }
    meta = fields.task_of(memory) if tier == TASK else {}
    record |= {"task_metadata": meta} if meta else {}
    extra = {key: value for key, value in memory.extra.items() if key != CATEGORY or value != category}
    return _with_more(record, replace(memory, extra=extra))


def _with_more(record: Record, memory: Memory) -> Record:
    """Return `record` with what its own fields do not say of `memory`, as far as the line has room for it."""
    front = {key: value for key, value in front_of(memory).items() if key not in ("id", "metadata")}
    plain = front_of(decoded(record))
    more: dict[str | None, Any] = {key: value for key, value in front.items() if plain.get(key) != value}
    more["type"] = memory.type  # The mirror of our store goes by it, whatever the category.
    for name in (None, *_LEAVING):
        more.pop(name, None)
        whole = {**record, THEIRS: more} if more else record
        if len(schema.line_of(whole)) <= schema.MOST_LINE:
            return whole
    text = {**record, "content": memory.whole_text.strip("\n")}
    return text if not list(schema.faults(text)) else record


def _onto(memory: Memory, base: Record) -> Record:
    """Return `base` with the fields in which `memory` differs from it, and nothing else changed."""
    there, now = encoded(decoded(base), None), encoded(memory, None)
    names = ("content", CATEGORY, "tags", "importance", "task_metadata", "updated_at", THEIRS)
    changed = {name: now.get(name) for name in names if now.get(name) != there.get(name)}
    record = {**base, **changed}
    # A memory keeps its tier: its type there is what it is known by.
    return {key: value for key, value in record.items() if value is not None}


def decoded(record: Record) -> Memory:
    """Return the memory in a line; what stands in ``reverie`` counts where the line itself says the same."""
    category = record.get(CATEGORY)
    more = record.get(THEIRS)
    held: dict[str, Any] = dict(more) if isinstance(more, dict) else {}
    front: dict[str, Any] = {
        "id": record["id"],
        "type": fields.type_of(record, held.get("type")),
        "tags": record["tags"],
        "importance": fields.importance_of(record["importance"]),
        "created": _moment(record["created_at"]),
        "updated": record["updated_at"],
        **_of_task(record),
    }
    if category and category not in (front["type"], *TYPES):
        front[CATEGORY] = category
    body = str(record["content"]).strip("\n") + "\n"
    plain = {"description": first_line(body)}
    merged = to_memory(
        {**plain, **held, **{key: front[key] for key in front if not _agrees(key, held, front)}}, body, ""
    )
    return replace(merged, id=record["id"])


def _agrees(key: str, held: dict[str, Any], front: dict[str, Any]) -> bool:
    """Whether what ``reverie`` has under `key` is what the line's own field says, told more exactly."""
    if key not in held or key not in _SHOWN:
        return False
    value = held[key]
    if key == "importance":
        return (
            isinstance(value, float | int)
            and 0 <= value <= 1
            and fields.word_of(value) == fields.word_of(front[key])
        )
    if key == "tags":
        return fields.tags_of(Memory("", "", "", "", tags=tuple(texts_of(value)))) == tuple(front[key])
    if key == "status":
        blocked = bool(front.get("blockers"))
        return bool(fields.status_word(text_of(value), blocked=blocked) == front[key])
    return bool(held[key] == front[key])


def _moment(value: str) -> str:
    return "" if schema.moment_of(value) == LONG_AGO else value


def _of_task(record: Record) -> dict[str, Any]:
    """Return what task metadata says, as front matter has it."""
    found = fields.task_values(record)
    ended = found.get("completed_at")
    found |= {"completed_at": iso(ended)} if ended is not None else {}
    return {key: value for key, value in found.items() if value}

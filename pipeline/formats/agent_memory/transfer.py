"""Memories out to one file and in again: JSON lines or one object; also what was built first, one per agent.

Nothing that is there is written over without `force`; secrets are taken out of what comes in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from pipeline.formats.agent_memory import schema, writing
from pipeline.formats.agent_memory.errors import AgentMemoryError, invalid
from pipeline.formats.agent_memory.index import VERSION
from pipeline.formats.agent_memory.layout import archive_file
from pipeline.formats.agent_memory.memory import AgentMemory
from pipeline.formats.agent_memory.reading import bytes_of
from pipeline.formats.agent_memory.schema import CORE, KINDS, LEARNING, TASK, Record, stamp
from pipeline.safety.redaction import redact

_BUILT: dict[str, str] = {"core_memories": CORE, "learnings": LEARNING, "tasks": TASK}
"""The lists of an agent's file as the first server wrote it."""
Deed = Literal["new", "replaced", "there", "differs", "refused"]


@dataclass(frozen=True, slots=True)
class Row:
    """A memory of the import: its line (0 for an item of a list), its id, what is done, and why not."""

    line: int
    id: str
    deed: Deed
    why: str = ""


@dataclass(slots=True)
class Taken:
    """What became of each memory of an import, and how many secrets were taken out."""

    rows: list[Row] = field(default_factory=list)
    secrets: int = 0

    def number(self, *deeds: Deed) -> int:
        """Return with how many memories one of `deeds` was done."""
        counted = Counter(row.deed for row in self.rows)
        return sum(counted[deed] for deed in deeds)


def export(memory: AgentMemory, file: Path, *, force: bool = False) -> int:
    """Write all memories, archived ones too, with their access data, to `file`; return how many.

    Secrets are taken out, and how many is warned of. A name that ends in ``.json`` gets one object, any other
    JSON lines.
    """
    if file.exists() and not force:
        raise invalid(f"there is a file {file} already", "Name another one, or --force.")
    cleaned = [_redacted(record) for record in memory.every()]
    records, secrets = [record for record, _ in cleaned], sum(number for _, number in cleaned)
    if secrets:
        memory.warn(
            f"secrets left out of the export: {secrets}. They still stand in the files of {memory.root}"
        )
    if file.suffix == ".json":
        whole = {"version": VERSION, "exported_at": stamp(memory.now()), "memories": records}
        data = orjson.dumps(whole, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    else:
        data = b"".join(schema.line_of(record) + b"\n" for record in records)
    writing.write_new(file, data)
    return len(records)


def import_from(
    memory: AgentMemory, file: Path, *, kind: str = "", dry_run: bool = False, force: bool = False
) -> Taken:
    """Take in the memories of `file`, only those of type `kind` where one is given.

    One that is here with another text stays, but with `force`. Each line that can't be taken has its row.
    """
    if not file.is_file():
        raise AgentMemoryError("NOT_FOUND", "there is no such file", file=str(file), fix="Check the path.")
    done, seen = Taken(), set[str]()
    fresh: list[tuple[int, Record]] = []
    for number, value, why in _values(file):
        record, reason = _record(memory, value) if not why else (None, why)
        if record is None:
            done.rows.append(Row(number, "", "refused", reason))
        elif not kind or record["type"] == kind:
            if record["id"] in seen:
                done.rows.append(Row(number, record["id"], "refused", "a line above has its id"))
                continue
            seen.add(record["id"])
            record, secrets = _redacted(record)
            done.secrets += secrets
            _decide(memory, number, record, fresh, done, dry_run=dry_run, force=force)
    _add(memory, fresh, done, dry_run=dry_run)
    done.rows.sort(key=lambda row: row.line)
    return done


def _decide(
    memory: AgentMemory,
    number: int,
    record: Record,
    fresh: list[tuple[int, Record]],
    done: Taken,
    *,
    dry_run: bool,
    force: bool,
) -> None:
    known = memory.find(record["id"])
    if known is None:
        fresh.append((number, record))
        return
    file, here = known
    if _same(here, record):
        done.rows.append(Row(number, record["id"], "there"))
    elif not force or here["type"] != record["type"]:
        why = "another text of it is here; --force takes this"
        if here["type"] != record["type"]:
            why = f"it is of type {here['type']} here"
        done.rows.append(Row(number, record["id"], "differs", why))
    else:
        if not dry_run:
            with memory.writer():
                memory.rewrite(file, {record["id"]: {**record, "archived": here["archived"]}})
                memory.rebuild()
        done.rows.append(Row(number, record["id"], "replaced"))


def _add(memory: AgentMemory, fresh: list[tuple[int, Record]], done: Taken, *, dry_run: bool) -> None:
    for number, record in fresh:
        row = Row(number, record["id"], "new")
        if not dry_run:
            try:
                if record["archived"]:
                    with memory.writer():
                        target = archive_file(memory.root, record["type"], memory.now())
                        writing.append(target, [schema.require_sound(record)])
                else:
                    memory.add([record])
            except AgentMemoryError as error:
                if error.code not in ("INVALID_INPUT", "LIMIT_EXCEEDED"):
                    raise
                row = Row(number, record["id"], "refused", str(error.args[0]))
        done.rows.append(row)


def _values(file: Path) -> Iterator[tuple[int, Any, str]]:
    """Yield line number, value, and why there is none, of each memory in `file`."""
    data = bytes_of(file)
    try:
        whole = orjson.loads(data)
    except ValueError:
        whole = None
    if isinstance(whole, dict) and isinstance(whole.get("memories"), list):
        yield from ((0, value, "") for value in whole["memories"])
    elif isinstance(whole, dict) and any(isinstance(whole.get(name), list) for name in _BUILT):
        for name, kind in _BUILT.items():
            for value in whole.get(name) or ():
                yield 0, {"type": kind, **value} if isinstance(value, dict) else value, ""
    else:
        for number, raw in enumerate(data.split(b"\n"), start=1):
            if not raw.strip():
                continue
            try:
                yield number, orjson.loads(raw), ""
            except ValueError as error:
                yield number, None, f"no JSON: {error}"


def _record(memory: AgentMemory, value: Any) -> tuple[Record | None, str]:
    if not isinstance(value, dict):
        return None, "no JSON object"
    kind = value.get("type")
    if kind not in KINDS:
        return None, f"type is one of {', '.join(KINDS)}"
    raw = orjson.dumps(value)
    if "id" in value and not schema.is_id(value["id"]):
        # Such as mem-001: by the same old id it comes in once.
        old = value.pop("id")
        record, _ = schema.corrected(value, kind, orjson.dumps([kind, str(old)]), memory.now())
    else:
        record, _ = schema.corrected(value, kind, raw, memory.now())
    try:
        schema.require_sound(record)
    except AgentMemoryError as error:
        return None, str(error.args[0])
    return record, ""


def _redacted(record: Record) -> tuple[Record, int]:
    number = 0

    def clean(value: Any) -> Any:
        nonlocal number
        if isinstance(value, str):
            found = redact(value)
            number += found.found
            return found.text
        if isinstance(value, dict):
            return {key: clean(part) for key, part in value.items()}
        return [clean(part) for part in value] if isinstance(value, list) else value

    texts = {
        name: record[name]
        for name in ("content", "category", "tags", "task_metadata", "reverie")
        if record.get(name)
    }
    return {**record, **clean(texts)}, number


def _same(here: Record, record: Record) -> bool:
    left_out = {"accessed_at", "access_count", "archived", "updated_at"}
    return all(here.get(name) == record.get(name) for name in ({*here} | {*record}) - left_out)

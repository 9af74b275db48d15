"""Memories out to one file and in again: JSON lines or one object; also what was built first, one per agent.

Nothing that is there is written over without `force`; secrets are taken out of what comes in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
_Numbered = tuple[int, Record]
"""A memory with the number of its line."""
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
    What comes in is written together, however many they are.
    """
    if not file.is_file():
        raise AgentMemoryError("NOT_FOUND", "there is no such file", file=str(file), fix="Check the path.")
    done, seen, here = Taken(), set[str](), memory.by_id()
    fresh: list[_Numbered] = []
    replaced: dict[Path, dict[str, Record | None]] = {}
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
            known = here.get(record["id"])
            if known is None:
                fresh.append((number, record))
                continue
            row = _against(known[1], record, number, force=force)
            done.rows.append(row)
            if row.deed == "replaced":
                changed = {**record, "archived": known[1]["archived"]}
                replaced.setdefault(known[0], {})[record["id"]] = changed
    if dry_run:
        done.rows += [Row(number, record["id"], "new") for number, record in fresh]
    else:
        _replace(memory, replaced)
        _add(memory, fresh, done)
    done.rows.sort(key=lambda row: row.line)
    return done


def _against(here: Record, record: Record, number: int, *, force: bool) -> Row:
    """Return what is done with `record`, of that line, where `here` has its id."""
    if _same(here, record):
        return Row(number, record["id"], "there")
    if here["type"] != record["type"]:
        return Row(number, record["id"], "differs", f"it is of type {here['type']} here")
    if not force:
        return Row(number, record["id"], "differs", "another text of it is here; --force takes this")
    return Row(number, record["id"], "replaced")


def _replace(memory: AgentMemory, replaced: Mapping[Path, Mapping[str, Record | None]]) -> None:
    if not replaced:
        return
    with memory.writer():
        for file, changed in replaced.items():
            memory.rewrite(file, changed)
        memory.rebuild()


def _add(memory: AgentMemory, fresh: Sequence[_Numbered], done: Taken) -> None:
    for kind in KINDS:
        of_kind = [pair for pair in fresh if pair[1]["type"] == kind]
        _add_together(memory, [pair for pair in of_kind if pair[1]["archived"]], done)
        rest = [pair for pair in of_kind if not pair[1]["archived"]]
        is_full = False
        while rest:
            room = memory.fitting(kind, (record for _, record in rest))
            # The first that finds no room makes some; where there is none to make, all the others go its way.
            number = room or (len(rest) if is_full else 1)
            is_full = not room
            _add_together(memory, rest[:number], done)
            rest = rest[number:]


def _add_together(memory: AgentMemory, pairs: Sequence[_Numbered], done: Taken) -> None:
    """Write `pairs` as one, all archived or none; where they can't be, each has its row with the reason."""
    why = ""
    try:
        _write(memory, [record for _, record in pairs])
    except AgentMemoryError as error:
        if error.code not in ("INVALID_INPUT", "LIMIT_EXCEEDED"):
            raise
        if error.code == "INVALID_INPUT" and len(pairs) > 1:
            # One of them only: too long without its secret, or somebody else took it in meanwhile.
            for pair in pairs:
                _add_together(memory, [pair], done)
            return
        why = str(error.args[0])
    done.rows += [Row(number, record["id"], "refused" if why else "new", why) for number, record in pairs]


def _write(memory: AgentMemory, records: Sequence[Record]) -> None:
    if not records or not records[0]["archived"]:
        memory.add(records)
        return
    lines = [schema.require_sound(record) for record in records]
    with memory.writer():
        writing.append(archive_file(memory.root, records[0]["type"], memory.now()), lines)


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

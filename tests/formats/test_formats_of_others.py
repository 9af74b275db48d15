"""Files as other programs write them: read with file and line, and changed where they have to be alone."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import InputError
from pipeline.formats.carried import Carried, Format, Reading
from pipeline.formats.registry import format_named

TREE: dict[str, Any] = {
    "root": {"id": "root", "message": None, "parent": None, "children": ["a"]},
    "a": {
        "id": "a",
        "parent": "root",
        "children": ["b", "c"],
        "message": {
            "author": {"role": "user"},
            "create_time": 1767225600.5,
            "content": {"content_type": "text", "parts": ["I sail on Sundays."]},
            "recipient": "all",
        },
    },
    "b": {
        "id": "b",
        "parent": "a",
        "children": ["d", "a"],
        "message": {
            "author": {"role": "assistant"},
            "create_time": 1767225601,
            "content": {"content_type": "text", "parts": ["User sails on Sundays."]},
            "recipient": "bio",
        },
    },
    "c": {"id": "c", "parent": "a", "children": [], "message": None},
    "d": {
        "id": "d",
        "parent": "b",
        "children": [],
        "message": {
            "author": {"role": "user"},
            "content": {
                "content_type": "user_editable_context",
                "user_profile": "I live by the sea.",
                "user_instructions": "Answer in short sentences.",
            },
        },
    },
}


def put(file: Path, value: object) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    text = value if isinstance(value, str) else json.dumps(value, indent=1)
    file.write_text(text, "utf-8")
    return file


def apply(format_: Format, path: Path, seen: Reading, *records: Carried, gone: tuple[str, ...] = ()) -> None:
    for file, data in format_.write(path, records, gone, seen).files.items():
        if data is None:
            file.unlink()
        else:
            file.write_bytes(data)


def with_text(record: Carried, text: str) -> Carried:
    return replace(record, memory=replace(record.memory, body=text + "\n"))


# -- mem0 ---------------------------------------------------------------------------------------------

MEM0: dict[str, Any] = {
    "results": [
        {
            "id": "055214db-7728-4221-8789-cadce8d0c98d",
            "memory": "The pump stands in shed four",
            "hash": "93cc",
            "metadata": {"category": "work", "tags": ["pump"], "type": "professional"},
            "created_at": "2026-11-29T19:37:10.851560+00:00",
            "updated_at": None,
            "user_id": "dev",
            "role": "user",
        },
        {"id": "ae87692e-90fa-47c0-8455-e3f054d30380", "memory": "Ship on Fridays", "metadata": None},
        "no object",
        {"id": "x", "memory": " "},
        {"id": "ae87692e-90fa-47c0-8455-e3f054d30380", "memory": "A double"},
    ],
    "relations": [],
}


def test_mem0_is_read_item_by_item_with_its_line(tmp_path: Path) -> None:
    file = put(tmp_path / "m.json", MEM0)
    seen = format_named("mem0-json").read(file)
    first, second = seen.records
    assert (first.memory.body, first.memory.tags, first.where) == (
        "The pump stands in shed four\n",
        ("pump",),
        "m.json:3",
    )
    assert first.memory.extra["category"] == "work" and first.memory.created is not None
    assert second.memory.id == "ae87692e-90fa-47c0-8455-e3f054d30380"
    lines = file.read_text().splitlines()
    assert "Ship on Fridays" in lines[second.line + 1]
    assert [lines[int(fault.where.split(":")[1]) - 1].strip()[:4] for fault in seen.faults] == [
        '"no ',
        "{",
        "{",
    ]


def test_what_mem0_keeps_beside_a_memory_stays_when_its_text_changes(tmp_path: Path) -> None:
    format_, file = format_named("mem0-json"), put(tmp_path / "m.json", MEM0)
    seen = format_.read(file)
    apply(format_, file, seen, with_text(seen.records[0], "It stands in shed five"))
    now, before = json.loads(file.read_text()), MEM0["results"]
    assert now["relations"] == [] and now["results"][1:] == before[1:]
    changed = now["results"][0]
    assert changed.pop("hash") != "93cc" and changed.pop("memory") == "It stands in shed five"
    assert {**changed, "created_at": ""} == {
        key: value for key, value in {**before[0], "created_at": ""}.items() if key not in ("hash", "memory")
    }


# -- claude-mem ---------------------------------------------------------------------------------------

CLAUDE_MEM: dict[str, Any] = {
    "exportedAt": "2026-11-29T19:37:10.851Z",
    "query": "pump",
    "totalObservations": 2,
    "observations": [
        {
            "id": 7,
            "memory_session_id": "m-1",
            "project": "shop",
            "type": "bugfix",
            "title": "Pump ran dry",
            "subtitle": "The valve was closed",
            "narrative": "The valve was closed in May.",
            "facts": '["The valve is red", "It sticks"]',
            "concepts": '["problem-solution"]',
            "files_read": '["pump.py"]',
            "files_modified": '["valve.py", "pump.py"]',
            "created_at": "2026-05-01T10:00:00.000Z",
            "created_at_epoch": 1777629600000,
        },
        {"id": 8, "memory_session_id": "m-1", "type": "change"},
    ],
    "sessions": [{"memory_session_id": "m-1", "project": "shop"}],
    "summaries": [{"id": 1}],
    "prompts": [],
}


def test_an_observation_of_claude_mem_is_a_memory(tmp_path: Path) -> None:
    seen = format_named("claude-mem").read(put(tmp_path / "c.json", CLAUDE_MEM))
    memory = seen.records[0].memory
    assert (memory.type, memory.title, memory.description) == ("fix", "Pump ran dry", "The valve was closed")
    assert memory.body == "The valve was closed in May.\n\n- The valve is red\n- It sticks\n"
    assert (memory.tags, memory.anchors) == (("problem-solution",), ("pump.py", "valve.py"))
    assert memory.created is not None and memory.created.month == 5
    assert [fault.why for fault in seen.faults] == [
        "it has neither a title nor a narrative nor facts",
        "1 summaries are dialogue, no memories",
    ]


def test_a_changed_observation_says_nothing_twice(tmp_path: Path) -> None:
    format_, file = format_named("claude-mem"), put(tmp_path / "c.json", CLAUDE_MEM)
    seen = format_.read(file)
    apply(format_, file, seen, with_text(seen.records[0], "The valve is open."))
    again = format_.read(file).records[0]
    assert again.memory == replace(seen.records[0].memory, body="The valve is open.\n")
    assert (again.key, again.raw["project"], again.raw["files_modified"]) == (
        "7",
        "shop",
        '["valve.py", "pump.py"]',
    )


def test_what_comes_from_here_has_the_session_that_its_import_asks_for(tmp_path: Path) -> None:
    format_, file = format_named("claude-mem"), tmp_path / "new.json"
    memory = format_named("claude-mem").read(put(tmp_path / "c.json", CLAUDE_MEM)).records[0].memory
    apply(format_, file, Reading(), Carried(memory), Carried(replace(memory, body="Another.\n")))
    held = json.loads(file.read_text())
    wanted = [item["memory_session_id"] for item in held["observations"]]
    assert len({*wanted}) == 2 and wanted == [item["memory_session_id"] for item in held["sessions"]]
    assert held["totalSessions"] == held["totalObservations"] == 2


def test_the_database_of_claude_mem_is_read_and_left_alone(tmp_path: Path) -> None:
    file, row = tmp_path / "claude-mem.db", {**CLAUDE_MEM["observations"][0]}
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"CREATE TABLE observations ({', '.join(row)})")
        connection.execute(f"INSERT INTO observations VALUES ({', '.join('?' * len(row))})", [*row.values()])
        connection.commit()
        before = {
            path.name: path.read_bytes() for path in tmp_path.iterdir() if not path.name.endswith("-shm")
        }
        format_ = format_named("claude-mem")
        seen = format_.read(file)
        from_json = format_.read(put(tmp_path / "c.json", CLAUDE_MEM)).records[0]
        assert [(item.memory, item.key) for item in seen.records] == [(from_json.memory, "7")]
        assert len(before) == 2 and before == {name: (tmp_path / name).read_bytes() for name in before}
    with pytest.raises(InputError, match="only read"):
        format_.write(file, seen.records, (), seen)
    with pytest.raises(InputError, match="no database of claude-mem"):
        format_.read(put(tmp_path / "other.db", "no database at all, but a text of some length"))


# -- basic-memory -------------------------------------------------------------------------------------

NOTE = """---
title: Pump House
type: Place  # as told
tags: [pump, shed]
permalink: places/pump-house
---

# Pump House

- [fact] The pump stands in shed four #pump (seen in May)
- part_of [[Old Harbour]] (since 1990)
"""


def test_a_note_of_basic_memory_is_read_with_its_relations(tmp_path: Path) -> None:
    put(tmp_path / "places" / "Pump House.md", NOTE)
    put(tmp_path / ".hidden" / "x.md", NOTE)
    (tmp_path / "broken.md").write_bytes(b"---\ntitle: \xff\n---\n")
    seen = format_named("basic-memory").read(tmp_path)
    (record,) = seen.records
    assert (record.memory.name, record.memory.title, record.memory.type) == (
        "pump-house",
        "Pump House",
        "general",
    )
    assert record.memory.tags == ("pump", "shed") and "shed four" in record.memory.body
    assert record.links == (("part_of", "Old Harbour", "since 1990"),)
    assert [fault.where for fault in seen.faults] == ["broken.md:2"]


def test_a_note_is_changed_where_it_has_to_be_alone(tmp_path: Path) -> None:
    format_, file = format_named("basic-memory"), put(tmp_path / "pump.md", NOTE)
    seen = format_.read(tmp_path)
    apply(format_, tmp_path, seen, seen.records[0])
    assert file.read_text() == NOTE
    record = seen.records[0]
    apply(format_, tmp_path, seen, replace(record, memory=replace(record.memory, tags=("pump",))))
    assert file.read_text() == NOTE.replace("[pump, shed]", "[pump]")


# -- chatgpt ------------------------------------------------------------------------------------------


def conversations() -> list[Any]:
    return [
        {"title": "Boats", "conversation_id": "c1", "mapping": TREE, "current_node": "d"},
        {"title": "No tree"},
    ]


def test_of_chatgpts_export_what_it_remembered_is_taken(tmp_path: Path) -> None:
    file = put(tmp_path / "conversations.json", conversations())
    seen = format_named("chatgpt-export").read(tmp_path)
    assert [(item.memory.body.strip(), item.memory.type, item.key) for item in seen.records] == [
        ("User sails on Sundays.", "user", "b"),
        ("I live by the sea.", "user", "d:user_profile"),
        ("Answer in short sentences.", "feedback", "d:user_instructions"),
    ]
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if "No tree" in text) - 1
    assert [fault.where for fault in seen.faults] == [f"conversations.json:{line}", "conversations.json:1"]
    assert "1 messages are dialogue" in seen.faults[1].why


def test_a_conversation_keeps_its_tree_when_a_memory_changes_or_goes(tmp_path: Path) -> None:
    format_, file = format_named("chatgpt-export"), put(tmp_path / "conversations.json", conversations())
    seen = format_.read(file)
    apply(format_, file, seen, with_text(seen.records[1], "I live inland."), gone=("b",))
    again = format_.read(file)
    assert [item.memory.body.strip() for item in again.records] == [
        "I live inland.",
        "Answer in short sentences.",
    ]
    held = json.loads(file.read_text())
    assert held[0]["mapping"]["a"] == {**TREE["a"], "children": ["d", "a", "c"]}
    assert held[0]["mapping"]["d"]["parent"] == "a" and held[1] == {"title": "No tree"}


# -- all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mem0-json", "claude-mem", "chatgpt-export"])
@pytest.mark.parametrize(
    ("text", "where"),
    [('{\n"results": [}', ":2"), ("{}", ":1"), ('"text"', ":1"), ("[" * 100_000, "")],
)
def test_a_file_that_is_none_is_refused_with_its_line(
    name: str, text: str, where: str, tmp_path: Path
) -> None:
    file = put(tmp_path / "x.json", text)
    with pytest.raises(InputError) as error:
        format_named(name).read(file)
    assert str(error.value).startswith(f"{file}{where}") and error.value.fix


@pytest.mark.parametrize("name", ["s09", "claude-code", "cognitive", "basic-memory", "mem0-json"])
def test_what_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such"):
        format_named(name).read(tmp_path / "nowhere")

"""agent-memory as one of the formats: its own fields count, its bad lines stay, its lock is held."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.app.application import App
from pipeline.app.carrying import export_to, import_from
from pipeline.core.errors import InputError
from pipeline.domain.memory import TYPES, Memory
from pipeline.formats.agent_memory import AgentMemory
from pipeline.formats.agent_memory.mapping import memory_of, record_of, shared
from pipeline.formats.agent_memory.schema import made
from pipeline.formats.agent_memory_records import decoded, encoded
from pipeline.formats.carried import SAMPLE, Carried, lost
from pipeline.formats.registry import format_named
from tests.app.test_carrying import memories, note

FORMAT = format_named("agent-memory")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    ours = AgentMemory(tmp_path / "memories")
    ours.append(
        "core", "The build runs on node 22.", category="configuration", tags=["build"], importance="high"
    )
    ours.append("learning", "Cold caches double the build.", category="Performance")
    ours.append("task", "Move to node 24.", task_metadata={"status": "blocked", "blockers": ["the audit"]})
    file = ours.root / "learnings.jsonl"
    file.write_bytes(file.read_bytes() + b'{"torn": \n')
    return ours.root


def test_tiers_categories_and_tasks_come_in_as_ours(folder: Path) -> None:
    seen = FORMAT.read(folder)
    core, learning, task = (item.memory for item in seen.records)
    assert (core.type, core.importance, core.tags) == ("configuration", 0.8, ("build",))
    assert (learning.type, learning.extra) == ("general", {"category": "Performance"})
    assert (task.type, task.status, task.blockers) == ("task", "blocked", ("the audit",))
    assert [fault.where for fault in seen.faults] == ["learnings.jsonl:2"]


@pytest.mark.parametrize("kind", TYPES)
def test_every_type_comes_back_with_its_exact_figures(kind: str) -> None:
    memory = replace(
        SAMPLE, type=kind, importance=0.71, confidence=0.33, tags=tuple(f"t{n}" for n in range(14))
    )
    assert lost(FORMAT, memory) == ()
    assert encoded(memory, None)["type"] == TYPES[kind].tier


@pytest.mark.parametrize(
    ("there", "field", "expected"),
    [
        ({"importance": "low"}, "importance", 0.3),
        ({"importance": "high"}, "importance", 0.71),
        ({"tags": ["new"]}, "tags", ("new",)),
        ({"category": "fix"}, "type", "fix"),
        ({"content": "Other."}, "body", "Other.\n"),
        ({"reverie": "no table"}, "confidence", 0.8),
    ],
)
def test_what_its_own_fields_say_counts(there: dict[str, Any], field: str, expected: object) -> None:
    line = encoded(replace(SAMPLE, importance=0.71), None)
    assert getattr(decoded({**line, **there}), field) == expected


def test_what_does_not_fit_a_line_is_refused_and_the_rest_is_written(app: App, tmp_path: Path) -> None:
    store = app.store_path
    note(store, "long", f"---\nname: long\ndescription: d\ntype: project\n---\n{'x ' * 2600}\n")
    note(store, "short", "---\nname: short\ndescription: d\ntype: project\n---\nShort.\n")
    done = export_to(app, "agent-memory", tmp_path / "out")
    rows = {row.name: (row.deed, row.why) for row in done.rows}
    assert rows["short"] == ("new", "") and rows["long"][0] == "refused" and "5,000" in rows["long"][1]
    assert [item.memory.name for item in FORMAT.read(tmp_path / "out").records] == ["short"]


def test_many_sources_leave_a_line_before_the_text_does() -> None:
    many = tuple(replace(SAMPLE.sources[0], uuid=f"u{n}", quote="q" * 200) for n in range(60))
    memory = replace(SAMPLE, sources=many)
    assert lost(FORMAT, memory) == ("sources",) and FORMAT.why_not(memory) == ""
    much = replace(memory, extra={"note": "n" * 11_000})
    assert FORMAT.why_not(much) == "" and "Tag the commit" in FORMAT.there_and_back(much).body


def test_lines_nobody_can_read_stay_and_the_index_follows(folder: Path, app: App) -> None:
    before = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    note(app.store_path, "fact", "---\nname: fact\ndescription: d\ntype: insight\n---\nCaches are warm.\n")
    done = export_to(app, "agent-memory", folder)
    after = {path.name: path.read_bytes() for path in folder.glob("*.jsonl")}
    assert [row.deed for row in done.rows] == ["new"]
    assert after["learnings.jsonl"].startswith(before["learnings.jsonl"])
    assert {name for name in after if after[name] != before[name]} == {"learnings.jsonl"}
    index = json.loads((folder / "index.json").read_bytes())
    assert index["statistics"]["total_memories"] == 4
    assert len(AgentMemory(folder).every()) == 4


def test_a_full_tier_is_refused_and_nothing_is_written(folder: Path) -> None:
    seen = FORMAT.read(folder)
    (folder / ".memory-config.json").write_text('{"limits": {"max_core_memories": 1}}')
    with pytest.raises(InputError, match="over its limit"):
        FORMAT.write(folder, [Carried(Memory("n", "d", "user", "b\n"))], (), seen)


def test_imported_twice_it_is_there(folder: Path, app: App) -> None:
    assert import_from(app, "agent-memory", folder).number("new") == 3
    assert import_from(app, "agent-memory", folder).number("there") == 3
    found = memories(app.store_path)
    assert {memory.origin for memory in found.values()} == {"imported"} and len(found) == 3


@pytest.mark.parametrize("kind", ["decision", "insight", "task", "procedure"])
def test_the_mirror_of_our_store_and_this_read_each_others_lines(kind: str) -> None:
    memory = replace(SAMPLE, type=kind, importance=0.71)
    now = datetime(2026, 11, 29, tzinfo=UTC)
    ours, mirrored = decoded(record_of(memory, {}, now)), memory_of(encoded(memory, None))
    for found in (ours, mirrored):
        assert (found.type, found.importance, found.title) == (kind, 0.71, memory.title)
        assert found.body == memory.body and found.tags == memory.tags
    kept = {"tier": "core", "category": "Performance"}
    line = encoded(replace(memory, type="project", extra={"agent_memory": kept}), None)
    assert (line["type"], line["category"]) == ("core", "Performance")


STATES = [
    {"status": "", "completed_at": None, "blockers": (), "outcome": ""},
    {"status": "open"},
    {"status": "Dropped", "blockers": ()},
    {"status": "done", "completed_at": None, "created": None, "updated": None},
    {"status": "blocked", "blockers": (), "completed_at": None},
]


@pytest.mark.parametrize("state", STATES, ids=lambda state: state["status"] or "none")
def test_both_write_a_task_as_the_same_line_and_read_its_own_word_again(state: dict[str, Any]) -> None:
    memory = replace(SAMPLE, type="task", extra={}, **state)
    one, other = record_of(memory, {}, datetime(2026, 11, 29, tzinfo=UTC)), encoded(memory, None)
    assert shared(one) == shared(other) and ("task_metadata" in one) == bool(state["status"])
    for found in (decoded(other), memory_of(one)):
        assert (found.status, found.blockers) == (memory.status, memory.blockers)


def test_a_category_that_came_in_is_the_one_in_both_directions() -> None:
    record = made("core", "A fact.", category="Preference: x", now=datetime(2026, 11, 29, tzinfo=UTC))
    for back in (
        record_of(decoded(record), {}, datetime(2026, 11, 29, tzinfo=UTC)),
        encoded(memory_of(record), None),
    ):
        assert (back["type"], back["category"]) == ("core", "Preference: x")
    assert (
        decoded({**record, "category": "task"}).type
        == memory_of({**record, "category": "task"}).type
        == "project"
    )

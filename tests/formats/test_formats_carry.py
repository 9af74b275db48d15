"""What each format carries, held by hand, and memories that go from each format to each other and back."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.errors import InputError, UsageError
from pipeline.domain.memory import Memory
from pipeline.formats.carried import SAMPLE, WORDS, Carried, Format, Reading, lost, plain_value
from pipeline.formats.registry import NAMES, format_named

EVERYTHING = {*WORDS}
CARRIES = {
    "claude-code": EVERYTHING,
    "cognitive": EVERYTHING,
    "basic-memory": EVERYTHING,
    "mem0-json": EVERYTHING,
    "agent-memory": EVERYTHING,
    "s09": {"body", "name", "description", "type"},
    "keisei": {
        *("body", "name", "description", "id", "created", "status", "completed_at", "blockers", "outcome")
    },
    "claude-mem": {"body", "description", "title", "tags", "anchors", "created"},
    "chatgpt-export": {"body", "created"},
}
"""What comes back of a memory that has everything; of s09 the four classes alone, so a decision does not."""
OTHER = Memory(
    name="the-freeze",
    title="The freeze",
    description="Nothing is merged in the week before.",
    type="decision",
    body="Nothing is merged in the week before.\n\n- not even docs\n",
    id="9f1e6c52-6c1f-4a59-9a3e-3f2f5f0c9d12",
    tags=("release",),
    anchors=("release.toml",),
    created=SAMPLE.created,
    updated=SAMPLE.updated,
)
_STATE: dict[str, Any] = {"blockers": (), "outcome": "", "status": "", "completed_at": None}
PLAIN = replace(SAMPLE, steps=(), preconditions=(), postconditions=(), **_STATE)
MEMORIES = (PLAIN, OTHER)
PAIRS = list(itertools.product(CARRIES, CARRIES))


def place_of(format_: Format, folder: Path) -> Path:
    return folder / "memories.json" if format_.about.startswith(("a JSON", "conv")) else folder / "notes"


def written(format_: Format, memories: list[Memory], folder: Path) -> list[Memory]:
    """Return what is read again of `memories` that were written by `format_`."""
    path = place_of(format_, folder)
    planned = format_.write(path, [Carried(memory) for memory in memories], (), Reading())
    for file, data in planned.files.items():
        assert data is not None
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    seen = format_.read(path)
    assert not [fault for fault in seen.faults if "dialogue" not in fault.why]
    found = {record.key: record for record in seen.records}
    assert [*found] == [*dict.fromkeys(found)] and {*planned.keys} == {*found}
    return [found[key].memory for key in planned.keys]


def test_every_format_is_held_here() -> None:
    assert {*CARRIES} == {*NAMES}


@pytest.mark.parametrize("name", CARRIES)
def test_a_format_carries_what_is_told(name: str) -> None:
    assert {*lost(format_named(name), SAMPLE)} == EVERYTHING - CARRIES[name]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=lambda name: str(name))
def test_a_memory_goes_there_and_back(first: str, second: str, tmp_path: Path) -> None:
    one, two = format_named(first), format_named(second)
    before = written(one, [*MEMORIES], tmp_path / "a")
    between = written(two, before, tmp_path / "b")
    after = written(one, between, tmp_path / "c")
    both = CARRIES[first] & CARRIES[second]
    assert "body" in both
    for memory, start, end in zip(MEMORIES, before, after, strict=True):
        assert "title" not in both or start.shown_title == end.shown_title == memory.shown_title
        for name in both - {"type", "title"}:
            assert plain_value(start, name) == plain_value(memory, name), name
            assert plain_value(end, name) == plain_value(start, name), name
    if {first, second}.isdisjoint({"claude-mem", "chatgpt-export", "keisei"}):
        classes = [memory.host_class if "s09" in (first, second) else memory.type for memory in MEMORIES]
        assert [memory.type for memory in after] == classes
    if CARRIES[first] == CARRIES[second] == EVERYTHING:
        assert [replace(item, path="", body=item.body.strip()) for item in after] == [
            replace(item, path="", body=item.body.strip()) for item in MEMORIES
        ]


@pytest.mark.parametrize("name", CARRIES)
def test_steps_and_state_that_a_format_has_no_place_for_stand_in_the_text(name: str) -> None:
    back = format_named(name).there_and_back(SAMPLE)
    text = back.whole_text
    assert all(part in text for part in ("Tag the commit", "Push the tag", "the audit", "The tests pass"))


def test_traces_are_no_memories(tmp_path: Path) -> None:
    (tmp_path / "s1.jsonl").write_text('{"type":"user"}\n')
    with pytest.raises(InputError, match="no journal of tasks") as told:
        format_named("keisei").read(tmp_path)
    assert "none of it is a memory" in told.value.fix
    with pytest.raises(UsageError, match="no format 'notion'"):
        format_named("notion")

"""Whatever stands in a file: it is read, nothing stops the other lines, and repair loses no line."""

import json
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import given, settings

from pipeline.core.clock import FixedClock
from pipeline.formats.agent_memory import AgentMemory, AgentMemoryError, Options, Query
from pipeline.formats.agent_memory.checking import repair, validate
from pipeline.formats.agent_memory.schema import STATUSES, faults, line_of, made, require_sound
from tests.formats.conftest import NOON

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip)
RECORDS = st.builds(
    lambda kind, text, tags, status: made(
        kind,
        text,
        tags=tags,
        now=NOON,
        task_metadata={"status": status} if kind == "task" else None,
    ),
    st.sampled_from(["core", "learning", "task"]),
    TEXTS,
    st.lists(TEXTS.filter(lambda text: len(text) <= 30), max_size=10),
    st.sampled_from(STATUSES),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 2**70) | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "id",
    "type",
    "content",
    "created_at",
    "tags",
    "importance",
    "archived",
    "task_metadata",
    "access_count",
]


@st.composite
def odd(draw):
    """Return the bytes of a line: a memory, one with odd fields, other JSON, a torn line, noise."""
    record = draw(RECORDS)
    changed = {**record, **draw(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2))}
    whole = json.dumps(changed, ensure_ascii=draw(st.booleans())).encode("utf-8", "replace")
    kind = draw(st.sampled_from(["memory", "odd", "torn", "json", "noise"]))
    return {
        "memory": line_of(record),
        "odd": whole,
        "torn": whole[: draw(st.integers(1, len(whole)))],
        "json": json.dumps(draw(JSON)).encode(),
        "noise": draw(st.binary(min_size=1, max_size=30)).replace(b"\n", b""),
    }[kind]


@given(st.lists(odd(), max_size=6), st.booleans())
@settings(max_examples=30)
def test_nothing_in_a_file_stops_reading_and_repair_loses_no_line(tmp_path_factory, lines, ends):
    with tempfile.TemporaryDirectory(dir=tmp_path_factory.getbasetemp()) as folder:
        root = Path(folder) / "memories"
        memory = AgentMemory(root, Options(), clock=FixedClock(NOON))
        kept = memory.append("core", "Kept")["id"]
        with (root / "core_memories.jsonl").open("ab") as file:
            file.write(b"\n".join(lines) + (b"\n" if ends else b""))
        fresh = AgentMemory(root, Options(), clock=FixedClock(NOON))
        held = {record["id"]: record["content"] for record in fresh.records("core")}
        assert held[kept] == "Kept" and fresh.query(Query(limit=100)).total == len(held)
        validate(fresh)
        added = fresh.append("core", "Added")["id"]
        repair(fresh)
        assert not [item for item in validate(fresh) if item.is_error]
        after = {record["id"]: record["content"] for record in fresh.records("core")}
        assert {*held, added} <= {*after}
        every = b"\n".join(path.read_bytes() for path in root.glob("*.jsonl*"))
        contents = {record["content"] for record in fresh.every()}
        for line in lines:
            # Byte for byte, or as the memory that it held.
            assert not line.strip() or line in every or json.loads(line)["content"] in contents


@given(RECORDS)
def test_a_memory_is_the_same_once_written_and_read(record):
    assert not [*faults(record)]
    try:
        assert json.loads(require_sound(record)) == record
    except AgentMemoryError as error:
        assert error.code == "INVALID_INPUT"

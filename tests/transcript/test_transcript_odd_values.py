"""Any value of any type anywhere in a record: the line is read, and so are the lines around it."""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.tallies import MOST_TYPES, OTHER_TYPES
from pipeline.transcript import read
from tests.support.transcripts import REFUSED_SAID, assistant, attachment, encode, tool_result, tool_use, user

ASKED = {"questions": [{"question": "Which?", "options": [{"label": "A", "description": "a"}]}]}
ENVELOPE: dict[str, Any] = {
    **{"uuid": "u", "parentUuid": "p", "sessionId": "s", "timestamp": "2026-03-02T09:00:00Z"},
    **{"cwd": "/w", "entrypoint": "cli", "isSidechain": False, "origin": {"kind": "human"}},
}
ANSWERED = {"answers": {"Which?": ["A", "B"]}, **ASKED, "annotations": {"Which?": {"notes": "n"}}}
RECORDS: dict[str, dict[str, Any]] = {
    "answer": {**tool_result("ok", toolUseResult=ANSWERED), **ENVELOPE},
    "refusal": {**tool_result(f"{REFUSED_SAID}use uv", is_error=True), **ENVELOPE},
    "refusal in blocks": {**tool_result([{"type": "text", "text": REFUSED_SAID}], is_error=True), **ENVELOPE},
    "prompt": {**user([{"type": "text", "text": "hello"}], turnOrigin="human"), **ENVELOPE},
    "reply": {
        **assistant([tool_use("AskUserQuestion", ASKED), tool_use("Write", {"path": "/x"})]),
        **ENVELOPE,
    },
    "queued": {
        **attachment("queued_command", prompt=[{"type": "text", "text": "x"}], commandMode="prompt"),
        **ENVELOPE,
    },
    "system": {"type": "system", "subtype": "memory_saved", "writtenPaths": ["/x"], **ENVELOPE},
    "operation": {"type": "queue-operation", "operation": "enqueue", "content": "later", **ENVELOPE},
    "flat": {"ts": 1772442000, "kind": "other", "event_class": "user_note", "message": "flat", "tool": ""},
    "codex": {"type": "session_meta", "sessionId": "s", "x": 1},
    "summary": {"type": "summary", "leafUuid": "u"},
}
ODD: list[Any] = [
    None,
    True,
    5,
    -1.5,
    10**18,
    "",
    "x",
    "a\0b",
    [],
    [7],
    [[]],
    {},
    {"type": ["x"]},
    [{"a": [1]}],
]


def odd_versions(value: Any) -> Iterator[Any]:
    """Yield `value` with each part of it, itself included, replaced by each odd value in turn."""
    yield from ODD
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from ({**value, name: odd} for odd in odd_versions(inner))
    if isinstance(value, list):
        for place, inner in enumerate(value):
            yield from ([*value[:place], odd, *value[place + 1 :]] for odd in odd_versions(inner))


@pytest.mark.parametrize("torn", [b"", b'{"uuid":"torn","mess'], ids=["whole", "behind a torn one"])
@pytest.mark.parametrize("kind", RECORDS)
def test_an_odd_value_costs_no_line(tmp_path: Path, kind: str, torn: bytes) -> None:
    path = tmp_path / "s.jsonl"
    records = [record for record in odd_versions(RECORDS[kind]) if isinstance(record, dict)]
    first = encode(user("first", uuid="first", sessionId="s"))
    path.write_bytes(first + b"".join(torn + encode(record) for record in records))
    reading = read(path, quiet=True)
    entries = list(reading.entries)
    assert entries[0].text == "first" and len(records) > 20
    assert all(isinstance(e.text, str) and isinstance(e.uuid, str) for e in entries)
    assert [why for _, why in reading.bad if "understood" in why] == []
    assert torn or reading.bad == []


@pytest.mark.parametrize("kind", RECORDS)
def test_an_odd_first_line_is_no_stumbling_block(tmp_path: Path, kind: str) -> None:
    for odd in (["session_meta"], {"a": 1}, 7, None):
        path = tmp_path / "s.jsonl"
        path.write_bytes(encode({**RECORDS[kind], "type": odd}) + encode(user("second")))
        assert "second" in [entry.text for entry in read(path, quiet=True).entries]


def test_an_error_nobody_expects_of_a_record_makes_it_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(encode(user("dated", timestamp="2026-03-02T09:00:00Z")) + encode(user("undated")))
    # A time without zone can't be compared with a stamp: a stand-in for the fault not thought of.
    reading = read(path, now=datetime(2026, 3, 2))  # noqa: DTZ001
    assert [entry.text for entry in reading.entries] == ["undated"]
    ((line, why),) = reading.bad
    assert line == 1 and why.startswith("can't be understood (can't compare")
    assert reading.cursor.offset == path.stat().st_size


def test_ever_new_types_are_counted_together(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(encode({"type": f"t{n}", "x": 1}) for n in range(500)))
    reading = read(path)
    assert len(list(reading.entries)) == 500
    assert len(reading.type_counts) == MOST_TYPES + 1
    assert reading.type_counts[OTHER_TYPES] == 500 - MOST_TYPES


def test_a_directory_with_a_zero_byte_is_none(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(json.dumps(user("x", cwd="/w\0x")).encode() + b"\n")
    assert [entry.cwd for entry in read(path).entries] == [None]

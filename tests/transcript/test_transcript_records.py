"""The envelope of an entry: times, ids, tools, memory writes, tokens, unknown and legacy records."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.speech import Entry
from pipeline.transcript import read, usage_totals
from tests.support.transcripts import Transcript, assistant, tool_use, user, write_lines

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


def entries(tmp_path: Path, *records: Any) -> list[Entry]:
    return list(read(write_lines(tmp_path / "sess.jsonl", records), now=NOW).entries)


def test_bug_020_times_out_of_order_hide_nothing(tmp_path: Path) -> None:
    stamps = ["2026-03-02T10:00:00Z", "2026-03-02T12:00:00Z", "2026-03-02T09:00:00Z", None, "not a date"]
    stamps.append("2027-03-02T10:01:00Z")
    rows = [user(f"t{n}", uuid=str(n), timestamp=stamp) for n, stamp in enumerate(stamps)]
    assert [(e.text, e.at, e.at_source) for e in entries(tmp_path, *rows)] == [
        ("t0", "2026-03-02T10:00:00+00:00", "own"),
        ("t1", "2026-03-02T12:00:00+00:00", "own"),
        ("t2", "2026-03-02T09:00:00+00:00", "own"),
        ("t3", "2026-03-02T09:00:00+00:00", "inherited"),
        ("t4", None, "unknown"),
        ("t5", None, "unknown"),
    ]


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("2026-03-03T11:59:00Z", "2026-03-03T11:59:00+00:00"),
        ("2026-03-03T12:01:00Z", None),
        ("2026-03-02T10:00:00+02:00", "2026-03-02T08:00:00+00:00"),
        ("2026-03-02T10:00:00.123456Z", "2026-03-02T10:00:00.123+00:00"),
        ("2026-03-02T10:00:00.120Z", "2026-03-02T10:00:00.120+00:00"),
        ("2026-03-02T10:00:00.000Z", "2026-03-02T10:00:00+00:00"),
        ("2026-03-02T12:00:00.5+02:00", "2026-03-02T10:00:00.500+00:00"),
        ("0000-00-00T00:00:00Z", None),
        (12345, None),
        ("", None),
    ],
)
def test_a_time_is_taken_only_when_it_can_be_true(tmp_path: Path, stamp: Any, at: str | None) -> None:
    [entry] = entries(tmp_path, user("x", timestamp=stamp))
    assert entry.at == at


def test_a_missing_time_is_inherited_across_passes(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "s.jsonl", [user("a", timestamp="2026-03-02T10:00:00Z")])
    first = read(path, now=NOW)
    assert len(list(first.entries)) == 1
    write_lines(path, [user("b")], append=True)
    [entry] = read(path, first.cursor, now=NOW).entries
    assert (entry.at, entry.at_source) == ("2026-03-02T10:00:00+00:00", "inherited")


def test_the_envelope_is_kept(tmp_path: Path) -> None:
    session = Transcript(entrypoint="sdk-cli")
    parent = session.user("hello")
    child = session.assistant([{"type": "text", "text": "hi"}, tool_use("Read", {}), tool_use("Bash", {})])
    first, second = entries(tmp_path, *session.records)
    assert (first.uuid, first.parent_uuid, first.chained, first.sidechain) == (parent, None, True, False)
    assert (second.uuid, second.parent_uuid, second.tool_names) == (child, parent, ("Read", "Bash"))
    assert (second.session_id, second.cwd, second.entrypoint) == (
        session.session_id,
        "/home/dev/shop",
        "sdk-cli",
    )
    assert second.offset == first.length + 1 and second.message_id


def test_a_record_without_ids_gets_lasting_ones(tmp_path: Path) -> None:
    rows = [user("a"), user("b"), user("c", session_id="other")]
    found = entries(tmp_path, *rows)
    assert [e.session_id for e in found] == ["sess", "sess", "other"]
    assert len({e.uuid for e in found}) == 3 and not any(e.chained for e in found)
    assert [e.uuid for e in entries(tmp_path, *reversed(rows))] == [e.uuid for e in reversed(found)]


MEMORY = "/home/dev/.claude/projects/-home-dev-shop/memory"


@pytest.mark.parametrize(
    ("name", "given", "kept"),
    [
        ("Write", {"file_path": f"{MEMORY}/tabs.md"}, True),
        ("Edit", {"file_path": f"{MEMORY}/MEMORY.md"}, True),
        ("MultiEdit", {"file_path": f"{MEMORY}/graph/fixes/a.md"}, True),
        ("NotebookEdit", {"notebook_path": f"{MEMORY}/a.ipynb"}, True),
        ("Write", {"file_path": MEMORY.replace("/", "\\") + "\\tabs.md"}, True),
        ("Read", {"file_path": f"{MEMORY}/tabs.md"}, False),
        ("Write", {"file_path": "/home/dev/shop/memory/tabs.md"}, False),
        ("Write", {"file_path": f"{MEMORY}/../x.md"}, False),
        ("Write", {"file_path": "/home/dev/shop/MEMORY.md"}, False),
        ("Write", {"file_path": 7}, False),
        ("Write", None, False),
    ],
)
def test_writes_into_memory_are_noted(tmp_path: Path, name: str, given: Any, kept: bool) -> None:
    [entry] = entries(tmp_path, assistant([tool_use(name, given)]))
    assert bool(entry.memory_writes) is kept
    assert not kept or entry.memory_writes == (given.get("file_path") or given["notebook_path"],)


@pytest.mark.parametrize(
    ("name", "path", "kept"),
    [
        ("Read", f"{MEMORY}/tabs.md", True),
        ("Read", f"{MEMORY}/graph/fixes/a.md", True),
        ("Read", MEMORY.replace("/", "\\") + "\\tabs.md", True),
        ("Read", "/home/dev/.claude/reverie/memory/a.md", True),
        ("Read", f"{MEMORY}/a.txt", False),
        ("Read", "/home/dev/shop/README.md", False),
        ("Read", f"{MEMORY}/a\0.md", False),
        ("Read", f"/memory/{'a' * 5000}.md", False),
        ("Read", 7, False),
        ("Write", f"{MEMORY}/tabs.md", False),
    ],
)
def test_reads_of_what_may_be_a_memory_are_noted(tmp_path: Path, name: str, path: Any, kept: bool) -> None:
    [entry] = entries(tmp_path, assistant([tool_use(name, {"file_path": path}), tool_use("Read", {})]))
    assert entry.memory_reads == ((path,) if kept else ())


def test_the_clients_own_memory_writes_are_noted(tmp_path: Path) -> None:
    saved = {"type": "system", "subtype": "memory_saved", "writtenPaths": ["/m/a.md", 3], "uuid": "s"}
    other = {"type": "system", "subtype": "turn_duration", "writtenPaths": ["/m/a.md"], "uuid": "t"}
    assert [e.memory_writes for e in entries(tmp_path, saved, other)] == [("/m/a.md",), ()]


def counted(
    message_id: str | None, given: Any, output: Any, content: Any = "x", **extra: Any
) -> dict[str, Any]:
    return assistant(
        content, message_id=message_id, usage={"input_tokens": given, "output_tokens": output}, **extra
    )


def test_bug_008_one_message_on_three_lines_counts_once(tmp_path: Path) -> None:
    rows = [
        counted("M", 10, 2, [{"type": "thinking", "thinking": ""}]),
        counted("M", 10, 2, "alpha"),
        counted("M", 10, 57, [tool_use("Bash", {})]),
    ]
    found = entries(tmp_path, *rows)
    assert usage_totals(found) == (10, 57)
    assert [e.text for e in found if e.text] == ["alpha"]


def test_bug_009_lines_without_request_ids_count_too(tmp_path: Path) -> None:
    found = entries(
        tmp_path, counted("M", 10, 2, uuid="a"), counted("M", 10, 9, uuid="b"), counted(None, 1, 3, uuid="c")
    )
    assert usage_totals(found) == (11, 12)


@pytest.mark.parametrize("value", [-1, "12", None, True, 1e300, 2**70, [], float("nan")])
def test_impossible_token_counts_are_none(tmp_path: Path, value: Any) -> None:
    [entry] = entries(tmp_path, counted("M", value, 4))
    assert (entry.input_tokens, entry.output_tokens) == (0, 4)


def test_unknown_types_are_kept_and_counted(tmp_path: Path) -> None:
    rows = [{"type": "brand-new", "data": "é" * 5000}, {"silly": "this"}, {"type": 7}, {"type": "ai-title"}]
    reading = read(write_lines(tmp_path / "s.jsonl", rows))
    first, *rest = reading.entries
    assert first.note.startswith('{"type":"brand-new","data":"é') and len(first.note) == 2000
    assert [(e.type, e.note, e.speaker) for e in rest] == [
        ("(none)", '{"silly":"this"}', None),
        ("(none)", '{"type":7}', None),
    ]
    assert reading.type_counts == {"brand-new": 1, "(none)": 2, "ai-title": 1}


@pytest.mark.parametrize(
    ("record", "chained"),
    [
        (
            {"type": "progress", "uuid": "p", "parentUuid": "q", "data": {"message": {"content": "tabs"}}},
            [True],
        ),
        ({"type": "progress", "data": {}}, []),
        (
            {"type": "system", "subtype": "local_command", "content": "<command-args>x</command-args>"},
            [False],
        ),
        ({"type": "system", "subtype": "tool_use", "uuid": "p"}, [True]),
        ({"type": "result", "subtype": "success", "result": "always tabs", "uuid": "p"}, [True]),
        ({"type": "file-history-snapshot", "messageId": "p"}, []),
        ({"type": "summary", "summary": "always tabs", "leafUuid": "p"}, []),
        ({"type": "api-request-blob", "uuid": "p"}, []),
    ],
)
def test_records_nobody_speaks_in(tmp_path: Path, record: dict[str, Any], chained: list[bool]) -> None:
    found = entries(tmp_path, record)
    assert [(e.chained, e.text, e.speaker) for e in found] == [(value, "", None) for value in chained]


def test_forked_copies_name_the_session_they_come_from(tmp_path: Path) -> None:
    origin = {"sessionId": "x", "messageUuid": "y"}
    found = entries(
        tmp_path,
        user("mine", forkedFrom=origin),
        assistant("yours", forkedFrom=origin),
        user("odd", forkedFrom=True),
        user("new"),
    )
    assert [(e.text, e.forked_from) for e in found] == [
        ("mine", "x"), ("yours", "x"), ("odd", "?"), ("new", "")
    ]  # fmt: skip


TRACE = {
    "ts": 1772442000,
    "kind": "tool_use",
    "tool": "Read",
    "file_path": "/a",
    "event_class": "tool_use:Read",
}


@pytest.mark.parametrize(
    ("extra", "text"),
    [
        ({}, ""),
        (
            {"kind": "other", "tool": None, "event_class": "user_correction", "message": "again, no tabs"},
            "again, no tabs",
        ),
        ({"kind": "other", "tool": None, "event_class": "other", "message": "always use tabs"}, ""),
        ({"kind": "other", "event_class": "user_correction", "message": "always use tabs"}, ""),
        ({"kind": "tool_result", "event_class": "user_correction", "message": "always use tabs"}, ""),
        ({"kind": "other", "tool": None, "event_class": "user_correction", "message": ["x"]}, ""),
    ],
)
def test_flat_trace_lines_are_read_beside_records(tmp_path: Path, extra: dict[str, Any], text: str) -> None:
    trace, record = entries(tmp_path, {**TRACE, **extra}, user("typed"))
    assert (trace.type, trace.text, trace.at) == ("legacy", text, "2026-03-02T09:00:00+00:00")
    assert (trace.session_id, trace.chained, record.text) == ("sess", False, "typed")
    assert trace.tool_names == (() if extra.get("tool", "Read") is None else ("Read",))


@pytest.mark.parametrize("ts", [True, "x", -5, 1e300, float("nan"), 4_000_000_000])
def test_a_flat_line_with_an_impossible_time(tmp_path: Path, ts: Any) -> None:
    [trace] = entries(tmp_path, {**TRACE, "ts": ts})
    assert (trace.at, trace.at_source) == (None, "unknown")

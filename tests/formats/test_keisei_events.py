"""Tool events of a transcript: what tools were given and gave back, in both shapes of line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.formats.keisei.events import MOST_CALLS, Event, Problem, Trace, events
from tests.support.traces import ONE, one, result, stamped, two
from tests.support.transcripts import Transcript, assistant, encode, tool_use, user, write_lines

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def read(path: Path, *lines) -> list[Event]:
    return list(events(write_lines(path / f"{ONE}.jsonl", lines), now=NOW))


def trace(path: Path, raw: bytes, *, quiet: bool = True) -> tuple[list[Event], list[Problem]]:
    file = path / "hostile.jsonl"
    file.write_bytes(raw)
    found = Trace(file, quiet=quiet, now=NOW)
    return list(found.events), found.problems


def test_both_shapes_in_one_file_give_events_in_its_order(tmp_path):
    found = read(tmp_path, *one())
    assert [(e.line, e.block, e.role, e.tool, e.flat) for e in found] == [
        (1, 0, "", "", False),
        (2, 0, "tool_use", "Bash", False),
        (3, 0, "tool_result", "Bash", False),
        (4, 1, "tool_use", "Bash", False),
        (4, 2, "tool_use", "Read", False),
        (5, 0, "tool_result", "Bash", False),
        (5, 1, "tool_result", "Read", False),
        (6, 0, "", "", False),
        (7, 0, "", "", False),
        (8, 0, "tool_use", "Bash", True),
        (9, 0, "tool_result", "Read", True),
        (10, 0, "", "", False),
        (11, 0, "tool_use", "Bash", False),
    ]
    assert len({(e.session, e.uuid, e.block) for e in found}) == len(found)


def test_an_event_has_what_the_tool_was_given_and_where(tmp_path):
    call = read(tmp_path, *one())[4]
    assert (call.given, call.path) == ({"file_path": "/home/dev/shop/a.py"}, "/home/dev/shop/a.py")
    assert (call.session, call.uuid, call.tool_use_id) == (ONE, "u4", "t3")
    assert (call.cwd, call.branch, call.kind) == ("/home/dev/shop", "main", "assistant")
    assert (call.at, call.at_ms) == ("2026-04-25T00:00:10+00:00", 1777075210311)


def test_a_result_knows_the_call_it_answers(tmp_path):
    failed, went_well = read(tmp_path, *one())[5:7]
    assert (failed.tool, failed.is_error, failed.text) == ("Bash", True, "Permission denied, try again")
    assert failed.details == "Error: Permission denied"
    assert (went_well.tool, went_well.path, went_well.is_error) == ("Read", "/home/dev/shop/a.py", False)
    assert went_well.output == [{"type": "text", "text": "# again: retry the worktree, it failed"}]


def test_a_flat_line_is_read_by_its_kind(tmp_path):
    call, failed = read(tmp_path, *one())[9:11]
    assert (call.kind, call.tool, call.at_ms, call.session) == ("tool_use", "Bash", 1777075200000, ONE)
    assert (failed.path, failed.is_error, failed.output) == ("/home/dev/shop/b.py", True, "no such file")


def test_a_message_may_be_a_text_that_holds_one(tmp_path):
    line = stamped(ONE, "2026-04-25T00:00:00Z", "u1", assistant([tool_use("Bash", {"command": "ls"})]))
    line["message"] = json.dumps(line["message"])
    (found,) = read(tmp_path, line)
    assert (found.role, found.tool, found.given) == ("tool_use", "Bash", {"command": "ls"})


def test_whose_words_they_are_is_decided_by_the_reader(tmp_path):
    talk = Transcript()
    talk.user("Do it again.")
    talk.user("<system-reminder>stop doing that</system-reminder>")
    talk.refusal("not like this")
    found = list(events(write_lines(tmp_path / "t.jsonl", talk.records), now=NOW))
    assert [e.typed for e in found if e.typed] == ["Do it again.", "not like this"]


def test_times_are_those_of_one_clock(tmp_path):
    def line(number, **stamps):
        return {"type": "user", "uuid": f"u{number}", "message": {"content": "x"}, **stamps}

    found = read(
        tmp_path,
        line(0, timestamp="2026-04-25T01:30:00.250+02:00"),
        line(1),
        line(2, timestamp="not a time"),
        line(3, timestamp="2999-01-01T00:00:00Z"),
        line(4, ts=42, timestamp="2026-04-30T18:27:10Z"),
        line(5, ts="nonsense", timestamp="2026-04-30T18:27:10Z"),
    )
    assert [e.at_ms for e in found] == [1777073400250, 1777073400250, None, None, 42000, 1777573630000]
    assert found[0].at == "2026-04-24T23:30:00+00:00"


def test_an_unknown_type_is_an_event_and_a_line_without_one_is_other(tmp_path):
    found = read(tmp_path, {"type": "permission-mode", "permissionMode": "plan"}, {"sessionId": "s"})
    assert [(e.kind, e.session) for e in found] == [("permission-mode", ONE), ("other", "s")]


def test_a_result_without_its_call_names_no_tool(tmp_path):
    lost = stamped(ONE, "2026-04-25T00:00:00Z", "u1", user([result("gone", "x", is_error=True)]))
    bare = stamped(ONE, "2026-04-25T00:00:01Z", "u2", user("x"))
    bare |= {"toolUseID": "t9", "toolUseResult": "it went well", "message": {"role": "user", "content": []}}
    first, second = read(tmp_path, lost, bare)
    assert (first.tool, first.tool_use_id, first.is_error) == ("", "gone", True)
    assert (second.role, second.tool_use_id, second.output) == ("tool_result", "t9", "it went well")


def test_calls_that_are_remembered_are_bounded(tmp_path):
    # One more than are kept: the first is forgotten, the second still known.
    names = [f"t{number}" for number in range(MOST_CALLS + 1)]
    blocks = [tool_use("Read", {"file_path": "/a"}, name) for name in names]
    ends = user([result("t0", "x"), result("t1", "x")])
    found = read(tmp_path, assistant(blocks), ends)
    assert [e.tool for e in found[-2:]] == ["", "Read"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (b'{"type": "user", \n', "not JSON"),
        (b'["a list"]\n', "not an object"),
        (b"[" * 5000 + b"\n", "nested too deeply"),
        (b"\0\0\0\0\n", "only zero bytes"),
        (b'{"type":"user","message":"' + b"x" * (64 << 20) + b'"}\n', "longer than"),
    ],
    ids=["torn", "list", "deep", "zeros", "huge"],
)
def test_a_line_without_a_record_is_named_and_nothing_else_is_lost(tmp_path, bad, reason):
    lines = [encode(line) for line in two()]
    found, problems = trace(tmp_path, lines[0] + bad + b"".join(lines[1:]))
    assert [e.uuid for e in found] == ["v1", "v2", "v3"]
    assert [(line, why[: len(reason)]) for line, why in problems] == [(2, reason)]


def test_records_glued_or_behind_a_torn_one_all_count(tmp_path):
    lines = [encode(line) for line in two()]
    torn = lines[0][:30] + lines[1]
    found, problems = trace(tmp_path, lines[0].rstrip(b"\n") + lines[1] + torn + lines[2])
    assert [(e.line, e.uuid) for e in found] == [(1, "v1"), (1, "v2"), (2, "v2"), (3, "v3")]
    assert [line for line, _ in problems] == [2]


def test_a_last_line_half_written_is_named_and_comes_when_it_is_whole(tmp_path):
    lines = [encode(line) for line in two()]
    found, problems = trace(tmp_path, lines[0] + lines[1][:40])
    assert ([e.uuid for e in found], problems) == (["v1"], [Problem(2, "not written to its end")])
    found, problems = trace(tmp_path, lines[0] + lines[1].rstrip(b"\n"))
    assert ([e.uuid for e in found], problems) == (["v1", "v2"], [])
    # While it is being written, a line counts when it has its end.
    found, problems = trace(tmp_path, lines[0] + lines[1].rstrip(b"\n"), quiet=False)
    assert ([e.uuid for e in found], len(problems)) == (["v1"], 1)


def test_bytes_that_are_no_text_become_marks_and_the_line_stays(tmp_path):
    raw = encode(two()[0]).replace(b"Where", b"Wh\xff\xfere").replace(b"we?", b"we\\ud800?")
    found, problems = trace(tmp_path, raw)
    assert problems == []
    assert found[0].text == "Wh��re are we�?"


@pytest.mark.parametrize(
    "odd",
    [
        {"type": 5, "kind": 7, "message": 3},
        {"type": "assistant", "message": {"content": [None, 1, [], {"type": "tool_use", "input": "x"}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": {"a": 1}}]}},
        {"kind": "tool_use", "ts": True, "tool": ["x"], "file_path": 1, "is_error": "yes", "message": {}},
        {"type": "user", "uuid": {}, "sessionId": [], "timestamp": 1e300, "cwd": "\0", "gitBranch": 1},
        {"ts": -5, "kind": "other", "event_class": 1},
    ],
)
def test_fields_of_any_type_give_an_event(tmp_path, odd):
    found, problems = trace(tmp_path, encode(odd) + encode(two()[0]))
    assert len(found) == 2 and problems == []
    assert all(isinstance(e.uuid, str) and isinstance(e.tool, str) and e.is_error is False for e in found)


def test_a_file_is_open_only_while_it_is_read(tmp_path):
    file = write_lines(tmp_path / "t.jsonl", two())
    unread = Trace(file, now=NOW)
    file.unlink()
    assert unread.problems == []
    with pytest.raises(FileNotFoundError):
        next(unread.events)


def test_what_is_no_transcript_is_refused_with_its_name(tmp_path):
    with pytest.raises(InputError, match="a directory"):
        next(events(tmp_path))
    other = tmp_path / "x.jsonl"
    other.write_bytes(b"SQLite format 3\0")
    with pytest.raises(InputError, match=r"x\.jsonl: an SQLite database"):
        next(events(other))

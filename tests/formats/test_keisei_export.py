"""Exports of traces: compact lines that others read, annotated or as they are, without secrets."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.formats.keisei.events import Trace
from pipeline.formats.keisei.export import Tally, lines
from pipeline.safety.structured import DEEPEST, Cleaner
from tests.support.traces import CLASSES, ONE, old, one, result, rows_of, stamped, transcripts, two
from tests.support.transcripts import assistant, encode, tool_use, user, write_lines

SECRET = "hunter2-Xy7q9Lm"


def export(path: Path, records, *, cleaner: Cleaner | None = None, **options) -> bytes:
    file = write_lines(path / f"{ONE}.jsonl", records)
    return b"".join(lines(Trace(file, quiet=True).events, cleaner or Cleaner(), **options))


def annotated(path: Path, *records, **options) -> list[dict[str, Any]]:
    return rows_of(export(path, records, annotated=True, **options))


def test_without_annotation_records_come_as_they_are(tmp_path):
    assert rows_of(export(tmp_path, one())) == one()
    assert rows_of(export(tmp_path, old())) == old()


def test_lines_are_compact_and_begin_with_their_class(tmp_path):
    out = export(tmp_path, one(), annotated=True).splitlines()
    assert all(line.startswith(b'{"event_class":"') for line in out)
    assert all(line == encode(json.loads(line)).rstrip(b"\n") for line in out)


def test_every_class_is_counted(tmp_path):
    tally = Tally()
    for file in transcripts(tmp_path):
        list(lines(Trace(file, quiet=True).events, Cleaner(), annotated=True, tally=tally))
    assert tally.classes == CLASSES
    assert (tally.lines, tally.calls, tally.errors) == (21, 8, 2)


def test_a_line_with_two_calls_becomes_two_lines(tmp_path):
    calls = [row for row in annotated(tmp_path, *one()) if row.get("uuid") == "u4"]
    kinds = [[block.get("name") or block["type"] for block in row["message"]["content"]] for row in calls]
    assert kinds == [["text", "Bash"], ["Read"]]
    assert [(row["tool"], row["event_block"], row.get("file_path")) for row in calls] == [
        ("Bash", 1, None),
        ("Read", 2, "/home/dev/shop/a.py"),
    ]
    assert calls[0]["message"]["usage"] == calls[1]["message"]["usage"]


def test_a_line_with_two_results_becomes_two_lines(tmp_path):
    failed, went_well = (row for row in annotated(tmp_path, *one()) if row.get("uuid") == "u5")
    assert (failed["event_class"], failed["is_error"], failed["tool"]) == ("tool_error:Bash", True, "Bash")
    assert failed["event_cues"] == ["permission_denied", "retry_loop"]
    assert failed["toolUseResult"] == "Error: Permission denied"
    assert (went_well["event_class"], went_well["is_error"]) == ("tool_result", False)
    assert "toolUseResult" not in went_well and "event_cues" not in went_well


def test_nothing_of_a_divided_line_is_lost(tmp_path):
    line = one()[3]
    rows = [row for row in annotated(tmp_path, *one()) if row.get("uuid") == "u4"]
    blocks = [block for row in rows for block in row["message"]["content"]]
    assert blocks == line["message"]["content"]


def test_session_and_time_stand_in_every_line(tmp_path):
    rows = annotated(tmp_path, *one())
    assert {row["sessionId"] for row in rows} == {ONE}
    assert [row["timestamp"] for row in rows if "ts" in row] == [
        "2026-04-25T00:00:00Z",
        "2026-04-25T00:01:00Z",
    ]
    # Half past one in a zone two hours ahead is the day before in UTC.
    assert rows[-1]["timestamp"] == "2026-04-24T23:30:00Z"
    assert "timestamp" not in next(row for row in rows if row["event_class"] == "summary")


def test_a_class_that_came_along_stands_first_and_once(tmp_path):
    raw = export(tmp_path, old(), annotated=True)
    assert raw.count(b'"event_class"') == len(old())
    assert [row["event_class"] for row in rows_of(raw)][2:4] == ["worktree_error", "user_correction"]


def test_an_annotated_export_read_again_is_the_same(tmp_path):
    first = export(tmp_path, one(), annotated=True)
    again = export(tmp_path / "again", [first], annotated=True)
    names = ("event_class", "tool", "file_path", "is_error", "sessionId", "timestamp")
    kept = [[{name: row.get(name) for name in names} for row in rows_of(raw)] for raw in (first, again)]
    assert kept[0] == kept[1]


def test_secrets_are_taken_out_wherever_they_stand(tmp_path):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    records = [
        stamped(ONE, "2026-04-25T00:00:00Z", "u1", user(f"The password is {SECRET}")),
        stamped(
            ONE,
            "2026-04-25T00:00:01Z",
            "u2",
            assistant(
                [tool_use("Bash", {"command": f"curl -H 'Authorization: Bearer {token}' x", "env": [token]})]
            ),
        ),
        stamped(
            ONE,
            "2026-04-25T00:00:02Z",
            "u3",
            user([result("toolu_1", f"API_KEY={SECRET}")], toolUseResult={"db": {"password": SECRET}}),
        ),
        {"ts": 1, "kind": "tool_result", "tool": "Bash", "message": token, "file_path": f"/x?token={token}"},
    ]
    for options in ({}, {"annotated": True}, {"annotated": True, "strict": True}):
        cleaner = Cleaner()
        out = export(tmp_path, records, cleaner=cleaner, **options).decode()
        assert SECRET not in out and token not in out
        assert out.count("[redacted:") >= cleaner.found >= 7
        assert {"password", "token"} <= cleaner.kinds
    assert rows_of(out)[0]["uuid"] == "u1"


def test_deep_values_come_as_text_that_every_reader_takes(tmp_path):
    deep: Any = SECRET
    for _ in range(400):
        deep = {"password": [deep]}
    line = stamped(ONE, "2026-04-25T00:00:00Z", "u1", assistant([tool_use("Bash", {"command": deep})]))
    # The standard library's writer gives up at that depth.
    raw = encode({**line, "message": "@"}).replace(b'"@"', _json(line["message"]).encode())
    out = export(tmp_path, [raw], annotated=True)
    assert len(out.splitlines()) == 1
    assert out.count(b"{") < 1_000
    assert _depth(json.loads(out)) <= DEEPEST + 2
    assert SECRET.encode() not in out


def _json(value: Any) -> str:
    """Return `value` as JSON from the inside out, at any depth."""
    opened = []
    while isinstance(value, dict | list):
        if isinstance(value, list):
            opened.append(("[", "]"))
            (value,) = value
        elif len(value) == 1:
            ((name, value),) = value.items()
            opened.append((f'{{"{name}":', "}"))
        else:
            name, inner = next((n, v) for n, v in value.items() if isinstance(v, dict | list) and v)
            rest = "".join(f",{json.dumps(n)}:{json.dumps(v)}" for n, v in value.items() if n != name)
            opened.append((f'{{"{name}":', rest + "}"))
            value = inner
    text = json.dumps(value)
    return "".join(a for a, _ in opened) + text + "".join(b for _, b in reversed(opened))


def _depth(value: Any) -> int:
    level, depth = [value], 0
    while level:
        depth += 1
        level = [
            inner
            for item in level
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
    return depth


def test_numbers_that_no_writer_takes_come_as_text(tmp_path):
    # Beside half of a pair, which the quick decoder refuses, so that the long number stays what it is.
    raw = b'{"type":"user","n":123456789012345678901234567890,"inf":1e999,"nan":NaN,"x":"\\ud83d"}\n'
    (row,) = rows_of(export(tmp_path, [raw]))
    assert row == {
        "type": "user",
        "n": "123456789012345678901234567890",
        "inf": "inf",
        "nan": "nan",
        "x": "�",
    }


def test_an_export_holds_one_line_at_a_time(tmp_path):
    """The peak of exporting 24 MB is that of exporting 3 MB, within the size of some lines."""
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from pipeline.formats.keisei.events import Trace\n"
        "from pipeline.formats.keisei.export import lines\n"
        "from pipeline.safety.structured import Cleaner\n"
        "size = sum(map(len, lines(Trace(Path(sys.argv[1])).events, Cleaner(), annotated=True)))\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, size)\n"
    )
    text = "word " * 20_000
    peaks = []
    for number in (30, 240):
        records = [
            stamped(ONE, "2026-04-25T00:00:00Z", f"u{at}", user([result(f"t{at}", text)]))
            for at in range(number)
        ]
        file = write_lines(tmp_path / f"{number}.jsonl", records)
        done = subprocess.run(
            [sys.executable, "-c", program, file], capture_output=True, text=True, check=True
        )
        peak, size = map(int, done.stdout.split())
        assert size > number * len(text)
        peaks.append(peak * (1 if sys.platform == "darwin" else 1024))
    assert resource.getpagesize() and peaks[1] - peaks[0] < 12_000_000


NAMES = ("type", "kind", "ts", "timestamp", "message", "content", "tool", "event_class", "is_error", "uuid",
         "sessionId", "toolUseResult", "input", "id", "name", "tool_use_id", "file_path", "role")  # fmt: skip
WORDS = ("assistant", "user", "tool_use", "tool_result", "other", "again", "2026-04-25T00:00:00Z", "", "t1")
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**70) | st.floats() | st.sampled_from(WORDS)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), ODD, max_size=8) | ODD, max_size=4), st.booleans())
@settings(max_examples=40)
def test_any_lines_give_an_export_that_is_json(tmp_path_factory, values, strict):
    file = tmp_path_factory.getbasetemp() / "any.jsonl"
    file.write_text("".join(json.dumps(value) + "\n" for value in [two()[0], *values]), "utf-8")
    found = Trace(file, quiet=True)
    rows = rows_of(b"".join(lines(found.events, Cleaner(), annotated=True, strict=strict)))
    records = [value for value in values if isinstance(value, dict)]
    assert len(rows) >= 1 + len(records)
    assert len({problem.line for problem in found.problems}) == len(values) - len(records)
    assert all(isinstance(row["event_class"], str) and row["sessionId"] for row in rows)


@pytest.mark.parametrize("records", [one(), two(), old()], ids=["one", "two", "old"])
def test_strict_classes_change_nothing_else(tmp_path, records):
    usual = annotated(tmp_path, *records)
    strict = annotated(tmp_path, *records, strict=True)
    left_out = [row for row in usual if row.get("uuid") == "u5" and row.get("event_block") == 1]
    changed = ("event_class", "event_cues")
    bare = [[{n: v for n, v in row.items() if n not in changed} for row in rows] for rows in (usual, strict)]
    assert [row for row in usual if row not in left_out] and len(usual) == len(strict) + len(left_out)
    assert all(row in bare[0] for row in bare[1])

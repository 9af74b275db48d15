"""Skimming a transcript tells what reading it tells, but for records in which nothing is kept."""

import json
import os
import tempfile
from copy import deepcopy
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain.speech import BareLink, Entry
from pipeline.transcript import Cursor, read, skim
from tests.support.transcripts import REFUSED_SAID, assistant, encode, enqueue, tool_result, tool_use, user

SHARED = Path(os.environ.get("REVERIE_SHARED") or Path(__file__).parents[3] / "shared")
FOLDER = SHARED / "data" / "transcripts"
STAMP = "2026-03-02T09:00:00.000Z"
MEMORY = "/home/dev/.claude/projects/-w/memory/note.md"
EDITED = {"file_path": "/w/a.py", "old_string": "a", "new_string": "b"}


skim_all = partial(skim, glance_from=0)


def bare(entry):
    """Return what a skim may make of `entry` at most: a bare link where nothing of it is kept."""
    if isinstance(entry, BareLink):
        return entry if entry.uuid else entry._replace(parent_uuid=None, sidechain=False)
    kept = entry.text or entry.note or entry.memory_writes or entry.tool_names or entry.memory_reads
    if kept or entry.written:
        return entry
    return bare(
        BareLink(entry.offset, entry.uuid if entry.chained else "", entry.parent_uuid, entry.sidechain)
    )


def assert_same(path, *, quiet, cursor=None):
    """Hold a skim of `path` against a reading, and return the cursor that both end with."""
    whole, skimmed = (way(path, cursor or Cursor(), quiet=quiet) for way in (read, skim_all))
    assert [bare(entry) for entry in skimmed.entries] == [bare(entry) for entry in whole.entries]
    assert (skimmed.cursor, skimmed.restarted, skimmed.bad) == (whole.cursor, whole.restarted, whole.bad)
    assert dict(skimmed.type_counts) == dict(whole.type_counts)
    assert skimmed.bytes_read == whole.bytes_read
    return whole.cursor


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no real transcripts at {FOLDER}")
@pytest.mark.parametrize("quiet", [True, False])
def test_real_transcripts_are_skimmed_as_they_are_read(quiet):
    paths = sorted(FOLDER.rglob("*.jsonl"))
    assert len(paths) == 20
    for path in paths:
        assert_same(path, quiet=quiet)


VALUES = [None, True, 0, -1, 1.5, 1e300, 2**70, "", "x", "user", "\0", "a\0b", "é", STAMP, "2026"]
SHAPES = [[], ["x"], [{}], {}, {"kind": 1}, {"kind": "human"}, {"sessionId": "s"}, [{"type": "tool_result"}]]
ODD = st.sampled_from([*VALUES, *SHAPES, [{"type": "text"}]]).map(deepcopy)
USUAL = [
    user("hello 日本 🚀"),
    user([{"type": "text", "text": "one"}, {"type": "image", "source": {}}]),
    tool_result("out", tool_id="t1"),
    tool_result(REFUSED_SAID + "no", tool_id="t1", is_error=True),
    tool_result("out", tool_id="t2", toolUseResult={"type": "create", "content": "x", "filePath": MEMORY}),
    tool_result("User has approved your plan", tool_id="t3"),
    user([{"type": "tool_result", "tool_use_id": "t1", "content": "x"}, {"type": "text", "text": "and"}]),
    assistant("yes"),
    assistant([{"type": "thinking", "thinking": "x", "signature": "y"}]),
    assistant([{"type": "text", "text": "so"}, tool_use("Bash", {"command": "ls"}, "t1")]),
    assistant([tool_use("Edit", EDITED, "t1"), tool_use("Read", {"file_path": MEMORY}, "t4")]),
    assistant([tool_use("Write", {"file_path": MEMORY, "content": "x"}, "t2")]),
    assistant([tool_use("Read", {"file_path": "/h/.claude/plans/p.md"}, "t5")]),
    assistant([tool_use("ExitPlanMode", {"plan": "do it"}, "t3")]),
    assistant("(no content)"),
    assistant("made up", model="<synthetic>"),
    {"type": "system", "subtype": "compact_boundary", "logicalParentUuid": "u1"},
    {"type": "system", "subtype": "memory_saved", "writtenPaths": [MEMORY]},
    {"type": "progress", "data": {"output": "x" * 50}},
    {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "later"}},
    {"type": "attachment", "attachment": {"type": "hook_success", "content": "x"}},
    {"type": "result", "result": "x"},
    {"type": "file-history-snapshot", "snapshot": {}},
    {"type": "api-request-shape", "x": 1},
    {"type": "brand-new", "x": 1},
    enqueue("later"),
    {"type": "queue-operation", "operation": "remove"},
    {"type": "queue-operation", "operation": "dequeue"},
    {"ts": 1772442000, "kind": "other", "event_class": "user_note", "message": "flat"},
]
FIELDS = [
    *("type", "uuid", "parentUuid", "logicalParentUuid", "subtype", "sessionId", "session_id", "timestamp"),
    *("cwd", "entrypoint", "gitBranch", "isSidechain", "isMeta", "isApiErrorMessage", "agentId", "origin"),
    *("forkedFrom", "message", "attachment", "toolUseResult", "userType", "turnOrigin", "isCompactSummary"),
]
BELOW = [
    "role",
    "id",
    "model",
    "content",
    "usage",
    "type",
    "text",
    "name",
    "input",
    "tool_use_id",
    "is_error",
]
BELOW += ["input_tokens", "output_tokens", "file_path", "notebook_path", "path", "kind"]


@st.composite
def records(draw):
    """Return a usual record in which some fields, at any depth, may be odd."""
    number = draw(st.integers(0, 9))
    record = {
        **json.loads(json.dumps(draw(st.sampled_from(USUAL)))),
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "timestamp": draw(
            st.sampled_from([STAMP, "2026-03-02T09:07:00.500Z", "2099-01-01T00:00:00.000Z", "x"])
        ),
    }
    for name in draw(st.lists(st.sampled_from(["uuid", "parentUuid", "timestamp", "type"]), max_size=1)):
        record.pop(name, None)
    for name in draw(st.lists(st.sampled_from(FIELDS), max_size=2)):
        record[name] = draw(ODD)
    message = record.get("message")
    if isinstance(message, dict) and draw(st.booleans()):
        content = message.get("content")
        held = [message, message.get("usage"), *(content if isinstance(content, list) else [])]
        held += [block.get("input") for block in held if isinstance(block, dict)]
        target = draw(st.sampled_from([item for item in held if isinstance(item, dict)]))
        target[draw(st.sampled_from(BELOW))] = draw(ODD)
    return record


def broken(record, how):
    """Return the line of `record`, spoilt in one of the ways that lines are."""
    line = encode(record)
    inside = line[:-2]
    return {
        "": line,
        "crlf": line[:-1] + b"\r\n",
        "bom": b"\xef\xbb\xbf" + line,
        "blank": b"  " + line,
        "zero": line[:-1] + b"\0\n",
        "zeros": b"\0" * 9 + b"\n" + line,
        "bytes": inside + b',"z":"\xff\xfe"}\n',
        "half": inside + b',"z":"\\ud83d"}\n',
        "nan": inside + b',"z":NaN}\n',
        "huge": inside + b',"z":' + b"9" * 400 + b"}\n",
        "infinite": inside + b',"z":1e999}\n',
        "deep": inside + b',"z":' + b"[" * 3000 + b"]" * 3000 + b"}\n",
        "twice": inside + b',"uuid":"u0","message":5,"type":"system"}\n',
        "glued": line[:-1] + line,
        "torn": line[: len(line) // 2] + line,
        "control": inside + b',"z":"\x01"}\n',
    }[how]


HOW = st.sampled_from([""] * 12 + ["crlf", "bom", "blank", "zero", "zeros", "bytes", "half", "nan", "huge"])
HOW |= st.sampled_from(["infinite", "deep", "twice", "glued", "torn", "control"])


@settings(max_examples=150)
@given(
    st.lists(st.tuples(records(), HOW), max_size=12), st.integers(0, 40), st.integers(0, 60), st.booleans()
)
def test_whatever_stands_in_a_file_is_skimmed_as_it_is_read(drawn, cut, tail, quiet):
    data = b"".join(broken(record, how) for record, how in drawn)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.jsonl"
        path.write_bytes(data[: len(data) * cut // 40])
        cursor = assert_same(path, quiet=quiet)
        path.write_bytes(data[: max(0, len(data) - tail)])
        assert_same(path, quiet=quiet, cursor=cursor)


def test_most_of_a_session_becomes_bare_links(tmp_path):
    path = tmp_path / "s.jsonl"
    found = [USUAL[2], USUAL[8], USUAL[18], USUAL[20], USUAL[9]]
    path.write_bytes(b"".join(encode({**record, "uuid": f"u{n}"}) for n, record in enumerate(found)))
    assert [type(entry) for entry in skim_all(path).entries] == [BareLink] * 4 + [Entry]

"""Reading the spool: order, tolerance, quarantine, and what may be kept of an event."""

import json
import os
from pathlib import Path

import pytest

from pipeline.core.errors import SpoolError
from pipeline.intake import spool
from pipeline.intake.spool import Event, SpoolFile

FIELDS = {
    "session_id": "s-1",
    "transcript_path": "/p/s-1.jsonl",
    "cwd": "/w/日本",
    "hook_event_name": "Stop",
    "last_assistant_message": "All done 🚀",
}
WHOLE = json.dumps(FIELDS)


def put(home: Path, data: bytes, name: str = "1795821629425-7-0a1b2c-Stop.json") -> SpoolFile:
    folder = home / "spool"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)
    return next(file for file in spool.pending(home) if file.path.name == name)


def event(home: Path, data: bytes) -> Event:
    found = spool.parse(put(home, data))
    assert found is not None
    return found


def test_files_come_oldest_first_and_nothing_else_comes(tmp_path: Path) -> None:
    names = ["1795821629427-1-aaaaaa-PreCompact.json", "1795821629425-9-bbbbbb-SessionEnd.json"]
    for name in [*names, ".1795821629426-1-cccccc-Stop.json.reverie-tmp-", "notes.txt"]:
        put(tmp_path, b"{}", name) if name in names else (tmp_path / "spool" / name).write_bytes(b"")
    (tmp_path / "spool" / "link.json").symlink_to("/etc/passwd")
    (tmp_path / "spool" / "folder.json").mkdir()
    found = [(file.hook, file.received_at) for file in spool.pending(tmp_path)]
    assert found == [("SessionEnd", 1795821629.425), ("PreCompact", 1795821629.427)]


def test_no_spool_is_an_empty_one(tmp_path: Path) -> None:
    assert list(spool.pending(tmp_path)) == []
    assert spool.sweep(tmp_path, now=0.0) == 0
    assert spool.quarantined(tmp_path) == []


def test_a_spool_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "spool").write_bytes(b"")
    with pytest.raises(SpoolError) as caught:
        list(spool.pending(tmp_path))
    assert caught.value.file == str(tmp_path / "spool") and caught.value.fix


@pytest.mark.parametrize(
    "data",
    [
        WHOLE.encode(),
        b"\xef\xbb\xbf" + WHOLE.encode(),
        WHOLE.encode("utf-16"),
        WHOLE.encode("utf-16-le"),
        b"\n  " + WHOLE.encode() + b"\n{}",
        json.dumps(FIELDS, ensure_ascii=False).encode(),
    ],
    ids=["plain", "BOM", "UTF-16", "UTF-16 without BOM", "more behind", "not escaped"],
)
def test_one_event_in_any_encoding(tmp_path: Path, data: bytes) -> None:
    found = event(tmp_path, data)
    assert (found.id, found.hook) == ("1795821629425-7-0a1b2c-Stop", "Stop")
    assert (found.session_id, found.transcript_path, found.cwd) == ("s-1", "/p/s-1.jsonl", "/w/日本")
    assert found.last_assistant_message == "All done 🚀" and not found.agent_id


@pytest.mark.parametrize("cut", [60, 90, len(WHOLE) - 2])
def test_a_cut_event_still_names_its_session(tmp_path: Path, cut: int) -> None:
    found = event(tmp_path, WHOLE[:cut].encode())
    assert (found.session_id, found.transcript_path) == ("s-1", "/p/s-1.jsonl")


@pytest.mark.parametrize(
    ("fields", "session", "path"),
    [
        ({"session_id": "s"}, "s", None),
        ({"session_id": "s", "transcript_path": None}, "s", None),
        ({"transcript_path": "/p/abc.jsonl"}, "abc", "/p/abc.jsonl"),
        ({"session_id": "../../etc", "transcript_path": "~/p/abc.jsonl"}, "abc", "~/p/abc.jsonl"),
        ({"session_id": 7, "transcript_path": "/p/abc.jsonl", "cwd": ["x"]}, "abc", "/p/abc.jsonl"),
        ({"session_id": "s\ud83d", "transcript_path": "/p/a\udcb2.jsonl"}, "", "/p/a\ufffd.jsonl"),
    ],
)
def test_missing_and_odd_fields(
    tmp_path: Path, fields: dict[str, object], session: str, path: str | None
) -> None:
    found = event(tmp_path, json.dumps(fields).encode())
    assert (found.session_id, found.transcript_path) == (session, path)


def test_bug_010_lone_halves_become_one_mark(tmp_path: Path) -> None:
    data = rb'{"session_id":"s","last_assistant_message":"ok \ud83d end \ud83d\ude80"}'
    found = event(tmp_path, data)
    assert found.last_assistant_message == "ok \ufffd end 🚀"
    assert "ok \ufffd end 🚀" in found.payload_json and found.payload_json.encode()


@pytest.mark.parametrize("data", [b"not json", b"[1]", b"{}", b"7", b"[" * 100_000, b"\xff\x00\xb2"])
def test_what_names_no_session_is_quarantined(tmp_path: Path, data: bytes) -> None:
    file = put(tmp_path, data)
    assert spool.parse(file) is None
    assert not file.path.exists() and list(spool.pending(tmp_path)) == []
    assert spool.quarantined(tmp_path) == [(file.id, "names neither a session nor a transcript")]


def test_a_quarantined_event_keeps_no_secret(tmp_path: Path) -> None:
    file = put(tmp_path, b'"password": "hunter2-made-up", and more')
    place = spool.quarantine(file, "password = hunter2-made-up")
    assert place.read_text() == '"password": "[redacted:password]", and more'
    assert spool.quarantined(tmp_path) == [(file.id, "password = [redacted:password]")]


def test_a_vanished_file_is_no_event(tmp_path: Path) -> None:
    file = put(tmp_path, b"{}")
    spool.retire(file)
    spool.retire(file)
    assert spool.parse(file) is None and spool.quarantined(tmp_path) == []


def test_a_subagents_event_says_so(tmp_path: Path) -> None:
    assert event(tmp_path, b'{"session_id":"s","agent_id":"a-1"}').agent_id == "a-1"
    assert event(tmp_path, b'{"session_id":"s","agent_id":"a-1"').agent_id == "a-1"
    assert event(tmp_path, rb'{"session_id":"s","m":"\"agent_id\": \"a\"').agent_id == ""


@pytest.mark.parametrize(
    ("file_hook", "expected"),
    [("SessionEnd", "SessionEnd"), ("Unknown", "Stop")],
)
def test_the_file_name_says_which_hook(tmp_path: Path, file_hook: str, expected: str) -> None:
    file = put(tmp_path, WHOLE.encode(), f"1795821629425-7-0a1b2c-{file_hook}.json")
    found = spool.parse(file)
    assert found is not None and found.hook == expected


def test_why_a_session_ended_is_kept(tmp_path: Path) -> None:
    assert event(tmp_path, b'{"session_id":"s","reason":"clear"}').reason == "clear"
    assert event(tmp_path, b'{"session_id":"s","trigger":"auto"}').reason == "auto"


def test_bug_091_the_payload_is_redacted_and_small(tmp_path: Path) -> None:
    fields = {
        **FIELDS,
        "last_assistant_message": "password = hunter2-made-up " + "x" * 5_000_000,
        "background_tasks": [{"command": "mysql --password hunter2", "n": 1}] * 500,
        "deep": json.loads("[" * 400 + "]" * 400),
    }
    kept = event(tmp_path, json.dumps(fields).encode()).payload_json
    assert len(kept.encode()) <= spool.PAYLOAD_LIMIT and "hunter2" not in kept
    assert json.loads(kept)["session_id"] == "s-1"


def test_a_secret_across_the_cut_is_not_kept_in_half(tmp_path: Path) -> None:
    text = "x" * 3990 + " gh" + "p_aBcDeFgHiJkLmNoPqRsTuVwXyZ0123456789" + "y " * 20_000
    kept = event(tmp_path, json.dumps({**FIELDS, "m": text}).encode()).payload_json
    assert "x" * 3990 in kept and "p_aBc" not in kept


def test_temp_files_of_dead_hooks_are_swept_after_a_day(tmp_path: Path) -> None:
    kept = put(tmp_path, b"{}")
    for name, age in (("old", 90_000), ("young", 80_000)):
        path = tmp_path / "spool" / f".{name}.json.reverie-tmp-"
        path.write_bytes(b"half")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    os.utime(kept.path, (0, 0))
    assert spool.sweep(tmp_path, now=1_000_000.0) == 1
    left = sorted(path.name for path in (tmp_path / "spool").iterdir())
    assert left == [".young.json.reverie-tmp-", kept.path.name]

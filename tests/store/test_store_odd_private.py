"""What may lie in ``.reverie`` that Reverie did not put there, or not in that shape."""

import errno
import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from pipeline.core.errors import LockError, StoreError
from pipeline.core.locks import try_lock
from pipeline.store import ChangeSet, Store, fsck
from tests.support.stores import NOW, memory, save


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "memory", create=True)
    save(store, memory("one"), memory("two"))
    return store


def retire(store, id="leave"):
    return store.apply(
        ChangeSet(id, "test", [store.retire(store.read("two"), year=2026, reason="x")]), generation=True
    )


@pytest.mark.parametrize("line", [b"5", b'[[1],"a"]', b'["one.md",5]', b"{}", b"[1,2,3]", b"null"])
def test_an_odd_line_in_the_record_hides_no_other(store, line):
    with (store.root / ".reverie/written.jsonl").open("ab") as file:
        file.write(line + b"\n")
    again = Store.open(store.root)
    assert all(again.is_ours(item) for item in again.scan().documents)
    retire(again)
    assert not (store.root / "two.md").exists()


PLACES = {
    "the record is a folder": (".reverie/written.jsonl", os.mkdir),
    "the record is a pipe": (".reverie/written.jsonl", os.mkfifo),
    "the notes are a folder": (".reverie/retired.jsonl", os.mkdir),
    "the lock is a pipe": (".reverie/lock", os.mkfifo),
    "the lock is a folder": (".reverie/lock", os.mkdir),
    "the lock leads nowhere": (".reverie/lock", lambda path: os.symlink("nowhere", path)),
    "all of it is a file": (".reverie", lambda path: path.write_bytes(b"x")),
}


@pytest.mark.parametrize("case", PLACES)
def test_what_is_no_regular_file_is_named_with_what_to_do(store, case):
    path, make = PLACES[case]
    place = store.root / path
    shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    make(place)
    with pytest.raises(StoreError) as caught:
        retire(Store.open(store.root))
        Store.open(store.root).retired()
    assert caught.value.fix and ".reverie" in str(caught.value)
    assert not (store.root / ".reverie/nowhere").exists()


INTENTS = [
    {"operations": [{"path": "one.md"}]},
    {"operations": []},
    {"id": "x", "operations": [{"path": "../../x", "kind": "memory", "expected": None, "new": "a"}]},
    {"id": "x", "operations": [{"path": "one.md", "kind": "retire", "expected": 1, "target": 5}]},
    {"id": 5, "operations": [{"path": "one.md", "kind": "memory", "expected": "x", "new": None}]},
    {
        "id": "x",
        "operations": [
            {"path": "one.md", "kind": "memory", "expected": "x", "new": None, "staged": "../lock"}
        ],
    },
    {"id": "x", "operations": [{"path": "one.md", "kind": "restore", "expected": None, "new": None}]},
    {"id": "x", "operations": [{"path": "one.md", "kind": "explode", "expected": None, "new": "a"}]},
    {"id": "x", "operations": [{"path": "one.md", "expected": None, "new": "a"}]},
    [],
]


@pytest.mark.parametrize("intent", INTENTS, ids=lambda value: json.dumps(value)[:60])
def test_an_intent_of_the_wrong_shape_is_set_aside(store, intent):
    before = (store.root / "one.md").read_bytes()
    raw = json.dumps(intent).encode()
    (store.root / ".reverie/intent.json").write_bytes(raw)
    retire(Store.open(store.root))
    assert (store.root / ".reverie/conflicts/intent.json").read_bytes() == raw
    assert (store.root / "one.md").read_bytes() == before and not (store.root / "two.md").exists()


@pytest.mark.parametrize("raw", [b"\0", b"5", b"{}"])
def test_a_change_set_with_a_damaged_record_is_still_done_once(store, raw):
    retire(store)
    (store.root / ".reverie/done/leave.json").write_bytes(raw)
    put = store.put(memory("three"))
    assert store.apply(ChangeSet("leave", "test", [put])).already
    assert not (store.root / "three.md").exists()


NOTES = [
    {"path": None, "target": "archive/2026/one.md", "id": 5},
    {"path": "one.md", "target": "../../ledger.sqlite", "id": "one", "at": ""},
    {"path": ["a"], "target": "archive/2026/two.md", "at": "2026-01-01"},
    5,
]


@pytest.mark.parametrize("note", NOTES, ids=str)
def test_an_odd_note_of_what_left_hides_no_other(store, note):
    retire(store)
    with (store.root / ".reverie/retired.jsonl").open("ab") as file:
        file.write(json.dumps(note).encode() + b"\n")
    assert [item.path for item in store.retired()] == ["two.md"]


def ended():
    """Return the number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        return process.pid


def test_what_a_killed_writer_left_is_swept_at_the_end_of_the_next_pass(store):
    name = ".one.md.reverie-tmp-77-0123456789ab"
    places = [store.root, store.root / ".reverie", store.root / ".reverie/done", store.root / "archive/2026"]
    places[-1].mkdir(parents=True)
    for place in places:
        for file in (place / name, place / ".mine.reverie-tmp-x"):
            file.write_bytes(b"half")
            os.utime(file, (1, 1))
    gone = ended()
    fresh = store.root / name.replace("77", f"{gone}")
    fresh.write_bytes(b"maybe at work elsewhere")
    slow, dead = (store.root / f".two.md.reverie-tmp-{pid}-0123456789ab" for pid in (os.getpid(), gone))
    for file in (slow, dead):
        file.write_bytes(b"half")
        os.utime(file, (minutes_ago := time.time() - 120, minutes_ago))
    retire(store)
    store.reindex(now=NOW)
    assert slow.exists() and not dead.exists()
    assert not [place for place in places if (place / name).exists()]
    assert all((place / ".mine.reverie-tmp-x").exists() for place in places) and fresh.exists()


def test_a_torn_line_of_a_log_is_told_with_its_number(store):
    assert not [item for item in fsck(store) if item.code == "torn-line"]
    with (store.root / ".reverie/written.jsonl").open("ab") as file:
        file.write(b'["three.md","12')
    retire(store)
    found = [item for item in fsck(store) if item.code == "torn-line"]
    assert [item.path for item in found] == [".reverie/written.jsonl"]
    assert found[0].message.startswith("line ") and found[0].fix


def test_a_disk_that_takes_nothing_is_not_to_be_mended_by_removing_a_file(tmp_path, monkeypatch):
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patched, pytest.raises(LockError) as refused:
        patched.setattr(os, "open", refuse)
        try_lock(tmp_path / "lock")
    assert "read-only" in str(refused.value.fix) and "remove" not in str(refused.value.fix)

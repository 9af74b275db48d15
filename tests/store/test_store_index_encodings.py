"""A MEMORY.md that is not UTF-8 is left alone to the byte, and said; other line ends are kept."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipeline.diagnostics.audit import audit
from pipeline.diagnostics.audit.first_sight import first_sight
from pipeline.store import ChangeSet, Store, fsck
from pipeline.store.files.memory_index import BEGIN, unreadable
from tests.support.stores import NOW, index, memory, save

THEIRS = "# Notes\n\n- [Port](port.md) — the café's mailer\n"
ODD = {
    "utf-16, little": b"\xff\xfe" + THEIRS.encode("utf-16-le"),
    "utf-16, big": b"\xfe\xff" + THEIRS.encode("utf-16-be"),
    "utf-16, no mark": THEIRS.replace("—", "-").replace("é", "e").encode("utf-16-le"),
    "latin-1": THEIRS.replace("—", "-").encode("latin-1"),
    "one odd byte": THEIRS.encode() + b"- caf\xff\n",
}
LINES = {"latin-1": 3, "one odd byte": 4}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.open(tmp_path / "memory", create=True)
    (made.root / "port.md").write_text("---\nname: port\n---\nThe mailer listens on port 8025.\n")
    return made


@pytest.mark.parametrize("odd", ODD)
def test_it_stays_to_the_byte_whatever_changes(store: Store, odd: str) -> None:
    file = store.root / "MEMORY.md"
    file.write_bytes(ODD[odd])
    put = store.put(memory())
    store.apply(ChangeSet("run-1", "test", [put]), generation=True)
    assert file.read_bytes() == ODD[odd]
    assert "MEMORY.md" not in store.reindex(now=NOW)
    store.undo("run-1")
    store.apply(ChangeSet("run-2", "test", [store.retire(store.read("port"), year=2026, reason="x")]))
    assert file.read_bytes() == ODD[odd]
    assert not (store.root / "MEMORY-more.md").exists()


@pytest.mark.parametrize("odd", ODD)
def test_it_is_said_with_the_fix(store: Store, odd: str) -> None:
    (store.root / "MEMORY.md").write_bytes(ODD[odd])
    (line,) = store.scan().left_out()
    kind = {"utf-16, no mark": "UTF-16 or no text"}.get(odd, "not UTF-8" if odd in LINES else "UTF-16")
    assert line.startswith(f"MEMORY.md:{LINES.get(odd, 1)}: it is {kind}, so ")
    assert line.endswith(
        "leaves it as it is and lists nothing more in it. Save it as UTF-8, then run `reverie reindex`."
    )
    assert [(f.code, f.fix) for f in fsck(store) if f.path == "MEMORY.md"] == [
        ("index-encoding", "Save it as UTF-8, then run `reverie reindex`.")
    ]
    seen = audit(store.root, now=NOW, project=None)
    named = [(f.level, f.code, f.line) for f in seen.findings if f.code in ("index-encoding", "encoding")]
    assert named == [("error", "index-encoding", LINES.get(odd, 1))]
    assert [row.number for row in first_sight(seen).rows if row.kind == "encoding"] == [1]


def test_saved_as_utf_8_it_is_written_again(store: Store) -> None:
    file = store.root / "MEMORY.md"
    file.write_bytes(ODD["utf-16, little"])
    save(store, memory())
    file.write_bytes(THEIRS.encode())
    assert "MEMORY.md" in store.reindex(now=NOW)
    assert index(store).startswith(f"{THEIRS}\n{BEGIN}\n") and "](prefers-tabs.md)" in index(store)
    assert store.scan().left_out() == [] and fsck(store) == []


def test_an_index_of_ours_that_someone_saved_in_another_encoding_stays(store: Store) -> None:
    save(store, memory())
    again = b"\xff\xfe" + index(store).encode("utf-16-le")
    (store.root / "MEMORY.md").write_bytes(again)
    save(store, memory("later"), id="run-2")
    assert (store.root / "MEMORY.md").read_bytes() == again


def test_links_of_an_index_in_utf_16_are_still_seen(store: Store) -> None:
    save(store, memory())
    (store.root / "MEMORY.md").write_bytes(
        b"\xff\xfe" + "- [Tabs](prefers-tabs.md), mine\n".encode("utf-16-le")
    )
    old = store.read("prefers-tabs")
    renamed = store.rename(memory("likes-tabs"), old, approved=True)
    assert renamed.path == "prefers-tabs.md" and renamed.memory.name == "prefers-tabs"


@pytest.mark.parametrize("newline", ["\r", "\r\n", "\n"])
def test_our_block_takes_the_line_ends_that_are_there(store: Store, newline: str) -> None:
    theirs = THEIRS.replace("\n", newline).encode()
    (store.root / "MEMORY.md").write_bytes(theirs)
    for number in range(3):
        save(store, memory(f"m-{number}"), id=f"run-{number + 2}")
    raw = (store.root / "MEMORY.md").read_bytes()
    assert raw.startswith(theirs + f"{newline}{BEGIN}{newline}".encode()) and raw.count(b"](m-") == 3
    assert set(re.findall(rb"\r\n|\n|\r", raw)) == {newline.encode()}
    (store.root / "MEMORY.md").write_bytes(raw.replace(b"m-1.md)", b"m-1.md) mine"))
    store.reindex(now=NOW)
    again = (store.root / "MEMORY.md").read_bytes()
    assert again.endswith(b"m-1.md) mine" + newline.encode()) and again.count(b"](m-1.md)") == 1
    assert set(re.findall(rb"\r\n|\n|\r", again)) == {newline.encode()}


def test_lines_that_end_as_on_an_old_mac_take_room_too(store: Store) -> None:
    (store.root / "MEMORY.md").write_bytes(b"line\r" * 190)
    save(store, *[memory(f"m-{number}") for number in range(50)])
    raw = (store.root / "MEMORY.md").read_bytes()
    assert raw.count(b"\r") <= 200 and b"more in [MEMORY-more.md]" in raw


@pytest.mark.parametrize("text", ["", "# Notes\n", "\ufeff# Notes\r\n", "café 記\n", "a\x0cb\n"])
def test_what_is_utf_8_is_text(text: str) -> None:
    assert unreadable(text.encode()) is None

"""A store's search index made and kept from its files."""

import os
import sqlite3
from contextlib import closing

import pytest

from pipeline.domain.memory import Evidence
from pipeline.search import index_reader
from pipeline.search.fts import SearchIndex, index_file
from pipeline.search.refresh import (
    bring_in_step,
    refresh_archive_index,
    refresh_index,
    search_rows,
    sweep_indexes,
)
from pipeline.search.ticks import TICK_NS
from pipeline.store import Store, folder_times
from pipeline.store.derived import cues
from tests.support.stores import NOW, apply, memory, save

SOURCES = (
    Evidence(session="s-1", uuid="u-1", quote="tabs", at="2026-11-20T09:00:00+00:00"),
    Evidence(session="s-2", uuid="u-2", quote="tabs", at="2026-11-21T09:00:00+01:00"),
    Evidence(session="s-1", uuid="u-3", quote="tabs"),
)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


def reader(home, store, folder=""):
    return index_reader.Reader(index_reader.index_path(str(home), str(store.root / folder)))


def shown(home, store, path):
    with reader(home, store) as opened:
        return opened.rows([path])[0].shown


def foreign(store, text, path="theirs.md"):
    """A memory file that somebody else wrote."""
    (store.root / path).parent.mkdir(parents=True, exist_ok=True)
    (store.root / path).write_text(text)


def test_it_holds_what_a_person_would_be_told(home, store):
    one = memory(sources=SOURCES, anchors=("src/a.py",), tags=("style",), importance=0.7, pinned=True)
    save(store, one)
    refresh_index(home, store, NOW)
    assert shown(home, store, "vault/prefers-tabs.md") == {
        "id": one.id, "name": "prefers-tabs", "title": "", "type": "feedback", "tags": ["style"],
        "description": "Indent with tabs, never spaces.", "origin": "user-stated",
        "said": "2026-11-21T08:00:00+00:00", "created": "2026-11-27T10:00:00+00:00",
        "updated": "2026-11-27T10:00:00+00:00", "importance": 0.7, "confidence": 0.8, "pinned": True,
        "weight": 1.3, "anchors": ["src/a.py"], "sessions": ["s-1", "s-2"], "archived": False,
        "quote": ["tabs", "2026-11-21T09:00:00+01:00"],
        "body": "Indent with tabs.\n", "cut": False, "hand": "ours", "author": "",
    }  # fmt: skip


SAID = [
    ("", ""),
    ("created: 2026-01-01\n", "2026-01-01T00:00:00+00:00"),
    ("created: 2026-01-01\nupdated: 2026-02-01\n", "2026-02-01T00:00:00+00:00"),
    ("metadata: {modified: 2026-03-01}\n", "2026-03-01T00:00:00+00:00"),
]


@pytest.mark.parametrize(("front", "expected"), SAID)
def test_when_it_was_said_is_the_best_that_a_file_knows(home, store, front, expected):
    foreign(store, f"---\nname: theirs\n{front}---\nBody\n")
    refresh_index(home, store, NOW)
    assert shown(home, store, "theirs.md")["said"] == expected


@pytest.mark.parametrize("front", ["originSessionId: s-9", "metadata: {originSessionId: s-9}"])
def test_the_session_that_the_host_noted_counts(home, store, front):
    foreign(store, f"---\nname: theirs\n{front}\n---\nBody\n")
    refresh_index(home, store, NOW)
    assert shown(home, store, "theirs.md")["sessions"] == ["s-9"]


RETIRED = [
    ("archived: true", True),
    ("archived: yes", True),
    ("metadata: {archived: true}", True),
    ("status: superseded", True),
    ("archived: false", False),
    ("status: completed", False),
]


@pytest.mark.parametrize(("front", "expected"), RETIRED)
def test_a_file_may_say_that_it_is_retired(home, store, front, expected):
    foreign(store, f"---\nname: theirs\n{front}\n---\nBody\n")
    refresh_index(home, store, NOW)
    assert shown(home, store, "theirs.md")["archived"] is expected


def test_a_file_without_an_id_or_front_matter_is_found_as_well(home, store):
    foreign(store, "# Otters\n\nThey swim.\n")
    assert refresh_index(home, store, NOW) == 1
    with reader(home, store) as opened:
        assert [row.path for row in opened.candidates(["otter"], 5)] == ["theirs.md"]


def test_the_stamps_are_those_of_files_and_folders_after_a_write(home, store):
    save(store, memory(), memory("two", type="decision"))
    refresh_index(home, store, NOW)
    with reader(home, store) as opened:
        stamps, folders, notes = opened.all_paths(), opened.folders(), opened.notes()
    for path, stamp in stamps.items():
        info = (store.root / path).stat()
        assert stamp == (info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    assert set(stamps) == {document.path for document in store.scan().documents}
    assert folders == folder_times(store.root)
    assert set(folders) == {"", "graph", "graph/decisions"}
    assert notes == {"store": str(store.root), "synced": "2026-11-27T10:00:00+00:00"}


def _add(root):
    (root / "new.md").write_text("new")


def _remove(root):
    (root / "prefers-tabs.md").unlink()


def _rename(root):
    (root / "prefers-tabs.md").rename(root / "other.md")


def _new_folder(root):
    (root / "graph").mkdir()


@pytest.mark.parametrize("change", [_add, _remove, _rename, _new_folder])
def test_bug_111_a_change_by_hand_shows_in_the_folders_times(home, store, change):
    save(store, memory())
    refresh_index(home, store, NOW)
    change(store.root)
    with reader(home, store) as opened:
        assert opened.folders() != folder_times(store.root)


def test_bug_111_an_edit_that_sets_its_time_back_shows_in_the_stamp(home, store):
    save(store, memory())
    refresh_index(home, store, NOW)
    file = store.root / "prefers-tabs.md"
    before = file.stat()
    file.write_text(file.read_text().replace("tabs", "TABS"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    with reader(home, store) as opened:
        size, mtime, ctime = opened.all_paths()["prefers-tabs.md"]
    assert (size, mtime) == (file.stat().st_size, file.stat().st_mtime_ns)
    assert ctime != file.stat().st_ctime_ns
    assert refresh_index(home, store, NOW) == 1


@pytest.mark.parametrize(
    ("after_ns", "settled"),
    [(TICK_NS, True), (TICK_NS - 1, False), (0, False), (-TICK_NS, False), (-3600 * 10**9, True)],
)
def test_a_file_that_changed_within_the_tick_of_the_look_has_no_stamp(store, after_ns, settled):
    save(store, memory())
    (document,) = store.scan().documents
    (row,) = search_rows([document], document.stamp.ctime_ns + after_ns)
    assert (row.stamp == (0, 0, 0)) is not settled


def test_what_a_dream_syncs_leaves_stamps_to_the_worker(home, store):
    save(store, memory())
    refresh_index(home, store, NOW)
    with reader(home, store) as opened:
        before = opened.all_paths(), opened.folders()
    with SearchIndex.open(home, store.root) as index:
        assert index.sync(search_rows(store.scan().documents)) == 0
    with reader(home, store) as opened:
        assert (opened.all_paths(), opened.folders()) == before


def rows(home, store):
    with closing(sqlite3.connect(index_file(home, store.root))) as held:
        return dict(held.execute("SELECT path, id FROM documents").fetchall())


def test_a_look_of_a_dream_makes_rows_of_what_differs_alone(home, store):
    save(store, memory(), memory("two"), memory("three"))

    def look():
        with SearchIndex.open(home, store.root) as index:
            count = bring_in_step(home, store, store.scan().documents, index)
        return count, rows(home, store)

    count, first = look()
    assert count == 3 and look() == (0, first)
    (store.root / "two.md").unlink()
    foreign(store, "Snow.", "three.md")
    foreign(store, "Hail.")
    count, then = look()
    assert count == 3 and then.keys() == {"prefers-tabs.md", "theirs.md", "three.md"}
    assert (
        then["prefers-tabs.md"] == first["prefers-tabs.md"]
        and shown(home, store, "three.md")["body"] == "Snow."
    )
    cues.write(store.root, {"theirs.md": ("0" * 16, ("weather",))}, newest=0)
    assert look()[0] == 1 and look()[0] == 0
    index_file(home, store.root).write_bytes(b"no index" * 500)
    assert look()[0] == 3


def test_nothing_new_changes_nothing_and_to_rebuild_reads_all_again(home, store):
    save(store, memory(), memory("two"))
    done = [refresh_index(home, store, NOW) for _ in range(2)]
    assert [*done, refresh_index(home, store, NOW, rebuild=True)] == [2, 0, 2]


def test_the_archive_has_an_index_of_its_own(home, store):
    save(store, memory(), memory("two"))
    (one, _) = store.scan().documents
    apply(store, store.retire(one, year=2026, reason="old"), id="run-2")
    refresh_index(home, store, NOW)
    assert refresh_archive_index(home, store, NOW) == 1
    with reader(home, store) as live, reader(home, store, "archive") as archive:
        assert (set(live.all_paths()), set(archive.all_paths())) == (
            {"two.md"},
            {"archive/2026/prefers-tabs.md"},
        )


def test_indexes_of_stores_that_are_gone_are_swept_and_others_stay(tmp_path, home, store):
    save(store, memory())
    gone = Store.open(tmp_path / "gone", create=True)
    for one in (store, gone):
        refresh_index(home, one, NOW)
    lost = index_file(home, gone.root)
    (home / "search" / "odd.sqlite").write_bytes(b"no database")
    gone.root.rename(tmp_path / "moved")
    assert sweep_indexes(home) == sorted([lost, home / "search" / "odd.sqlite"])
    left = {file.name.removesuffix("-wal").removesuffix("-shm") for file in (home / "search").iterdir()}
    assert left == {index_file(home, store.root).name}

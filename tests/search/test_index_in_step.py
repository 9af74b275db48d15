"""A process that asks again and again makes the index ready only where something changed, by whoever."""

from __future__ import annotations

import os
import time
from datetime import timedelta

import pytest

from pipeline.hooklib import home_files
from pipeline.search.fts import SearchIndex, index_file
from pipeline.search.index_reader import Reader
from pipeline.search.refresh import refresh_index
from pipeline.store import ChangeSet, Store
from pipeline.store.derived import cues
from tests.support.stores import NOW, memory

LATER = NOW + timedelta(hours=1)


@pytest.fixture
def kept(tmp_path):
    """Return a store that a process keeps open, its index in step."""
    store = Store.open(tmp_path / "memory", create=True)
    plans = [
        store.put(memory(f"tide-{number}", description=f"Tide {number} comes at {number}."))
        for number in range(5)
    ]
    store.apply(ChangeSet("fill", "fill", plans))
    for _ in range(2):
        refresh_index(tmp_path, store, NOW)
        until_trusted(tmp_path)
    return store


def until_trusted(folder):
    """Let the clock go on until no file in `folder` may change once more with the stamp that it has."""
    newest = max(path.lstat().st_ctime_ns for path in folder.rglob("*"))
    while time.time_ns() < newest + 200_000_000:
        newest = max(newest, folder.lstat().st_ctime_ns)


def synced(home, store):
    with Reader(str(index_file(home, store.root))) as reader:
        return reader.notes()["synced"]


def rows(home, root):
    with Reader(str(index_file(home, root))) as reader:
        paths = sorted(reader.all_paths())
        return [(row.path, row.digest, row.fields, row.shown) for row in reader.rows(paths)]


def test_nothing_is_made_ready_where_nothing_changed(tmp_path, kept):
    before = synced(tmp_path, kept)
    assert refresh_index(tmp_path, kept, LATER) == 0
    assert synced(tmp_path, kept) == before


def edited(home, store):
    path = store.root / "tide-1.md"
    path.write_text(path.read_text("utf-8").replace("comes", "goes"), "utf-8")


def another(home, store):
    (store.root / "by-hand.md").write_text(
        "---\nname: by-hand\ndescription: A rope.\n---\nA rope.\n", "utf-8"
    )


def removed(home, store):
    (store.root / "tide-2.md").unlink()


def emptied(home, store):
    with SearchIndex.open(home, store.root) as index:
        index.sync([])


def deleted(home, store):
    index_file(home, store.root).unlink()


def cued(home, store):
    found = next(item for item in store.scan().documents if item.path == "tide-3.md")
    text = cues.text_digest(found.memory)
    cues.write(store.root, {found.path: (text, ("when is high water",))}, newest=found.stamp.mtime_ns)


def written_by_another(home, store):
    other = Store.open(store.root)
    other.apply(ChangeSet("other", "other", [other.put(memory("ebb", description="The ebb is at four."))]))
    refresh_index(home, other, NOW)


CHANGES = (edited, another, removed, emptied, deleted, cued, written_by_another)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_a_change_by_whoever_is_taken_in(tmp_path, kept, change):
    change(tmp_path, kept)
    refresh_index(tmp_path, kept, LATER)
    fresh = tmp_path / "fresh"
    refresh_index(fresh, Store.open(kept.root), LATER)
    assert rows(tmp_path, kept.root) == rows(fresh, kept.root)


def test_another_table_of_words_makes_all_vectors_anew(tmp_path, kept):
    table = tmp_path / home_files.WORDS
    table.parent.mkdir(parents=True, exist_ok=True)
    table.write_bytes(b"no table that can be read")
    refresh_index(tmp_path, kept, LATER)
    assert synced(tmp_path, kept).startswith(LATER.isoformat()[:13])


def test_a_file_that_changed_just_now_is_looked_at_again(tmp_path, kept):
    path = kept.root / "tide-4.md"
    os.utime(path)
    refresh_index(tmp_path, kept, LATER)
    with Reader(str(index_file(tmp_path, kept.root))) as reader:
        stamped = reader.all_paths()["tide-4.md"] != (0, 0, 0)
    last = LATER + timedelta(hours=1)
    refresh_index(tmp_path, kept, last)
    assert stamped or synced(tmp_path, kept).startswith(last.isoformat()[:13])

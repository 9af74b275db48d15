"""Entries of `_index.json` that did not change are copied, and the file is what a rebuild makes."""

from __future__ import annotations

import random

import orjson
import pytest

from pipeline.store import Store
from pipeline.store.catalogue import index_parts
from tests.support.stores import NOW, apply, memory, save

ENTRIES = b',"entries":'


@pytest.fixture
def store(tmp_path):
    made = Store.open(tmp_path / "memory", create=True)
    save(made, *(memory(f"shelf-{i:02d}", body=f"Shelf {i} holds jars. “{'é' * i}”") for i in range(12)))
    made.reindex(now=NOW)
    return made


def entries(store):
    """Return the bytes of the file from its entries on."""
    raw = (store.root / "_index.json").read_bytes()
    orjson.loads(raw)
    return raw[raw.index(ENTRIES) :]


def one_changes(store, turn):
    document = store.scan().documents[5]
    apply(store, store.put(memory(document.name, body=f"Other {turn}."), existing=document), id=f"one-{turn}")


def test_after_any_change_the_file_is_what_a_rebuild_makes(store):
    chance = random.Random(4)
    for turn in range(30):
        documents = store.scan().documents
        # The first and the last entry have no comma before or behind them.
        document = chance.choice([documents[0], documents[-1], *documents])
        changes = [
            store.retire(document, year=2026, reason="test"),
            store.put(memory(f"{chance.choice('amz')}-{turn}", body=f"New {turn}.")),
            store.put(memory(document.name, id=document.id, body=f"Turn {turn}."), existing=document),
        ]
        apply(store, changes[turn % 3], id=f"turn-{turn}")
        store.reindex(now=NOW)
        made = entries(store)
        (store.root / "_index.json").unlink()
        store.reindex(now=NOW)
        assert entries(store) == made


def test_a_store_without_memories_has_no_entries(store):
    for document in store.scan().documents:
        apply(store, store.retire(document, year=2026, reason="test"), id=document.name)
    store.reindex(now=NOW)
    assert entries(store) == b',"entries":{}}'


def test_what_did_not_change_is_copied(store):
    file = store.root / "_index.json"
    parts = index_parts.kept(store.root, stamp_in(store))
    assert len(parts.places) == 12
    file.write_bytes(file.read_bytes().replace(b"Shelf 7 holds", b"SHELF 7 HOLDS"))
    parts.keep(store.root, index_parts_stamp(file))
    one_changes(store, 1)
    store.reindex(now=NOW)
    assert b"SHELF 7 HOLDS" in entries(store), "the bytes come from the last file"
    store.reindex(now=NOW, anew=True)
    assert b"SHELF" not in entries(store), "made anew it uses nothing of it"


def test_of_a_file_that_another_wrote_nothing_is_copied(store):
    file = store.root / "_index.json"
    file.write_bytes(file.read_bytes().replace(b"Shelf 7 holds", b"SHELF 7 HOLDS"))
    one_changes(store, 1)
    store.reindex(now=NOW)
    assert b"SHELF" not in entries(store)


@pytest.mark.parametrize("damage", [b"", b"{", b'["1.3","x",0]\n[]'])
def test_a_damaged_list_of_places_is_as_none(store, damage):
    places = store.root / index_parts.FILE
    for raw in (damage, places.read_bytes()[:-9], places.read_bytes().replace(b"shelf-03", b"shelf-09")):
        places.write_bytes(raw)
        one_changes(store, raw)
        store.reindex(now=NOW)
        made = entries(store)
        store.reindex(now=NOW, anew=True)
        assert entries(store) == made and made.count(b'"path"') == 12


def stamp_in(store):
    return orjson.loads((store.root / index_parts.FILE).read_bytes().split(b"\n")[0])[1]


def index_parts_stamp(file):
    found = file.lstat()
    return f"{file.name}:{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}"

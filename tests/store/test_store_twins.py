"""Two files that give one id: one keeps it, the other has one of its own at every look."""

import os
from pathlib import Path

import pytest

from pipeline.hooklib.ownership import OURS
from pipeline.store import ChangeSet, Store
from pipeline.store.files.document import parse
from pipeline.store.files.identity import Identity
from tests.support.stores import NOW, apply, memory, save

SHARED = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory", create=True)


def write(store: Store, name: str, age: int, text: str = "") -> Path:
    file = store.root / f"{name}.md"
    file.write_text(f"---\nname: {name}\nid: {SHARED}\n---\n\n{text or f'What {name} says.'}\n", "utf-8")
    os.utime(file, (1_700_000_000 - age, 1_700_000_000 - age))
    return file


def ids(store: Store) -> dict[str, str]:
    return {document.path: document.id for document in Store.open(store.root).scan().documents}


def twins(store: Store) -> dict[str, str]:
    return {document.path: document.twin for document in Store.open(store.root).scan().documents}


def test_the_oldest_keeps_the_id_and_every_copy_gets_one_of_its_own(store: Store) -> None:
    write(store, "a", 0)
    write(store, "b", 5)
    write(store, "c", 1)
    found = ids(store)
    assert found["b.md"] == SHARED
    assert len({*found.values()}) == 3 and all(found.values())
    assert twins(store) == {"a.md": "b.md", "b.md": "", "c.md": "b.md"}
    assert ids(store) == found, "the same at the next look"
    assert store.read("a").memory.id == store.read("a").head.id == found["a.md"]


def test_from_the_index_a_copy_is_known_as_from_its_file(store: Store) -> None:
    write(store, "a", 100)
    write(store, "b", 5)
    found = ids(store)
    os.utime(store.root / "a.md")
    store.reindex(now=NOW)
    assert ids(store)["b.md"] == SHARED, "the older one, as nothing was noted"
    os.utime(store.root / "a.md", (1_600_000_000, 1_600_000_000))
    assert ids(store) == found


def test_what_we_wrote_keeps_its_id_however_old_the_copy_says_it_is(store: Store) -> None:
    (put,) = save(store, memory("zebra", id=SHARED))
    copy = store.root / "ant.md"
    copy.write_bytes((store.root / put.path).read_bytes())
    os.utime(copy, (1, 1))
    found = {document.path: document for document in store.scan().documents}
    assert found[put.path].id == SHARED and found["ant.md"].id != SHARED
    assert found["ant.md"].hand == OURS and found["ant.md"].twin == put.path


def test_one_that_was_known_before_keeps_its_id(store: Store) -> None:
    write(store, "b", 0)
    store.identities.keep([Identity("b.md", SHARED, store.read("b").digest)])
    write(store, "a", 500)
    assert ids(store)["b.md"] == SHARED


def test_the_id_comes_back_to_the_last_one_that_has_it(store: Store) -> None:
    write(store, "a", 9)
    write(store, "b", 5)
    (store.root / "a.md").unlink()
    assert ids(store) == {"b.md": SHARED}
    assert twins(store) == {"b.md": ""}


def test_an_id_that_is_anothers_by_its_path_is_no_ones_else(store: Store) -> None:
    (store.root / "a.md").write_text("No front matter.\n", "utf-8")
    given = ids(store)["a.md"]
    (store.root / "b.md").write_text(f"---\nid: {given}\n---\n\nClaims it.\n", "utf-8")
    assert len({*ids(store).values()}) == 2


def test_a_change_of_the_copy_writes_its_own_id_and_nothing_else(store: Store) -> None:
    write(store, "a", 9)
    copy = write(store, "b", 5)
    before, own = copy.read_text("utf-8"), ids(store)["b.md"]
    document = store.read("b")
    apply(store, store.put(document.memory, existing=document, approved=True))
    assert copy.read_text("utf-8") == before.replace(SHARED, own)
    assert ids(store) == {"a.md": SHARED, "b.md": own}


def test_a_copy_that_left_comes_back_beside_the_one_that_is_ours(store: Store) -> None:
    (put,) = save(store, memory("zebra", id=SHARED))
    copy = write(store, "ant", 5)
    bytes_before = copy.read_bytes()
    retire = store.retire(store.read("ant"), year=2026, reason="forget ant")
    assert retire.id != SHARED
    store.apply(ChangeSet("gone", "forget ant", [retire]), generation=True)
    assert not copy.exists()
    store.undo("gone")
    assert copy.read_bytes() == bytes_before
    assert parse((store.root / put.path).read_bytes(), put.path).id == ids(store)[put.path] == SHARED

"""What a catalogue says that was damaged: no look and no change believes it, and none ends in a fault."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.store import Store
from pipeline.store.catalogue.damage import Damaged, is_damage
from tests.support.stores import NOW, apply, index, memory, save, settled, sum_up, tree

FILE = ".reverie/catalogue.sqlite"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "memory", create=True)
    made = [
        memory(f"m-{at}", description=f"Fact {at}.", id=f"id{at}", aliases=(f"old-{at}",)) for at in range(4)
    ]
    apply(store, *(store.put(each) for each in made))
    store.reindex(now=NOW)
    settled(store.root)
    return store


def sql(text: str) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        with closing(sqlite3.connect(file)) as held:
            held.executescript(f"PRAGMA ignore_check_constraints = ON; PRAGMA writable_schema = ON; {text}")

    return damage


def bytes_of(before: bytes, after: bytes) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        assert before in file.read_bytes()
        file.write_bytes(file.read_bytes().replace(before, after))

    return damage


def shown(store: Store) -> list[Any]:
    found = store.scan().documents
    return [
        (
            item.path,
            item.digest,
            item.preview,
            item.aliases,
            item.kind,
            item.origin,
            item.head,
            item.entry.line,
        )
        for item in found
    ]


DAMAGE = {
    "json": bytes_of(b'"type":"feedback"', b'"type":"feedback\x01'),
    "aliases": sql("UPDATE files SET aliases = '[x'"),
    "letters": sql("UPDATE texts SET front = replace(front, 'Fact', 'Fiction'), line = 'other'"),
    "kind": sql("UPDATE files SET kind = 'Project'"),
    "another kind": sql("UPDATE files SET kind = 'insight' WHERE path LIKE '%m-1%'"),
    "origin": sql("UPDATE files SET origin = 'assistant-inferred' WHERE path LIKE '%m-1%'"),
    "digest": sql("UPDATE files SET digest = replace(digest, 'a', 'b')"),
    "types": sql("UPDATE files SET place = 'x', importance = x'00', name = 7"),
    "no text": sql("DELETE FROM texts WHERE path LIKE '%m-1%'"),
    "a row too many": sql("INSERT INTO files (path, kind) VALUES ('gone.md', 'project')"),
    "a row without a path": sql("UPDATE files SET path = NULL WHERE path LIKE '%m-1%'"),
    "no file of that row": sql("UPDATE texts SET path = NULL"),
    "folders": sql("UPDATE folders SET ctime_ns = 'x', seen_ns = 'y'"),
    "changes": sql(
        "UPDATE notes SET value = 'x' WHERE key = 'changes'; DELETE FROM files WHERE path LIKE '%m-2%'"
    ),
    "other text": bytes_of(b"Fact 1", b"Fact \xff"),
    "schema": bytes_of(b"CREATE TABLE texts", b"CREATE \xffABLE texts"),
    "no table": sql("DROP TABLE texts"),
    "no order": sql("UPDATE sqlite_master SET rootpage = 5 WHERE name = 'files_by_rank'"),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damage_is_neither_believed_nor_a_fault(store: Store, damage: Callable[[Path], None]) -> None:
    known, made = shown(Store.open(store.path)), tree(store.root)
    damage(store.root / FILE)
    assert shown(Store.open(store.path, to_look=True)) == known
    assert shown(Store.open(store.path)) == known
    Store.open(store.path).reindex(now=NOW)
    assert tree(store.root) == made
    save(Store.open(store.path), memory("more", description="One more."), id="more")
    assert index(store).count("\n- ") == 5 and "One more." in index(store)
    # The second to write makes the file anew where the first had to throw it away.
    Store.open(store.path).reindex(now=NOW)
    assert len(shown(Store.open(store.path))) == 5


def test_a_change_straight_after_the_damage_loses_no_line(store: Store) -> None:
    sql("DELETE FROM texts; UPDATE files SET place = 'x'")(store.root / FILE)
    save(Store.open(store.path), memory("more", description="One more."), id="more")
    assert index(store).count("\n- ") == 5


def test_text_that_is_no_utf_8_makes_the_file_go(store: Store) -> None:
    bytes_of(b"Fact 1", b"Fact \xff")(store.root / FILE)
    save(Store.open(store.path), memory("more"), id="more")
    save(Store.open(store.path), memory("another"), id="another")
    assert Store.open(store.path, to_look=True).catalogue_fault() == ""
    assert b"Fact \xff" not in (store.root / FILE).read_bytes()


def test_what_stands_in_the_way_of_the_file_says_nothing_against_it(store: Store) -> None:
    with closing(sqlite3.connect(store.root / FILE)) as held:
        held.execute("BEGIN EXCLUSIVE")
        with closing(sqlite3.connect(store.root / FILE, timeout=0)) as other:
            with pytest.raises(sqlite3.OperationalError) as busy:
                other.execute("SELECT * FROM files")
            with pytest.raises(sqlite3.OperationalError) as cannot:
                sqlite3.connect(store.root / "no/where.sqlite").execute("SELECT 1")
    assert not is_damage(busy.value) and not is_damage(cannot.value) and not is_damage(OSError())
    assert is_damage(sqlite3.OperationalError("Could not decode to UTF-8 column")) and is_damage(Damaged())


def test_made_anew_even_what_has_its_sum_is_read_again(store: Store) -> None:
    """Such a catalogue is trusted until somebody asks for another."""
    before = tree(store.root)
    with closing(sqlite3.connect(store.root / FILE)) as held:
        held.execute("UPDATE texts SET line = replace(line, 'Fact', 'Fiction')")
        sum_up(held)
        held.commit()
    Store.open(store.path).reindex(now=NOW)
    assert "Fiction" in index(store)
    Store.open(store.path).reindex(now=NOW, anew=True)
    assert tree(store.root) == before

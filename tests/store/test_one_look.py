"""Sharing one look at the files: what it saves, and what it must never hide."""

import sqlite3
from contextlib import closing

import pytest

from pipeline.domain.memory import Memory
from pipeline.store import ChangeSet, Store, looks_anew, one_look
from pipeline.store.catalogue import database
from tests.support.stores import NOW, settled


@pytest.fixture
def store(tmp_path):
    opened = Store.open(tmp_path / "memory", create=True)
    note(opened, "first")
    return opened


def note(store, name, body="The mill grinds at night."):
    memory = Memory(name=name, description=f"About {name}.", type="project", body=body)
    store.apply(ChangeSet(f"put-{name}", "put", [store.put(memory)]))


def edit(store, name, old, new):
    file = store.root / f"{name}.md"
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")


def bodies(store):
    return {item.name: item.memory.body.strip() for item in store.scan().documents}


def test_within_one_answer_the_files_are_looked_at_once(store):
    with one_look():
        assert store.scan() is store.scan()
        with looks_anew():
            assert store.scan() is not store.scan()
    assert store.scan() is not store.scan()


def test_the_next_answer_sees_what_another_edited_in_place_meanwhile(store):
    with one_look():
        assert bodies(store) == {"first": "The mill grinds at night."}
        edit(store, "first", "at night", "at noon")
    with one_look():
        assert bodies(store) == {"first": "The mill grinds at noon."}


def test_a_file_that_comes_or_goes_is_seen_within_an_answer_and_by_one_that_takes_an_older_look(store):
    with one_look():
        store.scan()
        (store.root / "second.md").write_bytes((store.root / "first.md").read_bytes())
        assert len(store.scan().documents) == 2
    (store.root / "second.md").unlink()
    with one_look(within_seconds=3_600):
        assert len(store.scan().documents) == 1


def test_an_older_look_does_for_who_says_so_and_for_nobody_else(store):
    store.scan()
    edit(store, "first", "at night", "at noon")
    with one_look(within_seconds=3_600):
        assert store.scan() is store.scan()
    with one_look():
        assert bodies(store) == {"first": "The mill grinds at noon."}


def test_what_is_written_through_the_store_itself_is_seen_at_once(store):
    with one_look(within_seconds=3_600):
        store.scan()
        note(store, "second")
        assert bodies(store).keys() == {"first", "second"}


def test_whose_a_file_is_follows_what_is_noted_within_the_answer(store):
    (store.root / "third.md").write_text("---\nname: third\ndescription: x\n---\nText.\n", "utf-8")
    with one_look():
        found = store.scan().named("third")
        identity = found.identity
        store.identities.suppose([type(identity)(found.path, identity.id, by="claude", digest=found.digest)])
        assert store.scan().named("third").identity.by == "claude"


def later(store):
    """Return the store as another process opens it, when all that was written has settled."""
    store.reindex(now=NOW)
    settled(store.root)
    return Store.open(store.path)


def test_what_is_opened_ahead_hides_no_edit_and_no_file_that_comes_or_goes(store):
    for name in ("second", "third"):
        note(store, name)
    ahead = later(store)
    ahead.open_ahead()
    edit(store, "first", "at night", "at noon")
    (store.root / "second.md").unlink()
    note(Store.open(store.path), "fourth")
    assert bodies(ahead) == {
        "first": "The mill grinds at noon.",
        "third": "The mill grinds at night.",
        "fourth": "The mill grinds at night.",
    }
    assert bodies(ahead) == bodies(Store.open(store.path))


def test_what_is_opened_ahead_saves_the_look_at_the_catalogue_alone(store, monkeypatch):
    ahead = later(store)
    ahead.open_ahead()
    monkeypatch.setattr(database, "rows", lambda _: pytest.fail("asked again"))
    assert [item.cached for item in ahead.scan().documents] == [True]
    assert [item.cached for item in ahead.scan().documents] == [True]


def test_of_a_file_that_left_after_it_was_opened_ahead_the_catalogue_keeps_nothing(store):
    note(store, "second")
    ahead = later(store)
    ahead.open_ahead()
    (store.root / "second.md").unlink()
    ahead.reindex(now=NOW)
    with closing(sqlite3.connect(store.root / ".reverie" / "catalogue.sqlite")) as held:
        for table in ("files", "texts", "briefs"):
            assert held.execute(f"SELECT path FROM {table}").fetchall() == [("first.md",)]

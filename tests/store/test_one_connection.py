"""One connection for all that a change asks of the catalogue, and nothing that is answered from before."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Thread

import pytest

from pipeline.store import Store
from pipeline.store.catalogue import database, one_connection
from pipeline.store.catalogue.database import Catalogue
from tests.support.stores import NOW, memory, save


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store.open(tmp_path / "memory", create=True)
    save(made, memory())
    made.reindex(now=NOW)
    return made


@pytest.fixture
def catalogue(store: Store) -> Catalogue:
    return Catalogue(store.root / ".reverie/catalogue.sqlite")


def count(catalogue: Catalogue) -> int:
    with catalogue.reading() as connection:
        return database.count(connection)


def asked_with(catalogue: Catalogue) -> sqlite3.Connection:
    with catalogue.reading() as connection:
        return connection


def is_open(connection: sqlite3.Connection) -> bool:
    try:
        return connection.total_changes >= 0
    except sqlite3.ProgrammingError:
        return False


def test_all_that_is_asked_within_comes_by_one_connection_that_is_closed_at_the_end(
    catalogue: Catalogue,
) -> None:
    with catalogue.together():
        first = asked_with(catalogue)
        with catalogue.together():
            assert asked_with(catalogue) is first and is_open(first)
        assert asked_with(catalogue) is first and is_open(first)
    assert not is_open(first)
    after = asked_with(catalogue)
    assert after is not first and not is_open(after)


def test_what_is_written_between_two_questions_is_seen(store: Store, catalogue: Catalogue) -> None:
    with catalogue.together():
        assert count(catalogue) == 1
        save(Store.open(store.root), memory("second", body="Two.\n"), id="run-2")
        assert count(catalogue) == 2


def test_a_catalogue_made_anew_between_two_questions_is_the_one_that_is_read(
    store: Store, catalogue: Catalogue
) -> None:
    with catalogue.together():
        before = asked_with(catalogue)
        save(store, memory("second", body="Two.\n"), id="run-2")
        Store.open(store.root).reindex(now=NOW, anew=True)
        assert count(catalogue) == 2 and not is_open(before)
        Catalogue(catalogue.file).discard()
        with pytest.raises(sqlite3.DatabaseError, match="no catalogue"):
            count(catalogue)


def test_no_question_holds_up_a_writer(store: Store, catalogue: Catalogue) -> None:
    with catalogue.together():
        assert count(catalogue) == 1
        with closing(sqlite3.connect(store.root / ".reverie/catalogue.sqlite", timeout=0)) as writer:
            writer.execute("PRAGMA locking_mode = EXCLUSIVE")
            writer.execute("INSERT INTO notes VALUES ('a', 'b')")
            writer.commit()


def test_after_a_question_that_fails_the_next_one_is_answered(catalogue: Catalogue) -> None:
    with catalogue.together():
        first = asked_with(catalogue)
        with pytest.raises(sqlite3.OperationalError), catalogue.reading() as connection:
            connection.execute("SELECT nothing FROM nowhere")
        assert not is_open(first) and count(catalogue) == 1


def test_another_thread_asks_by_a_connection_of_its_own(catalogue: Catalogue) -> None:
    found: list[int] = []

    def ask() -> None:
        with catalogue.together():
            found.append(count(catalogue))

    with catalogue.together():
        first = asked_with(catalogue)
        other = Thread(target=ask)
        other.start()
        other.join()
        assert found == [1] and asked_with(catalogue) is first


def test_a_change_opens_the_catalogue_for_reading_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real = one_connection.connect

    def watched(file: Path, mode: str) -> sqlite3.Connection:
        opened.append(mode)
        return real(file, mode)

    monkeypatch.setattr(one_connection, "connect", watched)
    put = store.put(memory("second", body="Two.\n"))
    assert len(opened) == 1
    save(store, put.memory, id="run-2")
    assert len(opened) == 3
    store.reindex(now=NOW)
    assert len(opened) == 4

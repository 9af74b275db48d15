"""After a pass the search indexes hold what was written, and one that can't be made fails nothing."""

import logging

import pytest

from pipeline.core.clock import FixedClock
from pipeline.search import index_reader
from pipeline.store import Store
from pipeline.text.tokens import terms
from tests.support.stores import memory, save
from tests.support.workshop import at

NOW = "2026-03-02T09:05:00+00:00"


def work(shop):
    with shop.worker(FixedClock(at(NOW))) as worker:
        return worker.run()


def talk(shop, number=1, text="Shelf seven holds otters."):
    session = shop.session(number)
    session.user(text)
    session.assistant("Noted.")
    shop.fire(session)


def index_of(shop, store):
    return index_reader.index_path(str(shop.home), str(store))


def found(shop, text, store=None):
    with index_reader.Reader(index_of(shop, store or shop.store)) as reader:
        return [row.shown["body"] for row in reader.candidates(terms(text), 5)]


def test_what_a_pass_wrote_is_in_the_index(shop):
    talk(shop)
    work(shop)
    assert ["Shelf seven holds otters." in body for body in found(shop, "otters")] == [True]


def test_a_store_is_looked_at_whenever_its_session_was(shop):
    talk(shop)
    work(shop)
    (shop.store / "mine.md").write_text("I saw a crane.\n")
    talk(shop, 2, "thanks")
    work(shop)
    assert found(shop, "crane") == ["I saw a crane.\n"]


def test_the_user_scope_store_has_an_index_once_there_is_one(shop):
    work(shop)
    assert not (shop.home / "memory").exists()
    store = Store.open(shop.home / "memory", create=True)
    save(store, memory())
    work(shop)
    assert found(shop, "tabs", store.path) == ["Indent with tabs.\n"]


@pytest.mark.parametrize("spoil", [lambda file: file.unlink(), lambda file: file.write_bytes(b"none" * 999)])
def test_a_known_store_without_a_usable_index_gets_one(shop, spoil):
    talk(shop)
    work(shop)
    spoil(shop.place.__class__(index_of(shop, shop.store)))
    work(shop)
    assert len(found(shop, "otters")) == 1


def test_an_index_that_can_not_be_made_is_logged_and_fails_nothing(shop, caplog):
    shop.home.mkdir(parents=True, exist_ok=True)
    (shop.home / "search").write_text("a file in the way")
    talk(shop)
    with caplog.at_level(logging.WARNING, "reverie.worker"):
        done = work(shop)
    assert ([outcome.word for outcome in done.outcomes], done.failures) == (["applied"], [])
    assert f"no search index of {shop.store}" in caplog.text


def test_a_store_that_is_gone_is_passed_over(shop, caplog):
    talk(shop)
    work(shop)
    shop.store.rename(shop.place / "moved")
    with caplog.at_level(logging.WARNING, "reverie.worker"):
        work(shop)
    assert "search index" not in caplog.text

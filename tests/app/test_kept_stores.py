"""The stores that a server keeps open: one set for each who asks at once, the one used last again."""

from pathlib import Path
from threading import Event, Thread
from threading import enumerate as enumerate_threads
from typing import Any

import pytest

from pipeline.app import kept_stores
from pipeline.app.kept_stores import KeptStores
from pipeline.core.errors import StoreError

HERE = Path("here")


def put(stores: Any, value: str) -> None:
    """Let a word stand for a store that is open."""
    stores[HERE] = value


def test_the_set_that_was_used_last_comes_again_and_nobody_shares_one():
    kept = KeptStores()
    with kept.taken() as first:
        put(first, "opened")
    with kept.taken() as again:
        assert again.get(HERE) == "opened"


def test_who_asks_for_no_store_waits_for_none(monkeypatch):
    monkeypatch.setattr(kept_stores, "MOST", 1)
    kept = KeptStores()
    with kept.taken() as first:
        put(first, "opened")
        with kept.taken():
            pass  # A page without memories, while another has the only set.


def test_two_at_once_have_stores_of_their_own(monkeypatch):
    monkeypatch.setattr(kept_stores, "PATIENCE_SECONDS", 0.0)
    kept = KeptStores()
    with kept.taken() as first, kept.taken() as second:
        put(first, "one")
        assert second.get(HERE) is None


def test_no_more_sets_than_a_few_are_made_and_the_next_waits_for_one(monkeypatch):
    monkeypatch.setattr(kept_stores, "PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(kept_stores, "MOST", 1)
    kept, found = KeptStores(), []
    with kept.taken() as first:
        put(first, "one")

        def ask():
            with kept.taken() as late:
                found.append(late.get(HERE))

        waiting = Thread(target=ask)
        waiting.start()
        assert not found
    waiting.join(30)
    assert found == ["one"]


@pytest.mark.parametrize("fault", [None, StoreError("no such directory"), OSError("full")])
def test_who_asks_while_it_is_warmed_waits_for_that_set(fault):
    kept, begun, go = KeptStores(), Event(), Event()

    def look(stores):
        stores[HERE] = "warm"
        begun.set()
        go.wait(30)
        if fault:
            raise fault

    kept.warm(look)
    begun.wait(30)
    Thread(target=go.set).start()
    with kept.taken() as stores:
        assert stores.get(HERE) == "warm"


@pytest.mark.parametrize("waits", [True, False], ids=["somebody waits", "nobody waits"])
def test_what_not_every_page_needs_is_looked_up_ahead_while_nobody_waits(waits, monkeypatch):
    kept, begun, go, seen = KeptStores(), Event(), Event(), []

    def first(stores):
        begun.set()
        go.wait(30)
        stores[HERE] = "opened"

    def ask():
        with kept.taken() as stores:
            seen.append(stores.get(HERE))

    kept.warm(first, lambda stores: put(stores, "looked through"))
    begun.wait(30)
    warming = next(thread for thread in enumerate_threads() if thread.name == "reverie-warm")
    asker = Thread(target=ask)
    if waits:
        waiting = Event()
        wait_for = kept._turn.wait_for
        monkeypatch.setattr(kept._turn, "wait_for", lambda *given: waiting.set() or wait_for(*given))
        asker.start()
        waiting.wait(30)
    go.set()
    if not waits:
        warming.join(30)
        asker.start()
    asker.join(30)
    assert seen == ["opened" if waits else "looked through"]


def test_what_was_opened_before_is_what_is_warmed():
    kept, seen = KeptStores(), []
    with kept.taken() as first:
        put(first, "opened")
    kept.warm(lambda stores: seen.append(stores.get(HERE)))
    with kept.taken() as again:
        assert again.get(HERE) == "opened"
    assert seen == ["opened"]


def test_nothing_is_warmed_while_somebody_opens_it():
    kept, seen = KeptStores(), []
    with kept.taken() as first:
        put(first, "opened")
        kept.warm(lambda stores: seen.append("opened twice"))
        assert not [thread for thread in enumerate_threads() if thread.name == "reverie-warm"]
    with kept.taken() as again:
        assert again.get(HERE) == "opened"
    assert seen == []

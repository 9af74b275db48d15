"""`[store]` and `[dream]` hold at every door to a store: commands, the worker, promotion."""

import dataclasses

import pytest

from pipeline import config
from pipeline.app.application import App
from pipeline.app.rebuilding import rebuild
from pipeline.config import Settings, StoreSettings
from pipeline.consolidation.commit.execute import promote
from pipeline.context import open_store
from pipeline.core.home import Home
from pipeline.ledger import jobs
from pipeline.store import Store
from tests.support.stores import NOW, index, memory, save

LINES = 6
MANY = [memory(f"fact-{number}", type="project") for number in range(8)]


@pytest.fixture
def app(sealed_environment, tmp_path, monkeypatch):
    """Reverie in a project with more memories than its MEMORY.md may have lines."""
    monkeypatch.chdir(tmp_path)
    home = Home(sealed_environment / "reverie")
    home.path.mkdir(exist_ok=True)
    home.config.write_text(f"[store]\nindex_lines = {LINES}\n[dream]\ngenerations = 2\n")
    app = App(llm="offline")
    save(Store.open(app.store_path, create=True), *MANY)
    return app


def test_reindex_by_command_and_by_worker_write_the_same_index(app):
    store = Store.open(app.store_path)
    rebuild(app)
    by_command = index(store)
    assert len(by_command.splitlines()) == LINES
    (store.root / "MEMORY.md").unlink()
    with app.ledger() as ledger:
        jobs.enqueue(ledger, "reindex", str(app.store_path), now=0.0, run_after=0.0)
    app.work()
    assert index(store) == by_command


def test_what_a_dream_promotes_keeps_to_the_settings(app):
    for number, fact in enumerate(MANY):
        promoted = [dataclasses.replace(fact, body=f"Fact {number}.\n")]
        promote(app.home, app.settings, f"run-{number}", promoted, now=NOW)
    user = Store.open(Home(app.home).user_store)
    assert len(index(user).splitlines()) == LINES
    assert len([*(user.root / ".reverie" / "generations").iterdir()]) == 2


def test_a_store_is_opened_with_all_that_is_set(app):
    assert config.load(app.home).store.index_lines == LINES
    store = open_store(app.store_path, Settings(store=StoreSettings(index_bytes=300)))
    store.reindex(now=NOW)
    assert 200 < len(index(store).encode()) <= 300

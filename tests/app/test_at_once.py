"""What several do to one memory at the same moment: each of it is done, and nobody is told to try again."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from pipeline.app import graph
from pipeline.app.application import App
from pipeline.app.memories import add
from pipeline.app.pins import pin
from pipeline.app.writing import Change, update_memory

AT_ONCE = 6


@pytest.fixture
def app(tmp_path: Path) -> App:
    folder = tmp_path / "project"
    folder.mkdir()
    return App(folder=folder)


def together(app: App, action: Callable[[App, int], object]) -> None:
    """Do `action` in as many threads at once, each with a look of its own at the store."""
    start = Barrier(AT_ONCE)

    def one(number: int) -> None:
        own = App(folder=app.folder)
        start.wait()
        action(own, number)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(one, range(AT_ONCE)))


def test_relations_of_one_memory_made_at_once_all_stand(app: App) -> None:
    hub = add(app, "The hub of all.", kind="project").name
    others = [
        add(app, f"The spoke with number {number} of it.", kind="project").name for number in range(AT_ONCE)
    ]
    together(app, lambda own, n: graph.relate(own, own.open_store(), others[n], hub, "REQUIRES"))
    store = app.open_store()
    assert {row.name for row in graph.related(app, store, hub)} == set(others)
    edges = graph.edges(app, store)
    together(app, lambda own, n: graph.unrelate(own, own.open_store(), edges[n].id))
    assert graph.edges(app, app.open_store()) == []


def test_changes_of_one_memory_made_at_once_all_stand(app: App) -> None:
    name = add(app, "The hub of all.", kind="project").name
    together(app, lambda own, n: update_memory(own, own.open_store(), name, Change(add_tags=[f"tag-{n}"])))
    assert {f"tag-{n}" for n in range(AT_ONCE)} <= set(app.open_store().read(name).memory.tags)
    together(app, lambda own, n: pin(own, name, pinned=True))
    assert app.open_store().read(name).memory.pinned

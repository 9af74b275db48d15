"""After any change, by whoever, what is made from the memories is what a rebuild from nothing makes."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.app import graph
from pipeline.app.application import App
from pipeline.app.memories import add, forget
from pipeline.app.writing import Change, update_memory
from pipeline.search.fts import index_file
from pipeline.search.index_reader import Reader
from pipeline.search.refresh import refresh_index
from pipeline.store import Store
from pipeline.store.graph import edge_files
from tests.support.cognitive import lay_out
from tests.support.extraction import Bench

STEPS = 9


def derived(home: Path, root: Path) -> dict[str, Any]:
    """Return all that is made from the memories at `root`, without times of day."""
    index = orjson.loads((root / "_index.json").read_bytes())
    index.pop("updated")
    core = (root / "CORE.md").read_text("utf-8").split(" | ", 1)[1]
    page = (root / "MEMORY.md").read_text("utf-8")
    with Reader(str(index_file(home, root))) as reader:
        rows = [
            (row.path, row.digest, row.fields, row.shown) for row in reader.rows(sorted(reader.all_paths()))
        ]
    return {"index": index, "core": core, "page": page, "rows": rows}


def rebuilt(app: App, root: Path, place: Path) -> dict[str, Any]:
    """Return what a rebuild makes of a copy of the memories that has nothing derived."""
    copy = place / "copy"
    shutil.copytree(root, copy)
    for name in ("_index.json", "CORE.md", ".reverie/catalogue.sqlite", edge_files.FILE):
        (copy / name).unlink(missing_ok=True)
    store = Store.open(copy)
    store.reindex(now=app.clock.now(), anew=True)
    refresh_index(place, store, app.clock.now(), rebuild=True)
    return derived(place, copy)


def names(app: App) -> list[str]:
    return sorted(item.name for item in app.open_store().scan().documents)


def relates(app: App, chance: random.Random) -> None:
    one, other = chance.sample(names(app), 2)
    graph.relate(app, app.open_store(), one, other, chance.choice(("SOLVES", "REQUIRES")))


def parts(app: App, chance: random.Random) -> None:
    found = graph.edges(app, app.open_store())
    if found:
        graph.unrelate(app, app.open_store(), chance.choice(found).id)


def adds(app: App, chance: random.Random) -> None:
    number = chance.randrange(10**6)
    add(app, f"Tide table {number} hangs in cabinet {number + 1}.", kind="project")


def forgets(app: App, chance: random.Random) -> None:
    if len(names(app)) > 3:
        forget(app, chance.choice(names(app)))


def retitles(app: App, chance: random.Random) -> None:
    title = f"Title {chance.randrange(10**6)}"
    update_memory(app, app.open_store(), chance.choice(names(app)), Change(title=title))


def edits_an_edge(app: App, chance: random.Random) -> None:
    files = sorted((app.store_path / "graph" / "edges").glob("*.md"))
    if files:
        file = chance.choice(files)
        file.write_text(file.read_text("utf-8").replace("strength: 0.8", "strength: 0.31"), "utf-8")
        app.follow(app.open_store())


def edits_a_memory(app: App, chance: random.Random) -> None:
    found = chance.choice(app.open_store().scan().documents)
    file = app.store_path / found.path
    file.write_text(file.read_text("utf-8") + "\nThe rope is blue.\n", "utf-8")
    adds(app, chance)


def another_process(app: App, chance: random.Random) -> None:
    other = App(store=app.store_path)
    chance.choice((relates, adds, retitles))(other, chance)


DEEDS: tuple[Callable[[App, random.Random], None], ...] = (
    *(relates, relates, parts, adds, forgets, retitles),
    *(edits_an_edge, edits_a_memory, another_process),
)


@pytest.mark.parametrize("seed", range(3))
def test_after_each_change_all_is_as_a_rebuild_makes_it(
    bench: Bench, app: App, tmp_path: Path, seed: int
) -> None:
    root = lay_out(bench.store.root)
    chance = random.Random(seed)
    app.follow(app.open_store())
    for step, deed in enumerate(chance.sample(DEEDS, STEPS)):
        deed(app, chance)
        place = tmp_path / f"step-{step}"
        place.mkdir()
        assert derived(app.home, root) == rebuilt(app, root, place), deed.__name__

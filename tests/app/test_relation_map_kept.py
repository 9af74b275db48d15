"""The map of relations by what the catalogue has of them: never another than that of the files."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.app import relation_map
from pipeline.app.application import App
from pipeline.app.kept_web import Bond
from pipeline.app.relation_map import RelationMap, mapped
from pipeline.search.refresh import refresh_index
from pipeline.store import Store
from pipeline.store.catalogue import sieve
from pipeline.store.files.scanning import Document
from tests.support.cognitive import EDGE_PATH, PROBLEM_PATH, SOLUTION_PATH, lay_out
from tests.support.stores import NOW, settled


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of three memories and one edge, all of which the catalogue has, which is asked as for many."""
    monkeypatch.setattr(sieve, "_MANY", 0)
    root = lay_out(tmp_path / "cognitive")
    (root / ".reverie").mkdir(mode=0o700, exist_ok=True)
    Store.open(root).reindex(now=NOW)
    settled(root)
    return root


def anew(root: Path) -> RelationMap:
    """Return the map as a new process makes it."""
    return mapped(App(store=root))


def by_files_alone(root: Path, copy: Path) -> RelationMap:
    """Return the map of the same files, of which nothing is kept anywhere."""
    shutil.copytree(root, copy)
    shutil.rmtree(copy / ".reverie")
    return anew(copy)


def spoil(root: Path, statement: str) -> None:
    with closing(sqlite3.connect(root / ".reverie/catalogue.sqlite")) as catalogue:
        catalogue.execute(statement)
        catalogue.commit()


def test_no_front_matter_is_read_for_it_where_the_catalogue_has_it(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = by_files_alone(store, store.parent / "copy")
    # Links in texts come from the search index.
    refresh_index(App(store=store).home, Store.open(store), NOW)
    monkeypatch.setattr(Document, "front", property(lambda item: pytest.fail(f"front of {item.path}")))
    found = anew(store)
    assert found == expected and len(found.bonds) == 1


@pytest.mark.parametrize("column", ["ends", "title", "sum"])
def test_of_a_damaged_row_the_file_is_asked(store: Path, column: str) -> None:
    expected = by_files_alone(store, store.parent / "copy")
    spoil(store, f"UPDATE briefs SET {column} = '[]'")
    assert anew(store) == expected


def test_a_relation_that_was_edited_in_a_file_is_there(store: Path) -> None:
    before = anew(store)
    (store / EDGE_PATH).unlink()
    for path in (SOLUTION_PATH, PROBLEM_PATH):
        text = (store / path).read_text("utf-8")
        (store / path).write_text(text.replace("type: SOLVES", "type: BUILDS_ON"), "utf-8")
    after = anew(store)
    assert [bond.type for bond in before.bonds] == ["SOLVES"]
    assert [bond.type for bond in after.bonds] == ["BUILDS_ON"]


@pytest.mark.parametrize("change", [Path.unlink, lambda file: file.rename(file.with_name("other-e1d2c3.md"))])
def test_an_edge_whose_file_left_or_moved_is_seen_by_the_same_server(
    store: Path, change: Callable[[Path], object]
) -> None:
    for path in (SOLUTION_PATH, PROBLEM_PATH):
        text = (store / path).read_text("utf-8")
        (store / path).write_text(text.partition("relations:")[0] + "---\n\nAs it was.\n", "utf-8")
    Store.open(store).reindex(now=NOW)
    settled(store)
    app = App(store=store)
    assert len(mapped(app).bonds) == 1
    change(store / EDGE_PATH)
    assert len(mapped(app).bonds) == (store / EDGE_PATH).with_name("other-e1d2c3.md").exists()


def by_and_by(near: dict[int, list[tuple[int, float]]]) -> dict[int, int]:
    """Return the groups as they are defined: each spot asks all around it, in every round."""
    label = {at: at for at in near}
    for _ in range(12):
        before = dict(label)
        for at in sorted(near, key=lambda at: (-len(near[at]), at)):
            weights: dict[int, float] = defaultdict(float)
            for other, weight in near[at]:
                weights[label[other]] += weight
            label[at] = max(weights, key=lambda name: (weights[name], name == label[at], -name))
        if label == before:
            break
    order = sorted(sizes := Counter(label.values()), key=lambda name: (-sizes[name], name))
    return {at: order.index(name) + 1 for at, name in label.items()}


@pytest.mark.parametrize("seed", range(12))
def test_who_asks_only_where_something_changed_finds_the_same_groups(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randrange(4, 60)
    bonds = []
    for _ in range(count * chance.randrange(1, 4)):
        start, end = chance.sample(range(count), 2)
        bonds.append(Bond(start, end, "SOLVES", chance.choice((0.2, 0.5, 0.8))))
    near = relation_map.near_of(bonds)
    assert relation_map.groups_of(near) == by_and_by(near)

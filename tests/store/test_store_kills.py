"""Death at every write of an apply with a generation and of an undo: old or new, never a mix."""

import shutil

import pytest

from pipeline.core import faults
from pipeline.store import Store, fsck
from tests.store.test_store_undo import dream
from tests.support.stores import apply, die_at, kills, memory, save, tree

BEFORE = ("store.staged", "store.generation_begun", "store.generation_written")
POINTS = [point for point in faults.POINTS if point.startswith("store.")]


@pytest.fixture(scope="module")
def states(tmp_path_factory):
    """The three states of a store in folders of their own: before a dream, after it, and after its undo."""
    base = tmp_path_factory.mktemp("states")
    store = Store.open(base / "old", create=True)
    save(store, memory("old-one"), memory("gone-one"), memory("pinned-one"))
    shutil.copytree(base / "old", base / "new")
    dream(Store.open(base / "new"))
    shutil.copytree(base / "new", base / "undone")
    Store.open(base / "undone").undo("run-2")
    return base


def check(states, work, start, end, action, point):
    """Kill `action` at each visit of `point` in a fresh copy of `start`; then open the store again."""
    visits = 0
    for visit in kills([point], lambda: _fresh(states, work, start) and action(Store.open(work))):
        visits += 1
        again = Store.open(work)
        outcome = start if point in BEFORE else end
        assert tree(again.root) == tree(states / outcome), visit
        assert all(again.is_ours(item) for item in again.scan().documents), visit
        action(again)
        assert tree(again.root) == tree(states / end), visit
        assert fsck(again) == [], visit
        assert [item.run for item in again.history()] == [
            item.run for item in Store.open(states / end).history()
        ], visit
    return visits


def _fresh(states, work, start):
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(states / start, work)
    return True


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_a_dream_is_applied(states, tmp_path, point):
    assert check(states, tmp_path / "work", "old", "new", dream_once, point) >= 1


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_a_dream_is_undone(states, tmp_path, point):
    assert check(states, tmp_path / "work", "new", "undone", lambda store: store.undo("run-2"), point) >= 1


def test_the_undone_state_is_the_old_one(states):
    assert tree(states / "undone") == tree(states / "old")
    assert tree(states / "new") != tree(states / "old")


def dream_once(store):
    """Apply the dream, or ask for it a second time when recovery has finished it already."""
    if store.scan().by_name("gone-one") is None:
        assert apply(store, id="run-2").already
    else:
        dream(store)


@pytest.mark.parametrize("point", BEFORE)
def test_what_a_dead_apply_kept_is_swept_by_the_next_change(states, tmp_path, point):
    work = tmp_path / "work"
    _fresh(states, work, "old")
    assert die_at(point, lambda: dream(Store.open(work))) == -9
    again = Store.open(work)
    assert again.history() == []
    apply(again, id="run-3")
    assert list((work / ".reverie").glob("generations/*")) == []
    assert list((work / ".reverie/staged").iterdir()) == []

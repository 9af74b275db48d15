"""What was planned and is not applied yet keeps its place, however much is planned."""

from pathlib import Path

import pytest

from pipeline.core.errors import ConflictError
from pipeline.revision.door import Door
from pipeline.store import Move, Store
from tests.support.stores import NOW, apply, memory, save


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory", create=True)


def test_memories_planned_together_get_names_of_their_own(store: Store) -> None:
    made = [memory("tabs", id="a1"), memory("tabs", type="fix", id="b2"), memory("tabs", id="c3")]
    plans = [store.put(item) for item in made]
    assert [plan.memory.name for plan in plans if plan.memory] == ["tabs", "tabs-2", "tabs-3"]
    store.drop_plans()
    assert store.put(memory("tabs")).path == "tabs.md"


def test_a_new_memory_leaves_room_for_a_pin_that_is_planned(store: Store) -> None:
    save(store, memory("tabs", type="fix", id="a1b2c3d4"))
    (plan,) = store.pin(store.read("tabs"))
    assert isinstance(plan, Move) and plan.target == "vault/tabs-a1b2c3.md"
    assert store.put(memory("tabs-a1b2c3", pinned=True)).path == "vault/tabs-a1b2c3-2.md"


def test_a_memory_may_keep_the_name_that_it_was_planned_under(store: Store) -> None:
    put = store.put(memory("tabs"))
    apply(store, put)
    found = store.read("tabs")
    wide = memory("wide-tabs", id=found.id)
    plans = [store.rename(wide, found), store.rename(wide, found)]
    assert [plan.target for plan in plans if isinstance(plan, Move)] == ["wide-tabs.md"] * 2


def test_files_of_one_name_that_are_retired_together_all_stay(store: Store) -> None:
    save(store, memory("tabs", type="fix", id="a1b2c3d4"), memory("tabs-a1b2c3"))
    files = [store.read("tabs"), store.read("tabs-a1b2c3")]
    apply(store, store.retire(files[0], year=2026, reason="r"), id="run-2")
    save(store, memory("tabs", type="fix", id="a1b2c3d4"), id="run-3")
    plans = [store.retire(item, year=2026, reason="r") for item in (store.read("tabs"), files[1])]
    assert [plan.target.rsplit("/")[-1] for plan in plans] == ["tabs-a1b2c3-2.md", "tabs-a1b2c3-3.md"]


def test_a_door_plans_a_file_once_and_a_relation_with_it(store: Store) -> None:
    save(store, memory("tabs"), memory("spaces"))
    door = Door(store, now=NOW, approved=True)
    tabs, spaces = store.read("tabs"), store.read("spaces")
    door.retire(spaces, "gone")
    link = {"type": "relates-to", "target": tabs.id}
    door.relate(tabs, link)
    door.relate(tabs, {"type": "caused-by", "target": spaces.id})
    assert [operation.path for operation in door.operations] == ["spaces.md", "tabs.md"]
    with pytest.raises(ConflictError, match="planned twice"):
        door.retire(tabs, "gone too")
    door.drop()
    door.retire(tabs, "gone too")
    assert [operation.path for operation in door.operations] == ["tabs.md"]

"""What `status` keeps of a store in which nothing is wrong: it holds until anything in it is another."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.app.looked_over import files_of_others
from pipeline.config import Settings
from pipeline.core import kept_values
from pipeline.core.home import Home
from pipeline.ledger import open_ledger
from pipeline.search.ticks import TICK_NS
from pipeline.store import Store
from tests.support.stores import apply, memory

NONE: dict[str, object] = {"left_out": [], "to_adopt": {}}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    with open_ledger(Home(home).ledger):
        return home


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = Store.open(tmp_path / "memory", create=True)
    apply(store, *(store.put(memory(f"m-{at}", id=f"id{at}")) for at in range(3)))
    return store.path


def quiet(store: Path) -> None:
    """Let the clock that stamps files go on, so that what happens next leaves other stamps."""
    newest = max(path.lstat().st_ctime_ns for path in (store, *store.rglob("*")))
    probe = store.parent / "probe"
    while not probe.exists() or probe.stat().st_ctime_ns <= newest + TICK_NS:
        probe.write_text(str(time.monotonic_ns()))


def looked(home: Path, store: Path) -> dict[str, object]:
    return files_of_others(home, store, Settings())


def planted(home: Path, store: Path) -> None:
    """Let what is kept say something else, by which one sees that it is asked."""
    file = Home(home).looked_over
    look, _ = kept_values.read(file)[str(store)]
    kept_values.add(file, str(store), [look, {"person": 7}], most=4)


PLANTED = {"left_out": [], "to_adopt": {"person": 7}}


def test_what_was_told_of_a_store_that_has_not_changed_is_told_again(home: Path, store: Path) -> None:
    quiet(store)
    assert looked(home, store) == NONE
    planted(home, store)
    assert looked(home, store) == PLANTED == looked(home, store)
    assert Home(home).looked_over.stat().st_mode & 0o777 == 0o600


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file edited in place": lambda store: (store / "m-1.md").write_text("My own words.\n"),
    "a file more": lambda store: (store / "mine.md").write_text("Mine.\n"),
    "a file less": lambda store: (store / "m-1.md").unlink(),
    "a name no memory can have": lambda store: (store / ".hidden.md").write_text("Mine.\n"),
    "a link": lambda store: (store / "linked.md").symlink_to(store / "m-1.md"),
    "a folder with a memory's name": lambda store: (store / "folder.md").mkdir(),
    "another index": lambda store: (store / "MEMORY.md").write_bytes(b"\xff"),
    "a merge in the index": lambda store: (store / "MEMORY.md").write_text("<<<<<<< a\n=======\n>>>>>>> b\n"),
    "an index that is a link": lambda store: (
        (store / "MEMORY.md").rename(store.parent / "x")
        and (store / "MEMORY.md").symlink_to(store.parent / "x")
    ),
    "what we wrote": lambda store: (store / ".reverie/written.jsonl").write_text(""),
    "who wrote it": lambda store: (store / ".reverie/identities.jsonl").write_text("{}\n"),
    "a change begun": lambda store: (store / ".reverie/intent.json").write_text("{}"),
    "a vault": lambda store: (store / "vault").mkdir(),
    "a graph elsewhere": lambda store: (store / "graph").symlink_to(store.parent),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_a_change_it_counts_no_longer(
    home: Path, store: Path, change: Callable[[Path], object]
) -> None:
    quiet(store)
    looked(home, store)
    planted(home, store)
    change(store)
    assert looked(home, store) != PLANTED


def test_of_what_is_wrong_and_of_what_changed_just_now_nothing_is_kept(home: Path, store: Path) -> None:
    (store / "m-1.md").write_bytes(b"---\n- [\n---\n")
    quiet(store)
    assert looked(home, store)["left_out"]
    os.utime(store / "m-2.md")
    assert not kept_values.read(Home(home).looked_over)


def test_a_home_that_is_not_in_use_gets_no_file(tmp_path: Path, store: Path) -> None:
    quiet(store)
    assert looked(tmp_path / "unused", store) == NONE
    assert not (tmp_path / "unused").exists()

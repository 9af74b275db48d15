"""What somebody else did to files of ours is told, when it was, and old beside new, as far as it is known."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.store import ChangeSet, Store
from tests.support.stores import memory, save

AT_NS = 1_700_000_000_000_000_000


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "memory", create=True)
    puts = [store.put(memory(name)) for name in ("first", "second")]
    store.apply(ChangeSet("run-1", "test", puts), generation=True)
    return store


def edit(store: Store, path: str = "first.md", more: bytes = b"By hand.\n") -> None:
    file = store.root / path
    file.write_bytes(file.read_bytes() + more)
    os.utime(file, ns=(AT_NS, AT_NS))


def seen(store: Store) -> list[tuple[str, str, int | None]]:
    return [(item.word, item.path, item.found_by) for item in Store.open(store.path).hand_edits()]


def change(store: Store, run: str, body: str) -> None:
    """Change the first memory at a person's word, whoever wrote it."""
    old = store.read("first")
    put = store.put(replace(old.memory, body=body), existing=old, approved=True)
    store.apply(ChangeSet(run, "test", [put]), generation=True)


def test_what_only_reverie_wrote_was_edited_by_nobody(store: Store) -> None:
    change(store, "run-2", "Other.\n")
    store.apply(ChangeSet("run-3", "test", [*store.pin(store.read("second"))]), generation=True)
    store.apply(
        ChangeSet("run-4", "test", [store.retire(store.read("first"), year=2026, reason="r")]),
        generation=True,
    )
    for run in ("run-4", "run-3", "undo-run-3", "run-3", "run-2"):
        store.undo(run)
        assert seen(store) == []


def test_an_edit_is_known_until_and_after_the_next_change(store: Store) -> None:
    edit(store)
    assert seen(store) == [("edited", "first.md", None)]
    (found,) = store.hand_edits()
    assert found.at is not None and found.at.timestamp() == AT_NS / 1e9
    change(store, "run-2", "Other.\n")
    assert seen(store) == [("edited", "first.md", 2)]
    (again,) = store.hand_edits()
    assert (again.at, again.theirs) == (found.at, found.theirs)


@pytest.mark.parametrize("through", ["pin", "undo"])
def test_an_edit_is_told_once_wherever_its_bytes_go(store: Store, through: str) -> None:
    edit(store)
    if through == "pin":
        store.apply(ChangeSet("run-2", "test", [*store.pin(store.read("first"))]), generation=True)
        assert store.read("first").path == "vault/first.md"
    else:
        change(store, "run-2", "Other.\n")
        store.undo("run-2")
    assert [word for word, _, _ in seen(store)] == ["edited"]


def test_two_edits_with_a_change_between_are_two(store: Store) -> None:
    edit(store)
    change(store, "run-2", "Other.\n")
    edit(store, more=b"Again.\n")
    assert seen(store) == [("edited", "first.md", 2), ("edited", "first.md", None)]


def _remove(file: Path) -> None:
    file.unlink()


def _spoil(file: Path) -> None:
    file.write_bytes(b"---\na: [\n---\n")


def _link(file: Path) -> None:
    file.rename(file.with_suffix(".old"))
    file.symlink_to(file.with_suffix(".old"))


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


@pytest.mark.parametrize(
    ("act", "word"), [(_remove, "removed"), (_spoil, "edited"), (_link, "edited"), (_folder, "edited")]
)
def test_whatever_became_of_a_file_is_told_and_stops_nothing(
    store: Store, act: Callable[[Path], None], word: str
) -> None:
    act(store.root / "first.md")
    assert seen(store) == [(word, "first.md", None)]


def test_a_removed_file_that_another_took_the_place_of_is_told_of_still(store: Store) -> None:
    (store.root / "first.md").unlink()
    put = store.put(memory("first", body="New.\n"))
    store.apply(ChangeSet("run-2", "test", [put]), generation=True)
    assert seen(store) == [("removed", "first.md", 2)]


def test_what_was_moved_or_was_never_ours_is_no_edit(store: Store) -> None:
    (store.root / "first.md").rename(store.root / "elsewhere.md")
    (store.root / "foreign.md").write_text("Mine.\n")
    (store.root / "MEMORY.md").write_text("Mine.\n")
    save(store, memory("third"), id="run-2")
    assert seen(store) == []


def test_an_edit_is_shown_old_beside_new_as_far_as_both_are_kept(store: Store) -> None:
    ours = (store.root / "first.md").read_bytes()
    edit(store)
    (found,) = store.hand_edits()
    shown = store.hand_edit_diff(found)
    assert shown is not None and (shown.before, shown.after) == (ours, ours + b"By hand.\n")
    change(store, "run-2", "Other.\n")
    (found,) = store.hand_edits()
    assert store.hand_edit_diff(found) == shown
    (store.root / "first.md").unlink()
    removed = store.hand_edit_diff(store.hand_edits()[1])
    assert removed is not None and removed.before is not None and removed.after is None


def test_without_the_former_bytes_nothing_is_shown(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "memory", create=True)
    save(store, memory("first"))
    edit(store)
    (found,) = store.hand_edits()
    assert store.hand_edit_diff(found) is None

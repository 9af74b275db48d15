"""After an undo MEMORY.md is as it was, to the byte; and what stays in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.store import ChangeSet, Store
from pipeline.store.files.memory_index import BEGIN, END
from tests.support.stores import NOW, index, memory, save

THEIRS = [
    None,
    b"",
    b"# Memory\n\n- [Port](port.md) \xe2\x80\x94 the mailer\n",
    b"- [Port](port.md), no line end",
    b"# Notes\r\n\r\nprose\r\n\r\n",
    b"# Notes\rprose",
]


def folder(tmp_path: Path, theirs: bytes | None) -> Store:
    """Return a store with two files that Reverie did not write, and their MEMORY.md."""
    made = Store.open(tmp_path / "memory", create=True)
    for name in ("port", "tabs"):
        (made.root / f"{name}.md").write_text(f"---\nname: {name}\ndescription: About {name}.\n---\nx\n")
    if theirs is not None:
        (made.root / "MEMORY.md").write_bytes(theirs)
    return made


def present(store: Store) -> bytes | None:
    file = store.root / "MEMORY.md"
    return file.read_bytes() if file.exists() else None


def add(store: Store, name: str, run: str) -> None:
    store.apply(ChangeSet(run, f"add {name}", [store.put(memory(name))]), generation=True)
    store.reindex(now=NOW)


def undo(store: Store, run: str):
    undone = store.undo(run)
    # What a command does behind every change of a person's.
    store.reindex(now=NOW, begin=False)
    return undone


@pytest.mark.parametrize("theirs", THEIRS)
def test_the_undo_of_a_first_change_leaves_no_block(tmp_path: Path, theirs: bytes | None) -> None:
    store = folder(tmp_path, theirs)
    add(store, "first", "run-1")
    assert BEGIN in index(store) and "](tabs.md)" in index(store)
    undone = undo(store, "run-1")
    assert present(store) == theirs
    assert undone.partly == () and "MEMORY.md" in undone.paths
    assert Store.open(store.path).reindex(now=NOW, begin=False) == []
    undo(store, "undo-run-1")
    assert "](first.md)" in index(store)
    undo(store, "run-1")
    assert present(store) == theirs


@pytest.mark.parametrize("theirs", THEIRS)
@pytest.mark.parametrize("order", [("run-2", "run-1"), ("run-1", "run-2")])
def test_so_does_the_undo_of_all_changes_in_any_order(
    tmp_path: Path, theirs: bytes | None, order: tuple[str, str]
) -> None:
    store = folder(tmp_path, theirs)
    add(store, "first", "run-1")
    add(store, "second", "run-2")
    store.undo(order[0])
    assert BEGIN in index(store) and ("](first.md)" in index(store)) == (order[0] == "run-2")
    undo(store, order[1])
    assert present(store) == theirs


@pytest.mark.parametrize("theirs", THEIRS[1:])
def test_what_someone_wrote_in_it_since_stays_and_our_block_goes(tmp_path: Path, theirs: bytes) -> None:
    store = folder(tmp_path, theirs)
    add(store, "first", "run-1")
    written = present(store)
    assert written is not None
    (store.root / "MEMORY.md").write_bytes(b"above\n" + written + b"below\n")
    undone = undo(store, "run-1")
    left = present(store)
    assert left is not None and left.startswith(b"above\n" + theirs) and left.endswith(b"below\n")
    assert BEGIN.encode() not in left and b"first.md" not in left and b"tabs.md" not in left
    assert undone.partly == ("MEMORY.md",)


def test_a_line_below_the_block_stays_without_the_room_that_was_made_for_it(tmp_path: Path) -> None:
    store = folder(tmp_path, THEIRS[2])
    add(store, "first", "run-1")
    (store.root / "MEMORY.md").write_text(index(store) + "- below\n")
    undo(store, "run-1")
    assert present(store) == (THEIRS[2] or b"") + b"- below\n"


def test_a_block_that_was_there_before_stays(tmp_path: Path) -> None:
    store = folder(tmp_path, THEIRS[2])
    store.reindex(now=NOW)
    asked_for = present(store)
    assert asked_for is not None and BEGIN.encode() in asked_for
    add(store, "first", "run-1")
    undo(store, "run-1")
    assert present(store) == asked_for
    add(store, "second", "run-2")
    (store.root / "MEMORY.md").write_text(index(store) + "- below\n")
    undone = undo(store, "run-2")
    assert present(store) == asked_for + b"- below\n"
    assert undone.partly == ("MEMORY.md",)


def test_a_block_that_was_asked_for_between_two_changes_stays(tmp_path: Path) -> None:
    store = folder(tmp_path, THEIRS[2])
    add(store, "first", "run-1")
    undo(store, "run-1")
    store.reindex(now=NOW)
    add(store, "second", "run-2")
    (store.root / "MEMORY.md").write_text(index(store) + "- below\n")
    undo(store, "run-2")
    assert "](tabs.md)" in index(store) and index(store).endswith(f"{END}\n- below\n")


def test_an_overflow_page_goes_with_the_block(tmp_path: Path) -> None:
    folder(tmp_path, THEIRS[2])
    store = Store.open(tmp_path / "memory", index_lines=7)
    add(store, "first", "run-1")
    assert (store.root / "MEMORY-more.md").exists()
    (store.root / "MEMORY.md").write_text(index(store) + "- below\n")
    (store.root / "later.md").write_text("Somebody's.\n")
    store.reindex(now=NOW)
    assert "later.md" in (store.root / "MEMORY-more.md").read_text()
    undo(store, "run-1")
    assert not (store.root / "MEMORY-more.md").exists()
    assert present(store) == (THEIRS[2] or b"") + b"- below\n"


def test_nothing_begins_a_block_in_the_background_where_no_memory_is_ours(tmp_path: Path) -> None:
    store = folder(tmp_path, THEIRS[2])
    store.reindex(now=NOW, begin=False)
    assert present(store) == THEIRS[2]
    save(store, memory())
    (store.root / "MEMORY.md").write_bytes(THEIRS[2] or b"")
    store.reindex(now=NOW, begin=False)
    assert "](prefers-tabs.md)" in index(store)

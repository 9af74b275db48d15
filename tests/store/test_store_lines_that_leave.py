"""A line of MEMORY.md that is not ours leaves with the file that it leads to, and with nothing else."""

import pytest

from pipeline.store import ChangeSet, Store
from pipeline.store.files.memory_index import build
from tests.support.stores import NOW, apply, index, memory, save, tree

THEIRS = """# Notes

- [npm](uses-npm.md) — all packages are installed with npm
* [npm, again](<./uses-npm.md#why>)
- [npm](uses-npm.md) or [pnpm](uses-pnpm.md), see both
- [npm on the web](https://npm.example.org) is not [npm](uses-npm.md)
See [npm](uses-npm.md) for the rest.
- ask Bob about npm
"""
LEFT = THEIRS.replace("- [npm](uses-npm.md) — all packages are installed with npm\n", "").replace(
    "* [npm, again](<./uses-npm.md#why>)\n", ""
)


@pytest.fixture
def store(tmp_path):
    """A folder with two notes that Claude wrote and lists, and one memory of ours."""
    found = Store.open(tmp_path / "memory", create=True)
    for name in ("uses-npm", "uses-pnpm"):
        (found.root / f"{name}.md").write_text(f"---\nname: {name}\ndescription: x\n---\nUse it.\n")
    (found.root / "MEMORY.md").write_text(THEIRS)
    save(found, memory())
    return found


def retire(store, name="uses-npm"):
    one = store.retire(store.read(name), year=2026, reason="outdated")
    return store.apply(ChangeSet("run-2", "test", [one]), generation=True)


def test_only_an_item_that_leads_nowhere_else_leaves(store):
    before = index(store)
    retire(store)
    assert index(store) == before.replace(THEIRS, LEFT)


def test_undo_brings_it_back_byte_for_byte(store):
    before = tree(store.root)
    retire(store)
    assert tree(store.root) != before
    store.undo("run-2")
    assert tree(store.root) == before


def test_a_file_without_our_block_loses_no_more_than_the_line(tmp_path):
    found = Store.open(tmp_path / "memory", create=True)
    for name in ("a", "b"):
        (found.root / f"{name}.md").write_text("words\n")
    (found.root / "MEMORY.md").write_bytes(b"- [A](a.md)\r\n\r\n- [B](b.md), no line end")
    retire(found, "a")
    assert (found.root / "MEMORY.md").read_bytes() == b"\r\n- [B](b.md), no line end"


def test_what_leads_to_a_file_that_was_never_there_is_theirs(store):
    own = "- [Plans](plans.md) — not written yet\n"
    (store.root / "MEMORY.md").write_text(own + index(store))
    save(store, memory("b"), id="run-3")
    store.reindex(now=NOW)
    assert index(store).startswith(own + THEIRS)


def test_a_line_of_theirs_about_a_memory_of_ours_leaves_too(store):
    (store.root / "MEMORY.md").write_text("- [Tabs](prefers-tabs.md) — theirs\n" + index(store))
    save(store, memory("b"), id="run-3")
    assert (
        index(store).startswith("- [Tabs](prefers-tabs.md) — theirs\n") and index(store).count("tabs.md") == 1
    )
    apply(store, store.retire(store.read("prefers-tabs"), year=2026, reason="x"), id="run-4")
    assert "prefers-tabs" not in index(store) and index(store).startswith(THEIRS)


def test_a_line_written_after_its_file_left_is_theirs(store):
    retire(store)
    (store.root / "uses-npm.md").write_text("Use it all the same.\n")
    again = "- [npm](uses-npm.md) — written anew\n"
    (store.root / "MEMORY.md").write_text(again + index(store))
    save(store, memory("b"), id="run-3")
    assert index(store).startswith(again)
    (store.root / "uses-npm.md").unlink()
    save(store, memory("c"), id="run-4")
    assert index(store).startswith(again)


def test_without_what_is_gone_every_line_stays():
    assert build(THEIRS.encode(), []).index == THEIRS.encode()
    assert build(THEIRS.encode(), [], gone={"uses-npm.md"}).index == LEFT.encode()

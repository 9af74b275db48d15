"""Pinning moves a memory into vault/ and back; nobody else's bytes change."""

import os

import pytest

from pipeline.core.errors import ConflictError
from pipeline.store import Store, fsck
from tests.support.stores import apply, index, memory, run, save, tree


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


def pin(store, name, id="pin"):
    return apply(store, *store.pin(store.read(name)), id=id)


def unpin(store, name, id="unpin"):
    return apply(store, *store.unpin(store.read(name)), id=id)


@pytest.mark.parametrize(
    ("values", "path", "vault"),
    [
        ({"type": "user"}, "prefers-tabs.md", "vault/prefers-tabs.md"),
        (
            {"type": "fix", "id": "a1b2c3d4"},
            "graph/fixes/prefers-tabs-a1b2c3.md",
            "vault/prefers-tabs-a1b2c3.md",
        ),
    ],
)
def test_a_pin_moves_the_file_and_an_unpin_moves_it_back(store, values, path, vault):
    save(store, memory(**values))
    before = tree(store.root)
    pin(store, "prefers-tabs")
    pinned = store.read("prefers-tabs")
    assert (pinned.path, pinned.front["pinned"], store.is_ours(pinned)) == (vault, True, True)
    assert f"]({vault})" in index(store) and f"]({path})" not in index(store)
    assert fsck(store) == []
    unpin(store, "prefers-tabs")
    assert tree(store.root) == before
    assert store.is_ours(store.read("prefers-tabs"))


def test_pinned_twice_or_unpinned_twice_is_no_change(store):
    save(store, memory())
    assert store.unpin(store.read("prefers-tabs")) == ()
    pin(store, "prefers-tabs")
    assert store.pin(store.read("prefers-tabs")) == ()


def test_a_name_taken_in_the_vault_keeps_both_files(store):
    (store.root / "vault").mkdir()
    (store.root / "vault/prefers-tabs.md").write_text("---\nname: other\n---\ntheirs\n")
    save(store, memory("prefers-tabs"))
    pin(store, "prefers-tabs")
    assert (store.root / "vault/prefers-tabs.md").read_bytes().endswith(b"theirs\n")
    assert store.read("prefers-tabs").path == "vault/prefers-tabs-2.md"


def test_an_unpinned_file_stays_a_memory_whatever_its_name(store):
    (store.root / "vault").mkdir()
    (store.root / "vault/README.md").write_text("---\nname: readme-of-mine\ntype: user\n---\ntheirs\n")
    unpin(store, "readme-of-mine")
    assert store.read("readme-of-mine").path == "README-2.md"


def test_two_pins_in_one_change_set_do_not_meet(store):
    save(store, memory("same", type="fix", id="a1b2c3d4"))
    (store.root / "graph/errors").mkdir()
    (store.root / "graph/errors/same-a1b2c3.md").write_text("---\ntype: error\n---\ntheirs\n")
    moves = [move for item in store.scan().documents for move in store.pin(item)]
    apply(store, *moves, id="pin")
    assert sorted(tree(store.root / "vault")) == ["same-a1b2c3-2.md", "same-a1b2c3.md"]


@pytest.mark.parametrize("ours", ["edited", "foreign"])
def test_bug_099_a_file_that_is_not_ours_is_moved_as_it_is(store, ours):
    save(store, memory())
    file = store.root / "prefers-tabs.md"
    file.write_bytes(file.read_bytes().replace(b"\n---\nIndent", b"\nodd:   {a: 1}\n---\nIndent"))
    if ours == "foreign":
        (store.root / ".reverie/written.jsonl").unlink()
        store = Store.open(store.path)
    raw = file.read_bytes()
    pin(store, "prefers-tabs")
    moved = store.read("prefers-tabs")
    assert (moved.raw, moved.foreign, store.is_ours(moved)) == (raw, ours == "foreign", False)
    unpin(store, "prefers-tabs")
    assert file.read_bytes() == raw
    assert not store.is_ours(store.read("prefers-tabs"))


def test_a_pin_someone_else_wrote_is_theirs_to_remove(store):
    (store.root / "a.md").write_text("---\nname: a\npinned: Yes\n---\nx\n")
    with pytest.raises(ConflictError, match="says that it is pinned"):
        store.unpin(store.read("a"))


def test_a_file_typed_by_its_folder_only_is_not_moved(store):
    (store.root / "graph/fixes").mkdir(parents=True)
    (store.root / "graph/fixes/a.md").write_text("---\nname: a\n---\nx\n")
    with pytest.raises(ConflictError, match="only its folder"):
        store.pin(store.read("a"))


def test_no_pin_breaks_a_line_of_somebody_elses(store):
    save(store, memory("ours"))
    (store.root / "theirs.md").write_text("---\nname: theirs\n---\nx\n")
    (store.root / "MEMORY.md").write_text("- [T](theirs.md)\n- [O](ours.md)\n" + index(store))
    with pytest.raises(ConflictError, match="links to it"):
        store.pin(store.read("theirs"))
    pin(store, "ours")
    assert store.read("ours").path == "ours.md" and store.read("ours").head.pinned
    unpin(store, "ours")
    assert not store.read("ours").head.pinned
    assert fsck(store) == []


def test_a_file_changed_since_it_was_read_is_not_moved(store):
    save(store, memory())
    plan = store.pin(store.read("prefers-tabs"))
    (store.root / "prefers-tabs.md").write_text("theirs\n")
    with pytest.raises(ConflictError):
        apply(store, *plan, id="pin")
    assert (store.root / "prefers-tabs.md").read_text() == "theirs\n"
    assert not (store.root / "vault/prefers-tabs.md").exists()


PIN = """
import sys
from pathlib import Path
from pipeline.store import ChangeSet, Store
store = Store.open(Path(sys.argv[1]))
store.apply(ChangeSet("pin", "test", store.pin(store.read("prefers-tabs"))))
"""


@pytest.mark.parametrize("where", ["prefers-tabs.md", "vault/prefers-tabs.md"])
def test_a_file_written_between_intent_and_recovery_stays(store, where):
    save(store, memory())
    assert run(PIN, str(store.path), REVERIE_CRASH_AT="store.intent_written").returncode == -9
    (store.root / where).write_text("---\nname: theirs\n---\ntheirs\n")
    kept = (store.root / "prefers-tabs.md").read_bytes()
    again = Store.open(store.path)
    assert (again.root / where).read_bytes().endswith(b"theirs\n")
    assert (again.root / "prefers-tabs.md").read_bytes() == kept
    assert [item.code for item in fsck(again)] == ["conflict"]


def test_a_pin_keeps_the_mode_of_the_file(store):
    save(store, memory())
    (store.root / "prefers-tabs.md").chmod(0o640)
    pin(store, "prefers-tabs")
    assert os.stat(store.root / "vault/prefers-tabs.md").st_mode & 0o777 == 0o640

"""Names of files: alike but for case or accents, and such as no memory can have."""

import os
import unicodedata
from pathlib import Path

import pytest

from pipeline.core.errors import PathEscapeError, StoreError
from pipeline.hooklib.memory_format import odd_name
from pipeline.recall.live import store_files
from pipeline.store import ChangeSet, Store
from pipeline.store.files.layout import check_path, is_same_file
from pipeline.store.files.names import common_form
from tests.support.stores import apply, memory, tree

NFC = unicodedata.normalize("NFC", "café")
NFD = unicodedata.normalize("NFD", "café")
ALIKE = [("Case", "case"), (NFC, NFD), ("Straße", "STRASSE")]
ODD = ["a\nb", "a:b", "b\\c", "~x", "e\x1b[31mc", "\tz", ".hidden", "..hidden"]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory", create=True)


def pair(store: Store, names: tuple[str, str]) -> list[str]:
    """Two files of one folder; left out where the file system holds them for one."""
    for name in names:
        (store.root / f"{name}.md").write_text(f"---\nname: n{len(name)}\n---\n\nSays {name!a}.\n", "utf-8")
    paths = sorted(file.name for file in store.root.glob("*.md"))
    if len(paths) < 2:
        pytest.skip("this file system holds the two names for one")
    return paths


@pytest.mark.parametrize("names", ALIKE)
def test_two_files_with_names_alike_are_changed_taken_away_and_brought_back_as_two(
    store: Store, names: tuple[str, str]
) -> None:
    paths = pair(store, names)
    before = tree(store.root)
    found = [document for document in store.scan().documents if document.path in paths]
    puts = [store.put(item.memory, existing=item, approved=True) for item in found]
    changed = [store.put(memory(tags=("x",)), existing=item, approved=True) for item in found]
    assert [put.path for put in puts] == paths
    store.apply(ChangeSet("both", "test", changed), generation=True)
    assert all(b"x" in (store.root / path).read_bytes() for path in paths)
    store.undo("both")
    assert {path: tree(store.root)[path] for path in paths} == before
    found = [document for document in store.scan().documents if document.path in paths]
    gone = [store.retire(item, year=2026, reason="over") for item in found]
    assert len({common_form(item.target) for item in gone}) == 2
    store.apply(ChangeSet("gone", "test", gone), generation=True)
    assert not {*paths} & tree(store.root).keys()
    store.undo("gone")
    assert {path: tree(store.root)[path] for path in paths} == before


def test_one_file_is_changed_once_in_a_change_set(store: Store) -> None:
    (store.root / "a.md").write_text("A.\n", "utf-8")
    document = store.read("a")
    put = store.put(memory(), existing=document, approved=True)
    with pytest.raises(StoreError, match=r"two operations on a\.md"):
        apply(store, put, put)


def test_a_name_that_is_there_and_not_listed_is_another_ones(store: Store) -> None:
    (store.root / "a.md").write_text("A.\n", "utf-8")
    assert is_same_file(store.root, "a.md", "a.md")
    assert not is_same_file(store.root, "a.md", "A.md") or not (store.root / "A.md").exists()
    assert not is_same_file(store.root, "b.md", "B.md"), "nothing is there yet"


def test_a_new_file_never_takes_a_name_that_is_one_elsewhere(store: Store) -> None:
    (store.root / "Prefers-Tabs.md").write_text("Something else.\n", "utf-8")
    assert store.put(memory("prefers-tabs")).path == "prefers-tabs-2.md"


@pytest.mark.parametrize("typed", [NFC, NFD])
@pytest.mark.parametrize("kept", [NFC, NFD])
def test_a_name_is_found_however_its_accent_is_written(store: Store, kept: str, typed: str) -> None:
    (store.root / f"{kept}.md").write_text("Opens at eight.\n", "utf-8")
    assert store.read(typed).path == f"{kept}.md"


@pytest.mark.parametrize("name", ODD)
def test_a_name_that_no_memory_can_have_is_told_with_its_cause(store: Store, name: str) -> None:
    (store.root / f"{name}.md").write_text("Text.\n", "utf-8")
    (store.root / "good.md").write_text("Text.\n", "utf-8")
    snapshot = store.scan()
    assert [document.path for document in snapshot.documents] == ["good.md"]
    (problem,) = snapshot.problems
    assert problem.by_name and problem.message == odd_name(f"{name}.md") != ""
    assert problem.path.isprintable() and "\n" not in problem.path
    assert bool(snapshot.misnamed) is not name.startswith(".")
    with pytest.raises(PathEscapeError):
        check_path(f"{name}.md")
    assert [*store_files.listing(str(store.root))] == ["good.md"], "a hook looks at the same files"


@pytest.mark.skipif(os.name == "nt", reason="names there are no bytes")
def test_a_name_that_is_not_utf8_is_told_by_its_bytes(store: Store) -> None:
    file = os.fsencode(store.root) + b"/caf\xe9.md"
    Path(os.fsdecode(file)).write_text("Text.\n", "utf-8")
    (problem,) = store.scan().problems
    assert (problem.path, problem.by_name) == ("caf\\xe9.md", True)


def test_what_macos_leaves_on_foreign_disks_is_nobodys_memory(store: Store) -> None:
    (store.root / "._note.md").write_bytes(b"\0\5\x16\7")
    assert not store.scan().problems


@pytest.mark.parametrize("name", ["a.md", "Ärger.md", "note 1.md", "日本.md", f"{NFD}.md", "a\u00a0b.md"])
def test_ordinary_names_are_not_odd(name: str) -> None:
    assert odd_name(name) == ""

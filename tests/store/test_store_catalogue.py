"""The catalogue of a store: what it saves, and that nothing depends on it."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.memory import Memory
from pipeline.store import ChangeSet, Store, fsck
from pipeline.store.catalogue import database
from pipeline.store.catalogue.database import Catalogue
from pipeline.store.derived.core_page import Memories, core_page, core_text
from pipeline.store.derived.memory_index_writer import LONG
from pipeline.store.files import document
from pipeline.store.files.identity import Identity
from pipeline.store.files.kept import worth_of
from pipeline.store.ownership.written_log import WrittenLog
from tests.support.stores import NOW, apply, die_at, forked, index, memory, run, save, settled, tree

MANY = 40
BESIDE = (".gitignore", "_index.json", "_state.json")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory", create=True)


def file(store: Store) -> Path:
    return store.root / ".reverie/catalogue.sqlite"


def fill(store: Store, count: int = MANY) -> None:
    """Write `count` memories as somebody else does."""
    for number in range(count):
        made = memory(f"m-{number:03}", description=f"Fact {number}.", body=f"Fact {number}.\n")
        (store.root / f"{made.name}.md").write_bytes(document.compose(made))


def contents(store: Store) -> dict[str, list[Any]]:
    """Return what the catalogue says of memories, but when they were read."""
    columns = "path, size, mtime_ns, ctime_ns, digest, own_id, name, title, aliases, retired, fenced, is_text"
    with closing(sqlite3.connect(file(store))) as held:
        return {
            "files": held.execute(f"SELECT {columns}, later, less, place FROM files ORDER BY 1").fetchall(),
            "texts": held.execute("SELECT * FROM texts ORDER BY path").fetchall(),
            "taken": held.execute("SELECT * FROM taken ORDER BY 1, 2, 3").fetchall(),
            "others": held.execute("SELECT * FROM others ORDER BY path").fetchall(),
        }


def spoil(store: Store, sql: str) -> None:
    with closing(sqlite3.connect(file(store))) as held:
        held.executescript(sql)


def memories(store: Store) -> list[Memory]:
    return [item.memory for item in Store.open(store.path).scan().documents]


OPENED = """
import sys
from pathlib import Path
from pipeline.store import ChangeSet, Store
opened = []
sys.addaudithook(lambda event, told: event == "open" and opened.append(Path(str(told[0])).name))
{action}
print(*sorted({{name for name in opened if name.endswith(".md")}} - {{"MEMORY.md"}}))
"""
LOOK = """
snapshot = Store.open(Path(sys.argv[1])).scan()
assert len(snapshot.documents) == 40 and snapshot.by_name("m-007").head.description == "Fact 7."
"""
WRITE = """
from tests.support.stores import memory
store = Store.open(Path(sys.argv[1]))
store.apply(ChangeSet("one", "test", [store.put(memory("m-007", id="another"))]))
"""


@pytest.mark.parametrize(("action", "opened"), [(LOOK, ""), (WRITE, "m-007-2.md")], ids=["look", "write"])
def test_another_process_opens_no_file_that_did_not_change(store: Store, action: str, opened: str) -> None:
    fill(store)
    store.reindex(now=NOW)
    settled(store.root)
    done = run(OPENED.format(action=action), str(store.root))
    assert done.returncode == 0, done.stderr
    found = {name for name in done.stdout.split() if not name.startswith(".")}
    assert found - {"MEMORY-more.md"} == set(opened.split())


def test_a_process_that_read_many_files_keeps_what_they_say(store: Store) -> None:
    fill(store)
    save(store, memory("own"))
    file(store).unlink()
    Store.open(store.path).scan()
    with closing(sqlite3.connect(file(store))) as held:
        assert held.execute("SELECT count(*) FROM files").fetchone() == (MANY + 1,)
    assert stat.S_IMODE(file(store).stat().st_mode) == 0o600


def test_who_only_looks_writes_nothing(store: Store) -> None:
    fill(store)
    Store.open(store.path, to_look=True).scan()
    assert not (store.root / ".reverie").exists()
    Store.open(store.path).scan()
    assert not (store.root / ".reverie").exists()
    store.reindex(now=NOW)
    (store.root / "m-001.md").write_text("theirs\n")
    before = {path: path.lstat().st_mtime_ns for path in store.root.rglob("*")}
    assert "theirs" in {item.preview for item in Store.open(store.path, to_look=True).scan().documents}
    assert {path: path.lstat().st_mtime_ns for path in store.root.rglob("*")} == before


def empty(store: Store) -> None:
    file(store).write_bytes(b"")


def junk(store: Store) -> None:
    file(store).write_bytes(b"no database" * 1000)


def torn(store: Store) -> None:
    raw = file(store).read_bytes()
    file(store).write_bytes(raw[: len(raw) // 2])


def garbled(store: Store) -> None:
    raw = bytearray(file(store).read_bytes())
    raw[4096:] = b"\xa5" * (len(raw) - 4096)
    file(store).write_bytes(bytes(raw))


def newer(store: Store) -> None:
    spoil(store, f"PRAGMA user_version = {database.MADE_AS + 1}; DROP TABLE texts")


def folder(store: Store) -> None:
    file(store).unlink()
    file(store).mkdir()


WRONG: dict[str, Callable[[Store], None]] = {
    "deleted": lambda store: file(store).unlink(),
    "empty": empty,
    "junk": junk,
    "torn": torn,
    "garbled": garbled,
    "newer": newer,
    "a folder": folder,
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("first", ["look", "write", "rebuild"])
def test_a_catalogue_that_can_not_be_used_costs_nothing_but_time(
    store: Store, wrong: Callable[[Store], None], first: str
) -> None:
    fill(store)
    store.reindex(now=NOW)
    settled(store.root)
    known = memories(store)
    wrong(store)
    said = [item.code for item in fsck(Store.open(store.path, to_look=True))]
    assert ("catalogue" in said) == (wrong not in (WRONG["deleted"],))
    if first == "look":
        assert memories(store) == known
    elif first == "rebuild":
        assert [name for name in Store.open(store.path).reindex(now=NOW) if name != "_index.json"] == []
    (put,) = save(Store.open(store.path), memory("m-007", description="Another.", id="another"))
    assert put.path == "m-007-2.md" and "[Another.](m-007-2.md)" in index(store)
    assert index(store).count("\n- ") == MANY + 1
    Store.open(store.path).reindex(now=NOW)
    made = tree(store.root)
    for name in ("MEMORY.md", "CORE.md", "_index.json"):
        (store.root / name).unlink()
    shutil.rmtree(file(store), ignore_errors=True)
    file(store).unlink(missing_ok=True)
    Store.open(store.path).reindex(now=NOW)
    assert tree(store.root) == made


FULL = """
import resource, signal, sys
from pathlib import Path
from pipeline.store import ChangeSet, Store
from tests.support.stores import memory
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
store = Store.open(Path(sys.argv[1]))
store.apply(ChangeSet("one", "test", [store.put(memory("m-007", id="another"))]))
"""


def test_a_disk_too_full_for_the_catalogue_still_takes_the_change(store: Store) -> None:
    fill(store)
    save(store, memory("own"))
    file(store).unlink()
    done = run(FULL, str(store.root))
    assert done.returncode == 0, done.stderr
    assert "catalogue.sqlite can't be used" in done.stderr
    assert index(store).count("\n- ") == MANY + 2 and "](m-007-2.md)" in index(store)
    Store.open(store.path).reindex(now=NOW)
    assert len(contents(store)["files"]) == MANY + 2


@pytest.mark.parametrize("point", ["store.file_replaced", "store.files_replaced", "store.done"])
def test_a_writer_killed_before_it_told_the_catalogue(store: Store, point: str) -> None:
    fill(store, 3)
    save(store, memory("a"))
    settled(store.root)
    old = store.read("a")
    change = ChangeSet("two", "test", [store.put(replace(old.memory, description="New."), existing=old),
                                       store.put(memory("b", description="Both."))])  # fmt: skip
    assert die_at(point, lambda: store.apply(change)) == -9
    (put,) = save(Store.open(store.path), memory("b", id="third"), id="three")
    assert put.path == "b-2.md"
    assert all(line in index(store) for line in ("[New.](a.md)", "[Both.](b.md)", "](b-2.md)"))


def test_two_processes_at_once_lose_nothing(store: Store) -> None:
    fill(store)
    save(store, memory("own"))

    def work(who: str) -> None:
        for number in range(4):
            here = Store.open(store.path)
            save(here, memory(f"{who}-{number}"), id=f"{who}-{number}")
            here.scan()

    children = [forked(lambda who=who: work(who)) for who in ("a", "b", "c")]  # type: ignore[misc]
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0, 0]
    assert index(store).count("\n- ") == MANY + 1 + 12
    Store.open(store.path).reindex(now=NOW)
    held = contents(store)
    file(store).unlink()
    Store.open(store.path).reindex(now=NOW)
    assert contents(store) == held


def test_what_it_holds_after_changes_is_what_the_files_say(store: Store) -> None:
    save(store, memory("a"), memory("b", aliases=("was",)), memory("c", type="fix"))
    (store.root / "odd.md").write_text("---\na: 'b' c\n---\n")
    (store.root / "dir.md").mkdir()
    save(store, memory("d"), id="two")
    apply(store, store.retire(store.read("a"), year=2026, reason="x"), id="three")
    apply(store, *store.pin(store.read("b")), id="four")
    apply(store, store.rename(replace(store.read("c").memory, name="e"), store.read("c")), id="five")
    store.undo("three") if store.history() else None
    held = contents(store)
    assert {row[0] for row in held["others"]} == {"odd.md", "dir.md"}
    file(store).unlink()
    Store.open(store.path).reindex(now=NOW)
    assert contents(store) == held


def test_what_was_written_into_a_file_in_place_is_seen_by_the_next_look(store: Store) -> None:
    save(store, memory("a"), memory("b"))
    settled(store.root)
    raw = (store.root / "a.md").read_bytes().replace(b"never spaces", b"never SPACES")
    (store.root / "a.md").write_bytes(raw)
    other = Store.open(store.path)
    assert "SPACES" in other.read("a").head.description
    other.reindex(now=NOW)
    assert "never SPACES" in index(store)


def test_no_text_of_a_memory_that_left_stays_in_it(store: Store) -> None:
    save(store, memory("a", description="The zebra word."), memory("b"))
    assert b"zebra" in file(store).read_bytes()
    (store.root / "a.md").unlink()
    store.reindex(now=NOW)
    assert b"zebra" not in file(store).read_bytes()


def test_equal_stores_have_equal_mirrors(store: Store, tmp_path: Path) -> None:
    fill(store)
    (store.root / "theirs.md").write_text("---\nid: x\npath: x\ncontent_preview: y\n---\nprose\n")
    save(store, memory("own"))
    store.reindex(now=NOW)
    other = tmp_path / "other"
    shutil.copytree(store.root, other, ignore=shutil.ignore_patterns("catalogue.sqlite", *BESIDE))
    Store.open(other).reindex(now=NOW)
    assert (other / "_index.json").read_bytes().replace(b"other", b"memory") == (
        store.root / "_index.json"
    ).read_bytes()
    assert (other / "CORE.md").read_bytes() == (store.root / "CORE.md").read_bytes()


def test_core_asks_for_those_alone_that_it_shows() -> None:
    made = [memory(f"n{n}", type="fix", importance=n / 99, path=f"n{n}.md") for n in range(99)]
    by_path = {one.path: one for one in made}
    asked: list[str] = []

    def get(path: str) -> Memory:
        asked.append(path)
        return by_path[path]

    page = core_page(Memories(map(worth_of, made), lambda path: by_path[path].id, get), {}, NOW)
    assert page == core_text(made, {}, NOW) and len(asked) == 15


def test_a_long_overflow_page_waits_for_the_end_of_the_pass(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "memory", create=True, index_lines=8)
    fill(store, LONG + 20)
    store.reindex(now=NOW)
    page = (store.root / "MEMORY-more.md").read_bytes()
    save(store, memory("zz", description="The last."))
    count = re.findall(r"- (\d+) more in", index(store))[0]
    assert int(count) == LONG + 21 - 3 and (store.root / "MEMORY-more.md").read_bytes() == page
    assert "MEMORY-more.md" in store.reindex(now=NOW)
    assert (store.root / "MEMORY-more.md").read_text().count("\n- ") == int(count)


def test_a_long_overflow_page_is_made_again_only_for_another_store(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "memory", create=True, index_lines=8)
    fill(store, LONG + 20)
    for name in ("undated", "another"):
        (store.root / f"{name}.md").write_text(f"---\nname: {name}\n---\nNo date.\n")
        os.utime(store.root / f"{name}.md", (10**9, 10**9))
    store.reindex(now=NOW)
    page = store.root / "MEMORY-more.md"

    def again() -> str:
        """Make it as a new process does, and as one does that has no catalogue."""
        Store.open(store.path, index_lines=8).reindex(now=NOW)
        kept = page.read_bytes()
        file(store).unlink()
        Store.open(store.path, index_lines=8).reindex(now=NOW)
        assert page.read_bytes() == kept
        return kept.decode()

    first = again()
    page.write_bytes(page.read_bytes() + b"- something else\n")
    assert again() == first
    page.unlink()
    assert again() == first
    os.utime(store.root / "undated.md", (2 * 10**9, 2 * 10**9))
    moved = again()
    assert moved != first and sorted(moved.split("\n")) == sorted(first.split("\n"))
    (store.root / "broken.md").write_text("---\nname: [\n---\nNo.\n")
    assert "broken.md" in again()
    (store.root / "broken.md").unlink()
    assert again() == moved


@pytest.mark.parametrize("seen", [True, False])
def test_what_a_look_alone_saw_is_in_the_catalogue_at_the_end(store: Store, seen: bool) -> None:
    fill(store)
    store.reindex(now=NOW)
    settled(store.root)
    store = Store.open(store.path)
    store.scan()
    store.reindex(now=NOW)
    (store.root / "m-003.md").unlink()
    made = memory("m-004", description="Other.", body="Other.\n")
    (store.root / "m-004.md").write_bytes(document.compose(made))
    if seen:
        assert len(store.scan().documents) == MANY - 1
    store.reindex(now=NOW)
    left = contents(store)
    assert len(left["files"]) == MANY - 1 and "m-003.md" not in index(store) and "Other" in index(store)
    file(store).unlink()
    Store.open(store.path).reindex(now=NOW)
    assert contents(store) == left


def test_what_is_noted_of_unchanged_files_shows_at_the_next_look(store: Store) -> None:
    fill(store, 3)
    store.reindex(now=NOW)
    settled(store.root)
    store = Store.open(store.path)
    assert all(one.foreign for one in store.scan().documents)
    one, two, _ = store.scan().documents
    WrittenLog(store.root).append([(one.path, one.digest)])
    assert [item.foreign for item in store.scan().documents] == [False, True, True]
    known = Identity(two.path, "0" * 8, two.digest, by="claude")
    store.identities.suppose([known])
    assert store.scan().documents[1].identity == known


def test_a_catalogue_in_memory_holds_what_one_in_a_file_does(tmp_path: Path) -> None:
    kept = Catalogue(None)
    with kept.reading() as opened:
        assert database.count(opened) == 0 and database.folders(opened) == ({}, 0)


def test_a_write_while_the_catalogue_is_read_is_no_damage(store: Store) -> None:
    save(store, memory("one", body="One."))
    store.scan()
    with store._scanner.asker._catalogue.reading() as connection:
        first = connection.execute("SELECT count(*) FROM files").fetchone()
        assert connection.in_transaction, "all that one question reads is of one moment"
        assert len(database.rows(connection)) == first[0]

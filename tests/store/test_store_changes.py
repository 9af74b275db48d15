"""Change sets: whole or nothing, once, and never over someone else's bytes."""

import json
import os
import stat
import tempfile

import pytest

from pipeline.core import locks
from pipeline.core.errors import ConflictError, PathEscapeError, StoreError
from pipeline.store import ChangeSet, Store, WriteFile, fsck, journal_entry
from tests.support.stores import NOW, apply, index, memory, run, save, tree

PLANNED = """
import sys
from pathlib import Path
from pipeline.store import ChangeSet, Store
from tests.support.stores import memory
store = Store.open(Path(sys.argv[1]))
old = store.read("old-one")
changed = store.put(memory("old-one", description="Changed.", id=old.head.id), existing=old)
gone = store.retire(store.read("gone-one"), year=2026, reason="test")
print(store.apply(ChangeSet("run-2", "test", [store.put(memory("new-one")), changed, gone])))
"""


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


@pytest.fixture
def filled(store):
    save(store, memory("old-one"), memory("gone-one"))
    return store


POINTS = [
    ("store.staged", "old"),
    ("store.intent_written", "new"),
    ("store.file_replaced", "new"),
    ("store.file_replaced#2", "new"),
    ("store.file_replaced#3", "new"),
    ("store.file_replaced#4", "new"),
    ("store.files_replaced", "new"),
    ("store.done", "new"),
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What the store holds after PLANNED ran through undisturbed."""
    store = Store.open(tmp_path_factory.mktemp("plain"), create=True)
    save(store, memory("old-one"), memory("gone-one"))
    done = run(PLANNED, str(store.path))
    assert done.returncode == 0, done.stderr
    return tree(store.root)


@pytest.mark.parametrize(("point", "outcome"), POINTS)
def test_a_kill_leaves_the_old_state_or_the_new_one(filled, plain, point, outcome):
    before = tree(filled.root)
    killed = run(PLANNED, str(filled.path), REVERIE_CRASH_AT=point)
    assert killed.returncode == -9, killed.stderr
    again = Store.open(filled.path)
    assert tree(again.root) == (before if outcome == "old" else plain)
    assert all(again.is_ours(item) for item in again.scan().documents)
    assert apply(again, id="run-2").already == (outcome == "new")
    assert fsck(again) == []


def test_the_undisturbed_end_is_what_was_planned(plain):
    assert sorted(plain) == ["MEMORY.md", "archive/2026/gone-one.md", "new-one.md", "old-one.md"]
    text = plain["MEMORY.md"].decode()
    assert "Changed." in text and "new-one.md" in text and "gone-one" not in text


def test_a_change_set_is_applied_once(store):
    put = store.put(memory())
    assert not apply(store, put).already
    before = {path: path.stat().st_mtime_ns for path in store.root.rglob("*.md")}
    again = apply(store, put)
    assert again.already and "prefers-tabs.md" in again.paths
    assert {path: path.stat().st_mtime_ns for path in store.root.rglob("*.md")} == before


def test_only_the_last_200_records_are_kept(store):
    for number in range(203):
        apply(store, id=f"run-{number}")
    assert len(list((store.root / ".reverie/done").iterdir())) == 200
    assert apply(store, id="run-202").already


@pytest.mark.parametrize("identifier", ["../../evil", "a/b", "x" * 300, "日本"])
def test_odd_change_set_ids_stay_inside_and_still_count(store, identifier):
    assert not apply(store, store.put(memory()), id=identifier).already
    assert apply(store, id=identifier).already
    assert not list(store.root.parent.glob("evil*"))


def test_a_file_changed_since_it_was_read_stops_the_whole_set(filled):
    old = filled.read("old-one")
    put = filled.put(memory("old-one", description="Mine."), existing=old)
    (filled.root / "old-one.md").write_text("theirs\n")
    before = tree(filled.root)
    with pytest.raises(ConflictError, match="old-one"):
        apply(filled, filled.put(memory("fresh")), put, id="run-2")
    assert tree(filled.root) == before
    assert not apply(filled, filled.put(memory("fresh")), id="run-2").already


def test_a_file_that_appeared_meanwhile_is_not_overwritten(store):
    put = store.put(memory())
    (store.root / "prefers-tabs.md").write_text("theirs\n")
    with pytest.raises(ConflictError):
        apply(store, put)
    assert (store.root / "prefers-tabs.md").read_text() == "theirs\n"


def test_theirs_wins_when_it_was_written_between_intent_and_recovery(filled):
    run(PLANNED, str(filled.path), REVERIE_CRASH_AT="store.intent_written")
    (filled.root / "new-one.md").write_text("theirs\n")
    (filled.root / "old-one.md").write_text("theirs too\n")
    again = Store.open(filled.path)
    assert (again.root / "new-one.md").read_text() == "theirs\n"
    assert (again.root / "old-one.md").read_text() == "theirs too\n"
    assert [item.code for item in fsck(again)] == ["conflict", "conflict"]
    kept = b"".join(file.read_bytes() for file in (again.root / ".reverie/conflicts").iterdir())
    assert b"Changed." in kept and b"name: new-one" in kept


def test_an_archive_name_taken_meanwhile_keeps_both_files(filled):
    run(PLANNED, str(filled.path), REVERIE_CRASH_AT="store.intent_written")
    (filled.root / "archive/2026/gone-one.md").write_text("theirs\n")
    again = Store.open(filled.path)
    assert (again.root / "archive/2026/gone-one.md").read_text() == "theirs\n"
    assert again.is_ours(again.read("gone-one"))
    assert "](gone-one.md)" in index(again)


def test_a_line_added_to_the_index_between_intent_and_recovery_stays(filled):
    run(PLANNED, str(filled.path), REVERIE_CRASH_AT="store.intent_written")
    (filled.root / "MEMORY.md").write_text(index(filled) + "- my own line\n")
    again = Store.open(filled.path)
    assert "- my own line\n" in index(again)
    assert "new-one.md" in index(again) and "gone-one" not in index(again)


def test_a_line_added_between_scan_and_apply_stays(filled):
    put = filled.put(memory("fresh"))
    filled.scan()
    (filled.root / "MEMORY.md").write_text("- my own line\n" + index(filled))
    apply(filled, put, id="run-2")
    assert index(filled).startswith("- my own line\n")
    assert "fresh.md" in index(filled)


def test_a_damaged_intent_is_put_aside_and_nothing_is_lost(filled):
    before = tree(filled.root)
    (filled.root / ".reverie/intent.json").write_bytes(b"\0\0\0")
    again = Store.open(filled.path)
    assert tree(again.root) == before
    assert (again.root / ".reverie/conflicts/intent.json").read_bytes() == b"\0\0\0"


FULL = """
import resource, signal, sys
from pathlib import Path
from pipeline.core.errors import StoreError
from pipeline.store import ChangeSet, Store
from tests.support.stores import memory
store = Store.open(Path(sys.argv[1]))
puts = [store.put(memory("small")), store.put(memory("large", body="x" * 60_000))]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    store.apply(ChangeSet("run-2", "test", puts))
except StoreError as error:
    print(error.fix)
"""


def test_a_full_disk_changes_nothing(filled):
    before = tree(filled.root)
    said = run(FULL, str(filled.path))
    assert "room" in said.stdout, said.stderr
    assert tree(filled.root) == before
    assert fsck(Store.open(filled.path)) == []


STAGING = """
import resource, signal, sys
from pathlib import Path
from pipeline.core.errors import StoreError
from pipeline.store import WriteFile
from pipeline.store.changes.journal import Journal
from pipeline.store.ownership.written_log import WrittenLog
root = Path(sys.argv[1])
journal = Journal(root, WrittenLog(root))
files = [WriteFile("small.txt", b"x", None), WriteFile("large.txt", b"x" * 60_000, None)]
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
try:
    journal.apply("run-2", "test", files, lambda path, data: None)
except StoreError as error:
    print(error, error.fix, journal.leftovers(), journal.interrupted(), sep="|")
"""


def test_a_disk_that_refuses_while_files_are_staged_is_named_and_leaves_none(filled):
    before = tree(filled.root)
    done = run(STAGING, str(filled.root))
    message, fix, *left = done.stdout.strip().split("|")
    assert "can't be written: File too large" in message and "room" in fix, done.stderr
    assert left == ["[]", "False"] and tree(filled.root) == before
    assert not list((filled.root / ".reverie/staged").iterdir())


def test_where_hard_links_are_refused_a_new_file_is_put_in_place_by_renaming(tmp_path):
    # Some file systems refuse every hard link; any refuses one to a directory.
    staged, target = tmp_path / "staged", tmp_path / "target"
    staged.mkdir()
    (staged / "text").write_text("new")
    assert journal_entry.install(staged, target, fresh=True)
    assert (target / "text").read_text() == "new" and not staged.exists()


def test_a_new_file_never_replaces_one_that_came_first(tmp_path):
    staged, target = tmp_path / "staged", tmp_path / "target"
    staged.write_text("ours")
    target.write_text("theirs")
    assert not journal_entry.install(staged, target, fresh=True)
    assert (staged.read_text(), target.read_text()) == ("ours", "theirs")
    assert journal_entry.install(staged, target, fresh=False)
    assert target.read_text() == "ours" and not staged.exists()


READ_ONLY = """
import os, sys
from pathlib import Path
import hashlib, portalocker, uuid  # whom we become may not read where they lie
from pipeline.core.errors import StoreError
from pipeline.store import Store, fsck
from tests.support.stores import apply, memory, save
os.chdir(sys.argv[1])
if os.getuid() == 0:
    os.setgid(65534), os.setuid(65534)
store = Store.open(Path("memory"), create=True)
if sys.argv[2] == "used":
    save(store, memory("before"))
os.chmod("memory", 0o555)
print(store.writable())
try:
    apply(store, store.put(memory("small")), id="run-2")
except StoreError as error:
    print(error)
os.chmod("memory", 0o700)
print(sorted(os.listdir("memory")), fsck(store))
"""


@pytest.mark.parametrize(
    ("kind", "left"), [("new", "[] []"), ("used", "['.reverie', 'MEMORY.md', 'before.md'] []")]
)
def test_bug_052_a_read_only_folder_is_an_error_that_names_it(kind, left):
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)
        said = run(READ_ONLY, place, kind)
        state, error, after = said.stdout.splitlines() or [said.stderr] * 3
        assert (state, after) == ("False", left)
        assert error.startswith(f"{place}/memory") and "can't be written" in error


def test_bug_052_a_read_only_index_is_replaced_whole_and_stays_read_only(store):
    file = store.root / "MEMORY.md"
    file.write_text("# Mine\n")
    file.chmod(0o444)
    save(store, memory())
    assert index(store).startswith("# Mine\n") and "prefers-tabs.md" in index(store)
    assert stat.S_IMODE(file.stat().st_mode) == 0o444


def test_new_files_are_private_and_existing_ones_keep_their_mode(store):
    save(store, memory(), memory("a-decision", type="decision"))
    modes = {stat.S_IMODE(file.stat().st_mode) for file in store.root.rglob("*") if file.is_file()}
    folders = {stat.S_IMODE(file.stat().st_mode) for file in store.root.rglob("*") if file.is_dir()}
    assert (modes, folders) == ({0o600}, {0o700})
    (store.root / "prefers-tabs.md").chmod(0o640)
    old = store.read("prefers-tabs")
    apply(store, store.put(memory(description="New."), existing=old), id="run-2")
    assert stat.S_IMODE((store.root / "prefers-tabs.md").stat().st_mode) == 0o640


def test_retired_files_keep_their_bytes_and_do_not_collide(store):
    for number in (1, 2):
        save(store, memory(body=f"body {number}\n"), id=f"put-{number}")
        document = store.read("prefers-tabs")
        apply(store, store.retire(document, year=2026, reason="old"), id=f"retire-{number}")
        assert document.raw in tree(store.root).values()
    assert sorted(tree(store.root / "archive")) == ["2026/prefers-tabs-2.md", "2026/prefers-tabs.md"]
    record = json.loads((store.root / ".reverie/done/retire-1.json").read_bytes())
    assert record["operations"][0]["why"] == "old"


def test_two_operations_on_one_file_are_refused(store):
    put = store.put(memory())
    with pytest.raises(StoreError, match="two operations"):
        apply(store, put, put)


@pytest.mark.parametrize(
    "path", ["../x.md", "/etc/x.md", "a/../../x.md", ".git/hooks/x", "a\\b.md", "x\0y.md", "~root/x"]
)
def test_bug_084_no_planned_file_leaves_the_store(store, path):
    with pytest.raises(PathEscapeError):
        store.apply(ChangeSet("run-1", "test", [WriteFile(path, b"x", None)]))
    assert tree(store.root) == {}


def test_another_writer_makes_us_wait_and_then_say_so(tmp_path):
    store = Store.open(tmp_path, lock_seconds=0.05)
    held = locks.try_lock(store.root / ".reverie/lock")
    with pytest.raises(StoreError, match="another Reverie process"):
        apply(store)
    held.close()
    assert not apply(store).already


def test_reindex_does_not_need_a_change(filled):
    assert filled.reindex(now=NOW)
    assert filled.reindex(now=NOW) == []

"""Links below ``.reverie``, as a repository may bring them: what they lead to keeps its files."""

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.core.errors import StoreError
from pipeline.store import ChangeSet, Store, WriteFile, fsck, require_owner, require_writable
from pipeline.store.changes.journal import KEEP_DONE, Journal
from pipeline.store.history import generations
from pipeline.store.ownership import moves
from pipeline.store.ownership.written_log import WrittenLog
from tests.support.stores import NOW, die_at, memory, save, tree
from tests.support.workshop import Workshop

TEMP = ".one.md.reverie-tmp-77-0123456789ab"
FOLDERS = ["staged", "generations", "generations/run-9", "done", "conflicts", "cache", "cache/deep/deeper"]
FILES = [
    "lock",
    "intent.json",
    "written.jsonl",
    "retired.jsonl",
    "forgotten.jsonl",
    "index-lines",
    "merged-lines",
    "root",
    "root-id",
    "moved",
    ".gitignore",
    "staged/run-9-0",
    "generations/run-9/index-lines",
    "done/run-9.json",
]


@pytest.fixture
def victim(tmp_path):
    """A folder of somebody's files, among them what each loop of ours would take for its own."""
    place = tmp_path / "victim"
    for folder in (".", "half", "run-9"):
        (place / folder).mkdir(parents=True, exist_ok=True)
        for name in ("notes.txt", "manifest.json", "sealed.json", TEMP):
            (place / folder / name).write_bytes(b"keep me")
    (place / "half/sealed.json").unlink()
    for number in range(KEEP_DONE + 5):
        with open(f"{place}/{number}.json", "wb") as file:
            file.write(b"keep me")
    for folder, folders, files in os.walk(place):
        for name in folders + files:
            os.utime(os.path.join(folder, name), (1, 1))
    return place


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "memory", create=True)
    save(store, memory("one"), memory("two"))
    return store


def everything(place):
    """Every entry below `place`: bytes, mode and times, or where a link leads."""
    found = {}
    for folder, folders, files in os.walk(place):  # not by pathlib, which takes five times as long
        for name in folders + files:
            path = os.path.join(folder, name)
            state = os.lstat(path)
            held = os.readlink(path) if stat.S_ISLNK(state.st_mode) else None
            if stat.S_ISREG(state.st_mode):
                with open(path, "rb") as file:
                    held = file.read()
            found[path] = held, state.st_mode, state.st_mtime_ns
    return found


def link(root, name, target):
    """Put a link to `target` at `name` below ``.reverie``, in place of what is there."""
    place = Path(root, ".reverie", name)
    place.parent.mkdir(parents=True, exist_ok=True)
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.symlink_to(target)
    return place


def refused(place, action):
    with pytest.raises(StoreError) as caught:
        action()
    assert str(place) == caught.value.file and "a link" in str(caught.value)
    assert caught.value.fix.startswith("Remove it")


def leads(victim, name):
    return victim / "notes.txt" if name in FILES else victim


def a_dream(store):
    gone = store.retire(store.read("two"), year=2026, reason="x")
    return store.apply(ChangeSet("run-9", "dream", [store.put(memory("three")), gone], NOW), generation=True)


@pytest.mark.parametrize("name", FOLDERS + FILES)
def test_a_store_with_a_link_among_our_own_files_is_not_opened(store, victim, name):
    place = link(store.root, name, leads(victim, name))
    before, ours = everything(victim), everything(store.root)
    refused(place, lambda: Store.open(store.root))
    refused(place, lambda: Store.open(store.root, create=True))
    assert everything(victim) == before and everything(store.root) == ours


WRITERS = {
    "apply": lambda store: store.apply(
        ChangeSet("run-9", "x", [WriteFile("a", b"x", None)]), generation=True
    ),
    "undo": lambda store: store.undo("run-9"),
    "reindex": lambda store: store.reindex(now=NOW),
    "count": lambda store: store.count_uses([], "ledger", now=NOW),
    "forget": lambda store: store.note_forgotten([], name="one", reason="x", now=NOW, text="Tabs."),
    "try": lambda store: require_writable(store.root),
    "claim": lambda store: require_owner(store.root, store.root.parent / "project", claim=True),
}


@pytest.mark.parametrize("name", FOLDERS + FILES)
@pytest.mark.parametrize("writer", WRITERS)
def test_a_link_that_came_after_the_opening_stops_every_writer(store, victim, name, writer):
    place = link(store.root, name, leads(victim, name))
    before, ours = everything(victim), everything(store.root)
    refused(place, lambda: WRITERS[writer](store))
    assert everything(victim) == before and everything(store.root) == ours


@pytest.mark.parametrize("name", FOLDERS + FILES)
@pytest.mark.parametrize("point", ["store.staged", "store.intent_written", "store.files_replaced"])
def test_a_link_put_there_after_a_kill_stops_the_recovery(store, victim, name, point):
    assert die_at(point, lambda: a_dream(store)) == -9
    place = link(store.root, name, leads(victim, name))
    before, ours = everything(victim), everything(store.root)
    refused(place, lambda: Store.open(store.root))
    refused(place, lambda: store.reindex(now=NOW))
    assert everything(victim) == before and everything(store.root) == ours


def _journal(store):
    return Journal(store.root, WrittenLog(store.root))


HELPERS = {
    "staged": ("staged", lambda store: _journal(store).sweep()),
    "listed": ("staged", lambda store: _journal(store).leftovers()),
    "done": ("done", lambda store: _journal(store)._prune()),
    "generations": ("generations", lambda store: generations.sweep(store.root)),
    "a generation": ("generations/run-9", lambda store: generations.sweep(store.root)),
    "one removed": ("generations/run-9", lambda store: generations.remove(store.root, "run-9")),
    "one behind a link": ("generations", lambda store: generations.remove(store.root, "run-9")),
}


@pytest.mark.parametrize("case", HELPERS)
def test_what_removes_files_looks_for_links_itself(store, victim, case):
    name, remove = HELPERS[case]
    place = link(store.root, name, victim)
    before = everything(victim)
    refused(place, lambda: remove(store))
    assert everything(victim) == before


@pytest.mark.parametrize(
    "name", ["vault", "graph", "graph/fixes", "archive", "archive/2026", "archive/2026/earlier", "episodes"]
)
def test_a_link_among_the_visible_folders_leads_no_deletion_and_no_list_of_them(store, victim, name):
    place = store.root / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(victim)
    before = everything(victim)
    again = Store.open(store.root, generations=1)
    for number in range(3):
        plan = [again.put(memory(f"m{number}"))]
        again.apply(ChangeSet(f"run-{number + 20}", "test", plan, NOW), generation=True)
    assert everything(victim) == before
    assert not [item for item in fsck(again) if item.code == "temp-file"]


def test_a_text_behind_a_link_is_not_taken_for_one_that_is_kept(store, victim):
    again = Store.open(store.root, generations=1)
    for number in range(4):
        old = again.read("one")
        changed = again.put(replace(old.memory, body=f"Text {number}.\n"), existing=old)
        if number == 1:
            (victim / "earlier").mkdir()
            (victim / f"earlier/one-{old.digest[:8]}.md").write_bytes(b"keep me")
            (store.root / "archive").mkdir()
            (store.root / "archive/2025").symlink_to(victim)
            lost = old.digest[:8]
        again.apply(ChangeSet(f"run-{number + 20}", "test", [changed], NOW), generation=True)
    assert (store.root / f"archive/2026/earlier/one-{lost}.md").is_file()


@pytest.mark.parametrize("name", ["staged", "generations", "done", "cache", "root-id"])
def test_a_store_with_a_link_is_not_moved(store, victim, tmp_path, name):
    place = link(store.root, name, leads(victim, name))
    before, new = everything(victim), tmp_path / "new"
    refused(place, lambda: moves.bring(store.root, new, tmp_path))
    assert everything(victim) == before and place.is_symlink() and not new.exists()


@pytest.mark.parametrize("name", ["staged", "generations", "done", "conflicts", "cache", "written.jsonl"])
def test_add_and_the_worker_refuse_it_and_say_what_to_do(tmp_path, victim, monkeypatch, name):
    offline = {"REVERIE_MODEL__PROVIDER": "offline", "REVERIE_NOW": "2026-03-02T09:05:00+00:00"}
    shop = Workshop(tmp_path / "place", offline)
    for key, value in shop.env.items():
        monkeypatch.setenv(key, value)
    place = link(shop.store, name, leads(victim, name))
    before = everything(victim)
    added = shop.reverie("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    said = " ".join((added.stdout + added.stderr).split())
    assert added.returncode and "a link" in said and "Remove it" in said and "Traceback" not in said
    session = shop.session()
    session.user("From now on always run the linter before a commit.")
    session.assistant("Noted.")
    shop.fire(session)
    shop.work()
    status = shop.reverie("status")
    assert "a link" in status.stdout + status.stderr
    assert everything(victim) == before and place.is_symlink() and tree(shop.store) == {}

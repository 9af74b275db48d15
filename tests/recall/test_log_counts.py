"""From the log into each store's counts: once, only where memories are ours, and no memory any younger."""

import os
from datetime import timedelta

import orjson
import pytest

from pipeline.config import Settings, StoreSettings
from pipeline.core import faults, paths
from pipeline.core.clock import FixedClock
from pipeline.ledger import open_ledger, recalls
from pipeline.recall.live import session_file
from pipeline.store import Store, last_uses
from pipeline.store.derived.core_page import decay_score
from pipeline.worker import Worker, WorkerContext, recall_log
from tests.support.stores import kills, memory, save, tree
from tests.support.transcripts import Transcript, assistant, tool_use
from tests.support.workshop import at

NOW = at("2026-11-27T10:00:00+00:00")


class Shop:
    """A project's store with one memory, a home, and a worker over both."""

    def __init__(self, home):
        self.home = home
        self.folder = paths.projects_dir() / "-home-dev-shop"
        self.store = Store.open(self.folder / "memory", create=True)
        self.tabs = save(self.store, memory("tabs"))[0].memory
        self.file = self.store.root / "tabs.md"
        self.ledger = open_ledger(home / "ledger.sqlite")

    def hook(self, *, store=None, session="s-1", **more):
        item = {"id": self.tabs.id, "path": "tabs.md", "store": str(store or self.store.root), **more}
        line = {"k": "sent", "at": NOW.timestamp(), "chars": 9, "items": [item]}
        assert session_file.append(str(self.home), session, line)

    def work_alone(self):
        with open_ledger(self.home / "ledger.sqlite") as ledger:
            Worker(WorkerContext(self.home, Settings(), FixedClock(NOW), ledger, llm="offline")).run()

    def work(self, mode="auto", now=NOW):
        settings = Settings(store=StoreSettings(mode=mode))
        context = WorkerContext(self.home, settings, FixedClock(now), self.ledger, llm="offline")
        return Worker(context).run()

    def read(self, path, number=1):
        talk = Transcript(f"00000000-0000-4000-8000-00000000000{number}", "/home/dev/shop")
        talk.user("what do we indent with?")
        talk.add(assistant([tool_use("Read", {"file_path": str(path)})]))
        talk.assistant("Tabs.")
        talk.write(self.folder)
        fields = {"session_id": talk.session_id, "cwd": talk.cwd, "hook_event_name": "Stop"}
        spool = self.home / "spool"
        spool.mkdir(exist_ok=True)
        (spool / f"{NOW.timestamp() * 1000:013.0f}-1-00000{number}-Stop.json").write_bytes(
            orjson.dumps(fields)
        )

    def entry(self, store=None):
        file = (store or self.store.root) / "_state.json"
        return orjson.loads(file.read_bytes())["entries"].get(self.tabs.id) if file.exists() else None

    def waiting(self):
        return len(recalls.uncounted(self.ledger, limit=99))


@pytest.fixture
def shop(tmp_path):
    made = Shop(tmp_path / "home")
    yield made
    made.ledger.close()


def test_what_was_put_before_a_prompt_is_counted_and_is_no_access(shop):
    raw = shop.file.read_bytes()
    shop.hook()
    shop.hook(session="s-2")
    shop.work()
    assert shop.entry() == {"injected_count": 2, "last_injected": NOW.isoformat()}
    assert shop.file.read_bytes() == raw
    shop.work()
    assert shop.entry()["injected_count"] == 2


def test_a_file_the_assistant_read_is_an_access(shop, monkeypatch):
    monkeypatch.chdir(shop.folder)
    shop.read(shop.file)
    shop.read(shop.store.root / "MEMORY.md", number=2)
    shop.read("/home/dev/shop/memory/tabs.md", number=3)
    shop.read("./memory/tabs.md", number=4)
    shop.work()
    entry = shop.entry()
    assert len(orjson.loads((shop.store.root / "_state.json").read_bytes())["entries"]) == 1
    assert (entry["access_count"], "injected_count" in entry) == (1, False)
    assert shop.waiting() == 0


def test_a_file_without_an_id_is_counted_under_its_identity(shop):
    (shop.store.root / "plain.md").write_text("Plain words.\n", "utf-8")
    shop.hook(id="", path="plain.md")
    shop.work()
    entries = orjson.loads((shop.store.root / "_state.json").read_bytes())["entries"]
    (plain,) = (document for document in shop.store.scan().documents if document.path == "plain.md")
    assert entries[plain.id]["injected_count"] == 1
    assert plain.id in last_uses(shop.store.root)
    assert not [key for key in entries if key.startswith("path:")]


@pytest.mark.parametrize(("mode", "logged", "counted"), [("off", 1, 0), ("observe", 1, 0), ("propose", 1, 1)])
def test_modes_that_write_nothing_count_nothing(shop, mode, logged, counted):
    shop.hook()
    shop.work(mode)
    assert len(recalls.lines(shop.ledger, "s-1")) == logged
    assert bool(shop.entry()) == bool(counted)
    shop.work("auto")
    assert shop.entry()["injected_count"] == 1


def test_the_user_scope_store_is_counted_in(shop):
    Store.open(shop.home / "memory", create=True)
    shop.hook(store=shop.home / "memory")
    shop.work()
    assert shop.entry(shop.home / "memory")["injected_count"] == 1
    assert shop.entry() is None


def test_a_store_reached_by_a_link_is_the_same_store(shop, tmp_path):
    (tmp_path / "link").symlink_to(shop.store.root)
    shop.hook(store=tmp_path / "link")
    shop.work()
    assert shop.entry()["injected_count"] == 1


@pytest.mark.parametrize("named", ["elsewhere", "", "relative", "gone"])
def test_a_folder_that_only_the_hooks_file_names_is_never_written_to(shop, tmp_path, named):
    other = Store.open(tmp_path / "elsewhere", create=True)
    save(other, memory("theirs"))
    before = tree(other.root, skip=())
    place = {"elsewhere": other.root, "gone": shop.folder.parent / "-gone" / "memory"}.get(named, named)
    shop.hook(**{"store": place} if place else {"path": str(other.root / "theirs.md")})
    shop.work()
    assert tree(other.root, skip=()) == before
    assert not (shop.folder.parent / "-gone").exists()
    assert shop.waiting() == 0


def test_a_state_of_two_sides_waits_and_stops_nothing(shop, caplog):
    state = shop.store.root / "_state.json"
    state.write_bytes(b"<<<<<<< ours\n{}\n")
    shop.hook()
    assert shop.work().failures == []
    assert (state.read_bytes(), shop.waiting()) == (b"<<<<<<< ours\n{}\n", 1)
    assert any("_state.json" in text for text in caplog.messages)
    state.unlink()
    shop.work()
    assert (shop.entry()["injected_count"], shop.waiting()) == (1, 0)


def test_claude_codes_own_dream_is_not_disturbed(shop):
    lock = shop.store.root / ".consolidate-lock"
    lock.write_text(str(os.getppid()), "utf-8")
    shop.hook()
    recall_log.take(shop.ledger, shop.home, NOW.timestamp())
    os.utime(lock, (NOW.timestamp(),) * 2)
    context = WorkerContext(shop.home, Settings(), FixedClock(NOW), shop.ledger, llm="offline")
    recall_log.count(context)
    assert (shop.entry(), shop.waiting()) == (None, 1)
    lock.unlink()
    recall_log.count(context)
    assert shop.waiting() == 0


@pytest.mark.parametrize("point", [point for point in faults.POINTS if point.startswith("recall.")])
def test_killed_anywhere_each_line_is_kept_and_counted_once(shop, point):
    shop.hook()
    shop.hook(session="s-2")
    shop.ledger.close()
    visits = list(kills([point], shop.work_alone))
    assert visits
    shop.work_alone()
    shop.ledger = open_ledger(shop.home / "ledger.sqlite")
    assert [len(recalls.lines(shop.ledger, session)) for session in ("s-1", "s-2")] == [1, 1]
    assert (shop.entry()["injected_count"], shop.waiting()) == (2, 0)


def test_injection_makes_no_memory_younger_in_the_ranking(shop):
    old = NOW + timedelta(days=40)
    for _ in range(5):
        shop.hook()
    shop.work()
    assert decay_score(shop.tabs, shop.entry(), old) == decay_score(shop.tabs, {}, old)
    recalls.note_use(
        shop.ledger, "show", store=str(shop.store.path), memory=shop.tabs.id, name="tabs", path="tabs.md",
        digest="", now=old,
    )  # fmt: skip
    shop.work(now=old)
    assert decay_score(shop.tabs, shop.entry(), old) > decay_score(shop.tabs, {}, old)
    assert shop.store.read("tabs").memory.updated == shop.tabs.updated


@pytest.mark.parametrize(("use", "counted"), [("show", "access_count"), ("recall", "injected_count")])
def test_a_store_that_a_person_named_is_counted_in_and_recall_is_no_access(shop, tmp_path, use, counted):
    other = Store.open(tmp_path / "elsewhere", create=True)
    (put,) = save(other, memory("theirs"))
    named = {"store": str(other.root), "memory": put.memory.id, "name": "theirs", "path": put.path}
    with shop.ledger.transaction():
        recalls.note_use(shop.ledger, use, digest="d", now=NOW, **named)
    shop.work()
    (entry,) = orjson.loads((other.root / "_state.json").read_bytes())["entries"].values()
    assert entry[counted] == 1 and len(entry) == 2

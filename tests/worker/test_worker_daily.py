"""Once a day a worker's pass makes the pages anew of stores in which nobody did anything: memories fade."""

from datetime import timedelta

from pipeline.core.clock import FixedClock
from pipeline.store import ChangeSet, Store
from pipeline.store.derived.usage import STATE
from tests.support.stores import memory
from tests.support.workshop import at

NOW = at("2026-03-02T09:05:00+00:00")


def work(shop, moment):
    with shop.worker(FixedClock(moment)) as worker:
        return worker.run()


def other_store(shop, name="other", **values):
    """A store of another project, in which nobody is at work."""
    path = shop.store.parent.parent / f"-{name}" / "memory"
    store = Store.open(path, create=True)
    made = memory("cache", type="configuration", title="Cache", created=NOW, updated=NOW, **values)
    store.apply(ChangeSet("x", "x", [store.put(made)]))
    store.reindex(now=NOW)
    return store


def test_what_faded_leaves_core_the_next_day_once(shop):
    store = other_store(shop)
    core = store.root / "CORE.md"
    assert "[Cache]" in core.read_text("utf-8")
    work(shop, NOW)
    assert "[Cache]" in core.read_text("utf-8")
    work(shop, NOW + timedelta(days=60))
    assert "[Cache]" not in core.read_text("utf-8")
    kept = "# Memory Core (auto-generated)\nkept until tomorrow\n"
    core.write_text(kept, "utf-8")
    work(shop, NOW + timedelta(days=60, hours=1))
    assert core.read_text("utf-8") == kept
    work(shop, NOW + timedelta(days=61))
    assert "kept until" not in core.read_text("utf-8")


def test_where_nothing_faded_nothing_is_written(shop):
    store = other_store(shop, importance=1.0)
    work(shop, NOW)

    def stamps() -> dict[str, int]:
        files = [file for file in store.root.iterdir() if file.is_file() and file.name != STATE]
        return {file.name: file.stat().st_mtime_ns for file in files}

    before = stamps()
    work(shop, NOW + timedelta(days=1))
    assert before == stamps(), "but for the scores, which fall each day"


def test_a_store_that_can_t_be_read_stops_no_other(shop):
    broken, store = other_store(shop, "a-broken"), other_store(shop)
    (broken.root / ".reverie" / "lock").unlink()
    (broken.root / ".reverie" / "lock").mkdir()
    work(shop, NOW + timedelta(days=60))
    assert "[Cache]" not in (store.root / "CORE.md").read_text("utf-8")

"""Several writers of one day's page: what each adds is there, in whatever order they come."""

from datetime import UTC, datetime

from pipeline.store import ChangeSet, Episode, Store
from pipeline.store.file_operations import WriteFile

DAY = datetime(2026, 11, 29, 10, tzinfo=UTC)


def planned(store: Store, title: str) -> WriteFile:
    plan = store.append_episodes([entry(title)])
    assert plan is not None
    return plan


def entry(title: str) -> Episode:
    return Episode.of(DAY, title, "note", tags=[], summary=[], memory="")


def test_an_entry_that_was_planned_before_another_was_written_comes_after_it(tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    first, second = (Store.open(store.root) for _ in range(2))
    plans = [planned(one, title) for one, title in ((first, "one"), (second, "two"))]
    for one, plan, ident in zip((first, second), plans, ("a", "b"), strict=True):
        one.apply(ChangeSet(ident, "diary", [plan]), generation=True)
    page = (store.root / plans[0].path).read_text("utf-8")
    assert [line for line in page.splitlines() if line.startswith("#")][1:] == [
        "## 10:00 - one",
        "## 10:00 - two",
    ]
    second.undo("b")
    assert "two" not in (store.root / plans[0].path).read_text("utf-8")


def test_an_entry_that_somebody_wrote_meanwhile_is_not_written_twice(tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    plans = [planned(Store.open(store.root), "one") for _ in range(2)]
    for plan, ident in zip(plans, "ab", strict=True):
        Store.open(store.root).apply(ChangeSet(ident, "diary", [plan]))
    assert (store.root / plans[0].path).read_text("utf-8").count("one") == 1

"""A dream beside others who write: a second dream, extraction, Claude Code, a person; no update is lost."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from pipeline.core.clock import FixedClock
from pipeline.core.errors import LeaseLostError
from pipeline.core.process import boot_id
from pipeline.ledger import dreams
from pipeline.store import ChangeSet, ConsolidateLock, Store
from tests.ledger.build import lease_owner
from tests.support.dreaming import NOW, Dreaming, dreaming, last, note, op, planned, talk
from tests.support.stores import die_at, tree

TABS = note("tabs-please", "Indent the shop with tabs. It is a house rule.", type="feedback")
TABS_TOO = note("shop-tabs", "The shop indents with tabs.", "2026-03-02", type="feedback")
PORT = note("mailer-port", "The mailer listens on port 8025 until 2026-05-20.")
PLAN = planned(
    op("merge", "tabs-please", "shop-tabs", into="tabs-please", covered=[("shop-tabs.1", "tabs-please.1")]),
)  # fmt: skip


def meanwhile(bench: Dreaming, act: Callable[[], object]) -> None:
    """Let the model propose the merge, and `act` happen while it thinks."""

    def answer(request):
        act()
        return PLAN(request)

    bench.model(answer)


def elsewhere(bench: Dreaming, *puts, id: str = "extraction"):
    """Write as another process of ours does; `puts` are functions of its store."""
    store = Store.open(bench.store.path)
    return store.apply(ChangeSet(id, "test", [put(store) for put in puts]))


# -- several dreams -----------------------------------------------------------------------------------


def at_once(place: Path, count: int) -> list[str]:
    """Release `count` dreams together, each a process; the model answers when all others have ended."""
    barrier, start = os.pipe()
    go, answer_now = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            code = 1
            try:
                code = _one(place, barrier, go)
            finally:
                os._exit(code)
    os.write(start, b"x" * count)
    for _ in range(count - 1):
        assert os.wait()[1] == 0
    os.write(answer_now, b"x")
    assert os.wait()[1] == 0
    return sorted((place / "words").read_text("utf-8").split())


def _one(place: Path, barrier: int, go: int) -> int:
    with dreaming(place) as bench:

        def answer(request):
            with (place / "asked").open("a+", encoding="utf-8") as out:
                out.write("x")
                first = out.tell() == 1
            if first:
                os.read(go, 1)
            return PLAN(request)

        bench.model(answer)
        os.read(barrier, 1)
        word = bench.dream(force=False).word
        with (place / "words").open("a", encoding="utf-8") as out:
            out.write(f"{word}\n")
    return 0


def test_bug_097_of_seven_dreams_at_once_one_dreams(tmp_path):
    with dreaming(tmp_path) as bench:
        bench.keep(TABS, TABS_TOO, PORT)
        talk(bench, 6)
        last(bench, 26)
    assert at_once(tmp_path, 7) == ["closed"] * 6 + ["done"]
    with dreaming(tmp_path) as bench:
        assert bench.names() == ["mailer-port", "tabs-please"]
        assert len(bench.store.retired()) == len(bench.store.history()) == 1
        assert dreams.state(bench.ledger, str(bench.store.path)).last_success == NOW.timestamp()
    (tmp_path / "words").unlink()
    assert at_once(tmp_path, 3) == ["closed"] * 3
    assert (tmp_path / "asked").read_text("utf-8") == "x", "one question was asked in all"


class Busy(FixedClock):
    """A clock that lets `act` happen once `ready` says so, between two looks at it."""

    def __init__(self, ready: Callable[[], bool], act: Callable[[], object]) -> None:
        super().__init__(NOW)
        self.ready, self.act = ready, act

    def now(self) -> datetime:
        if self.ready():
            self.ready = lambda: False
            self.act()
        return self.at


def test_bug_097_who_finds_the_work_done_behind_the_lock_stops(tmp_path):
    """The other dream runs from start to end between this one's gates and its lock."""
    with dreaming(tmp_path) as bench, dreaming(tmp_path) as other:
        bench.keep(TABS, TABS_TOO)
        talk(bench, 6)
        other.model(PLAN)
        key, words = str(bench.store.path), []
        bench.clock = Busy(
            lambda: dreams.state(bench.ledger, key).last_scan is not None,
            lambda: words.append(other.dream(force=True).word),
        )
        report = bench.dream(force=False)
        assert words == ["done"]
        assert (report.word, bench.provider.history) == ("closed", [])
        assert report.reason == "No memory has changed since the last dream."


def test_bug_057_of_three_triggers_after_a_sleep_one_dreams(bench):
    bench.keep(TABS, PORT)
    talk(bench, 6)
    last(bench, 26)
    words = []
    for _ in ("the scheduler at boot", "a session", "the scheduler again"):
        words.append(bench.dream(force=False).word)
        bench.later(seconds=2)
    assert words == ["nothing", "closed", "closed"] and len(bench.provider.history) == 1


def test_one_that_slept_through_its_lease_changes_nothing(bench):
    bench.keep(TABS, TABS_TOO)
    key = str(bench.store.path)

    def sleep() -> None:
        bench.later(hours=2)
        token = dreams.take_lease(
            bench.ledger, key, owner="other", boot_id=boot_id(), lease_seconds=60, now=bench.clock.at
        )
        assert token

    meanwhile(bench, sleep)
    before = tree(bench.store.root)
    with pytest.raises(LeaseLostError):
        bench.dream()
    after = tree(bench.store.root)
    assert {name: after[name] for name in before} == before
    bench.later(hours=2)
    assert bench.dream().word == "done", "the plan still stands: nobody changed what it is about"
    assert len(bench.provider.history) == 2, "one plan, one second reading"


def test_a_dead_dreamer_s_lease_is_void_at_once(tmp_path):
    def sleep() -> None:
        with dreaming(tmp_path) as bench:
            bench.model(PLAN)
            bench.dream()

    with dreaming(tmp_path) as bench:
        bench.keep(TABS, TABS_TOO)
    assert die_at("dream.after_call", sleep) == -9
    with dreaming(tmp_path) as bench:
        assert lease_owner(bench.ledger, str(bench.store.path), NOW.timestamp())
        bench.model(PLAN)
        assert bench.dream().word == "done"


# -- extraction, a person -----------------------------------------------------------------------------


def test_what_an_extraction_writes_meanwhile_stays_and_is_in_the_index(bench):
    bench.keep(TABS, TABS_TOO)
    new = note("cache-size", "The cache holds 512 MB.")
    meanwhile(bench, lambda: elsewhere(bench, lambda store: store.put(new)))
    assert bench.dream().word == "done"
    assert bench.names() == ["cache-size", "tabs-please"]
    index = (bench.store.root / "MEMORY.md").read_text("utf-8")
    assert "cache-size.md" in index and "shop-tabs.md" not in index
    assert bench.dream().changed == 1, "it was not looked at"


ACTS = {
    "edited": lambda file: file.write_bytes(file.read_bytes() + b"But not in Makefiles.\n"),
    "removed": lambda file: file.unlink(),
    "replaced": lambda file: file.write_bytes(b"Mine.\n"),
}


@pytest.mark.parametrize("name", ["tabs-please", "shop-tabs"])
@pytest.mark.parametrize("act", ACTS)
def test_what_a_person_does_meanwhile_wins(bench, name, act):
    bench.keep(TABS, TABS_TOO, PORT)
    file = bench.store.root / f"{name}.md"
    meanwhile(bench, lambda: ACTS[act](file))
    wanted = bench.store.root / f"{ {'tabs-please', 'shop-tabs'}.difference({name}).pop() }.md"
    other = wanted.read_bytes()
    report = bench.dream()
    assert report.actions == [] and report.refused
    assert wanted.read_bytes() == other
    assert file.exists() == (act != "removed")
    if act != "removed":
        assert b"Makefiles" in file.read_bytes() or file.read_bytes() == b"Mine.\n"


def test_a_plan_from_before_a_crash_does_not_undo_what_was_edited_since(tmp_path):
    def sleep() -> None:
        with dreaming(tmp_path) as bench:
            bench.set(retire_share=1.0)
            bench.model(planned(
                op("retire", "mailer-port"),
                op("merge", "tabs-please", "shop-tabs", into="tabs-please"),
            ))  # fmt: skip
            bench.dream()

    with dreaming(tmp_path) as bench:
        bench.keep(TABS, TABS_TOO, PORT)
    assert die_at("dream.after_plan_commit", sleep) == -9
    with dreaming(tmp_path) as bench:
        old = bench.documents()["tabs-please"]
        update = replace(old.memory, body=old.memory.body + "Since Monday.\n")
        elsewhere(bench, lambda store: store.put(update, existing=store.read("tabs-please")))
        report = bench.dream()
        assert [a.op for a in report.actions] == ["retire"]
        assert bench.names() == ["shop-tabs", "tabs-please"] and "Since Monday" in bench.body("tabs-please")


# -- Claude Code --------------------------------------------------------------------------------------


def test_a_line_claude_adds_to_the_index_meanwhile_stays(bench):
    bench.keep(TABS, TABS_TOO)
    index = bench.store.root / "MEMORY.md"
    line = "- [Mine](elsewhere.md) — a line of Claude's\n"
    meanwhile(bench, lambda: index.write_text(line + index.read_text("utf-8"), "utf-8"))
    assert bench.dream().word == "done"
    text = index.read_text("utf-8")
    assert text.startswith(line) and "shop-tabs.md" not in text and "tabs-please.md" in text


def lock(bench: Dreaming, body: str, hours_ago: float = 0) -> Path:
    file = ConsolidateLock(bench.store.path).file
    file.write_text(body)
    os.utime(file, (NOW.timestamp() - hours_ago * 3600,) * 2)
    return file


def test_claude_s_own_dream_is_left_alone_also_when_forced(bench):
    bench.keep(TABS, TABS_TOO)
    file = lock(bench, "1")
    report = bench.dream()
    assert (report.word, bench.provider.history, file.read_text()) == ("closed", [], "1")


def test_a_lock_that_claude_takes_meanwhile_stops_the_dream_before_it_writes(bench):
    bench.keep(TABS, TABS_TOO)
    meanwhile(bench, lambda: lock(bench, "1"))
    with pytest.raises(LeaseLostError):
        bench.dream()
    assert bench.names() == ["shop-tabs", "tabs-please"]
    assert ConsolidateLock(bench.store.path).file.read_text() == "1"


def test_the_lock_says_when_the_store_was_last_consolidated(bench):
    bench.keep(TABS, TABS_TOO)
    file = lock(bench, "", hours_ago=30)
    bench.dream()
    assert file.stat().st_mtime == NOW.timestamp() and file.read_text() == ""


def test_after_a_failure_the_lock_is_as_it_was(bench):
    bench.keep(TABS, TABS_TOO)
    file = lock(bench, "", hours_ago=30)
    (bench.store.root / "MEMORY.md").unlink()
    (bench.home / "search").write_text("in the way")
    with pytest.raises(Exception, match="search"):
        bench.dream()
    assert file.stat().st_mtime == NOW.timestamp() - 30 * 3600 and file.read_text() == ""

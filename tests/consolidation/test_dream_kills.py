"""kill -9 at every point of a dream and of an undo: the old state or the new one, and a restart ends it.

A dream that dies goes on where it was: the answer that was committed is not asked for again, the plan that
was committed is not made again, the change set is finished or rolled back as a whole. Time stands still,
so that end states are equal byte for byte but for ids made at random.
"""

from __future__ import annotations

import json
import re
import shutil
from itertools import islice
from pathlib import Path

import pytest

from pipeline.core import faults
from pipeline.ledger import dreams, inbox, runs
from pipeline.store import Store, fsck
from tests.support.dreaming import OVER, dreaming, note, op, planned
from tests.support.second_reader import Truth, second_reader
from tests.support.stores import die_at, kills, tree

OLD = [
    note("tabs-please", "Indent the shop with tabs. It is a house rule.", type="feedback"),
    note("shop-tabs", "The shop indents with tabs.", "2026-03-02", type="feedback"),
    note("use-npm", "Install the packages of the mailer with npm.", "2026-03-01"),
    note("use-pnpm", "Install the packages of the mailer with pnpm, not npm.", "2026-03-09"),
    note(
        "fair-booth",
        "The booth at the fair needs a banner until 2026-05-20.",
        "2026-02-01",
        origin="assistant-inferred",
    ),
    note("clock-report", "The report lost an hour because of local time.", type="fix"),
    note("clock-alert", "The alert repeated an hour because of local time.", type="fix"),
    note("mailer-port", "The mailer listens on port 8025. It is restarted at four.", "2026-02-01"),
    note("mailer-restart", "The mailer is restarted at five now.", "2026-03-01"),
]
PLAN = planned(
    op("merge", "tabs-please", "shop-tabs", into="tabs-please", covered=[("shop-tabs.1", "tabs-please.1")]),
    op("supersede", "use-npm", "use-pnpm", into="use-pnpm"),
    op("retire", "fair-booth"),
    op("strike", "mailer-port", covered=[("mailer-port.2", "mailer-restart.1")]),
    op("insight", "clock-report", "clock-alert", name="local-time", description="Local time loses hours.",
       statement="The report and the alert broke an hour because of local time."),
)  # fmt: skip
LATER = {
    "Install the packages of the mailer with pnpm, not npm.": "Install the packages of the mailer with npm.",
    "The mailer is restarted at five now.": "It is restarted at four.",
}
READER = Truth(
    covers=lambda text, other: "tabs" in text and "tabs" in other,
    one_fact=lambda text, other: "tabs" in text and "tabs" in other,
    replaces=lambda later, earlier: LATER.get(later) == earlier,
    until=lambda text: (OVER, OVER) if OVER in text else None,
)
POINTS = [p for p in faults.POINTS if p.startswith(("dream.", "store."))]
QUESTIONS = 2
"""The plan and the second reading."""
UNDO_POINTS = [p for p in POINTS if p.startswith("store.")]
BEFORE = (
    "dream.after_call", "dream.after_group_commit", "dream.after_plan_commit",
    "store.staged", "store.generation_begun", "store.generation_written",
)  # fmt: skip
LOOSE = ("CORE.md", "REFLECTION.md", "_index.json", "_state.json", ".gitignore", ".consolidate-lock")
"""What is made from the memories, or says when: compared by `fsck`, not by byte."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KNOWN = {memory.id for memory in OLD}


def knowledge(place: Path) -> dict[str, str]:
    """The store's files with the ids left out that differ from run to run."""
    files = {n: b.decode() for n, b in tree(place / "memory").items() if n not in LOOSE}
    made = {one for text in files.values() for one in _ID.findall(text)} - _KNOWN
    for one in made:
        files = {
            n.replace(one[:6], "<6>"): t.replace(one, "<id>").replace(one[:6], "<6>")
            for n, t in files.items()
        }
    return files


def books(place: Path) -> dict[str, object]:
    with dreaming(place) as bench:
        key = str(bench.store.path)
        rows = [r for r in runs.list_runs(bench.ledger) if r.kind in ("dream", "dream_group")]
        return {
            "runs": sorted((r.kind, r.outcome) for r in rows),
            "inbox": [(i.kind, i.reason) for i in inbox.list_inbox(bench.ledger)],
            "seen": sorted(dreams.seen(bench.ledger, key).keys() & _KNOWN),
            "succeeded": dreams.state(bench.ledger, key).last_success is not None,
            "history": [len(g.files) for g in bench.store.history()],
            "retired": sorted((i.path, i.reason) for i in bench.store.retired()),
            "wrong": fsck(bench.store),
        }


def sleep(place: Path) -> str:
    """Dream; each question to the model leaves a line."""
    with dreaming(place) as bench:
        bench.set(retire_share=1.0)

        def answer(request):
            with (place / "asked").open("a", encoding="utf-8") as out:
                out.write("asked\n")
            return PLAN(request)

        def read(request):
            with (place / "asked").open("a", encoding="utf-8") as out:
                out.write("read\n")
            return second_reader(READER)(request)

        bench.model(answer, read)
        return bench.dream().word


def undo(place: Path) -> None:
    with dreaming(place) as bench:
        run = max((g for g in bench.store.history() if not g.run.startswith("undo-")), key=lambda g: g.number)
        bench.store.undo(run.run, at=bench.clock.at)
        bench.store.reindex(now=bench.clock.at)


def asked(place: Path) -> int:
    file = place / "asked"
    return len(file.read_text("utf-8").splitlines()) if file.exists() else 0


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of the store before the dream, after it, and after its undo."""
    base = tmp_path_factory.mktemp("dream-kills")
    with dreaming(base / "old") as bench:
        bench.keep(*OLD)
        bench.store.reindex(now=bench.clock.at)
    shutil.copytree(base / "old", base / "new")
    assert sleep(base / "new") == "done"
    shutil.copytree(base / "new", base / "undone")
    undo(base / "undone")
    return base


def fresh(base: Path, start: str, place: Path) -> bool:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(base / start, place)
    return True


def test_the_undisturbed_dream_does_what_the_matrix_is_about(base: Path) -> None:
    new, old = knowledge(base / "new"), knowledge(base / "old")
    assert len([n for n in new if n.startswith("archive/")]) == 4, "three that left, one former text"
    assert books(base / "new")["inbox"] == [("dream:insight", "an insight is the model's own words")]
    assert knowledge(base / "undone") == old != new
    assert asked(base / "new") == QUESTIONS


@pytest.mark.parametrize("point", POINTS)
def test_bug_048_a_dream_killed_and_started_again(base: Path, tmp_path: Path, point: str) -> None:
    """At every visit: old or new, never a mix; then the same end as if nothing had happened."""
    place = tmp_path / "work"
    visits = 0
    old, new, told = knowledge(base / "old"), knowledge(base / "new"), books(base / "new")
    # Each kept file is a visit, and before the intent all are alike: tests/store dies at every one of them.
    most = 3 if point == "store.generation_begun" else None
    for visit in islice(kills([point], lambda: fresh(base, "old", place) and sleep(place)), most):
        visits += 1
        Store.open(place / "memory")  # what a restart does first: finish or roll back
        assert knowledge(place) == (old if point in BEFORE else new), visit
        sleep(place)
        assert knowledge(place) == new, visit
        assert books(place) == told, visit
        assert asked(place) == QUESTIONS + (point == "dream.after_call"), visit
        left = [f for f in place.rglob("*") if "reverie-tmp-" in f.name or f.name == "intent.json"]
        assert left == [], visit
        assert sleep(place) == "nothing", visit
        assert asked(place) == QUESTIONS + (point == "dream.after_call"), visit
    assert visits >= 1, f"{point} is not reached"


CHAINS = [
    ("dream.after_group_commit", "dream.after_plan_commit", "store.staged", "dream.after_store"),
    ("dream.after_plan_commit", "store.intent_written", "store.file_replaced", "store.done"),
    ("dream.after_store", "dream.after_store", "dream.after_ledger"),
]


@pytest.mark.parametrize("chain", CHAINS, ids=" ".join)
def test_a_dream_killed_again_and_again(base: Path, tmp_path: Path, chain: tuple[str, ...]) -> None:
    place = tmp_path / "work"
    fresh(base, "old", place)
    for point in chain:
        assert die_at(point, lambda: sleep(place)) == -9, f"{point} is not reached"
    sleep(place)
    assert (knowledge(place), books(place)) == (knowledge(base / "new"), books(base / "new"))
    assert asked(place) == QUESTIONS


@pytest.mark.parametrize("point", UNDO_POINTS)
def test_an_undo_killed_and_started_again(base: Path, tmp_path: Path, point: str) -> None:
    place = tmp_path / "work"
    fresh(base, "new", place)
    assert die_at(point, lambda: undo(place)) == -9
    Store.open(place / "memory")
    assert knowledge(place) == knowledge(base / ("new" if point in BEFORE else "old"))
    undo(place)
    assert (knowledge(place), books(place)["wrong"]) == (knowledge(base / "old"), [])


def test_a_report_is_there_after_a_crash_right_after_the_change(base: Path, tmp_path: Path) -> None:
    place = tmp_path / "work"
    fresh(base, "old", place)
    assert die_at("dream.after_store", lambda: sleep(place)) == -9
    sleep(place)
    (file,) = (place / "home" / "reports").glob("*.json")
    told = json.loads(file.read_bytes())
    assert [a["op"] for a in told["actions"]] == ["merge", "supersede", "retire", "strike"]
    assert len(told["refused"]) == 1 and "before a crash" in told["reason"]

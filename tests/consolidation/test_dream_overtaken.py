"""Between a dream's plan and its last file: what somebody else did wins, and nothing is stuck."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pipeline.consolidation.commit.execute import Committed
from pipeline.consolidation.commit.report import DreamReport
from pipeline.core.errors import LeaseLostError
from pipeline.domain.operations import Operation
from pipeline.ledger import runs
from pipeline.store import ConsolidateLock
from tests.consolidation.test_dream_together import Busy, lock
from tests.support.dreaming import Dreaming, dreaming, note, op, planned
from tests.support.stores import die_at, tree

ONE = note("one", "The mailer listens on port 8025 in the lab.")
TWO = note("two", "The mailer listens on port 8025.", "2026-03-02")
THREE = note("three", "The fair booth has a banner until 2026-05-20.", origin="assistant-inferred")
PLAN = planned(op("retire", "three"), op("merge", "one", "two", into="one"))


def prepared(bench: Dreaming) -> None:
    bench.set(retire_share=1.0)
    bench.model(PLAN)


def killed(place: Path, point: str) -> None:
    """Let a dream over the three die at `point`."""

    def sleep() -> None:
        with dreaming(place) as bench:
            prepared(bench)
            bench.dream()

    with dreaming(place) as bench:
        bench.keep(ONE, TWO, THREE)
    assert die_at(point, sleep) == -9


def pin(bench: Dreaming, name: str) -> None:
    """Pin as a person does: the bytes stay, the place changes."""
    (bench.store.root / "vault").mkdir()
    (bench.store.root / f"{name}.md").rename(bench.store.root / "vault" / f"{name}.md")


@pytest.mark.parametrize(("name", "rest"), [("one", "retire"), ("two", "retire"), ("three", "merge")])
def test_what_is_pinned_while_the_model_thinks_stays(bench, name, rest):
    bench.keep(ONE, TWO, THREE)
    prepared(bench)
    before = bench.documents()
    bench.model(lambda request: (pin(bench, name), PLAN(request))[1])
    report = bench.dream()
    assert [action.op for action in report.actions] == [rest] and report.refused
    assert bench.documents()[name].raw == before[name].raw
    bench.later(days=2)
    bench.model(planned())
    assert bench.dream().word == "nothing"


def test_what_is_only_pointed_at_must_be_in_its_place_too(bench):
    bench.keep(ONE, THREE)
    plan = planned(op("relate", "one", "three", relation="RELATED_TO"))
    bench.model(lambda request: (pin(bench, "three"), plan(request))[1])
    report = bench.dream()
    assert report.actions == [] and report.refused[0]["op"] == "relate"


def lose_record(bench: Dreaming) -> None:
    (bench.store.root / ".reverie/written.jsonl").unlink()


def copy(name: str):
    return lambda bench: shutil.copy(bench.store.root / "one.md", bench.store.root / name)


AFTER = {"record lost": lose_record, "copied before": copy("aaa.md"), "copied behind": copy("zzz.md")}


@pytest.mark.parametrize("case", AFTER)
def test_a_plan_found_after_a_crash_does_only_what_still_fits(tmp_path, case):
    killed(tmp_path, "dream.after_plan_commit")
    with dreaming(tmp_path) as bench:
        AFTER[case](bench)
        before = {path: raw for path, raw in tree(bench.store.root).items() if path in ("one.md", "two.md")}
        report = bench.dream()
        assert "merge" in [refusal["op"] for refusal in report.refused]
        assert {path: raw for path, raw in tree(bench.store.root).items() if path in before} == before
        bench.later(days=2)
        bench.model(planned())
        assert bench.dream().word == "nothing", "the next dream is its own"


def test_a_survivor_edited_at_the_last_moment_keeps_the_other(tmp_path):
    killed(tmp_path, "store.intent_written")
    file = tmp_path / "memory/one.md"
    file.write_bytes(file.read_bytes() + b"By hand.\n")
    with dreaming(tmp_path) as bench:
        report = bench.dream()
        assert [action.op for action in report.actions] == ["retire"]
        assert [refusal["op"] for refusal in report.refused] == ["merge"]
        assert bench.names() == ["one", "two"] and bench.body("one").endswith("By hand.\n")
        assert list((bench.store.root / ".reverie/conflicts").iterdir())


def test_a_plan_that_can_not_be_done_is_given_up_and_blocks_no_other(tmp_path):
    killed(tmp_path, "dream.after_plan_commit")
    with dreaming(tmp_path) as bench:
        prepared(bench)
        archive = bench.store.root / "archive"
        archive.symlink_to(tmp_path)
        report = bench.dream()
        assert report.word == "failed" and "link" in report.reason
        assert runs.run(bench.ledger, report.run_id).outcome == "failed:plan"
        assert bench.names() == ["one", "three", "two"]
        archive.unlink()
        assert bench.dream().word == "done" and bench.names() == ["one"]


def test_a_plan_that_can_not_be_read_is_given_up(tmp_path):
    killed(tmp_path, "dream.after_plan_commit")
    with dreaming(tmp_path) as bench:
        bench.ledger.execute("UPDATE runs SET reply_json = '{}' WHERE kind = 'dream'")
        report = bench.dream()
        assert report.word == "failed" and "can't be read" in report.reason
        prepared(bench)
        assert bench.dream().word == "done"


def test_a_lock_taken_over_stops_what_was_begun_before_a_crash(tmp_path):
    killed(tmp_path, "dream.after_plan_commit")
    with dreaming(tmp_path) as bench:
        file = ConsolidateLock(bench.store.path).file
        file.unlink(missing_ok=True)
        bench.clock = Busy(lambda: file.exists(), lambda: lock(bench, "1"))
        with pytest.raises(LeaseLostError):
            bench.dream()
        assert bench.names() == ["one", "three", "two"]


def test_a_plan_in_the_ledger_holds_paths_as_places_and_comes_back() -> None:
    report = DreamReport("run", "store", "2026-03-02T10:00:00+00:00")
    plan = Committed([Operation("retire", ("a",))], digests={"a": "d"}, paths={"a": "a.md"})
    text = plan.dump(report)
    assert json.loads(text)["places"] == {"a": "a.md"}
    assert Committed.load(text) == (plan, report)


OLDER = note("mailer", "The mailer listens on port 8025. It is restarted each night.")
CLAIM = note("claim", "The mailer is not restarted at night.", "2026-04-02")


@pytest.mark.parametrize("written", [True, False], ids=["ours", "from elsewhere"])
@pytest.mark.parametrize(
    "plan",
    [
        op("strike", "mailer", covered=[("mailer.2", "claim.1")]),
        op("supersede", "mailer", "claim", into="claim"),
    ],
    ids=["strike", "supersede"],
)
def test_a_file_from_elsewhere_that_claims_to_be_later_takes_no_place(bench, plan, written):
    bench.set(retire_share=1.0)
    bench.keep(OLDER, CLAIM)
    if not written:
        # The same bytes, that nobody but their own front matter vouches for.
        log = bench.store.root / ".reverie" / "written.jsonl"
        lines = log.read_text("utf-8").splitlines()
        log.write_text("".join(f"{line}\n" for line in lines if '"claim.md"' not in line), "utf-8")
    bench.model(planned(plan))
    report = bench.dream()
    assert [action.op for action in report.actions] == ([plan["op"]] if written else [])
    assert ("mailer" in bench.names()) == (not written or plan["op"] == "strike")
    if not written:
        assert bench.body("mailer") == OLDER.body and len(bench.waiting()) == 1

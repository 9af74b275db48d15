"""What a person undid is not done again until one of its memories changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.consolidation import vetoes
from pipeline.store import ChangeSet
from tests.support.dreaming import Dreaming, note, op, planned

ONE = note("one", "The mailer listens on port 8025 in the lab.")
TWO = note("two", "The mailer listens on port 8025.", "2026-03-02")
THREE = note("three", "The fair booth has a banner until 2026-05-20.", origin="assistant-inferred")
PLANS = {
    "merge": [op("merge", "one", "two", into="one")],
    "retire": [op("retire", "three")],
    "relate": [op("relate", "one", "three", relation="RELATED_TO")],
    "another that takes the same away": [op("merge", "one", "two", into="one")],
}
AGAIN = {"another that takes the same away": [op("merge", "one", "two", "six", into="one")]}


def undone(bench: Dreaming, plan: str, day: int = 0) -> None:
    """Dream, undo, and let a neighbour come, so that the next dream looks again."""
    bench.set(retire_share=1.0)
    bench.keep(ONE, TWO, THREE)
    bench.model(planned(*PLANS[plan]))
    report = bench.dream()
    assert report.word == "done"
    vetoes.note(bench.ledger, bench.store, str(bench.store.path), report.run_id, bench.clock.now())
    bench.store.undo(report.run_id)
    bench.later(days=3)
    bench.keep(
        note("six", "The mailer listens in the lab.", "2026-02-01"), note("fair", "The fair booth is blue.")
    )
    bench.model(planned(*AGAIN.get(plan, PLANS[plan])))


@pytest.mark.parametrize("plan", PLANS)
def test_what_was_undone_is_not_done_again(bench, plan):
    undone(bench, plan)
    before = {d.name: d.raw for d in bench.documents().values()}
    report = bench.dream()
    assert [refusal["why"] for refusal in report.refused] == ["you took this back on 2026-11-27"]
    assert {d.name: d.raw for d in bench.documents().values() if d.name in ("one", "two", "three")} == {
        name: before[name] for name in ("one", "two", "three")
    }
    assert bench.waiting() == []


def test_once_one_of_its_memories_changed_it_may_be_done(bench):
    undone(bench, "retire")
    old = bench.documents()["three"]
    put = bench.store.put(replace(old.memory, importance=0.4), existing=old)
    bench.store.apply(ChangeSet("changed", "test", [put]))
    assert [action.op for action in bench.dream().actions] == ["retire"]


@pytest.mark.parametrize("line", [b"5", b"{}", b'{"op": 1', b'{"op":"x","day":"d","leaving":5,"digests":{}}'])
def test_a_torn_line_hides_no_other(bench, line):
    undone(bench, "retire")
    file = bench.store.root / ".reverie" / vetoes.FILE
    file.write_bytes(line + b"\n" + file.read_bytes())
    assert [item.op for item in vetoes.read(bench.store)] == ["retire"]

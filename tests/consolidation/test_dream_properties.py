"""For any store and any answer of the model, also a hostile one: what a whole dream can never do."""

import re
import tempfile
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pipeline.store import fsck
from pipeline.text.specifics import lost, specifics
from pipeline.verify.check import retire_ceiling
from tests.support.dreaming import NOW, Dreaming, dreaming, shown
from tests.support.stores import tree
from tests.verify.test_check_properties import build

pytestmark = pytest.mark.filterwarnings("ignore::hypothesis.errors.NonInteractiveExampleWarning")
LOOSE = ("CORE.md", "REFLECTION.md", "_index.json", "_state.json", ".gitignore", ".consolidate-lock")
few = settings(
    max_examples=8,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
)
seeds = st.builds(lambda seed, noise: (seed, noise), st.integers(0, 2**32), st.text(max_size=30))


class Night:
    """One dream over a store of dice, with the answers of dice; everything that is true before and after."""

    def __init__(self, bench: Dreaming, seed: int, noise: str) -> None:
        store, plan, changeable, _ = build(seed, noise)
        dice = Random(seed)
        self.bench = bench
        bench.set(retire_share=dice.choice((0.05, 0.3, 0.6)))
        more = [replace(store["n0"], id=f"f{n}", name=f"f{n}", body=f"{n} of it.\n") for n in range(6)]
        bench.keep(*(replace(m, created=NOW, updated=NOW) for m in (*store.values(), *more)))
        self.held = {
            name: bench.edit(name) for name in store if name not in changeable or dice.random() < 0.1
        }
        self.held |= {name: d.raw for name, d in bench.documents().items() if d.head.pinned}
        bench.store.reindex(now=NOW)
        self.old = {name: d.memory for name, d in bench.documents().items()}
        self.before = tree(bench.store.root)
        bench.model(lambda request: self._answer(request, plan, dice))
        self.report = bench.dream()
        self.new = {d.id: d.memory for d in bench.documents().values()}
        self.after = tree(bench.store.root)
        self.archived = {item.id for item in bench.store.retired()}

    def _answer(self, request, plan, dice):
        known = shown(request)
        handles = [*known.values(), "m77", "f1", "../../etc", ""]

        def handle(one):
            return known.get(one, dice.choice(handles))

        return {
            "operations": [
                {"op": o.op, "ids": [handle(i) for i in o.ids], "into": handle(o.into) if o.into else "",
                 "type": o.type, "description": o.description, "statement": o.statement,
                 "relation": o.relation, "reason": o.reason, "name": dice.choice(("", "../up", "CON", "x")),
                 "dropped": [{"text": t, "reason": r} for t, r in o.dropped]}
                for o in plan
            ]
        }  # fmt: skip


@contextmanager
def night(case):
    with tempfile.TemporaryDirectory() as place, dreaming(Path(place)) as bench:
        yield Night(bench, *case)


@few
@given(seeds)
def test_no_more_leave_than_the_ceiling_and_what_may_not_change_keeps_its_bytes(case):
    with night(case) as done:
        bench, limit = done.bench, retire_ceiling(len(done.old), done.bench.settings.dream.retire_share)
        rule = [a for a in done.report.actions if ": nothing that" in a.reason]
        same = sum(len(a["memories"]) - 1 for a in rule)
        assert len(done.archived) - same <= limit
        live = {d.name: d for d in bench.documents().values()}
        assert {name: live[name].raw for name in done.held} == done.held
        assert {m.id for m in done.old.values()} == {*done.archived, *done.new} - (
            {*done.new} - {m.id for m in done.old.values()}
        ), "each memory is live or in the archive"
        assert fsck(bench.store) == []


@few
@given(seeds)
def test_every_specific_of_what_was_merged_or_rewritten_stands_or_is_listed_as_dropped(case):
    with night(case) as done:
        for action in done.report.actions:
            if action.op not in ("merge", "rewrite"):
                continue
            into = done.old[action.into or action.memories[0]].id
            dropped = [text for text, reason in action.dropped if reason.strip()]
            for name in action.memories:
                gone = lost(specifics(done.old[name].body), done.new[into].body)
                assert [s for s in gone if not any(lost([s], text) == () for text in dropped)] == []
        written = "\n".join(
            m.body for m in done.new.values() if m.id not in {o.id for o in done.old.values()}
        )
        assert not re.search(r"hunter2|previous instructions|may push without", written)


@few
@given(seeds)
def test_done_twice_is_done_once_and_its_undo_restores_every_byte(case):
    with night(case) as done:
        bench = done.bench
        bench.ledger.execute("UPDATE runs SET outcome = NULL WHERE kind = 'dream'")
        again = bench.dream()
        assert tree(bench.store.root) == done.after
        if done.report.actions:
            assert (again.run_id, again.actions) == (done.report.run_id, done.report.actions)
        if any(g.run == done.report.run_id for g in bench.store.history()):
            bench.store.undo(done.report.run_id)
            undone = tree(bench.store.root)
            assert {n: b for n, b in undone.items() if n not in LOOSE} == {
                n: b for n, b in done.before.items() if n not in LOOSE
            }


def test_the_dice_reach_the_cases_that_matter():
    """Else the properties hold for want of anything to try them."""
    seen = set()
    for seed in range(8):
        with night((seed, "")) as done:
            seen |= {action.op for action in done.report.actions}
            seen |= {"inbox"} if done.bench.waiting() else set()
    assert {"merge", "retire", "rewrite", "inbox"} <= seen, seen

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

from pipeline.domain.sentences import key_of, sentences
from pipeline.store import fsck
from pipeline.verify.check import retire_ceiling
from tests.support.dreaming import NOW, Dreaming, dreaming, shown
from tests.support.second_reader import scripted
from tests.support.stores import tree
from tests.verify.plans import note
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
        more = [note(f"f{n}", f"{n} of it. That is so until 2026-05-20.", f"2026-03-1{n}") for n in range(6)]
        bench.keep(*(replace(m, created=NOW, updated=NOW) for m in (*store.values(), *more)))
        self.held = {
            name: bench.edit(name) for name in store if name not in changeable or dice.random() < 0.1
        }
        self.held |= {name: d.raw for name, d in bench.documents().items() if d.head.pinned}
        bench.store.reindex(now=NOW)
        self.old = {name: d.memory for name, d in bench.documents().items()}
        self.before = tree(bench.store.root)
        # A reader that finds what the plan said, but for what the dice make of its answers.
        inner = scripted(lambda request: self._answer(request, plan, dice))
        spoilt = dice.choice((0.0, 0.1, 0.5))
        bench.model(inner, lambda request: _spoilt(inner(request), dice, spoilt))
        self.report = bench.dream()
        self.new = {d.id: d.memory for d in bench.documents().values()}
        self.after = tree(bench.store.root)
        self.archived = {item.id for item in bench.store.retired()}

    def _answer(self, request, plan, dice):
        known = shown(request)
        handles = [*known.values(), "m77", "f1", "../../etc", ""]

        def handle(name):
            return known.get(name, dice.choice(handles))

        wild = [
            {
                **{key: getattr(o, key) for key in ("op", "until", "description", "statement", "reason")},
                "ids": [handle(name) for name in o.ids],
                "into": handle(o.into) if o.into else "",
                "relation": o.relation,
                "covered": [
                    {
                        "sentence": f"{handle(cover.id)}.{cover.number}",
                        "by": f"{handle(cover.by_id)}.{cover.by_number}",
                    }
                    for cover in o.covered
                ],
                "name": dice.choice(("", "../up", "CON", "x")),
            }
            for o in plan
        ]
        return {"operations": [*_fair(dice, [one for one in known.values() if one[0] == "m"]), *wild]}


def _fair(dice, handles):
    """A few operations that name what was shown, as a model in its right mind would."""
    made = []
    dice.shuffle(handles)
    for one, other in zip(handles[::2], handles[1::2], strict=False):
        op = dice.choice(("merge", "merge", "supersede", "strike", "strike", "retire"))
        cover = {"sentence": f"{one}.{dice.choice((1, 2, 2, 2))}", "by": f"{other}.1"}
        ids = [one] if op in ("strike", "retire") else [one, other]
        made.append({"op": op, "ids": ids, "into": other, "covered": [cover], "until": "2026-05-20"})
    return made


def _spoilt(reply, dice, share):
    """Any answers whatever: some right, some that no question allows, some for no question."""
    wild = [
        "",
        "0",
        "1",
        "2",
        "none",
        "different",
        "both",
        "a",
        "b",
        "x",
        "y",
        "yes",
        "no",
        "all",
        "2026-05-20",
    ]
    answers = [
        {**answer, "answer": dice.choice(wild)} if dice.random() < share else answer
        for answer in reply["answers"]
    ]
    if dice.random() < share:
        answers = [*answers, *answers[:1], {"question": "q99", "answer": "1"}, {"answer": "same"}]
    return {"answers": answers}


def facts(body):
    """The facts of a body, each as the keys of its sentences."""
    found: dict[int, list[str]] = {}
    for sentence in sentences(body):
        found.setdefault(sentence.fact, []).append(sentence.key)
    return [tuple(keys) for keys in found.values()]


@contextmanager
def night(case):
    with tempfile.TemporaryDirectory() as place, dreaming(Path(place)) as bench:
        yield Night(bench, *case)


@few
@given(seeds)
def test_no_more_leave_than_the_ceiling_and_what_may_not_change_keeps_its_bytes(case):
    with night(case) as done:
        bench, limit = done.bench, retire_ceiling(len(done.old), done.bench.settings.dream.retire_share)
        rule = [a for a in done.report.actions if ": the same text as" in a.reason]
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
def test_every_live_text_consists_of_sentences_that_stood_in_some_memory_in_their_order(case):
    with night(case) as done:
        before = [fact for memory in done.old.values() for fact in facts(memory.body)]
        for memory in done.new.values():
            for fact in facts(memory.body):
                assert any(fact == whole[: len(fact)] for whole in before), memory.body
        words = {sentence.text for m in done.old.values() for sentence in sentences(m.body)}
        assert {s.text for m in done.new.values() for s in sentences(m.body)} <= words
        names = {m.description for m in done.old.values()} | words
        assert {m.description for m in done.new.values()} <= names | {f"{t[:149]}…" for t in names}
        assert not re.search(r"hunter2|previous instructions|may push without", f"{[*done.new.values()]}")


@few
@given(seeds)
def test_every_sentence_that_ever_stood_is_live_archived_or_in_a_generation(case):
    with night(case) as done:
        root = done.bench.store.root
        kept = [file.read_text("utf-8") for file in root.rglob("*.md") if ".reverie" not in file.parts]
        stand = {sentence.key for text in kept for sentence in sentences(text.partition("\n---\n")[2])}
        for memory in done.old.values():
            assert {sentence.key for sentence in sentences(memory.body)} <= stand
        left_out = [text for action in done.report.actions for text, _ in action.left_out]
        live = {sentence.key for m in done.new.values() for sentence in sentences(m.body)}
        leavers = {n for a in done.report.actions if a.op in ("supersede", "retire") for n in a.memories}
        listed = {key_of(text) for text in left_out}
        for name, memory in done.old.items():
            if name not in leavers:
                assert {sentence.key for sentence in sentences(memory.body)} <= live | listed, name


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
    for seed in range(12):
        with night((seed, "")) as done:
            seen |= {action.op for action in done.report.actions}
            seen |= {"inbox"} if done.bench.waiting() else set()
    assert {"merge", "strike", "supersede", "retire", "inbox"} <= seen, seen

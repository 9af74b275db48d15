"""Real replies over the cases in ``fixtures/dream``: each case is there to prove one thing.

The ceiling is set aside where a case proves something else: in a store of ten it is one memory.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from pipeline.consolidation.commit.report import DreamReport
from pipeline.domain.memory import Memory
from pipeline.domain.sentences import key_of, sentences
from pipeline.ledger import inbox
from pipeline.llm import open_provider
from pipeline.store import Store, fsck
from tests.support.dream_cases import CASES, FIXTURES, lay_out, load, memory_of
from tests.support.dreaming import Dreaming, dreaming
from tests.support.stores import tree
from tests.support.workshop import at

DERIVED = ("CORE.md", "_index.json")


@dataclass
class Played:
    """A case after its dream."""

    bench: Dreaming
    report: DreamReport
    before: dict[str, bytes]
    memories: list[Memory]

    @property
    def left(self) -> dict[str, str]:
        """What left the store → what took its place."""
        live = {d.id: name for name, d in self.bench.documents().items()}
        old = {m.id: m.name for m in self.memories}
        return {old[item.id]: live.get(item.superseded_by, "") for item in self.bench.store.retired()}

    def text(self, name: str) -> str:
        return self.bench.store.read(name).memory.body


@pytest.fixture
def play(tmp_path):
    """Dream over a case with its recorded replies; every one of them must be played."""
    with dreaming(tmp_path) as bench:
        providers = []

        def start(case: str, share: float = 1.0) -> Played:
            bench.clock.at = at(load(case)["now"])
            bench.set(retire_share=share)
            lay_out(case, bench.store.path)
            bench.store = Store.open(bench.store.path)
            spec = f"replay:{FIXTURES}/cassettes/{case}"
            provider: Any = open_provider(spec, bench.settings.model, home=bench.home)
            bench.provider = provider
            providers.append(provider)
            before = tree(bench.store.root)
            return Played(bench, bench.dream(), before, [memory_of(row) for row in load(case)["memories"]])

        yield start
        assert [provider.unplayed() for provider in providers] == [[] for _ in providers]


@pytest.mark.parametrize("case", CASES)
def test_nothing_of_a_recorded_case_is_lost_and_its_undo_is_exact(play, case):
    done = play(case)
    assert done.report.word in ("done", "nothing") and done.report.failed == []
    assert fsck(done.bench.store) == []
    archived = {item.id for item in done.bench.store.retired()}
    live = {d.id for d in done.bench.documents().values()}
    assert {m.id for m in done.memories} <= archived | live
    if done.report.actions:
        done.bench.store.undo(done.report.run_id)
    after = tree(done.bench.store.root)
    assert all(after[name] == raw for name, raw in done.before.items() if name not in DERIVED)


def test_four_facts_said_twice_are_said_once_with_every_specific(play):
    done = play("doubles")
    assert len(done.left) == 4 and all(done.left.values())
    assert {"one-fix-per-commit", "user-is-backend-only"} <= {*done.bench.names()}
    by_name = {memory.name: memory for memory in done.memories}
    left_out = {key_of(text) for action in done.report.actions for text, _ in action.left_out}
    for gone, kept in done.left.items():
        stands = {sentence.key for sentence in sentences(done.text(kept))} | left_out
        assert {sentence.key for sentence in sentences(by_name[gone].body)} <= stands
        assert done.bench.store.read(gone).name == kept, "its name leads to what it became"


def test_each_changed_preference_leaves_only_what_was_said_last(play):
    done = play("changed")
    assert done.left == {
        "fjordwatch-log-retention-30-days": "fjordwatch-log-retention-14-days",
        "fjordwatch-region-eu-north-1": "fjordwatch-region-eu-central-1",
        "fjordwatch-ingest-desired-count-1": "fjordwatch-ingest-desired-count-2",
    }
    assert "eu-north-1" in done.text("fjordwatch-state-bucket-stays-eu-north-1")


def test_a_done_task_and_a_replaced_format_leave(play):
    done = play("stale")
    assert done.left == {
        "brightfreight-export-semicolon-csv-latin-1": "brightfreight-export-json-since-may",
        "unsubscribe-signed-token-after-easter": "unsubscribe-signed-token-live",
    }


def test_four_fixes_with_one_cause_give_an_insight_for_a_person(play):
    done = play("insight")
    (item,) = inbox.list_inbox(done.bench.ledger)
    fixes = {m.id for m in done.memories if m.type == "fix"}
    assert item.kind == "dream:insight" and {*item.payload["operation"]["ids"]} == fixes and len(fixes) == 4
    assert done.left == {} and done.report.actions == []


@pytest.mark.parametrize("case", ["nothing", "numbers", "hostile"])
def test_what_needs_nothing_keeps_every_byte(play, case):
    done = play(case)
    assert (done.report.word, done.report.actions, done.report.refused) == ("nothing", [], [])
    after = tree(done.bench.store.root)
    assert all(after[name] == raw for name, raw in done.before.items() if name not in DERIVED)


def test_the_ceiling_lets_one_of_ten_go_and_the_rest_lead_the_next_dream(play):
    done = play("doubles", share=0.05)
    assert len(done.left) == 1
    assert [r["to_inbox"] for r in done.report.refused] == [False] * 3
    waiting = {name for r in done.report.refused for name in r["memories"]}
    done.bench.model(lambda request: {"operations": []})
    done.bench.dream()
    shown = done.bench.provider.history[0].messages[0].content
    assert all(f" {name} (" in shown for name in waiting)

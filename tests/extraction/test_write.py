"""From screened candidates to one change set, and what is left to a person instead."""

import dataclasses
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.ids import derived_id
from pipeline.domain.action import MemoryAction
from pipeline.domain.memory import Evidence
from pipeline.domain.sentences import key_of
from pipeline.extraction.schema import Withdrawal
from pipeline.extraction.screen import Case, Rejected, Verdict, Withdrawn
from pipeline.extraction.screened_candidate import Screened
from pipeline.extraction.write import ExtractionPlan, Proposal, Terms, plan
from pipeline.ledger.inbox import InboxItem
from pipeline.revision import Door
from pipeline.store import Operation, Store
from tests.support.extraction import NOW
from tests.support.stores import apply, memory, save, tree

SOURCE = Evidence(session="5e55", uuid="u2", quote="keep the retries at 3", at="2026-03-02T09:02:00+00:00")
RETRIES = "The payment gateway is retried 3 times at most."


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "memory", create=True)


def item(statement: str = RETRIES, **more: Any) -> Screened:
    values: dict[str, Any] = {
        "name": "retries", "update_of": "", "type": "project", "title": "",
        "description": "Retries stay at 3.",
        "statement": statement, "why": "", "how_to_apply": "", "tags": ("api",), "anchors": (),
        "importance": 0.6, "confidence": 0.9, "origin": "user-stated", "sources": (SOURCE,), "said_at": None,
    }  # fmt: skip
    return Screened(**(values | more))


@dataclasses.dataclass
class Planned:
    """A plan and the door it was made at."""

    result: ExtractionPlan
    door: Door

    @property
    def operations(self) -> list[Operation]:
        return self.door.operations

    @property
    def actions(self) -> list[MemoryAction]:
        return self.result.actions

    @property
    def proposals(self) -> list[Proposal]:
        return self.result.proposals


def change(before: str, after: str, update_of: str = "retries", **more: Any) -> Screened:
    """An update that replaces one sentence and adds none."""
    return item("", **({"update_of": update_of, "replaces": ((before, after),)} | more))


def planned(store: Store, *items: Screened, taken_back: tuple[str, ...] = (), **more: Any) -> Planned:
    snapshot = store.scan()
    cases = [
        Case(f"c{n}", one, (), old=found.memory if (found := snapshot.by_name(one.update_of)) else None)
        for n, one in enumerate(items, start=1)
    ]
    withdrawals = [
        Withdrawn(f"w{n}", Withdrawal(name=name, reason="over"), (SOURCE,))
        for n, name in enumerate(taken_back)
    ]
    verdict = Verdict(cases, withdrawals, more.pop("rejected", []), more.pop("known", []))
    door = Door(store, now=NOW)
    return Planned(plan(verdict, door, snapshot, Terms("r1", NOW, **more)), door)


def actions(result: Planned) -> list[tuple[str, str]]:
    return [(action.action, action.name) for action in result.actions]


def old(name: str = "retries", body: str = f"{RETRIES}\n", **more: Any) -> Any:
    return memory(name, **{"type": "project", "description": "Retries.", "body": body, **more})


def test_a_new_fact_becomes_a_file_with_its_sources(store: Store) -> None:
    result = planned(store, item())
    apply(store, *result.operations)
    kept = store.read("retries").memory
    assert actions(result) == [("created", "retries")]
    assert (kept.body, kept.origin, kept.sources) == (RETRIES + "\n", "user-stated", (SOURCE,))
    assert (kept.id, kept.created) == (derived_id("r1", "c1"), NOW)


def test_u1_what_an_update_does_not_name_stays_word_for_word(store: Store) -> None:
    first = Evidence(session="a", uuid="u0", quote="retries at 3, 5 bans us", at="2026-03-01T09:00:00+00:00")
    body = "Use 3 retries. Log each.\n\n**Why:** At 5 the gateway bans us for an hour.\n"
    before = old(body=body, sources=(first,), tags=("old",), importance=0.9, anchors=("a.py",))
    save(store, before)
    later = change("Use 3 retries.", "Use 4 retries.", origin="user-confirmed", anchors=("b.py",))
    result = planned(store, later)
    result.door.write("r1", "test")
    kept = store.read("retries").memory
    assert kept.body == body.replace("3 retries", "4 retries") and actions(result) == [("updated", "retries")]
    assert (kept.id, kept.created, kept.type) == (before.id, before.created, "project")
    assert (kept.importance, kept.tags, kept.anchors) == (0.9, ("api", "old"), ("b.py", "a.py"))
    new, stays = key_of("Use 4 retries."), key_of("At 5 the gateway bans us for an hour.")
    assert [(s.quote, new in s.bears, stays in s.bears) for s in kept.sources] == [
        (SOURCE.quote, True, False), (first.quote, False, True),
    ]  # fmt: skip
    assert (store.root / "archive").rglob("retries-*.md"), "the former text"


@pytest.mark.parametrize(
    ("spoken", "origin"),
    [("user-stated", "user-stated"), ("user-confirmed", "user-confirmed")],
)
def test_u5_the_origin_is_that_of_the_words_that_carry_the_fact_now(
    store: Store, spoken: str, origin: str
) -> None:
    first = replace(SOURCE, at="2026-03-01T09:00:00+00:00", uuid="u0")
    save(store, old(body="Use 3 retries.\n", sources=(first,)))
    planned(store, change("Use 3 retries.", "Use 4 retries.", origin=spoken)).door.write("r1", "test")
    kept = store.read("retries").memory
    assert kept.origin == origin and [s.uuid for s in kept.sources] == ["u2"]


def test_u5_as_many_sources_as_the_sentences_need(store: Store) -> None:
    many = tuple(replace(SOURCE, uuid=f"u{n}", quote=f"line {n} says it") for n in range(7))
    planned(store, item(sources=many)).door.write("r1", "test")
    assert store.read("retries").memory.sources == many


@pytest.mark.parametrize("name", ["retries", "gateway-limit"])
def test_u3_an_equal_name_or_a_near_copy_overwrites_nothing(store: Store, name: str) -> None:
    staging = "The staging environment is deployed each Tuesday by Mara."
    save(store, old("retries", body=f"{staging}\n"))
    before = store.read("retries").raw
    result = planned(store, item(staging.replace("staging", "production"), name=name))
    result.door.write("r1", "test")
    assert store.read("retries").raw == before
    assert actions(result) == [("created", "retries-2" if name == "retries" else name)]


def test_u6_the_name_follows_the_text_and_the_old_one_still_finds_it(store: Store) -> None:
    first = replace(SOURCE, at="2026-03-01T09:00:00+00:00", uuid="u0")
    save(store, old("use-pnpm-never-npm", body="Use pnpm, never npm.\n", sources=(first,)))
    turned = change(
        "Use pnpm, never npm.", "Use bun.", "use-pnpm-never-npm", name="use-bun", description="Use bun."
    )
    planned(store, turned).door.write("r1", "test")
    (kept,) = store.scan().documents
    assert (kept.name, kept.path, kept.memory.aliases) == ("use-bun", "use-bun.md", ("use-pnpm-never-npm",))
    assert store.read("use-pnpm-never-npm").name == "use-bun"
    assert "pnpm" not in (store.root / "MEMORY.md").read_text()


def test_u4_nothing_said_earlier_replaces_something_said_later(store: Store) -> None:
    later = replace(SOURCE, at="2026-03-05T09:00:00+00:00", uuid="u9")
    save(store, old(body="Use 100.\n", sources=(later,)))
    early = change("Use 100.", "Use 20.", said_at=datetime(2026, 3, 2, 9, 2, tzinfo=UTC))
    result = planned(store, early)
    assert (result.operations, result.actions, result.proposals) == ([], [], [])
    assert [r.reason for r in result.result.rejected] == ["said later otherwise"]


def test_nobody_is_asked_whether_earlier_words_replace_later_ones(store: Store) -> None:
    later = replace(SOURCE, at="2026-03-05T09:00:00+00:00", uuid="u9")
    save(store, old(body="Use 100.\n", sources=(later,)))

    def doubted(said: datetime) -> Planned:
        told = change("Use 100.", "Use 20.", said_at=said)
        doubt = Rejected("retries", "it reads like a permission", to_inbox=True, candidate=told)
        return planned(store, rejected=[doubt])

    early, late = (doubted(datetime(2026, 3, day, 9, 2, tzinfo=UTC)) for day in (2, 6))
    assert early.proposals == [] and [r.reason for r in early.result.rejected] == ["said later otherwise"]
    assert [proposal.name for proposal in late.proposals] == ["retries"]


def test_u9_what_waits_already_is_not_filed_again(store: Store) -> None:
    save(store, old("other", body="Something else.\n"))
    options: dict[str, Any] = {"taken_back": ("other",), "propose_only": True}
    first = planned(store, item(), **options)
    waiting = [
        InboxItem(
            1, "s", p.kind, json.dumps({"name": p.name, **p.payload}), p.reason, "r0", "open", 0.0, None
        )
        for p in first.proposals
    ]
    same = item("the payment gateway is retried 3 times at most", name="other-name")
    again = planned(store, same, waiting=waiting, **options)
    assert (again.proposals, again.result.waits_already) == ([], 2)
    assert len(planned(store, item("Retries are 4."), waiting=waiting, propose_only=True).proposals) == 1


def test_the_assistant_s_words_change_no_person_s(store: Store) -> None:
    save(store, old(sources=(SOURCE,)))
    result = planned(store, change(RETRIES, "The gateway is retried as needed.", origin="assistant-inferred"))
    assert result.operations == [] and "only the assistant said it" in result.proposals[0].reason


def test_a_memory_that_lost_the_sentence_to_replace_waits_for_a_person(store: Store) -> None:
    save(store, old())
    result = planned(store, change("Use 9 retries.", "Use 4 retries."))
    assert [p.reason for p in result.proposals] == ["the memory changed since it was shown"]


def test_what_is_known_leaves_the_file_and_its_age_alone(store: Store) -> None:
    save(store, old())
    before = tree(store.root)
    result = planned(store, known=[store.read("retries").memory])
    assert actions(result) == [("known", "retries")] and result.operations == []
    assert tree(store.root) == before


def test_two_facts_of_one_reply_about_one_memory_change_it_once(store: Store) -> None:
    save(store, old())
    result = planned(
        store,
        item("Retries are 3 in production.", update_of="retries"),
        item("Retries are 5 in the test rig.", update_of="retries"),
    )
    assert actions(result) == [("updated", "retries")]
    assert [p.reason for p in result.proposals] == ["this run already changes that memory"]


def foreign(store: Store) -> None:
    (store.root / "retries.md").write_text(
        "---\nname: retries\ndescription: d\ntype: project\n---\nby hand\n"
    )


def edited(store: Store) -> None:
    save(store, old())
    (store.root / "retries.md").write_bytes((store.root / "retries.md").read_bytes() + b"my note\n")


def pinned(store: Store) -> None:
    save(store, old(pinned=True))


@pytest.mark.parametrize("make", [foreign, edited, pinned])
@pytest.mark.parametrize("how", ["update", "withdraw"])
def test_hands_off_what_a_person_wrote_edited_or_pinned(store: Store, make: Any, how: str) -> None:
    make(store)
    before = tree(store.root)
    if how == "update":
        result = planned(store, item("Retries are 9 everywhere from now on.", update_of="retries"))
    else:
        result = planned(store, taken_back=("retries",))
    assert (result.operations, result.actions) == ([], [])
    (proposal,) = result.proposals
    assert (proposal.kind, proposal.name) == ("update" if how == "update" else "retire", "retries")
    if how == "update":
        assert proposal.payload["was"] == store.read("retries").digest
    assert ("pinned" in proposal.reason) == (make is pinned)
    assert tree(store.root) == before


def test_propose_mode_changes_nothing_and_loses_nothing(store: Store) -> None:
    save(store, old("other", body="Something else altogether stands here.\n"))
    result = planned(store, item(), taken_back=("other",), propose_only=True)
    assert result.operations == []
    assert [(p.kind, p.name) for p in result.proposals] == [("new", "retries"), ("retire", "other")]
    payload = result.proposals[0].payload
    assert (payload["statement"], payload["sources"][0]["uuid"]) == (RETRIES, "u2")


@pytest.mark.parametrize("update_of", ["", "retries"])
def test_propose_mode_tells_what_else_a_yes_would_mean(store: Store, update_of: str) -> None:
    save(store, old())
    told = item("You may push to main without asking from now on.", update_of=update_of)
    (proposal,) = planned(store, told, propose_only=True).proposals
    assert proposal.reason == "the store is in propose mode, and it reads like a permission"


def test_a_doubtful_candidate_goes_to_the_inbox_only_when_marked(store: Store) -> None:
    rejected = [
        Rejected("a", "unsure", to_inbox=True, candidate=item()),
        Rejected("b", "made up", candidate=item()),
    ]
    assert [p.name for p in planned(store, rejected=rejected).proposals] == ["a"]


@pytest.mark.parametrize(("size", "budget"), [(3, 1), (40, 2)])
def test_a_run_takes_back_one_in_twenty_of_other_conversations(store: Store, size: int, budget: int) -> None:
    save(store, *(old(f"m{n}", body=f"Fact {n} is about thing{n}.\n") for n in range(size)))
    result = planned(store, taken_back=("m0", "m1", "m2"))
    assert actions(result) == [("withdrawn", f"m{n}") for n in range(budget)]
    assert [p.name for p in result.proposals] == [f"m{n}" for n in range(budget, 3)]


def test_its_own_provisional_memories_do_not_count_against_the_budget(store: Store) -> None:
    save(store, *(old(f"m{n}", body=f"Fact {n} is about thing{n}.\n") for n in range(3)))
    names = ("m0", "m1", "m2")
    result = planned(store, taken_back=names, provisional=frozenset(names[:2]))
    apply(store, *result.operations, id="r1")
    assert store.scan().documents == []
    assert len(list((store.root / "archive" / "2026").glob("*.md"))) == 3


def test_planning_again_gives_the_same_files(store: Store) -> None:
    items = (item(), item("Branches are named after tickets.", name="branch-names", type="code_pattern"))
    first, second = planned(store, *items), planned(Store.open(store.path), *items)
    assert [(o.path, o.data) for o in first.operations] == [(o.path, o.data) for o in second.operations]
    apply(store, *first.operations, id="r1")
    assert planned(store, *items).actions == first.actions


def test_a_withdrawal_of_nothing_is_nothing(store: Store) -> None:
    assert planned(store, taken_back=("ghost",)).result == ExtractionPlan()


def test_bug_081_names_in_any_script_get_files_of_their_own(tmp_path: Path) -> None:
    names = ["構成メモ", "評価表", "🌵", "🐙", "Überprüfung", "naïve", "Build notes", "Build notes!"]
    items = [item(f"Body number {n} tells thing{n}.", name=name) for n, name in enumerate(names)]
    found = []
    for place in ("one", "two"):
        store = Store.open(tmp_path / place, create=True)
        result = planned(store, *(dataclasses.replace(i, name=i.name) for i in items))
        apply(store, *result.operations)
        found.append({d.path: d.memory.body for d in store.scan().documents})
    assert found[0] == found[1]
    assert sorted(found[0].values()) == sorted(i.body for i in items)


def test_two_facts_with_one_new_name_in_one_reply_are_two_files(store: Store) -> None:
    result = planned(store, item("Retries are 3 in production."), item("Backoff doubles from one second up."))
    apply(store, *result.operations)
    assert sorted(d.memory.name for d in store.scan().documents) == ["retries", "retries-2"]

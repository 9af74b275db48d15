"""From screened candidates to one change set, and what is left to a person instead."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from pipeline.core.ids import derived_id
from pipeline.domain.memory import Evidence
from pipeline.extraction.schema import Withdrawal
from pipeline.extraction.screen import Rejected, Verdict
from pipeline.extraction.screened_candidate import Screened
from pipeline.extraction.write import ExtractionPlan, near_copy, plan
from pipeline.store import Store
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


def planned(store: Store, *items: Screened, taken_back: tuple[str, ...] = (), **more: Any) -> ExtractionPlan:
    withdrawals: list[Any] = [(Withdrawal(name=name, reason="over"), (SOURCE,)) for name in taken_back]
    rejected = more.pop("rejected", [])
    options: dict[str, Any] = {"run_id": "r1", "now": NOW, "provisional": frozenset()} | more
    return plan(Verdict(list(items), withdrawals, rejected), store, store.scan(), **options)


def actions(result: ExtractionPlan) -> list[tuple[str, str]]:
    return [(action.action, action.name) for action in result.actions]


def old(name: str = "retries", body: str = f"{RETRIES}\n", **more: Any) -> Any:
    return memory(name, **{"type": "project", "description": "Retries.", "body": body, **more})


def test_a_new_fact_becomes_a_file_with_its_sources(store: Store) -> None:
    result = planned(store, item())
    apply(store, *result.operations)
    kept = store.read("retries").memory
    assert actions(result) == [("created", "retries")]
    assert (kept.body, kept.origin, kept.sources) == (RETRIES + "\n", "user-stated", (SOURCE,))
    assert (kept.id, kept.created) == (derived_id("r1", "0"), NOW)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"update_of": "gateway-limit"}, "named outright"),
        ({"name": "gateway-limit"}, "same name"),
        ({"statement": "The payment gateway is retried 3 times at the most."}, "near copy"),
    ],
)
def test_a_fact_known_under_any_handle_is_updated_in_place(store: Store, changes: Any, why: str) -> None:
    save(store, old("gateway-limit"))
    result = planned(
        store, item(**{"name": "new-name", "how_to_apply": "Never raise it, not even for tests.", **changes})
    )
    apply(store, *result.operations, id="r1")
    assert actions(result) == [("updated", "gateway-limit")]
    assert [d.memory.name for d in store.scan().documents] == ["gateway-limit"]
    assert "Never raise it" in store.read("gateway-limit").memory.body


def test_an_update_keeps_what_the_memory_was_and_gathers_its_sources(store: Store) -> None:
    first = Evidence(session="a", uuid="u0", quote="retries at 4 please", at="2026-03-01T09:00:00+00:00")
    before = old(sources=(first,), tags=("old",), importance=0.9, origin="user-stated", anchors=("a.py",))
    save(store, before)
    later = item("Retries are 3 in production and 5 in tests.", origin="user-confirmed", anchors=("b.py",))
    apply(store, *planned(store, later).operations, id="r1")
    kept = store.read("retries").memory
    assert (kept.id, kept.created, kept.type) == (before.id, before.created, "project")
    assert (kept.importance, kept.origin) == (0.9, "user-stated")
    assert kept.sources == (SOURCE, first)
    assert (kept.tags, kept.anchors) == (("api", "old"), ("b.py", "a.py"))


def test_a_repetition_leaves_the_file_and_its_age_alone(store: Store) -> None:
    save(store, old())
    before = tree(store.root)
    result = planned(store, item("At most 3 times is the payment gateway retried."))
    assert actions(result) == [("known", "retries")] and result.operations == []
    assert tree(store.root) == before


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (RETRIES, RETRIES.lower(), True),
        (RETRIES, "The payment gateway is retried 4 times at most.", False),
        (RETRIES, "The search gateway holds 3 replicas in each region.", False),
        ("Port is 8443.", "Port is 8443.", False),
        ("数据库连接池上限是五十个连接", "数据库连接池上限是五十个连接", True),
        ("배포는 매주 금요일 오후에 한다", "배포는 매주 금요일 오후에 한다.", True),
        ("ເຊີບເວີຣັນຢູ່ພອດ ແລະບັນທຶກທຸກຄັ້ງ", "ເຊີບເວີຣັນຢູ່ພອດ ແລະບັນທຶກທຸກຄັ້ງ!", True),
    ],
)
def test_what_counts_as_a_near_copy(store: Store, one: str, other: str, same: bool) -> None:
    save(store, old(body=one + "\n\n**Why:** because of reasons nobody repeats\n"))
    assert (near_copy(other, store.scan().documents) is not None) is same


def test_two_facts_of_one_reply_about_one_memory_change_it_once(store: Store) -> None:
    save(store, old())
    result = planned(
        store,
        item("Retries are 3 in production."),
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
        result = planned(store, item("Retries are 9 everywhere from now on."))
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
    again = planned(store, *items)
    assert again.operations == [] and again.actions == first.actions


def test_a_withdrawal_of_nothing_is_nothing(store: Store) -> None:
    assert planned(store, taken_back=("ghost",)) == ExtractionPlan()


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

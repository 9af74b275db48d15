"""Operations as JSON, and what is known of them."""

import json

import pytest

from pipeline.domain.action import DreamAction, MemoryAction, RunSummary
from pipeline.domain.memory import Untouchable, why_untouchable
from pipeline.domain.operations import OPS, Cover, Operation, Refused, is_of_earlier_version, is_op

WHOLE = Operation(
    op="merge", ids=("a", "b"), into="a", covered=(Cover("b", 2, "a", 1),), until="2026-05-20", name="n",
    title="t", description="d", statement="s", relation="SOLVES", strength=0.3, reason="r",
)  # fmt: skip


@pytest.mark.parametrize("operation", [WHOLE, Operation("retire"), Operation("fly", ids=("a",))])
def test_an_operation_comes_back_from_json_as_it_was(operation: Operation) -> None:
    values = json.loads(json.dumps(operation.to_json()))
    assert Operation.from_json(values) == operation
    assert not is_of_earlier_version(values)


@pytest.mark.parametrize("change", [{"ids": None}, {"covered": [["alone"]]}, {"covered": [{"id": "a"}]}])
def test_what_is_no_operation_is_an_error(change: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Operation.from_json({**WHOLE.to_json(), **change})


def test_an_operation_of_an_earlier_version_is_read_without_what_only_that_one_knew() -> None:
    older = {"op": "rewrite", "ids": ["a"], "into": "", "why": "w", "dropped": [["8443", "closed"]]}
    assert is_of_earlier_version(older)
    assert Operation.from_json(older) == Operation("rewrite", ids=("a",))


def test_an_operation_is_about_the_memories_of_its_sentences_too() -> None:
    strike = Operation("strike", ids=("a",), covered=(Cover("a", 1, "b", 2),))
    assert (strike.about, strike.written, strike.leaving) == ({"a", "b"}, ("a",), ())


def test_only_what_has_a_rule_is_an_operation() -> None:
    assert all(map(is_op, OPS)) and not is_op("fly")


def test_a_refusal_is_put_to_a_person_only_when_it_says_so() -> None:
    refused = Refused(WHOLE, "no")
    assert (refused.to_inbox, refused.later) == (False, False)


def test_a_pin_stands_before_authorship_and_reads_as_a_clause() -> None:
    assert why_untouchable(pinned=True, ours=False) is Untouchable.PINNED
    assert why_untouchable(pinned=False, ours=True) is None
    reason = why_untouchable(pinned=False, ours=False)
    assert reason is not None
    assert reason.clause_about("the memory") == "the memory was written or edited by someone else"


def test_a_run_s_summary_comes_back_from_json_as_it_was() -> None:
    summary = RunSummary(
        "why",
        (
            MemoryAction("created", "a", "1", "a.md"),
            DreamAction("merge", ("a", "b"), "a", "r", (("8", "x"),), ("that it is so",)),
        ),
        ({"name": "b", "reason": "no"},),
        ({"op": "retire"},),
    )
    assert RunSummary.from_json(json.loads(json.dumps(summary.to_json()))) == summary
    assert summary.memory_ids == ("1",)


def test_an_older_summary_that_holds_only_some_of_it_is_read() -> None:
    older = {"actions": [{"action": "known", "name": "a", "id": "1"}, {"op": "retire"}, 5]}
    assert RunSummary.from_json(older).actions == (MemoryAction("known", "a", "1"), DreamAction("retire"))
    assert RunSummary.from_json({}) == RunSummary()

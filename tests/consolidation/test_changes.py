"""What each operation of a dream does to the files, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.consolidation.commit import changes
from pipeline.core.errors import ConflictError, StoreError
from pipeline.domain.memory import Untouchable
from pipeline.domain.operations import OPS, Cover, Operation
from pipeline.ledger import runs
from pipeline.store import Applied, ChangeSet, Store
from pipeline.store.ownership.permission import may_change
from tests.support.dreaming import NOW, Dreaming, note, op, planned
from tests.support.stores import tree

ONE = note("one", "The mailer listens on port 8025 in the lab. The lab is open.", title="The mailer")
TWO = note("two", "The lab is shut in August.", "2026-03-02")


def plan(bench: Dreaming, *operations: Operation, **more: Any) -> changes.Planned:
    store = bench.store
    return changes.plan(operations, store, store.scan(), run_id="r", now=NOW, **more)


def relate(bench: Dreaming) -> list[str]:
    """Relate the first to the second; return the paths that were written."""
    link = Operation("relate", ids=(ONE.id, TWO.id), relation="REQUIRES", strength=0.7, reason="a lab")
    return plan(bench, link).door.write("relate", "test").paths


def test_a_relation_stands_in_both_files(bench: Dreaming) -> None:
    bench.keep(ONE, TWO)
    relate(bench)
    (out,) = bench.documents()["one"].memory.relations
    (back,) = bench.documents()["two"].memory.relations
    assert (out["target"], out["direction"], out["type"]) == (TWO.id, "outgoing", "REQUIRES")
    assert (back["target"], back["direction"], back["type"]) == (ONE.id, "incoming", "REQUIRES")


@pytest.mark.parametrize("whose", ["edited", "pinned"])
def test_a_relation_s_other_end_is_not_written_where_code_may_not(bench: Dreaming, whose: str) -> None:
    bench.keep(ONE, note("two", "The lab is shut in August.", "2026-03-02", pinned=whose == "pinned"))
    if whose == "edited":
        bench.edit("two")
    before = bench.documents()["two"].raw
    assert "one.md" in relate(bench)
    assert bench.documents()["two"].raw == before


def test_every_operation_there_is_has_a_rule(bench: Dreaming) -> None:
    bench.keep(ONE, TWO)
    for name in OPS:
        ids = (ONE.id,) if name in ("strike", "retire", "promote") else (ONE.id, TWO.id)
        operation = Operation(
            name,
            ids=ids,
            into=TWO.id if name == "supersede" else ONE.id,
            relation="REQUIRES",
            statement="S.",
            description="D.",
            covered=(Cover(ONE.id, 2, TWO.id, 1),) if name == "strike" else (),
        )
        planned = plan(bench, operation)
        assert ([action.op for action in planned.actions], planned.refused) == ([name], [])
        bench.store.drop_plans()
    with pytest.raises(StoreError, match="no operation 'fly'"):
        plan(bench, Operation("fly", ids=(ONE.id,)))


def test_two_relations_of_one_memory_stand_in_its_file_together(bench: Dreaming) -> None:
    three = note("three", "The mailer is old.", "2026-03-03")
    bench.keep(ONE, TWO, three)
    links = [Operation("relate", ids=(other.id, ONE.id), relation="REQUIRES") for other in (TWO, three)]
    merge = Operation("merge", ids=(ONE.id, three.id), into=ONE.id)
    plan(bench, *links).door.write("links", "test")
    assert {link["target"] for link in bench.documents()["one"].memory.relations} == {TWO.id, three.id}
    plan(bench, Operation("relate", ids=(TWO.id, ONE.id), relation="SOLVES"), merge).door.write(
        "more", "test"
    )
    merged = bench.documents()["one"].memory
    assert {link["type"] for link in merged.relations} == {"REQUIRES", "SOLVES"}
    assert "The mailer is old." in merged.body


def test_whose_file_it_is_is_asked_in_one_place(bench: Dreaming) -> None:
    bench.keep(ONE, TWO, note("three", "Pinned it is.", pinned=True), note("four", "By hand.", None))
    bench.edit("two")
    (bench.store.root / "five.md").write_text("---\nname: five\ndescription: d\n---\nforeign\n", "utf-8")
    bench.keep(note("six", "Said by hand.", origin="hand-written"))
    found = {name: may_change(document, bench.store) for name, document in bench.documents().items()}
    assert found == {
        "one": None,
        "two": Untouchable.NOT_OURS,
        "three": Untouchable.PINNED,
        "four": None,
        "five": Untouchable.NOT_OURS,
        "six": Untouchable.NOT_OURS,
    }


def test_an_answer_that_was_used_is_closed_and_its_group_asked_anew(bench: Dreaming) -> None:
    bench.keep(ONE, TWO)
    assert bench.dream().word == "nothing" and len(bench.provider.history) == 1
    groups = [run for run in runs.list_runs(bench.ledger) if run.kind == "dream_group"]
    assert [run.outcome for run in groups] == ["nothing"]
    bench.ledger.execute("DELETE FROM dream_seen")
    bench.dream()
    assert len(bench.provider.history) == 2, "the same group with the same texts is a new question"


class Contested(Store):
    """A store in which somebody is always faster."""

    tries = 0

    def apply(self, change: ChangeSet, *, generation: bool = False) -> Applied:
        self.tries += 1
        raise ConflictError("changed again")


def test_after_four_conflicts_a_dream_gives_up_and_has_done_nothing(bench: Dreaming) -> None:
    bench.keep(ONE, TWO)
    bench.set(retire_share=1.0)
    path: Path = bench.store.path
    before = tree(path)
    bench.store = store = Contested.open(path)
    bench.model(planned(op("relate", "one", "two", relation="REQUIRES")))
    report = bench.dream()
    assert (report.word, report.actions, store.tries) == ("failed", [], 4)  # type: ignore[attr-defined]
    assert [run.outcome for run in runs.list_runs(bench.ledger) if run.kind == "dream"] == ["failed:plan"]
    assert tree(path) == before

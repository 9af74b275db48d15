"""Every miss is told by name: the fact, what came nearest, what that lacks, and what became of it."""

from __future__ import annotations

from typing import Any

from pipeline.domain.memory import Memory
from pipeline.evaluation.reading import Reading
from pipeline.evaluation.report import misses
from pipeline.evaluation.scoring import score
from pipeline.extraction.outcome import Outcome
from tests.support.eval_suite import gold


def memory(name: str, body: str) -> Memory:
    return Memory(name, "", "project", body)


def told(written: list[Memory], *turned_down: tuple[Memory, str]) -> list[str]:
    rows: Any = [{"name": item.name, "reason": reason, "check": ""} for item, reason in turned_down]
    outcomes = [Outcome("r", "applied", rejected=tuple(rows))]
    reading = Reading(written, outcomes, [*written, *(item for item, _ in turned_down)])
    return list(misses(score(reading, gold(["u1", "u2"]))))


BOTH = [
    memory("retries", "Retries stay at 3, since the gateway bans us at 5."),
    memory("database", "Tests run on Postgres, never SQLite, for the jsonb columns."),
]


def test_of_a_list_that_is_kept_whole_nothing_is_told() -> None:
    assert told(BOTH) == []


def test_the_nearest_memory_is_named_with_what_it_lacks() -> None:
    assert told([BOTH[0], memory("tests", "Tests run on Postgres.")]) == [
        "shop: m2 missed: Tests run on Postgres 16, not SQLite. Reason: jsonb columns.",
        "  nearest: tests (written): Tests run on Postgres.",
        "  lacks: “sqlite”",
    ]


def test_a_candidate_that_was_turned_down_may_be_the_nearest() -> None:
    assert told([BOTH[1]], (BOTH[0], "cites nothing new")) == [
        "shop: m1 missed: Retries stay at 3. Reason: the gateway bans at 5.",
        f"  nearest: retries (turned down: cites nothing new): {BOTH[0].body}",
    ]


def test_a_fact_without_its_reason_is_told_as_that() -> None:
    assert told([BOTH[0], memory("tests", "Tests run on Postgres, not on SQLite.")]) == [
        "shop: m2 kept without its reason: Tests run on Postgres 16, not SQLite. Reason: jsonb columns.",
        "  nearest: tests (written): Tests run on Postgres, not on SQLite.",
        "  lacks: “jsonb”",
    ]


def test_where_nothing_is_near_that_is_said_with_all_that_is_wanted() -> None:
    assert told([BOTH[1]]) == [
        "shop: m1 missed: Retries stay at 3. Reason: the gateway bans at 5.",
        "  nothing came near it",
        "  lacks: “retr”",
        "  lacks: “re:\\b3\\b” or “three”",
    ]

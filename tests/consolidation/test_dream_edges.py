"""Edges that a dream adds by rule, where the settings ask for some, and what it never retires."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pipeline.consolidation.propose.edges import MOST_HOLDERS, propose
from pipeline.domain.memory import Memory
from pipeline.store.graph import edge_files
from tests.support.dreaming import Dreaming, note

DROPS = note("redis-drops", "Redis drops idle connections under load.", type="problem", tags=("redis", "net"))
FIXED = note(
    "redis-keepalive", "Redis keeps idle connections by keepalive.", "2026-03-02", type="fix",
    tags=("redis", "net"), anchors=("src/redis.py",),
)  # fmt: skip
OTHER = note("tea-break", "Tea is at four in the small kitchen.")


def test_a_fix_and_its_problem_are_proposed_as_such() -> None:
    (pair,) = propose([OTHER, DROPS, FIXED])
    assert (pair.from_id, pair.relation, pair.to_id) == (FIXED.id, "SOLVES", DROPS.id)
    assert pair.shared == ("net", "redis") and 0.25 < pair.score <= 1
    assert propose([DROPS, FIXED], [frozenset((DROPS.id, FIXED.id))]) == []


def test_what_many_share_tells_nothing() -> None:
    many = [
        note(f"note-{number}", f"Thing{number} is number{number}.", tags=("all",))
        for number in range(MOST_HOLDERS + 1)
    ]
    assert propose(many) == []


def test_no_memory_is_in_more_than_three_pairs() -> None:
    alike = [replace(DROPS, id=f"{number}", name=f"n{number}") for number in range(8)]
    pairs = propose(alike)
    counts = [sum(memory.id in (pair.from_id, pair.to_id) for pair in pairs) for memory in alike]
    assert pairs and max(counts) == 3


@pytest.mark.parametrize(("most", "made"), [(0, 0), (1, 1)])
def test_a_dream_adds_as_many_as_the_settings_allow(bench: Dreaming, most: int, made: int) -> None:
    bench.set(edges=most)
    bench.keep(DROPS, FIXED)
    bench.dream()
    found = edge_files.all_edges(bench.store.root).edges
    assert [(edge.from_id, edge.type, edge.to_id) for edge in found] == [
        (FIXED.id, "SOLVES", DROPS.id)
    ] * made
    ends = [link["edge_id"] for name in bench.names() for link in bench.documents()[name].memory.relations]
    assert ends == [edge.id for edge in found for _ in range(2)]
    asked = [memory.body for memory in (DROPS, FIXED) if isinstance(memory, Memory)]
    assert asked == [bench.body(DROPS.name), bench.body(FIXED.name)]

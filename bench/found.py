"""What `reverie search` finds: ``python -m bench.found``.

Two sets: the prompts of fixtures/recall to which something belongs, asked of their project's memories and
those for all projects, and the questions of fixtures/hops that need two memories, of which one leads to the
other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.recall_cases import HALVES, load, names
from pipeline.search import MemoryRow, RowSearch

HOPS = Path(__file__).resolve().parent.parent / "fixtures" / "hops"
DEPTHS = (1, 5, 10)
WAYS = ((5, 0), (8, 0), (5, 3), (10, 0), (13, 0), (10, 3))
"""How many direct hits are looked at, and how many by way of them."""


def of_prompts(half: str) -> list[float]:
    """Return the mean share of what belongs to a prompt among the first hits, for each of `DEPTHS`."""
    sums = [0.0] * len(DEPTHS)
    asked = 0
    for project in map(load, names()):
        if project["half"] != half:
            continue
        with searched([*project["memories"], *project["user_memories"]]) as rows:
            for case in project["prompts"]:
                needed = set(case["relevant"])
                if not needed:
                    continue
                got = rows.search(case["prompt"], max(DEPTHS))
                asked += 1
                sums = [
                    total + len(needed.intersection(got[:depth])) / len(needed)
                    for total, depth in zip(sums, DEPTHS, strict=True)
                ]
    return [total / asked for total in sums]


def of_two_hops(limit: int, further: int) -> tuple[int, int, int]:
    """Return how many memories are shown, how many of these are needed, and how many questions get both."""
    shown = found = whole = 0
    for file in sorted(HOPS.glob("*.json")):
        project = json.loads(file.read_text("utf-8"))
        with searched(project["memories"]) as rows:
            for question in project["questions"]:
                needed = set(question["needs"])
                got = rows.search(question["question"], limit, further=further)
                here = len(needed.intersection(got))
                shown, found, whole = shown + len(got), found + here, whole + (here == len(needed))
    return shown, found, whole


@contextmanager
def searched(memories: Sequence[dict[str, Any]]) -> Iterator[RowSearch]:
    """Yield a search over `memories` as the fixtures have them."""
    made = [
        MemoryRow(
            row["name"],
            row["name"],
            row["description"],
            row["body"],
            cues=row.get("cues", ()),
            type=row["type"],
            tags=row.get("tags", ()),
        )
        for row in memories
    ]
    with RowSearch(made) as rows:
        yield rows


def table() -> Iterator[str]:
    """Yield the lines of both tables."""
    yield "| the prompts of fixtures/recall | " + " | ".join(f"found@{depth}" for depth in DEPTHS) + " |"
    yield "| --- |" + " ---: |" * len(DEPTHS)
    for half in HALVES:
        yield f"| {half} | " + " | ".join(f"{share:.2f}" for share in of_prompts(half)) + " |"
    yield ""
    yield "| 20 questions that need two memories | shown | needed, of 40 | questions with both |"
    yield "| --- | ---: | ---: | ---: |"
    for limit, further in WAYS:
        by_way = f", {further} by way of them" if further else ""
        shown, found, whole = of_two_hops(limit, further)
        yield f"| {limit} hits{by_way} | {shown} | {found} | {whole} |"


if __name__ == "__main__":
    print("\n".join(table()))

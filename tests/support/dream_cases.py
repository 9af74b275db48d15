"""Stores for the dream's tests, built from ``fixtures/dream/*.json``.

Run as a script it lays one case out as a folder, which is how its replies were recorded:

    python tests/support/dream_cases.py CASE DIR
    REVERIE_NOW=… reverie consolidate --store DIR --force --llm record:fixtures/dream/cassettes/CASE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.core.ids import derived_id
from pipeline.domain.memory import Evidence, Memory
from pipeline.store import ChangeSet, Store

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "dream"
CASES = sorted(path.stem for path in FIXTURES.glob("*.json"))


def load(case: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FIXTURES / f"{case}.json").read_text("utf-8"))
    return loaded


def memory_of(row: dict[str, Any]) -> Memory:
    sources = tuple(Evidence(**source) for source in row["sources"])
    said = max((at for source in sources if (at := parse_time(source.at))), default=None)
    return Memory(
        name=row["name"], description=row["description"], type=row["type"], body=row["body"],
        id=derived_id("dream case", row["name"]), title=row["title"], tags=tuple(row["tags"]),
        importance=row["importance"], confidence=row["confidence"], created=said, updated=said,
        origin=row["origin"], sources=sources, anchors=tuple(row["anchors"]),
    )  # fmt: skip


def lay_out(case: str, place: Path) -> Store:
    store = Store.open(place, create=True)
    puts = [store.put(memory_of(row)) for row in load(case)["memories"]]
    store.apply(ChangeSet(id=f"case-{case}", reason="fixture", operations=puts))
    return store


if __name__ == "__main__":
    lay_out(sys.argv[1], Path(sys.argv[2]))

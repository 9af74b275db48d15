"""Stores of paired memories for the dream, built from ``fixtures/pairs/*.jsonl``.

Each of the 20 stores mixes ten pairs that say the same, four that complete each other and two of which the
later replaces the earlier. Whoever wrote the pairs did not see the prompts; the stores from `HELD` on were
not looked at while the prompts were written. Run as a script it lays one store out as a folder:

    python tests/support/pair_cases.py NUMBER DIR
    REVERIE_NOW=2026-11-28T03:00:00+00:00 REVERIE_HOME=… REVERIE_DREAM__MAX_CLUSTER=40 \
    reverie consolidate --store DIR --force --llm record:fixtures/pairs/cassettes/NUMBER
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.core.clock import parse_time
from pipeline.core.ids import derived_id
from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Memory
from pipeline.store import ChangeSet, Store

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "pairs"
SIZES = {"same": 10, "beside": 4, "replaced": 2}
STORES = 20
HELD = 10
"""The first store that was held back; 0 to 9 may be looked at while a prompt is written."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories and how they stand to each other: ``same``, ``beside``, ``replaced`` (b is the later)."""

    id: str
    kind: str
    lang: str
    a: Memory
    b: Memory


def pairs(number: int) -> list[Pair]:
    """Return the pairs of store `number`."""
    return [
        pair
        for kind, size in SIZES.items()
        for pair in list(_read(kind))[number * size : (number + 1) * size]
    ]


def lay_out(number: int, folder: Path) -> Store:
    """Make the store `number` at `folder`, its memories in no telling order."""
    memories = [memory for pair in pairs(number) for memory in (pair.a, pair.b)]
    random.Random(number).shuffle(memories)
    store = Store.open(folder, create=True)
    puts = [store.put(memory) for memory in memories]
    store.apply(ChangeSet(id=f"pairs-{number}", reason="fixture", operations=puts))
    return store


def _read(kind: str) -> Iterator[Pair]:
    for line in _spread((FIXTURES / f"{kind}.jsonl").read_text("utf-8").splitlines()):
        row = json.loads(line)
        yield Pair(row["id"], kind, row["lang"], _memory(row["a"]), _memory(row["b"]))


def _spread(lines: list[str]) -> list[str]:
    """Return `lines` so mixed that every store gets several languages, always in the same way."""
    mixed = list(lines)
    random.Random(7).shuffle(mixed)
    return mixed


def _memory(row: dict[str, Any]) -> Memory:
    at = f"{row['day']}T10:00:00+00:00"
    source = Evidence(
        session=f"s-{row['name']}"[:60], uuid=f"u-{row['name']}", quote=row["quote"][:200], at=at
    )
    return Memory(
        name=row["name"], description=row["description"], type=row["type"],
        body=Body(row["statement"], row["why"], row["how"]).render(), id=derived_id("pair", row["name"]),
        created=parse_time(at), updated=parse_time(at), origin="user-stated", sources=(source,),
    )  # fmt: skip


if __name__ == "__main__":
    lay_out(int(sys.argv[1]), Path(sys.argv[2]))

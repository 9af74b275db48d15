"""A store of many memories: everything derived made anew, and one memory more."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from bench.material import TYPES, prose
from bench.measure import Ratio, compare
from pipeline.core import jsonl
from pipeline.core.ids import derived_id, digest
from pipeline.domain.memory import Evidence, Memory
from pipeline.hooklib.ownership import WRITTEN
from pipeline.search.refresh import refresh_index
from pipeline.store import ChangeSet, Store
from pipeline.store.files import document

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
DERIVED = (
    "_index.json",
    "MEMORY.md",
    "MEMORY-more.md",
    "CORE.md",
    ".reverie/index-lines",
    ".reverie/catalogue.sqlite",
)


def memory_of(number: int, chance: random.Random) -> Memory:
    """Return one memory of a size real ones have."""
    made = NOW - timedelta(days=chance.randrange(400))
    return Memory(
        name=f"{prose(chance, 20).replace(' ', '-')[:40]}-{number}",
        description=prose(chance, 90),
        type=TYPES[number % len(TYPES)],
        body=prose(chance, 500),
        id=derived_id("bench", str(number)),
        tags=("bench", "parser"),
        created=made,
        updated=made,
        sources=(
            Evidence(
                session=derived_id("s", str(number)), uuid=derived_id("u", str(number)), quote="it stays"
            ),
        ),
    )


def fill(folder: Path, count: int) -> Path:
    """Write `count` memories as files, not by the store, which would take minutes; return its path.

    They are Reverie's own, as nearly all are: what it notes of each stands beside them.
    """
    chance = random.Random(count)
    store = folder / f"store-{count}"
    store.mkdir()
    written = []
    for number in range(count):
        memory = memory_of(number, chance)
        raw = document.compose(memory)
        (store / f"{memory.name}.md").write_bytes(raw)
        written.append((f"{memory.name}.md", digest(raw)))
    jsonl.append(store / WRITTEN, written)
    return store


def rebuild(folder: Path, rounds: int, count: int = 10_000) -> Ratio:
    """All derived files of 10,000 memories from nothing, against reading and loading their front matter."""
    store = fill(folder, count)

    def forget() -> None:
        for name in DERIVED:
            (store / name).unlink(missing_ok=True)

    return compare(lambda: Store.open(store).reindex(now=NOW), lambda: _load(store), rounds, before=forget)


def rebuild_again(folder: Path, rounds: int, count: int = 10_000) -> Ratio:
    """The same with nothing changed since, against reading and loading all front matter."""
    store = fill(folder, count)
    Store.open(store).reindex(now=NOW)
    return compare(lambda: Store.open(store).reindex(now=NOW), lambda: _load(store), rounds)


def index_anew(folder: Path, rounds: int, count: int = 10_000) -> Ratio:
    """The search index of 10,000 memories from nothing, against reading and loading their front matter."""
    place = fill(folder, count)
    store = Store.open(place)
    store.reindex(now=NOW)
    return compare(lambda: refresh_index(folder, store, NOW, rebuild=True), lambda: _load(place), rounds)


def _load(store: Path) -> None:
    """Read every memory of `store` and load its front matter."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in store.glob("*.md"):
        front = path.read_bytes().split(b"---\n", 2)
        if len(front) == 3 and not front[0]:
            yaml.load(front[1], Loader=loader)


def one_more(
    folder: Path, rounds: int, many: int = 10_000, few: int = 100, *, to_the_end: bool = False
) -> Ratio:
    """One memory written into 10,000 by a process that opens the store for it, against into 100.

    `to_the_end` with what a pass writes once at its end: the overflow page, the mirror for other programs.
    """
    places = [fill(folder, count) for count in (many, few)]
    for place in places:
        Store.open(place).reindex(now=NOW)
    chance = random.Random(1)
    numbers = iter(range(1_000_000, 2_000_000))

    def write(place: Path) -> None:
        store = Store.open(place)
        number = next(numbers)
        plan = store.put(memory_of(number, chance))
        store.apply(ChangeSet(f"bench-{number}", "bench", [plan]), generation=True)
        if to_the_end:
            store.reindex(now=NOW)

    return compare(lambda: write(places[0]), lambda: write(places[1]), rounds * 3)

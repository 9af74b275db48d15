"""A store of mixed memories: every type, ours and schema v3's, with relations, edges, aliases and a diary."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson

from pipeline.core.clock import iso
from pipeline.core.ids import derived_id
from pipeline.domain.memory import TYPES, Memory
from pipeline.store import ChangeSet, Episode, Store
from tests.support.extraction import NOW

LABELS = ("SOLVES", "REQUIRES", "RELATED_TO", "SUPERSEDED_BY_MOON")
"""Two of the seed's, one that means little, and one that nobody knows."""


def mixed_store(place: Path, number: int) -> Store:
    """Make a store of `number` memories at `place`: half written by Reverie, half as the seed writes them."""
    store = Store.open(place, create=True)
    ours = number // 2
    store.apply(ChangeSet("fill", "fill", [store.put(_ours(at)) for at in range(ours)]))
    seeds = [_seeds(place, at) for at in range(number - ours)]
    for at in range(0, len(seeds) - 1, 7):
        _edge(place, seeds[at], seeds[at + 1], LABELS[at % len(LABELS)])
    documents = store.scan().documents
    entries = [
        Episode.about(document.memory, document.path, NOW - timedelta(days=at % 3))
        for at, document in enumerate(documents[::9])
    ]
    for day in sorted({entry.day for entry in entries}):
        page = store.append_episodes([entry for entry in entries if entry.day == day])
        assert page is not None
        store.apply(ChangeSet(f"diary-{day}", "diary", [page]))
    used = {
        document.id: {"access_count": at % 5 + 1, "last_accessed": iso(NOW - timedelta(hours=at))}
        for at, document in enumerate(documents[::4])
        if document.own_id
    }
    (place / "_state.json").write_bytes(orjson.dumps({"version": 1, "updated": iso(NOW), "entries": used}))
    return store


def _ours(at: int) -> Memory:
    kind = list(TYPES)[at % len(TYPES)]
    more: dict[str, Any] = {}
    if kind == "procedure":
        more = {"steps": (f"Build part {at}", "Ship it"), "preconditions": ("The board is clear",)}
    if kind == "task":
        more = {"status": "open", "blockers": (f"part {at}",)}
    return Memory(
        name=f"part-{at}-of-the-{kind.replace('_', '-')}",
        title=f"Part {at} of the {kind}",
        description=f"Part {at} was built from oak.",
        type=kind,
        body=f"Part {at} was built from oak in shed {at % 11}.\n",
        id=derived_id("ours", str(at)),
        tags=("oak", f"shed-{at % 11}", kind),
        created=NOW - timedelta(days=at % 90),
        updated=NOW - timedelta(days=at % 90),
        importance=round(0.3 + at % 7 / 10, 2),
        origin="user-stated",
        aliases=(f"piece-{at}",) if at % 13 == 0 else (),
        pinned=at % 17 == 0,
        relations=(
            {"target": derived_id("seed", str(at)), "type": "REQUIRES", "direction": "outgoing"},
        )
        if at % 5 == 0
        else (),
        extra={"shelf": f"unknown key {at}"} if at % 6 == 0 else {},
        **more,
    )  # fmt: skip


def _seeds(place: Path, at: int) -> tuple[str, str]:
    graph = [row for row in TYPES.values() if row.is_graph]
    row = graph[at % len(graph)]
    memory_id, title = derived_id("seed", str(at)), f"Seed {at} grew in bed {at % 9}"
    slug = f"seed-{at}-grew-in-bed-{at % 9}"
    lines = [f"id: {memory_id}", f"type: {row.name}", f'title: "{title}"', f"tags: [garden, bed-{at % 9}]"]
    lines += [f"importance: 0.{at % 9 + 1}", "confidence: 0.8", "moon_phase: waxing # nobody knows it"]
    if row.name == "procedure":
        lines += ["steps:", '  - "Dig"', '  - "Sow"', "postconditions:", '  - "It is sown"']
    if at % 19 == 3:
        lines.remove(f"id: {memory_id}")
    lines += [
        "created: 2026-01-06T16:25:58+00:00",
        'updated: "2026-01-06T16:25:58.123456+00:00"',
        "relations:",
    ]
    lines += [f"  - target: {derived_id('seed', str(at + 1))}", f"    type: {LABELS[at % len(LABELS)]}"]
    lines += ["    direction: outgoing", "    strength: 0.8", f'    context: "Row {at}"']
    end = "\r\n" if at % 23 == 5 else "\n"
    text = end.join(["---", *lines, "---", "", f"Seed {at} came up after the rain.", ""])
    folder = "vault" if at % 29 == 7 else "graph/odd-kinds" if at % 31 == 4 else row.folder
    file = place / folder / f"{slug}-{memory_id[:6]}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return memory_id, slug


def _edge(place: Path, start: tuple[str, str], end: tuple[str, str], label: str) -> None:
    edge_id = derived_id("edge", *start, *end)
    lines = [f"id: {edge_id}", f"type: {label}", f"from_id: {start[0]}", f'from_title: "{start[1]}"']
    lines += [f"to_id: {end[0]}", f'to_title: "{end[1]}"', "strength: 0.8", "weight_of_snow: 3"]
    file = place / "graph/edges" / f"{start[1]}--{label}--{end[1]}-{edge_id[:6]}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(["---", *lines, "---", "", "They stand in one bed.", ""]), "utf-8")

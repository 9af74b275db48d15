"""A store of many memories and three times as many edges, the same in each run."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bench.growth import Desk
from bench.material import prose
from bench.process import spend
from bench.store import NOW, memory_of
from pipeline.core.clock import iso
from pipeline.core.ids import digest
from pipeline.domain.memory import TYPES, Memory
from pipeline.domain.operations import RELATIONS
from pipeline.store import Episode, Store
from pipeline.store.files import document
from pipeline.store.graph import edge_file
from pipeline.store.graph.edge_file import Edge, edge_id_of
from pipeline.store.graph.relations import INCOMING, OUTGOING, link_to
from pipeline.store.ownership.written_log import WrittenLog

EDGES_EACH = 3
GUESSED, GUESSED_FOLDER = "insight", "insights"
"""Of this type are the memories that the assistant alone drew."""
_TAGS = ("parser", "deploy", "docker", "redis", "board", "timeout", "login", "cache", "release", "mail")
_PAGES, _ENTRIES = 20, 10
"""Days of the diary, and entries of each."""


def memories(count: int, chance: random.Random) -> list[Memory]:
    """Return `count` memories of all types, without relations."""
    kinds = list(TYPES)
    made = []
    for number in range(count):
        kind, plain = kinds[number % len(kinds)], memory_of(number, chance)
        made.append(
            replace(
                plain,
                type=kind,
                title=prose(chance, 30).capitalize(),
                tags=tuple(chance.sample(_TAGS, 3)),
                importance=chance.randrange(2, 10) / 10,
                steps=("Run the tests", "Ship it") if kind == "procedure" else (),
                origin="assistant-inferred" if kind == GUESSED else plain.origin,
                sources=() if kind == GUESSED else plain.sources,
            )
        )
    return made


def edges(found: Sequence[Memory], chance: random.Random) -> list[Edge]:
    """Return edges among `found`, as many for each: near ones mostly, as memories of one matter are."""
    made: dict[str, Edge] = {}
    while len(made) < EDGES_EACH * len(found):
        number = len(made) // EDGES_EACH
        other = (number + int(chance.expovariate(1 / 30)) + 1) % len(found)
        if other == number:
            continue
        source, target = found[number], found[other]
        kind, at = chance.choice(RELATIONS), iso(NOW - timedelta(days=chance.randrange(300)))
        ident = edge_id_of(source.id, target.id, kind)
        more = {"description": prose(chance, 80), "created": at, "updated": at}
        strength = chance.randrange(3, 10) / 10
        made[ident] = Edge(ident, kind, source.id, target.id, source.title, target.title, strength, **more)
    return list(made.values())


def lay_out(place: Path, count: int, *, derived: bool = True) -> Desk:
    """Write such a store for a project at `place`, Reverie's own; with `derived` all that is made of it."""
    desk, chance = Desk(place), random.Random(count)
    desk.project.mkdir(parents=True)
    desk.home.mkdir(parents=True)
    (desk.home / "config.toml").write_text('[model]\nprovider = "offline"\n', "utf-8")
    (desk.store / ".reverie").mkdir(parents=True)
    found = memories(count, chance)
    links: dict[str, list[dict[str, object]]] = {}
    (desk.store / "graph" / "edges").mkdir(parents=True)
    for edge in edges(found, chance):
        (desk.store / edge_file.path_of(edge)).write_bytes(edge_file.compose(edge))
        for own, far, way in ((edge.from_id, edge.to_id, OUTGOING), (edge.to_id, edge.from_id, INCOMING)):
            link = link_to(far, edge.type, way, strength=edge.strength, edge_id=edge.id)
            links.setdefault(own, []).append(link)
    written = []
    for memory in found:
        raw = document.compose(replace(memory, relations=tuple(links.get(memory.id, ()))))
        path = f"{memory.type_row.folder}/{memory.name}.md".lstrip("/")
        (desk.store / path).parent.mkdir(parents=True, exist_ok=True)
        (desk.store / path).write_bytes(raw)
        written.append((path, digest(raw)))
    WrittenLog(desk.store).append(written)
    _diary(desk.store, found)
    if derived:
        spend(desk.command("reindex"))
    return desk


def _diary(place: Path, found: Sequence[Memory]) -> None:
    store = Store.open(place)
    for day in range(_PAGES):
        some = found[day * _ENTRIES : (day + 1) * _ENTRIES]
        at = NOW - timedelta(days=day)
        page = store.append_episodes([Episode.about(memory, f"{memory.name}.md", at) for memory in some])
        if page is not None:
            (place / page.path).parent.mkdir(exist_ok=True)
            (place / page.path).write_bytes(page.data)

"""The memories as a map: each with its type, band and group, and what relates one to another.

A group is what hangs together more closely than with the rest. It is found by passing names of groups along
relations until they settle: always the same for the same relations, and quick for many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from operator import is_
from pathlib import Path
from weakref import WeakKeyDictionary

from pipeline.app import kept_web, scopes, text_links
from pipeline.app.application import App, problems_of
from pipeline.app.kept_web import Bond, Web
from pipeline.app.scopes import Scope, scope_of
from pipeline.core.collector import collector_paused
from pipeline.store import Document, Store
from pipeline.store.catalogue.sleep import BY_TOOLS, WORDS
from pipeline.store.derived import usage
from pipeline.store.files.kept import Brief
from pipeline.store.files.layout import memory_files
from pipeline.store.graph import edge_files
from pipeline.store.graph.edge_file import STRENGTH
from pipeline.store.graph.links import Ends
from pipeline.text.humanize import count

LINK = "LINK"
"""What stands for ``[[name]]`` in a text, where other bonds have the type of a relation."""
_LATER = "links in their texts are missing here until one searches."
_PARTS = 8
"""Parts of a map that are kept."""
_HOUR = 3_600
_ROUNDS = 12
"""Most groups settle in four."""


@dataclass(frozen=True, slots=True)
class Spot:
    """One memory on the map; `group` is 0 where nothing is related to it; `relations` are counted."""

    name: str
    title: str
    type: str
    band: str
    scope: str
    description: str
    group: int = 0
    relations: int = 0


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which part of the map is asked for; "" and 0 mean all."""

    type: str = ""
    band: str = ""
    relation: str = ""
    group: int = 0


@dataclass(frozen=True, slots=True)
class RelationMap:
    """All spots and bonds, and lines about files that can't be read."""

    spots: Sequence[Spot]
    bonds: Sequence[Bond]
    problems: Sequence[str] = ()
    _parts: dict[tuple[Wanted, int], RelationMap] = field(default_factory=dict, compare=False, repr=False)

    def types(self) -> dict[str, int]:
        """Return how many memories there are of each type, the most first."""
        return _ranked(spot.type for spot in self.spots)

    def bands(self) -> dict[str, int]:
        """Return how many memories there are in each band, the liveliest first."""
        found = Counter(spot.band for spot in self.spots)
        return {name: found[name] for name in WORDS if found[name]}

    def relations(self) -> dict[str, int]:
        """Return how many relations there are of each type, the most first."""
        return _ranked(bond.type for bond in self.bonds)

    def groups(self) -> dict[int, tuple[str, int]]:
        """Return each group with what it is called by, its most related memory, and how many are in it."""
        members: dict[int, list[Spot]] = defaultdict(list)
        for spot in self.spots:
            members[spot.group].append(spot)
        members.pop(0, None)
        return {
            group: (max(found, key=lambda spot: spot.relations).name, len(found))
            for group, found in sorted(members.items())
        }

    def part(self, wanted: Wanted, most: int = 0) -> RelationMap:
        """Return what is `wanted`, the most related first, at most as many memories as `most` (0: all).

        With a relation it is the memories that have one of that type.
        """
        known = self._parts.get((wanted, most))
        if known is None:
            if len(self._parts) >= _PARTS:
                self._parts.clear()
            known = self._parts[wanted, most] = self._part(wanted, most)
        return known

    def _part(self, wanted: Wanted, most: int) -> RelationMap:
        bonds = [bond for bond in self.bonds if wanted.relation in ("", bond.type)]
        having = {number for bond in bonds for number in (bond.start, bond.end)} if wanted.relation else set()
        numbers = [
            number
            for number, spot in enumerate(self.spots)
            if wanted.type in ("", spot.type)
            and wanted.band in ("", spot.band)
            and wanted.group in (0, spot.group)
            and (not wanted.relation or number in having)
        ]
        numbers.sort(key=lambda number: (-self.spots[number].relations, self.spots[number].name))
        numbers = numbers[:most] if most else numbers
        now = {number: at for at, number in enumerate(numbers)}
        return RelationMap(
            [self.spots[number] for number in numbers],
            [
                Bond(now[start], now[end], kind, strength)
                for start, end, kind, strength in bonds
                if start in now and end in now
            ],
            self.problems,
        )

    def around(self, numbers: Container[int]) -> Mapping[int, Sequence[tuple[str, bool, int]]]:
        """Return the relations of the spots `numbers`: type, whether it leads away, and the spot there."""
        found: dict[int, list[tuple[str, bool, int]]] = defaultdict(list)
        for bond in self.bonds:
            if bond.start in numbers:
                found[bond.start].append((bond.type, True, bond.end))
            if bond.end in numbers:
                found[bond.end].append((bond.type, False, bond.start))
        return found


@dataclass(frozen=True, slots=True)
class _Folder:
    """All that the map of one folder is made from."""

    store: Store
    scope: Scope
    documents: Sequence[Document]
    problems: Sequence[str]
    edges: edge_files.Stamps
    state: object
    """The rest of it, as stamps; another within the hour only where something changed."""

    @classmethod
    def of(cls, app: App) -> _Folder:
        """Return the folder of `app` as it is now."""
        store = app.open_store()
        look = store.scan()
        documents = sorted(look.documents, key=lambda item: (item.kind, item.name))
        own = tuple(map(_stamp, (store.root / usage.STATE, store.root / BY_TOOLS)))
        hands = [item.hand for item in documents]
        hour = int(app.clock.now().timestamp() // _HOUR)
        return cls(
            store,
            scope_of(app),
            documents,
            problems_of(look),
            edge_files.state_of(store.root),
            (own, hands, hour, text_links.state_of(app.home, store)),
        )

    def is_of(self, other: _Folder) -> bool:
        """Whether the map of `other` is the same."""
        same = len(self.documents) == len(other.documents)
        return (
            same
            and self.store is other.store
            and (self.scope, self.problems, self.state) == (other.scope, other.problems, other.state)
            and self.edges == other.edges
            and all(map(is_, self.documents, other.documents))
        )


Near = dict[int, list[tuple[int, float]]]
FEW = 1_000
"""Memories of which a map is made at once."""
_MAPS: WeakKeyDictionary[Store, tuple[list[_Folder], RelationMap]] = WeakKeyDictionary()
"""The map of last time by its first store: a server that keeps stores open makes it anew after a change."""


def is_at_hand(app: App) -> bool:
    """Whether a map takes no time that one would notice: there are few memories, or it was made before."""
    stores = [scope.open_store() for scope in scopes.all_of(app) if not scope.is_fresh]
    if not stores or stores[0] in _MAPS:
        return True
    # By their names: to look at them is what takes the time.
    files = chain.from_iterable(memory_files(store.root, [], stamps=False) for store in stores)
    return next(islice(files, FEW, None), None) is None


def mapped(app: App) -> RelationMap:
    """Return the map of the memories that count here: of the project, its team, and for all projects.

    Relations and links stay within one folder. Files are read by what the catalogue and the search index
    know of them.
    """
    folders = [_Folder.of(scope) for scope in scopes.all_of(app) if not scope.is_fresh]
    if not folders:
        return RelationMap([], [])
    known, whole = _MAPS.get(folders[0].store, ([], None))
    if whole is None or len(known) != len(folders) or not all(map(_Folder.is_of, folders, known)):
        with collector_paused():
            whole = _made(app, folders)
        _MAPS[folders[0].store] = (folders, whole)
    return whole


def _made(app: App, folders: Sequence[_Folder]) -> RelationMap:
    rows: list[tuple[_Folder, Document, Brief, str]] = []
    links: list[Sequence[tuple[str, str]]] = []
    problems = [line for folder in folders for line in folder.problems]
    for folder in folders:
        store, documents = folder.store, folder.documents
        named, unknown = text_links.links(app.home, store, documents)
        links.append(named)
        if unknown:
            changed = count(unknown, "memory", "memories")
            problems.append(f"{changed} changed since the last search: {_LATER}")
        found = store.decay(now=app.clock.now(), keep=False)
        bands = (found.word_of(item.path) if item.path in found.scores else WORDS[0] for item in documents)
        rows += [(folder, *row) for row in zip(documents, store.sieve.briefs(documents), bands, strict=True)]
    web = _web(app.home, folders, [brief for _, _, brief, _ in rows], links)
    spots = [
        Spot(
            item.name,
            brief.title,
            item.kind,
            band,
            folder.scope,
            brief.description,
            web.groups.get(number, 0),
            web.relations.get(number, 0),
        )
        for number, (folder, item, brief, band) in enumerate(rows)
    ]
    return RelationMap(spots, web.bonds, problems)


def _web(
    home: Path,
    folders: Sequence[_Folder],
    briefs: Sequence[Brief],
    links: Sequence[Sequence[tuple[str, str]]],
) -> Web:
    """Return what hangs together in `folders`; of many memories it is kept for the next who asks."""
    parts = [(folder.documents, folder.edges, named) for folder, named in zip(folders, links, strict=True)]
    state = kept_web.state_of(parts) if len(briefs) > FEW else ""
    known = kept_web.read(home, state) if state else None
    if known is not None:
        return known
    bonds: list[Bond] = []
    first = 0
    for folder, named in zip(folders, links, strict=True):
        after = first + len(folder.documents)
        bonds += _bonds(folder, briefs[first:after], first)
        bonds += _named(named, folder.documents, first)
        first = after
    near = near_of(bonds)
    web = Web(bonds, groups_of(near), {number: len(others) for number, others in near.items()})
    kept_web.keep(home, state, web)
    return web


def _stamp(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return found.st_size, found.st_mtime_ns


def _bonds(folder: _Folder, briefs: Sequence[Brief], first: int) -> Iterator[Bond]:
    """Yield the relations of the documents of `folder`, whose numbers begin with `first`, each once."""
    numbers = {item.path: number for number, item in enumerate(folder.documents, start=first)}
    ends = Ends(folder.documents)

    @cache
    def number_of(end: str) -> int | None:
        found = ends.of(end)
        return None if found is None else numbers[found.path]

    # As one number, since most are told three times: by an edge's file, and at both ends.
    seen, size = defaultdict[str, set[int]](set), first + len(folder.documents)
    for start, end, kind, strength in _relations(folder, briefs):
        source, target = number_of(start), number_of(end)
        if source is None or target is None or source == target:
            continue
        key, known = source * size + target, seen[kind]
        if key not in known:
            known.add(key)
            yield Bond(source, target, kind, strength)


def _named(links: Iterable[tuple[str, str]], documents: Sequence[Document], first: int) -> Iterator[Bond]:
    """Yield a bond for each link that a text has to another memory."""
    numbers = {item.path: number for number, item in enumerate(documents, start=first)}
    for start, end in dict.fromkeys(links):
        if end in numbers:
            yield Bond(numbers[start], numbers[end], LINK, STRENGTH)


def _relations(folder: _Folder, briefs: Sequence[Brief]) -> Iterator[tuple[str, str, str, float]]:
    """Yield start, end, type and strength of each relation, as edges' files and memories' own ends tell."""
    yield from edge_files.ends(folder.store.root, folder.edges)
    for item, brief in zip(folder.documents, briefs, strict=True):
        ends = brief.ends
        own = item.id or item.name if ends else ""
        for target, kind, leads, strength in ends:
            start, end = (own, target) if leads else (target, own)
            yield start, end, kind, strength


def near_of(bonds: Sequence[Bond]) -> Near:
    """Return for each spot that is related to any the others, and by how much."""
    near: Near = defaultdict(list)
    for bond in bonds:
        weight = bond.strength + 0.01
        near[bond.start].append((bond.end, weight))
        near[bond.end].append((bond.start, weight))
    return near


def groups_of(near: Near) -> dict[int, int]:
    """Return the group of each spot, the largest first."""
    label = _settled(near)
    sizes = Counter(label.values())
    order = sorted(sizes, key=lambda name: (-sizes[name], name))
    number = {name: at for at, name in enumerate(order, start=1)}
    return {at: number[name] for at, name in label.items()}


def _settled(near: Near) -> dict[int, int]:
    """Return for each spot the group that most of what it is related to is in."""
    label = {at: at for at in near}
    # The most related first: what hangs on them follows.
    order = sorted(near, key=lambda at: (-len(near[at]), at))
    # Only where a neighbour has another group since can the answer be another.
    stale = set(order)
    for _ in range(_ROUNDS):
        if not stale:
            break
        for at in order:
            if at in stale:
                stale.discard(at)
                best = _group_of(near[at], label, label[at])
                if best != label[at]:
                    label[at] = best
                    stale.update([other for other, _ in near[at]])
    return label


def _group_of(near: Sequence[tuple[int, float]], label: Mapping[int, int], own: int) -> int:
    """Return the group that most of what is `near` is in; of several its `own`, else the first."""
    weights: dict[int, float] = {}
    weight_of = weights.get
    for other, weight in near:
        name = label[other]
        weights[name] = weight_of(name, 0.0) + weight
    most = max(weights.values())
    return own if weight_of(own) == most else min(name for name in weights if weights[name] == most)


def _ranked(words: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items(), key=lambda item: (-item[1], item[0])))

"""What a dream looks at: the memories that changed, with their nearest neighbours, in bounded groups.

Cost follows the change: only changed memories are looked up in the search index, and at most as many as
one dream could show. Neighbours that are linked, directly or through others, stay together; what has no
neighbours shares a cluster with others, because one question about twelve memories costs less than twelve.
The same store, changes and index give the same selection.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from pipeline.domain.memory import Memory, why_untouchable
from pipeline.domain.operations import Cluster
from pipeline.hooklib.ownership import TEAMS
from pipeline.search.fts import POOL, SearchIndex
from pipeline.store import Document
from pipeline.text.similarity import ALIKE_BY_WORDS

MAX_CHARS = 24_000
NEIGHBOURS = 6
_OVERHEAD = 200
"""Characters a memory takes in a prompt beside its texts: handle, type, dates, tags."""

Neighbours = Callable[[Memory], list[str]]
"""Gives the ids of the memories most like one, nearest first; itself and unknown ids may be among them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What one dream shows the model, and what it does not.

    `carried_over` are changed memories for which there was no room: they stay changed, and given as
    `first` they lead next time. One of them may still be shown as another's neighbour, but then without
    neighbours of its own, so its turn comes yet. `left_out` are changed memories that can't be shown at
    all, each with the reason; they wait for a person, not for the next dream. `fixed_groups` are the groups
    in which nothing may be changed: no question is asked about them, but they may hold doubles.
    """

    clusters: tuple[Cluster, ...]
    carried_over: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    fixed_groups: tuple[tuple[str, ...], ...] = ()


def clusters(
    documents: Iterable[Document],
    changed: Set[str],
    neighbours: Neighbours,
    *,
    max_cluster: int = 12,
    max_clusters: int = 8,
    max_chars: int = MAX_CHARS,
    first: Sequence[str] = (),
    fixed: Container[str] = frozenset(),
) -> Selection:
    """Choose and group. `changed`, `first` and `fixed` hold memory ids; ids no document has are ignored.

    Changed memories come oldest change first, after those in `first`, which an earlier dream carried over or
    failed on. Pinned, foreign and `fixed` (edited by hand) memories stand in a cluster's `fixed`; a group
    that holds nothing else is not worth a question and counts as looked at. No id is in two clusters; a
    cluster holds at most `max_cluster` memories and `max_chars` characters.
    """
    pool = _Pool(documents, fixed, max_chars)
    seeds, left_out = pool.seeds(changed, first)
    room = seeds[: max_cluster * max_clusters]
    groups = _Groups(pool.sizes, max_cluster, max_chars)
    _link(groups, pool, room, neighbours)
    found = groups.of(room)
    worth = [group for group in found if not all(map(pool.is_fixed, group))]
    packed = _packed(worth, pool.sizes, max_cluster, max_chars)
    postponed = {memory_id for group in packed[max_clusters:] for memory_id in group}
    return Selection(
        tuple(_cluster(group, pool) for group in packed[:max_clusters]),
        tuple(memory_id for memory_id in seeds if memory_id in postponed or memory_id not in set(room)),
        left_out,
        tuple(tuple(group) for group in found if group not in worth and len(group) > 1),
    )


def by_search(
    index: SearchIndex,
    documents: Iterable[Document],
    *,
    limit: int = NEIGHBOURS,
    floor: float = ALIKE_BY_WORDS,
) -> Neighbours:
    """Return the `neighbours` function that asks `index`, which must hold `documents` as they are.

    Up to `limit` ids of at least `floor` likeness, the memory itself left out. It raises SearchError.
    """
    ids = {document.path: document.id for document in documents}

    def neighbours(memory: Memory) -> list[str]:
        # Memories without an id can't be shown to the model; they must not take the place of those that can.
        found = index.neighbours(text_of(memory), max(POOL, limit + 1), floor)
        alike = [ids[path] for path, _ in found if path in ids]
        return [memory_id for memory_id in alike if memory_id and memory_id != memory.id][:limit]

    return neighbours


def text_of(memory: Memory) -> str:
    """Return all that is searched of a memory: name, title, description, tags and body."""
    return "\n".join((memory.name, memory.title, memory.description, " ".join(memory.tags), memory.body))


class _Pool:
    """The memories that can be shown: one document per id, none larger than a whole cluster."""

    def __init__(self, documents: Iterable[Document], fixed: Container[str], max_chars: int) -> None:
        self.documents: dict[str, Document] = {}
        self.twice: set[str] = set()
        for document in documents:
            memory_id = document.id
            if memory_id and self.documents.setdefault(memory_id, document) is not document:
                self.twice.add(memory_id)
        self.sizes = _Sizes(self.documents)
        self._fixed = fixed
        self._max_chars = max_chars

    def is_fixed(self, memory_id: str) -> bool:
        """Whether `memory_id` may only be read."""
        document = self.documents[memory_id]
        # Who wrote what is in a team's folder is no matter: nothing is done there without a yes.
        ours = not document.foreign or document.tended or document.hand == TEAMS
        untouchable = why_untouchable(pinned=document.head.pinned, ours=ours)
        return memory_id in self._fixed or untouchable is not None

    def shown(self, memory_id: str) -> bool:
        """Whether `memory_id` may stand in a cluster."""
        # The size comes last: asking for it reads the file.
        known_once = memory_id in self.documents and memory_id not in self.twice
        return known_once and self.sizes[memory_id] <= self._max_chars

    def seeds(self, changed: Set[str], first: Sequence[str]) -> tuple[list[str], tuple[tuple[str, str], ...]]:
        """Return the changed ids in the order they are taken, and those that can't be, with the reason."""
        # In the order of the files: what is kept of them is then read many at a time.
        known = [memory_id for memory_id in self.documents if memory_id in changed]
        rank = {memory_id: at for at, memory_id in reversed(list(enumerate(first)))}
        fits = {memory_id for memory_id in known if self.shown(memory_id)}
        known.sort(
            key=lambda memory_id: (rank.get(memory_id, len(first)), self.changed_at(memory_id), memory_id)
        )
        shown = [memory_id for memory_id in known if memory_id in fits]
        hidden = [memory_id for memory_id in known if memory_id not in fits]
        return shown, tuple((memory_id, self._why_not(memory_id)) for memory_id in hidden)

    def changed_at(self, memory_id: str) -> float:
        """Return when `memory_id` was last changed, in epoch seconds."""
        return self.documents[memory_id].head.changed_at

    def _why_not(self, memory_id: str) -> str:
        if memory_id in self.twice:
            return "two files have this id"
        return f"it is longer than one question may be ({self._max_chars} characters)"


class _Sizes(dict[str, int]):
    """Characters each memory takes, read only when asked for: the rest of a large store stays unread."""

    def __init__(self, documents: Mapping[str, Document]) -> None:
        super().__init__()
        self._documents = documents

    def __missing__(self, memory_id: str) -> int:
        self[memory_id] = size = len(text_of(self._documents[memory_id].memory)) + _OVERHEAD
        return size


class _Groups:
    """Disjoint groups of ids (union-find) that refuse to grow over a bound."""

    def __init__(self, sizes: _Sizes, max_cluster: int, max_chars: int) -> None:
        self._sizes = sizes
        self._max_cluster = max_cluster
        self._max_chars = max_chars
        self._parent: dict[str, str] = {}
        self._begun: dict[str, int] = {}
        self._members: dict[str, list[str]] = {}
        self._chars: dict[str, int] = {}

    def join(self, memory_id: str, other_id: str) -> None:
        """Put two ids, and all grouped with them, into one group, unless that would be too large."""
        # The group begun first takes in the other, so that older changes stand before newer ones.
        ours, theirs = sorted((self._top(memory_id), self._top(other_id)), key=self._begun.__getitem__)
        if ours == theirs:
            return
        count = len(self._members[ours]) + len(self._members[theirs])
        chars = self._chars[ours] + self._chars[theirs]
        if count > self._max_cluster or chars > self._max_chars:
            return
        self._parent[theirs] = ours
        self._members[ours] += self._members.pop(theirs)
        self._chars[ours] = chars

    def of(self, seeds: Iterable[str]) -> list[list[str]]:
        """Return the groups the seeds are in, in the order of their first seed."""
        tops = dict.fromkeys(self._top(memory_id) for memory_id in seeds)
        return [self._members[top] for top in tops]

    def _top(self, memory_id: str) -> str:
        if memory_id not in self._parent:
            self._begun[memory_id] = len(self._begun)
            self._parent[memory_id] = memory_id
            self._members[memory_id] = [memory_id]
            self._chars[memory_id] = self._sizes[memory_id]
        top = memory_id
        while self._parent[top] != top:
            # Halving the path as it is walked keeps later walks short.
            self._parent[top] = self._parent[self._parent[top]]
            top = self._parent[top]
        return top


def _link(groups: _Groups, pool: _Pool, seeds: Sequence[str], neighbours: Neighbours) -> None:
    """Join every seed with its neighbours, all nearest ones first, then all second ones, and so on."""
    near = {
        memory_id: list(filter(pool.shown, neighbours(pool.documents[memory_id].memory)))
        for memory_id in seeds
    }
    for rank in range(max(map(len, near.values()), default=0)):
        for memory_id in seeds:
            if rank < len(near[memory_id]):
                groups.join(memory_id, near[memory_id][rank])


def _packed(
    groups: Iterable[Sequence[str]], sizes: _Sizes, max_cluster: int, max_chars: int
) -> list[list[str]]:
    """Put each group whole into the first cluster with room for it, opening another where there is none."""
    packed: list[list[str]] = []
    chars: list[int] = []
    for group in groups:
        size = sum(sizes[memory_id] for memory_id in group)
        for at, cluster in enumerate(packed):
            if len(cluster) + len(group) <= max_cluster and chars[at] + size <= max_chars:
                cluster.extend(group)
                chars[at] += size
                break
        else:
            packed.append(list(group))
            chars.append(size)
    return packed


def _cluster(group: Sequence[str], pool: _Pool) -> Cluster:
    """Return `group` in an order that its memories alone decide: asked once more, it is the same question."""
    ordered = sorted(group, key=lambda memory_id: (pool.changed_at(memory_id), memory_id))
    fixed = tuple(memory_id for memory_id in ordered if pool.is_fixed(memory_id))
    return Cluster(tuple(memory_id for memory_id in ordered if memory_id not in fixed), fixed)

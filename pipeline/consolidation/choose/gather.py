"""What a dream has before it: the memories, which changed, which may change, the groups, the rules' part."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.consolidation.choose.neighbours import with_vectors
from pipeline.consolidation.choose.select import Selection, by_search, clusters
from pipeline.consolidation.lease import carried_over_ids, changed_ids, changed_since
from pipeline.consolidation.propose import edges, mechanical
from pipeline.context import PhaseContext
from pipeline.domain.authorship import UNKNOWN
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation
from pipeline.hooklib.asleep import ARCHIVED, DORMANT
from pipeline.search import vectors
from pipeline.search.fts import SearchIndex
from pipeline.search.refresh import bring_in_step
from pipeline.store import Document, Snapshot, counted_since, last_uses
from pipeline.store.derived.core_page import band, decay_score
from pipeline.store.derived.usage import access_of, read_state
from pipeline.store.graph.relations import key_of
from pipeline.store.ownership.permission import is_adoptable, may_change


@dataclass(slots=True)
class Gathered:
    """The material of one dream; ids are memory ids.

    `left_alone` are the names of changed memories that are in no group, since only a person may change them.
    Of `nobodys` among them nobody knows who wrote them, and `adopt` takes them.
    """

    memories: dict[str, Memory]
    changed: dict[str, str]
    changeable: set[str]
    selection: Selection
    by_rule: list[Operation]
    total: int
    left_alone: list[str]
    nobodys: list[str]

    def seen(self, later: Set[str]) -> dict[str, str]:
        """Return id → digest of what was looked at, and id → "" of what leads the next dream.

        That is what was carried over, and the ids in `later`: what groups that failed held, and what
        operations were about that have to wait for room below the ceiling.
        """
        first = {*self.selection.carried_over, *later}
        return {**self.changed, **dict.fromkeys(sorted(first), "")}


def gather(
    phase: PhaseContext, snapshot: Snapshot, home: Path, *, ceiling: int, since: datetime | None = None
) -> Gathered:
    """Select and load what this dream is about; the rest of a large store stays unread.

    With `since` it is about what was changed from then on, whether or not an earlier dream saw it. Rules
    retire half of `ceiling` at most, so that a backlog does not keep the model from tidying up.
    """
    limits = phase.settings.dream
    documents = [document for document in snapshot.documents if document.id]
    changed = changed_ids(phase, snapshot) if since is None else changed_since(snapshot, since)
    by_id = {document.id: document for document in documents}
    fixed = _Fixed(by_id, phase)
    with SearchIndex.open(home, phase.store.path) as index:
        bring_in_step(home, phase.store, snapshot.documents, index)
        neighbours = by_search(index, documents)
        if phase.settings.embeddings.provider != "off":
            neighbours = with_vectors(neighbours, documents, vectors.load(phase.store.root))
        selection = clusters(
            documents,
            set(changed),
            neighbours,
            max_cluster=limits.max_cluster,
            max_clusters=limits.max_clusters,
            max_chars=limits.cluster_chars,
            first=carried_over_ids(phase),
            fixed=fixed,
        )
    wanted = {memory_id for cluster in selection.clusters for memory_id in (*cluster.ids, *cluster.fixed)}
    memories = {memory_id: by_id[memory_id].memory for memory_id in wanted}
    changeable = {memory_id for cluster in selection.clusters for memory_id in cluster.ids}
    # Of a large store few are of these, and only they are taken up below.
    typed = [document for document in documents if document.kind in {*mechanical.EXPIRING, "insight"}]
    by_rule = _rules(phase, typed, selection, by_id, max(1, ceiling // 2))
    by_rule += _relations(phase, selection, memories, by_rule)
    for operation in by_rule:
        for memory_id in operation.ids:
            memories.setdefault(memory_id, by_id[memory_id].memory)
            if memory_id not in fixed:
                changeable.add(memory_id)
    # An insight that was drawn before is known wherever it stands.
    insights = {item.id: item.memory for item in typed if item.head.type == "insight"}
    memories |= {memory_id: memory for memory_id, memory in insights.items() if memory_id not in memories}
    named = {*(memory_id for memory_id, _ in selection.left_out), *selection.carried_over}
    alone = [by_id[memory_id] for memory_id in changed.keys() - wanted - named]
    return Gathered(
        memories=memories,
        changed=changed,
        changeable=changeable,
        selection=selection,
        by_rule=by_rule,
        total=len(snapshot.documents),
        left_alone=sorted(document.name for document in alone),
        nobodys=sorted(document.name for document in alone if _is_nobodys(document, phase)),
    )


class _Fixed(Container[str]):
    """The ids of what only a person may change: found out for each that is asked about, not for all."""

    def __init__(self, documents: Mapping[str, Document], phase: PhaseContext) -> None:
        self._documents = documents
        self._phase = phase
        self._known: dict[object, bool] = {}

    def __contains__(self, memory_id: object) -> bool:
        if memory_id not in self._known:
            document = self._documents.get(str(memory_id))
            self._known[memory_id] = document is not None and self._is_left(document)
        return self._known[memory_id]

    def _is_left(self, document: Document) -> bool:
        if self._phase.store.is_team:
            # Nothing is done there without a yes, so all of it may be proposed about.
            return document.head.pinned or not document.is_text
        return may_change(document, self._phase.store) is not None


def _is_nobodys(document: Document, phase: PhaseContext) -> bool:
    identity = document.identity
    return identity is not None and identity.by == UNKNOWN and is_adoptable(document, phase.store)


def _rules(
    phase: PhaseContext,
    documents: list[Document],
    selection: Selection,
    by_id: Mapping[str, Document],
    most: int,
) -> list[Operation]:
    limits = phase.settings.dream
    merges = _doubles([cluster.ids for cluster in selection.clusters], by_id)
    merges += _doubles_of_others(selection, by_id, merges)
    gone = {memory_id for merge in merges for memory_id in merge.leaving}
    # What somebody brought back is not to leave again the next night.
    undone = {file.path for item in phase.store.history() if item.undone for file in item.files}
    heads = [
        document.head
        for document in documents
        if document.id not in gone
        and document.path not in undone
        and may_change(document, phase.store) is None
    ]
    now = phase.clock.now()
    state = read_state(phase.store.root)
    # What is still worth something to CORE.md is not unused, however few days are set.
    worn = [
        head
        for head in heads
        if head.type_row.tier == "task"
        or band(decay_score(head, access_of(state, head.id, head.path), now)) in (DORMANT, ARCHIVED)
    ]
    retirements = mechanical.expired(
        worn,
        last_uses(phase.store.root),
        now,
        since=counted_since(phase.store.root, now),
        learning_days=limits.learning_days,
        task_days=limits.task_days,
    )
    return [*merges, *retirements[:most]]


def _relations(
    phase: PhaseContext, selection: Selection, memories: Mapping[str, Memory], planned: Sequence[Operation]
) -> list[Operation]:
    """Return as many relations as the settings allow between memories of a group that share much."""
    most = phase.settings.dream.edges
    if not most:
        return []
    taken = {memory_id for operation in planned for memory_id in operation.about}
    known = {
        frozenset((memory.id, key_of(link)[0])) for memory in memories.values() for link in memory.relations
    }
    found: list[edges.Pair] = []
    for cluster in selection.clusters:
        group = [memories[memory_id] for memory_id in cluster.ids if memory_id not in taken]
        found += edges.propose(group, known)
    found.sort(key=lambda pair: (-pair.score, pair.from_id, pair.to_id))
    return [
        Operation(
            op="relate",
            ids=(pair.from_id, pair.to_id),
            relation=pair.relation,
            strength=pair.score,
            reason=f"both have {', '.join(pair.shared)}",
        )
        for pair in found[:most]
    ]


def _doubles(groups: Sequence[Sequence[str]], by_id: Mapping[str, Document]) -> list[Operation]:
    return mechanical.doubles([by_id[memory_id].memory for group in groups for memory_id in group], groups)


def _doubles_of_others(
    selection: Selection, by_id: Mapping[str, Document], merges: Sequence[Operation]
) -> list[Operation]:
    """Return the merges of doubles of which a person's or an unknown one is a part, for a person to decide.

    What one of `merges` lets go is no longer there for them.
    """
    gone = {memory_id for merge in merges for memory_id in merge.leaving}
    fixed = {memory_id for cluster in selection.clusters for memory_id in cluster.fixed}
    fixed |= {memory_id for group in selection.fixed_groups for memory_id in group}
    groups = [*((*cluster.ids, *cluster.fixed) for cluster in selection.clusters), *selection.fixed_groups]
    open_to_all = [
        [memory_id for memory_id in group if memory_id not in gone and not by_id[memory_id].head.pinned]
        for group in groups
        if fixed & {*group}
    ]
    return [merge for merge in _doubles(open_to_all, by_id) if fixed & {*merge.ids}]

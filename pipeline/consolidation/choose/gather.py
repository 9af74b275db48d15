"""What a dream has before it: the memories, which changed, which may change, the groups, the rules' part."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pipeline.consolidation.choose.neighbours import with_vectors
from pipeline.consolidation.choose.select import Selection, by_search, clusters
from pipeline.consolidation.lease import changed_ids, waiting
from pipeline.consolidation.propose import mechanical
from pipeline.context import PhaseContext
from pipeline.domain.memory import Memory
from pipeline.domain.operations import Operation
from pipeline.search import vectors
from pipeline.search.fts import SearchIndex
from pipeline.search.refresh import search_rows
from pipeline.store import Document, Snapshot, counted_since, last_uses
from pipeline.store.ownership.permission import may_change
from pipeline.verify.evidence import said_at


@dataclass(slots=True)
class Gathered:
    """The material of one dream; ids are memory ids."""

    memories: dict[str, Memory]
    changed: dict[str, str]
    changeable: set[str]
    selection: Selection
    by_rule: list[Operation]
    evidence_times: dict[str, datetime]
    total: int

    def seen(self, later: Set[str]) -> dict[str, str]:
        """Return id → digest of what was looked at, and id → "" of what leads the next dream.

        That is what was carried over, and the ids in `later`: what groups that failed held, and what
        operations were about that have to wait for room below the ceiling.
        """
        first = {*self.selection.carried_over, *later}
        return {**self.changed, **dict.fromkeys(sorted(first), "")}


def gather(phase: PhaseContext, snapshot: Snapshot, home: Path, *, ceiling: int) -> Gathered:
    """Select and load what this dream is about; the rest of a large store stays unread.

    Rules retire half of `ceiling` at most, so that a backlog does not keep the model from tidying up.
    """
    limits = phase.settings.dream
    documents = [d for d in snapshot.documents if d.id]
    changed = changed_ids(phase, snapshot)
    fixed = {d.id for d in documents if may_change(d, phase.store) is not None}
    with SearchIndex.open(home, phase.store.path) as index:
        index.sync(search_rows(snapshot.documents))
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
            first=waiting(phase),
            fixed=fixed,
        )
    wanted = {one for cluster in selection.clusters for one in (*cluster.ids, *cluster.fixed)}
    by_id = {d.id: d for d in documents}
    memories = {one: by_id[one].memory for one in wanted}
    changeable = {one for cluster in selection.clusters for one in cluster.ids}
    rules = _rules(phase, documents, selection, memories, max(1, ceiling // 2))
    for operation in rules:
        for one in operation.ids:
            memories.setdefault(one, by_id[one].memory)
            if one not in fixed:
                changeable.add(one)
    # An insight that was drawn before is known wherever it stands.
    for document in documents:
        if document.id and document.head.type == "insight":
            memories.setdefault(document.id, document.memory)
    return Gathered(
        memories=memories,
        changed=changed,
        changeable=changeable,
        selection=selection,
        by_rule=rules,
        evidence_times={one: said for one, m in memories.items() if (said := said_at(m))},
        total=len(snapshot.documents),
    )


def _rules(
    phase: PhaseContext,
    documents: list[Document],
    selection: Selection,
    memories: dict[str, Memory],
    most: int,
) -> list[Operation]:
    limits = phase.settings.dream
    groups = [cluster.ids for cluster in selection.clusters]
    merges = mechanical.doubles([memories[one] for group in groups for one in group], groups)
    gone = {one for merge in merges for one in merge.leaving}
    # What somebody brought back is not to leave again the next night.
    undone = {file.path for item in phase.store.history() if item.undone for file in item.files}
    heads = [
        d.head
        for d in documents
        if may_change(d, phase.store) is None and d.id not in gone and d.path not in undone
    ]
    now = phase.clock.now()
    over = mechanical.expired(
        heads,
        last_uses(phase.store.root),
        now,
        since=counted_since(phase.store.root, now),
        learning_days=limits.learning_days,
        task_days=limits.task_days,
    )
    return [*merges, *over[:most]]

"""Edges that may be missing, for a person to look through."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.app.application import App
from pipeline.consolidation.propose import edges
from pipeline.store import Store, is_retired
from pipeline.store.graph import edge_files
from pipeline.store.graph.relations import key_of
from pipeline.store.graph.traversal import relations_of


@dataclass(frozen=True, slots=True)
class Proposal:
    """One edge that may be missing: by names and ids, how surely from 0 to 1, and what the two share."""

    from_id: str
    from_name: str
    type: str
    to_id: str
    to_name: str
    score: float
    reason: str


def proposals(app: App, store: Store) -> list[Proposal]:
    """Return the edges that `store` may lack, the surest first; nothing is written."""
    documents = {item.id: item for item in store.scan().documents if item.id and not is_retired(item.front)}
    known = {frozenset((edge.from_id, edge.to_id)) for edge in edge_files.all_edges(store.root).edges}
    known |= {
        frozenset((item.id, key_of(link)[0])) for item in documents.values() for link in relations_of(item)
    }
    found = edges.propose([item.head for item in documents.values()], known)
    return [
        Proposal(
            pair.from_id,
            documents[pair.from_id].name,
            pair.relation,
            pair.to_id,
            documents[pair.to_id].name,
            pair.score,
            f"both have {', '.join(pair.shared)}",
        )
        for pair in found
    ]

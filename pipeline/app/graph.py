"""What a person asks of the graph and of decay: relate, related, edges, decay, and counts of it all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pipeline.app import retired
from pipeline.app.application import App
from pipeline.app.retried import retried
from pipeline.core.clock import parse_time
from pipeline.core.errors import InputError, UsageError
from pipeline.core.ids import new_id
from pipeline.domain.operations import RELATIONS
from pipeline.revision import Door
from pipeline.revision.both_ends import BothEnds
from pipeline.store import Put, Restore, Store, WriteFile
from pipeline.store.catalogue.sleep import BANDS
from pipeline.store.derived.core_page import band
from pipeline.store.graph import edge_files
from pipeline.store.graph.edge_file import STRENGTH, Edge
from pipeline.store.graph.traversal import Graph, Step
from pipeline.text.near import did_you_mean
from pipeline.verify.barred import doubt, forbidden, holds_secret

MOST_DEPTH = 5
DIRECTIONS = ("both", "outgoing", "incoming")
_LEAST_ID = 6
_MOST_TEXT = 50_000
_MOST_CONTEXT = 500
_SCORES = 6


@dataclass(frozen=True, slots=True)
class EdgeView:
    """An edge: its ends by id and title, and what its file says about it; `new` says it was just made."""

    id: str
    type: str
    from_id: str
    from_title: str
    to_id: str
    to_title: str
    strength: float
    description: str
    created: datetime | None
    updated: datetime | None
    path: str
    new: bool = False


@dataclass(frozen=True, slots=True)
class RelatedView:
    """A memory that another leads to, by `steps` relations; the last of them is `type`, `direction`, `via`.

    `via` is the name of the memory that the last one starts from.
    """

    id: str
    name: str
    title: str
    type_of_memory: str
    path: str
    type: str
    direction: str
    strength: float
    context: str
    edge_id: str
    via: str
    steps: int


@dataclass(frozen=True, slots=True)
class DecayedView:
    """One memory with its score; `exempt` says that it may not sleep, whatever its score is.

    `word` is what a person reads of its band.
    """

    id: str
    name: str
    path: str
    score: float
    band: str
    exempt: bool
    word: str


@dataclass(frozen=True, slots=True)
class DecayView:
    """What `decay` wrote: how many memories are in each band, and each with its score, lowest last."""

    bands: dict[str, int]
    memories: tuple[DecayedView, ...]


@dataclass(frozen=True, slots=True)
class StatsView:
    """How many memories there are, by type, tag and band, and how many edges and relations, by type."""

    memories: int
    by_type: dict[str, int]
    by_tag: dict[str, int]
    by_band: dict[str, int]
    edges: int
    by_relation: dict[str, int]


@retried
def relate(
    app: App,
    store: Store,
    from_ref: str,
    to_ref: str,
    type: str,
    *,
    strength: float | None = None,
    context: str = "",
    description: str = "",
    by_person: bool = True,
) -> EdgeView:
    """Relate two memories, or change how they are related: one edge for each pair and type.

    Without a `strength` a new edge gets 0.8, and one that is there keeps its own. Both ends and the edge's
    file are written as one change. An agent (not `by_person`) relates only what it may change. Raises
    UnknownMemoryError, InputError for a memory and itself and for a text that no memory may hold, UsageError
    for an unknown type.
    """
    app.require_settings()
    type_name = _known_type(type)
    if strength is not None and not 0 <= strength <= 1:
        raise UsageError(f"a strength lies between 0 and 1, not {strength:g}", fix="Give 0.8, for instance.")
    if store.is_team:
        fix = "Relate memories of your own; a team's files are changed by what is said in them."
        raise InputError("a team's memories have no relations", file=str(store.path), fix=fix)
    _require_fit(context, description)
    look = store.scan()
    source, target = (retired.read(store, ref, look) for ref in (from_ref, to_ref))
    if source.id == target.id:
        raise InputError(
            "a memory can't be related to itself", file=source.path, fix="Name two memories that differ."
        )
    now = app.clock.now()
    ends = BothEnds(store, now, approved=by_person, look=look)
    from_end, to_end = ends.text_of(source.id), ends.text_of(target.id)
    assert from_end is not None, "it was read from the store"
    assert to_end is not None, "it was read from the store"
    for end, document in ((from_end, source), (to_end, target)):
        if end.fixed:
            raise InputError(
                f"{document.name} is a person's", file=document.path, fix="They relate it: `reverie relate`."
            )
    known = ends.edge_between(from_end, to_end, type_name)
    if strength is None:
        strength = known.strength if known else STRENGTH
    edge = ends.join(from_end, to_end, type_name, strength=strength, context=context, description=description)
    door = Door(store, now=now, approved=by_person)
    operations = ends.operations()
    door.bring([operation for operation in operations if isinstance(operation, Put | Restore | WriteFile)])
    door.write(
        new_id(), f"{'relate' if by_person else 'join'} {source.name} {type_name} {target.name}", in_step=True
    )
    app.follow(store)
    found = edge_files.with_ids(store.root, [edge.id]).get(edge.id, edge)
    return _view(found, new=known is None)


@retried
def unrelate(app: App, store: Store, edge_id: str) -> EdgeView:
    """Take the edge of that id, or its start, away at both ends; its text is kept in the archive."""
    app.require_settings()
    now, found = app.clock.now(), _edge(store, edge_id)
    ends = BothEnds(store, now, approved=True)
    text = ends.text_of(found.from_id) or ends.text_of(found.to_id)
    if text is None:
        ends.remove(found)
    else:
        direction = "outgoing" if text.id == found.from_id else "incoming"
        ends.part(text, (found.other_end(text.id), found.type, direction))
    door = Door(store, now=now, approved=True)
    kinds = (Put, Restore, WriteFile)
    door.bring([operation for operation in ends.operations() if isinstance(operation, kinds)])
    door.write(new_id(), f"unrelate {found.type} {found.id[:_LEAST_ID]}", in_step=True)
    app.follow(store)
    return _view(found)


def related(
    app: App,
    store: Store,
    ref: str,
    *,
    types: Sequence[str] = (),
    direction: str = "both",
    depth: int = 1,
) -> list[RelatedView]:
    """Return the memories that `ref` leads to within `depth` relations, the nearest and strongest first.

    Only relations of `types`, where there are any, and of that direction are followed. Nothing is counted.
    """
    if direction not in DIRECTIONS:
        raise UsageError(f"there is no direction {direction!r}", fix=f"Directions: {', '.join(DIRECTIONS)}.")
    if not 1 <= depth <= MOST_DEPTH:
        raise UsageError(f"a depth lies between 1 and {MOST_DEPTH}", fix=f"Give 1 to {MOST_DEPTH}.")
    look = store.scan()
    start = retired.read(store, ref, look)
    graph = Graph(look.documents, store.sieve)
    steps = graph.around(start, {name.strip().upper() for name in types}, direction, depth)
    return [_related(step) for step in steps]


def edge(app: App, store: Store, edge_id: str) -> EdgeView:
    """Return the edge of that id, or whose id begins so (six characters at least), with all of its text."""
    return _view(_edge(store, edge_id))


def edges(
    app: App,
    store: Store,
    *,
    query: str = "",
    types: Sequence[str] = (),
    from_ref: str = "",
    to_ref: str = "",
    limit: int = 50,
) -> list[EdgeView]:
    """Return up to `limit` edges (0: all), the strongest first: those with all words of `query`.

    The words are looked for in titles and descriptions. `from_ref` and `to_ref` are memories at the ends.
    """
    words = query.casefold().split()
    wanted = {name.strip().upper() for name in types}
    look = store.scan() if from_ref or to_ref else None
    source, target = (retired.read(store, ref, look).id if ref else "" for ref in (from_ref, to_ref))
    found = [
        each
        for each in edge_files.all_edges(store.root, keep=store.writable()).edges
        if (not wanted or each.type.upper() in wanted)
        and source in ("", each.from_id)
        and target in ("", each.to_id)
        and all(word in _text(each) for word in words)
    ]
    found.sort(key=lambda each: (-each.strength, each.path))
    return [_view(each) for each in (found[:limit] if limit else found)]


def decay(app: App, store: Store) -> DecayView:
    """Compute the decay score of every memory and write them to ``_state.json``; see `band_of`."""
    app.require_settings()
    found = store.decay(now=app.clock.now())
    documents = {item.path: item for item in store.scan().documents}
    rows = [
        DecayedView(
            documents[path].id,
            documents[path].name,
            path,
            round(score, _SCORES),
            found.band_of(path),
            path not in found.asleep and band(score) not in BANDS[:2],
            found.word_of(path),
        )
        for path, score in sorted(found.scores.items(), key=lambda item: (-item[1], item[0]))
        if path in documents
    ]
    return DecayView(found.counts(), tuple(rows))


def band_of(score: float) -> str:
    """Return the band of a decay score: active, fading, dormant or archived."""
    return band(score)


def stats(app: App, store: Store) -> StatsView:
    """Return how many memories and edges `store` has, by what they are; nothing is written."""
    documents = store.scan().documents
    tags = Counter(str(tag) for item in documents for tag in item.front.get("tags") or ())
    kinds = Counter(str(item.front.get("type") or "") for item in documents)
    found = store.decay(now=app.clock.now(), keep=False)
    known = edge_files.all_edges(store.root).edges
    return StatsView(
        len(documents),
        dict(kinds.most_common()),
        dict(tags.most_common()),
        found.counts(),
        len(known),
        dict(Counter(each.type for each in known).most_common()),
    )


def _known_type(name: str) -> str:
    wanted = name.strip().upper().replace("-", "_").replace(" ", "_")
    if wanted not in RELATIONS:
        near = did_you_mean(wanted, RELATIONS)
        raise UsageError(f"there is no relation {name!r}", fix=f"{near}Relations: {', '.join(RELATIONS)}.")
    return wanted


def _require_fit(context: str, description: str) -> None:
    if len(context) > _MOST_CONTEXT or len(description) > _MOST_TEXT:
        raise InputError(
            "that is too long",
            fix=f"A context has at most {_MOST_CONTEXT} characters, a description {_MOST_TEXT:,}.",
        )
    for text in filter(None, (context, description)):
        reason = "holds a secret" if holds_secret(text) else forbidden(text) or doubt(text)
        if reason:
            raise InputError(f"the text {reason}", fix="Say how the two belong together, and nothing else.")


def _edge(store: Store, edge_id: str) -> Edge:
    if len(edge_id) < _LEAST_ID:
        raise InputError(
            f"{edge_id!r} is too short for an id", fix=f"Give at least {_LEAST_ID} characters of it."
        )
    found = edge_files.beginning_with(store.root, edge_id)
    exact = [each for each in found if each.id == edge_id] or found
    if len({each.id for each in exact}) != 1:
        what = f"{len(exact)} edges begin with {edge_id!r}" if exact else f"no edge is called {edge_id!r}"
        raise InputError(what, fix="`reverie edges` shows their ids.")
    return edge_files.whole(store.root, exact[0])


def _text(each: Edge) -> str:
    return f"{each.from_title}\n{each.to_title}\n{each.type}\n{each.description}".casefold()


def _view(found: Edge, *, new: bool = False) -> EdgeView:
    return EdgeView(
        found.id,
        found.type,
        found.from_id,
        found.from_title,
        found.to_id,
        found.to_title,
        found.strength,
        found.description,
        parse_time(found.created),
        parse_time(found.updated),
        found.path,
        new,
    )


def _related(step: Step) -> RelatedView:
    head = step.document.head
    return RelatedView(
        step.document.id,
        step.document.name,
        head.shown_title,
        head.type,
        step.document.path,
        step.type,
        step.direction,
        step.strength,
        step.context,
        step.edge_id,
        step.via.name,
        step.steps,
    )

"""What is out of step among relations and edge files, found and mended.

An edge file has the last word about its edge; a relation without one about itself. Whatever leads to a
memory that left for the archive goes. What leads to one that nobody knows stays, and is told; so does what a
memory that came back brought along, whose other end may come back as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from pipeline.core.errors import ConflictError, DocumentError
from pipeline.core.ids import new_id
from pipeline.domain.finding import Finding, Level
from pipeline.hooklib.front_matter import share_of, text_of
from pipeline.revision.both_ends import BothEnds
from pipeline.revision.door import Door
from pipeline.revision.related_texts import Text
from pipeline.store import Operation, Put, Restore, Store, WriteFile
from pipeline.store.graph import edge_file, edge_files
from pipeline.store.graph.edge_file import Edge
from pipeline.store.graph.links import Ends, broken_in_diary
from pipeline.store.graph.relations import (
    INCOMING,
    OUTGOING,
    Key,
    Link,
    Links,
    key_of,
    keys_of,
    link_to,
    mirrored,
    with_link,
    without,
)
from pipeline.store.graph.traversal import relations_of

MENDS = "`reverie reindex` mends it."
_LOOK = "Bring the memory back, or remove what leads to it."
_BACK = "`reverie restore` brings it back, with this relation; or take the relation out in `reverie edit`."
_BRINGS_BACK = ("restore ", "import ")
"""How the reason of a change begins that brings memories with the relations that they had."""
REASON = "relations mended"


@dataclass(slots=True)
class Mending:
    """What is out of step in one store: each fault with its fix, and what mends some of them."""

    faults: list[Finding] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    @property
    def mended(self) -> list[Finding]:
        """Return the faults that the operations mend."""
        return [fault for fault in self.faults if fault.fix == MENDS]

    @property
    def left(self) -> list[Finding]:
        """Return those that are left to a person."""
        return [fault for fault in self.faults if fault.fix != MENDS]


def look(store: Store, *, now: datetime, keep: bool = False) -> Mending:
    """Return what is out of step in `store`, and what would mend it; nothing is written.

    With `keep` what was read of edge files is kept for the next time.
    """
    found = Mending()
    if store.is_team:
        return found
    _Look(store, now, found).run(keep=keep)
    return found


def mend(store: Store, *, now: datetime) -> Mending:
    """Mend what is out of step in `store`, at a person's word, as one change set; return what was found."""
    found = look(store, now=now, keep=True)
    if found.operations:
        door = Door(store, now=now, approved=True)
        kinds = (Put, Restore, WriteFile)
        door.bring([operation for operation in found.operations if isinstance(operation, kinds)])
        door.write(new_id(), REASON, in_step=True)
    return found


def broken_links(store: Store) -> Iterable[Finding]:
    """Yield a note for each link of the diary that leads nowhere: a memory was renamed since, or left.

    Its pages tell of a day and are never changed.
    """
    for page, line, target, now_at in broken_in_diary(store.root, store.scan()):
        if now_at:
            what = f"the link leads to {target}; that memory is {now_at} now"
        else:
            what = f"the link leads to {target}, which is not there any more"
        yield Finding("note", "episode-link", what, _AS_WRITTEN, page, line)


_AS_WRITTEN = "Nothing needs to be done; pages of the diary stay as they were written."


class _Look:
    def __init__(self, store: Store, now: datetime, found: Mending) -> None:
        self._store = store
        self._found = found
        self._ends = BothEnds(store, now, approved=True)
        self._known = Ends(self._ends.snapshot)
        self._links_by_key: dict[str, tuple[Links, Mapping[Key, Link]]] = {}
        self._retired = {item.id for item in store.retired() if item.id}
        self._returned = {
            file.path
            for item in store.history()
            if item.reason.startswith(_BRINGS_BACK)
            for file in item.files
            if file.before is None
        }

    def run(self, *, keep: bool) -> None:
        files = edge_files.all_edges(self._store.root, keep=keep)
        self._ends.edges = {edge.path: edge for edge in files.edges}
        for problem in files.problems:
            where = f"line {problem.line}: " if problem.line else ""
            fix = problem.fix or "Mend the file, or remove it."
            self._tell("error", "edge-file", problem.path, where + problem.message, fix)
        saying = self._store.sieve.saying(self._ends.snapshot, '"target"')
        related = [item for item in self._ends.snapshot if item.path in saying]
        named = {text_of(link.get("edge_id")) for item in related for link in relations_of(item)}
        # Of two for the same ends and type, the one that a memory names counts, else the older one.
        self._ends.by_key.clear()
        for edge in sorted(files.edges, key=lambda edge: (edge.id not in named, edge.created, edge.path)):
            self._edge(edge)
        for document in related:
            text = self._ends.text_of(document.id)
            if text is not None:
                for link in document.head.relations:
                    self._link(text, link, document.path)
        try:
            self._found.operations = self._ends.operations()
        except (DocumentError, ConflictError) as error:
            self._found.faults = [
                replace(fault, fix=_LOOK) if fault.fix == MENDS else fault for fault in self._found.faults
            ]
            self._tell("warning", "relation", str(error.file or ""), str(error.args[0]), error.fix or _LOOK)

    def _edge(self, edge: Edge) -> None:
        source, target = self._known.of(edge.from_id), self._known.of(edge.to_id)
        lost = [ident for ident, end in ((edge.from_id, source), (edge.to_id, target)) if end is None]
        if source is None or target is None:
            if all(ident in self._retired for ident in lost):
                self._tell("warning", "edge-end", edge.path, f"{lost[0]} left for the archive")
                self._ends.remove(edge)
            else:
                what = f"no memory is {' or '.join(lost)}"
                self._tell("warning", "edge-end", edge.path, what, _LOOK)
            return
        if source.id == target.id:
            self._tell(
                "warning", "edge-self", edge.path, "an edge from a memory to itself", "Remove the file."
            )
            return
        whole = edge
        if (source.id, target.id) != (edge.from_id, edge.to_id):
            whole = replace(edge, from_id=source.id, to_id=target.id)
        first = self._ends.by_key.setdefault(whole.key, edge)
        if first.path != edge.path:
            self._tell("warning", "edge-double", edge.path, f"{first.path} is the same edge")
            self._ends.remove(edge)
            self._ends.by_key[whole.key] = first
            return
        self._bring_in_step(whole, edge)

    def _bring_in_step(self, edge: Edge, written: Edge) -> None:
        source, target = self._ends.text_of(edge.from_id), self._ends.text_of(edge.to_id)
        titles = (source.title if source else "", target.title if target else "")
        if edge is not written or titles != (edge.from_title, edge.to_title):
            titled = self._ends.titled(self._ends.whole(edge))
            self._tell("warning", "edge-title", written.path, "it calls its memories by former titles or ids")
            self._ends.keep(titled)
        for end, far, direction in (
            (edge.from_id, edge.to_id, OUTGOING),
            (edge.to_id, edge.from_id, INCOMING),
        ):
            text = self._ends.text_of(end)
            if text is None:
                continue
            known = self._links_of(text).get((far, edge.type, direction))
            if known is None or not _says(known, edge):
                path = text.document.path if text.document else written.path
                self._tell("warning", "relation-end", path, f"it lacks what {written.path} says")
                link = link_to(far, edge.type, direction, strength=edge.strength, edge_id=edge.id)
                text.links = with_link(text.links, link)

    def _link(self, text: Text, link: Link, path: str) -> None:
        key = key_of(link)
        target, type_name, _ = key
        if not target or not type_name:
            return
        other = self._known.of(target)
        if other is None:
            self._leads_nowhere(text, link, path)
            return
        if other.id == text.id:
            what = "a relation to itself"
            self._tell("warning", "relation-self", path, what, "Remove it from the front matter.")
            return
        if other.id != target:
            self._tell("warning", "relation-end", path, f"{target} is {other.id} now")
            moved = {**link, "target": other.id}
            text.links = without(text.links, [key])
            if key_of(moved) not in keys_of(text.links):
                text.links = with_link(text.links, moved)
        self._other_end(text, other.id, {**link, "target": other.id}, path)

    def _other_end(self, text: Text, other_id: str, link: Link, path: str) -> None:
        _, type_name, direction = key_of(link)
        far = self._ends.text_of(other_id)
        if far is None:
            return
        strength = share_of(link.get("strength"), edge_file.STRENGTH)
        edge_id = text_of(link.get("edge_id"))
        ends = (text, far) if direction == OUTGOING else (far, text)
        if edge_id and (ends[0].id, ends[1].id, type_name) not in self._ends.by_key:
            self._tell("warning", "edge-missing", path, f"there is no file of the edge {edge_id}")
            context = text_of(link.get("context"))
            kept = edge_files.kept_description(self._store.root, edge_id)
            self._ends.join(
                *ends, type_name, strength=strength, context=context, description=kept, edge_id=edge_id
            )
        if (text.id, type_name, mirrored(direction)) not in self._links_of(far):
            back = link_to(text.id, type_name, mirrored(direction), strength=strength, edge_id=edge_id)
            at = far.document.path if far.document else path
            self._tell("warning", "relation-end", at, f"it lacks the other end of a relation of {path}")
            far.links = with_link(far.links, back)

    def _links_of(self, text: Text) -> Mapping[Key, Link]:
        """Return the relations of `text` as they are planned by now, by what they are known."""
        held = self._links_by_key.get(text.id)
        if held is None or held[0] is not text.links:
            held = text.links, {key_of(link): link for link in text.links}
            self._links_by_key[text.id] = held
        return held[1]

    def _leads_nowhere(self, text: Text, link: Link, path: str) -> None:
        target, type_name, direction = key_of(link)
        if target in self._retired and path in self._returned:
            what = f"{type_name}: {target} is in the archive still"
            self._tell("note", "relation-end", path, what, _BACK)
        elif target in self._retired:
            self._tell("warning", "relation-end", path, f"{type_name}: {target} left for the archive")
            text.links = without(text.links, [(target, type_name, direction)])
        else:
            self._tell("warning", "relation-end", path, f"{type_name}: no memory is {target}", _LOOK)

    def _tell(self, level: Level, code: str, path: str, message: str, fix: str = MENDS) -> None:
        self._found.faults.append(Finding(level, code, message, fix, path))


def _says(link: Link, edge: Edge) -> bool:
    """Whether `link` has the strength and the id of its `edge`."""
    same = share_of(link.get("strength"), -1.0) == edge.strength
    return same and text_of(link.get("edge_id")) == edge.id

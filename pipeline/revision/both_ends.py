"""Both ends of every relation in step with a change: the other memory, and the file of the edge.

A relation that comes, changes or goes at one end does so at the other. A memory that leaves takes its edges
with it, or leaves them to the one that takes its place; one with a new title is called so in its edges. What
only a person may change stays as it is without one's word; `reverie doctor` then tells of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from pipeline.core.clock import iso
from pipeline.core.ids import digest
from pipeline.hooklib.front_matter import share_of, text_of
from pipeline.revision.related_texts import Text, is_renamed, planned_text, with_links, with_regained
from pipeline.store import Document, Move, Operation, Put, Restore, Retire, Snapshot, Store, WriteFile
from pipeline.store.files.names import earlier_path
from pipeline.store.graph import edge_file, edge_files
from pipeline.store.graph.edge_file import Edge
from pipeline.store.graph.relations import (
    INCOMING,
    OUTGOING,
    Key,
    key_of,
    keys_of,
    link_to,
    mirrored,
    retargeted,
    with_link,
    without,
)
from pipeline.store.ownership.permission import may_change


def with_both_ends(
    store: Store, operations: Sequence[Operation], *, now: datetime, approved: bool
) -> list[Operation]:
    """Return `operations` of one change set with what keeps both ends of relations in step.

    Nothing is looked at where no relation is concerned. Raises ConflictError as planning does.
    """
    if store.is_team:
        return list(operations)
    texts = [text for operation in operations if (text := planned_text(store, operation)) is not None]
    leaving = [operation for operation in operations if isinstance(operation, Retire) and operation.id]
    followed = [text for text in texts if text.links != text.before or is_renamed(text)]
    returning = [text for text in texts if text.returning is not None]
    if not followed and not leaving and not returning:
        return list(operations)
    ends = BothEnds(store, now, approved=approved, planned=texts, leaving=leaving)
    for retire in leaving:
        ends.leave(retire)
    for text in followed:
        ends.follow(text)
    for text in returning:
        ends.welcome(text)
    return ends.operations(operations)


class BothEnds:
    """What a change set makes of relations, at both of their ends; `approved`: at a person's word.

    `look` is one at the store that was made just now.
    """

    def __init__(
        self,
        store: Store,
        now: datetime,
        *,
        approved: bool,
        planned: Iterable[Text] = (),
        leaving: Iterable[Retire] = (),
        look: Snapshot | None = None,
    ) -> None:
        self._store = store
        self._now = iso(now)
        self._year = now.year
        self._approved = approved
        self._texts = {text.id: text for text in planned if text.id}
        self._gone = {retire.id for retire in leaving}
        self._all_read = False
        self._found: dict[tuple[str, str, str], Edge] = {}
        self._came: dict[str, Edge] = {}
        self._went: dict[str, Edge] = {}
        self._look = look

    # -- what happens to relations --------------------------------------------------------------------

    def leave(self, retire: Retire) -> None:
        """Let the memory that leaves by `retire` take its relations with it, or its heir have them."""
        former = retire.id
        heir = self._heir(retire.superseded_by)
        if heir is not None:
            self._inherit(former, heir)
        heir_id = heir.id if heir else ""
        for text in self._that_name(former):
            if text.id not in (former, heir_id):
                text.links = retargeted(text.links, former, heir_id, own=text.id)
        for edge in [edge for edge in self.edges.values() if former in (edge.from_id, edge.to_id)]:
            self._bequeath(edge, former, heir)

    def follow(self, text: Text) -> None:
        """Let the other ends and the edges follow what became of `text`: its relations, its title."""
        before = {key_of(link): link for link in text.before}
        after = {key_of(link): link for link in text.links}
        for key in before.keys() - after.keys():
            if key[0] not in self._gone:
                self.part(text, key)
        for key, link in after.items():
            if key not in before or share_of(link.get("strength"), -1) != share_of(
                before[key].get("strength"), -1
            ):
                self._join(text, link)
        if is_renamed(text):
            for edge in [edge for edge in self.edges.values() if text.id in (edge.from_id, edge.to_id)]:
                self.keep(self.titled(self.whole(edge)))

    def welcome(self, text: Text) -> None:
        """Let `text`, which comes back, have the relations that others still have to it, and their edges."""
        for other in self._that_name(text.id):
            for link in other.links if other.id != text.id else ():
                target, type_name, direction = key_of(link)
                back = (other.id, type_name, mirrored(direction))
                if target != text.id or not type_name or back in keys_of((*text.links, *text.regained)):
                    continue
                edge_id = text_of(link.get("edge_id"))
                if edge_id:
                    self._join(other, link)
                context = text_of(link.get("context"))
                regained = link_to(*back, strength=_strength(link), context=context, edge_id=edge_id)
                text.regained = (*text.regained, regained)

    def part(self, text: Text, key: Key) -> None:
        """Take the relation `key` of `text` away at both ends, and its edge."""
        target, type_name, direction = key
        text.links = without(text.links, [key])
        other = self.text_of(target)
        if other is not None:
            other.links = without(other.links, [(text.id, type_name, mirrored(direction))])
        ends = (text.id, target) if direction == OUTGOING else (target, text.id)
        edge = self.by_key.get((*ends, type_name))
        if edge is not None:
            self.remove(edge)

    def join(
        self,
        source: Text,
        target: Text,
        type_name: str,
        *,
        strength: float,
        context: str = "",
        description: str = "",
        edge_id: str = "",
    ) -> Edge:
        """Let `source` have a relation to `target`, or change the one it has; return its edge.

        A new edge gets `edge_id` where one is given.
        """
        known = self.edge_between(source, target, type_name)
        known = known and self.whole(known)
        edge = known or Edge(
            edge_id or edge_file.edge_id_of(source.id, target.id, type_name),
            type_name,
            source.id,
            target.id,
            created=self._now,
        )
        edge = replace(
            self.titled(edge),
            strength=round(strength, 4),
            description=description or (edge.description if known else context),
        )
        if known is None or edge != known:
            edge = replace(edge, updated=self._now)
        self.keep(edge)
        for text, other, direction in ((source, target, OUTGOING), (target, source, INCOMING)):
            link = link_to(
                other.id, type_name, direction, strength=edge.strength, context=context, edge_id=edge.id
            )
            if not text.fixed:
                text.links = with_link(text.links, link)
        return edge

    def edge_between(self, source: Text, target: Text, type_name: str) -> Edge | None:
        """Return the edge from `source` to `target` of that type; few files are read to find it."""
        if self._all_read:
            return self.by_key.get((source.id, target.id, type_name))
        planned = self._found.get((source.id, target.id, type_name))
        if planned is None:
            ids = [edge_file.edge_id_of(source.id, target.id, type_name)]
            for text, other in ((source, target), (target, source)):
                ids += [text_of(link.get("edge_id")) for link in text.links if key_of(link)[0] == other.id]
            between = [*edge_files.with_ids(self._store.root, ids).values()]
            between += edge_files.named_for(self._store.root, source.title, type_name, target.title)
            found = {edge.key: edge for edge in reversed(between)}
            planned = found.get((source.id, target.id, type_name))
        return planned

    def text_of(self, memory_id: str) -> Text | None:
        """Return the memory of that id as it is planned, None where none will be there."""
        if memory_id in self._gone:
            return None
        if memory_id not in self._texts:
            document = self.documents.get(memory_id)
            if document is None:
                return None
            head = document.head
            fixed = not self._approved and may_change(document, self._store) is not None
            self._texts[memory_id] = Text(
                memory_id,
                head.shown_title,
                head.relations,
                head.relations,
                document=document,
                fixed=fixed,
            )
        return self._texts[memory_id]

    # -- what is written ------------------------------------------------------------------------------

    def operations(self, planned: Sequence[Operation] = ()) -> list[Operation]:
        """Return `planned` with all that was decided here. Raises KeptAsItIsError where a file stays."""
        by_path = {
            text.operation.path: text
            for text in self._texts.values()
            if text.operation is not None and text.changed and not text.fixed
        }
        regained = {
            text.returning.path: text
            for text in self._texts.values()
            if text.returning is not None and text.regained
        }
        found: list[Operation] = []
        for operation in planned:
            if isinstance(operation, Put | Move) and operation.path in by_path:
                operation = with_links(operation, by_path[operation.path].links)
            elif isinstance(operation, Restore) and operation.path in regained:
                operation = with_regained(operation, regained[operation.path])
            found.append(operation)
        taken = {operation.path for operation in planned}
        for text in self._texts.values():
            document = text.document
            if document is None or not text.changed or text.fixed or document.path in taken:
                continue
            found.append(self._store.planner.relate(document, text.links))
        return found + self._edge_operations()

    def _edge_operations(self) -> list[Operation]:
        root, found = self._store.root, list[Operation]()
        taken = edge_files.paths(root)
        for edge in self._came.values():
            operation = edge_file.written(root, edge, taken)
            taken.add(operation.path)
            if digest(operation.data) != operation.expected:
                found.append(operation)
        for edge in self._went.values():
            gone, raw = edge_file.removed(root, edge)
            found.append(gone)
            path = earlier_path(edge.path, gone.expected or "", self._year)
            if edge.description and not (root / path).exists():
                # What somebody wrote about it is not lost with it.
                found.append(WriteFile(path, raw, None))
        return found

    # -- parts ----------------------------------------------------------------------------------------

    @cached_property
    def snapshot(self) -> list[Document]:
        """Return all memories as they lie in the store."""
        return (self._look or self._store.scan()).documents

    @cached_property
    def documents(self) -> dict[str, Document]:
        """Return them by id."""
        found: dict[str, Document] = {}
        for item in self.snapshot:
            found.setdefault(item.id, item)
        return found

    @cached_property
    def edges(self) -> dict[str, Edge]:
        """Return the edges whose files are there, by path; long descriptions are cut (`whole`)."""
        return {edge.path: edge for edge in edge_files.all_edges(self._store.root).edges}

    @cached_property
    def by_key(self) -> dict[tuple[str, str, str], Edge]:
        """Return the edges by their ends and type, those among them that are planned."""
        self._all_read = True
        found: dict[tuple[str, str, str], Edge] = {}
        for edge in self.edges.values():
            found.setdefault(edge.key, edge)
        return found | self._found

    def _is_live(self, memory_id: str) -> bool:
        return self.text_of(memory_id) is not None

    def _heir(self, memory_id: str) -> Text | None:
        text = self.text_of(memory_id) if memory_id else None
        return None if text is None or text.fixed else text

    def _inherit(self, former: str, heir: Text) -> None:
        """Let `heir` have the relations of the memory `former`, but for those between the two."""
        heir.links = retargeted(heir.links, former, "", own=heir.id)
        own = self.documents.get(former)
        for link in own.head.relations if own else ():
            target = key_of(link)[0]
            known = {key_of(each) for each in heir.links}
            if target != heir.id and key_of(link) not in known and self._is_live(target):
                # The edge brings its id along, where it has one.
                bare = {name: value for name, value in link.items() if name != "edge_id"}
                heir.links = with_link(heir.links, bare)

    def _that_name(self, memory_id: str) -> list[Text]:
        """Return the memories that have a relation to the one of that id."""
        saying = self._store.sieve.saying(self.snapshot, memory_id)
        ids = [item.id for item in self.snapshot if item.path in saying]
        found = [self.text_of(each) for each in dict.fromkeys([*ids, *self._texts])]
        return [text for text in found if text and any(key_of(k)[0] == memory_id for k in text.links)]

    def _join(self, text: Text, link: dict[str, Any]) -> None:
        """Bring the other end of a new or changed `link` of `text` in step, and its edge."""
        target, type_name, direction = key_of(link)
        other = self.text_of(target)
        if other is None or other.id == text.id or not type_name:
            return  # It leads nowhere, or to itself: nothing can be kept in step.
        if text.fixed and not link.get("edge_id"):
            back = link_to(text.id, type_name, mirrored(direction), strength=_strength(link))
            other.links = with_link(other.links, back)
            return
        ends = (text, other) if direction == OUTGOING else (other, text)
        context = text_of(link.get("context"))
        edge_id = text_of(link.get("edge_id"))
        known = self.edge_between(*ends, type_name)
        # What somebody wrote about the edge came to the archive with it.
        kept = edge_files.kept_description(self._store.root, edge_id) if known is None else ""
        self.join(
            *ends,
            type_name,
            strength=_strength(link),
            context=context,
            description=kept,
            edge_id=edge_id,
        )

    def _bequeath(self, edge: Edge, former: str, heir: Text | None) -> None:
        """Let `edge` of a memory that leaves lead to its `heir`, or remove it."""
        other = edge.other_end(former)
        moved = replace(
            self.whole(edge),
            from_id=heir.id if heir and edge.from_id == former else edge.from_id,
            to_id=heir.id if heir and edge.to_id == former else edge.to_id,
        )
        if heir is None or other in (heir.id, former) or not self._is_live(other) or moved.key in self.by_key:
            self.remove(edge)
            return
        self.by_key[moved.key] = moved
        self.keep(replace(self.titled(moved), updated=self._now))
        for end, far, direction in (
            (moved.from_id, moved.to_id, OUTGOING),
            (moved.to_id, moved.from_id, INCOMING),
        ):
            text = self.text_of(end)
            if text is not None and not text.fixed:
                link = link_to(far, moved.type, direction, strength=moved.strength, edge_id=moved.id)
                text.links = with_link(text.links, link)

    def whole(self, edge: Edge) -> Edge:
        """Return `edge` with all of its description."""
        return edge_files.whole(self._store.root, edge) if edge.path else edge

    def titled(self, edge: Edge) -> Edge:
        """Return `edge` with the titles that its memories have."""
        source, target = self.text_of(edge.from_id), self.text_of(edge.to_id)
        return replace(
            edge,
            from_title=source.title if source else edge.from_title,
            to_title=target.title if target else edge.to_title,
        )

    def keep(self, edge: Edge) -> None:
        """Plan that the file of `edge` says this."""
        (self.by_key if self._all_read else self._found)[edge.key] = edge
        self._came[edge.id] = edge

    def remove(self, edge: Edge) -> None:
        """Plan that `edge` goes."""
        self._came.pop(edge.id, None)
        self.by_key.pop(edge.key, None)
        if edge.path:
            self._went[edge.path] = edge


def _strength(link: dict[str, Any]) -> float:
    return share_of(link.get("strength"), edge_file.STRENGTH)

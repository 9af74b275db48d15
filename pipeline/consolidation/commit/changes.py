"""From checked operations to one change set for the store. Pure planning: nothing is touched here.

What merged keeps the sources, tags, anchors and age of all it was made of, and the names of those that left
as aliases, so that links and `why` still find it. What leaves goes to the archive with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from pipeline.core.errors import StoreError
from pipeline.core.ids import derived_id
from pipeline.domain.action import DreamAction
from pipeline.domain.memory import Evidence, Memory, strongest_origin
from pipeline.domain.operations import Operation, OpName, is_op
from pipeline.safety.guard import violation
from pipeline.store import Document, Snapshot, Store
from pipeline.store import Operation as StoreOperation
from pipeline.store.ownership.permission import may_change
from pipeline.text.slugs import slugify
from pipeline.verify.tags import spelled, union

INSIGHT_STRENGTH = 0.8
IN_REPORT = "see the dream's report"


@dataclass(slots=True)
class Applying:
    """What is to be done: store operations, and for the report one line per operation with its memories.

    `promoted` are copies for the user-scope store, a change set of their own.
    """

    operations: list[StoreOperation] = field(default_factory=list)
    actions: list[DreamAction] = field(default_factory=list)
    promoted: list[Memory] = field(default_factory=list)


def plan(
    operations: Sequence[Operation],
    store: Store,
    snapshot: Snapshot,
    *,
    run_id: str,
    now: datetime,
    approved: bool = False,
) -> Applying:
    """Return the change set for `operations`, which must have passed the check against `snapshot`.

    New ids derive from `run_id` and the operation's position, so planning again gives the same files. When a
    person `approved` them they reach hand-edited and pinned memories too.
    """
    build = _Build(
        store,
        {document.id: document for document in snapshot.documents if document.id},
        run_id,
        now,
        approved,
    )
    for number, operation in enumerate(operations):
        build.add(number, operation)
    return build.finished()


class _Build:
    """Collects edits per memory first, since a merge and a relation may touch the same file."""

    def __init__(
        self, store: Store, known: dict[str, Document], run_id: str, now: datetime, approved: bool
    ) -> None:
        self._store = store
        self._approved = approved
        self._known = known
        self._run_id = run_id
        self._now = now
        self._edits: dict[str, Memory] = {}
        self._fresh: list[Memory] = []
        self._leaving: list[StoreOperation] = []
        self._result = Applying()
        self._steps: dict[OpName, Callable[[int, Operation], None]] = {
            "keep": lambda *_: None,
            "merge": self._merge,
            "rewrite": self._rewrite,
            "supersede": self._supersede,
            "retire": self._retire,
            "relate": self._relate,
            "insight": self._insight,
            "promote": self._promote,
        }

    def add(self, number: int, operation: Operation) -> None:
        """Take in one operation. Raises StoreError for one that this version does not know."""
        if not is_op(operation.op):
            fix = "Let the version of Reverie that planned it carry it out, or dream anew."
            raise StoreError(f"there is no operation {operation.op[:40]!r}", fix=fix)
        self._steps[operation.op](number, operation)
        self._result.actions.append(_action_of(operation, self._known))

    def finished(self) -> Applying:
        """Return everything as store operations, those that leave last."""
        result = self._result
        for memory_id, memory in self._edits.items():
            result.operations.append(
                self._store.put(memory, existing=self._known[memory_id], approved=self._approved)
            )
        result.operations += [self._store.put(memory) for memory in self._fresh]
        result.operations += self._leaving
        return result

    # -- one method for each operation ----------------------------------------------------------------

    def _merge(self, _: int, operation: Operation) -> None:
        survivor = self._edited(operation.into)
        others = [self._known[memory_id].memory for memory_id in operation.leaving]
        memories = [survivor, *others]
        merged = replace(
            survivor,
            sources=_sources(memories),
            tags=union((memory.tags for memory in memories), most=10),
            anchors=union((memory.anchors for memory in memories), most=12),
            importance=max(memory.importance for memory in memories),
            confidence=max(memory.confidence for memory in memories),
            created=min((memory.created for memory in memories if memory.created), default=survivor.created),
            origin=strongest_origin(memory.origin for memory in memories),
            relations=_relations(memories, {memory.id for memory in memories}),
            updated=self._now,
        )
        self._edits[operation.into] = self._named(_with_text(merged, operation), others)
        self._leave(operation)

    def _supersede(self, _: int, operation: Operation) -> None:
        winner = self._known[operation.into]
        if self._may_write(winner):
            others = [self._known[memory_id].memory for memory_id in operation.leaving]
            self._edits[operation.into] = self._named(self._edited(operation.into), others)
        self._leave(operation)

    def _rewrite(self, _: int, operation: Operation) -> None:
        memory_id = operation.ids[0]
        changed = _with_text(replace(self._edited(memory_id), updated=self._now), operation)
        self._edits[memory_id] = changed

    def _retire(self, _: int, operation: Operation) -> None:
        self._leave(operation)

    def _relate(self, _: int, operation: Operation) -> None:
        source_id, target_id = operation.ids[:2]
        self._edits[source_id] = self._related(self._edited(source_id), target_id, operation, "outgoing")
        target = self._known[target_id]
        if self._may_write(target):
            self._edits[target_id] = self._related(self._edited(target_id), source_id, operation, "incoming")

    def _insight(self, number: int, operation: Operation) -> None:
        based_on = [self._known[memory_id].memory for memory_id in operation.ids]
        memory = Memory(
            name=slugify(operation.name or operation.title or operation.description),
            description=operation.description,
            type="insight",
            body=operation.body,
            id=derived_id(self._run_id, str(number)),
            title=operation.title,
            tags=spelled(operation.tags),
            importance=max(source.importance for source in based_on),
            confidence=min(source.confidence for source in based_on),
            created=self._now,
            updated=self._now,
            origin="assistant-inferred",
            sources=_sources(based_on),
            relations=tuple(
                {
                    "target": source.id,
                    "type": "BUILDS_ON",
                    "direction": "outgoing",
                    "strength": INSIGHT_STRENGTH,
                }
                for source in based_on
            ),
        )
        self._fresh.append(memory)

    def _promote(self, number: int, operation: Operation) -> None:
        memory = self._known[operation.ids[0]].memory
        copy = _with_text(memory, operation) if operation.statement else memory
        self._result.promoted.append(
            replace(copy, id=derived_id(self._run_id, "user", str(number)), path="", relations=())
        )

    # -- helpers --------------------------------------------------------------------------------------

    def _may_write(self, document: Document) -> bool:
        return self._approved or may_change(document, self._store) is None

    def _edited(self, memory_id: str) -> Memory:
        return self._edits.get(memory_id) or self._known[memory_id].memory

    def _leave(self, operation: Operation) -> None:
        for memory_id in operation.leaving:
            self._edits.pop(memory_id, None)
            self._leaving.append(
                self._store.retire(
                    self._known[memory_id],
                    year=self._now.year,
                    reason=f"{operation.op}: {_fit(operation.reason)}",
                    superseded_by=operation.into,
                )
            )

    def _named(self, memory: Memory, others: Sequence[Memory]) -> Memory:
        """Return `memory` that also answers to the names of `others`, and to those they answered to."""
        names = list(memory.aliases)
        for other in others:
            names += [other.name, *other.aliases]
        return replace(memory, aliases=tuple(dict.fromkeys(name for name in names if name != memory.name)))

    def _related(self, memory: Memory, target: str, operation: Operation, direction: str) -> Memory:
        link = {
            "target": target,
            "type": operation.relation,
            "direction": direction,
            "strength": operation.strength,
            "context": _fit(operation.reason),
        }
        same = ("target", "type", "direction")
        others = [known for known in memory.relations if any(known.get(name) != link[name] for name in same)]
        return replace(memory, relations=(*others, link), updated=self._now)


def actions_of(operations: Sequence[Operation], snapshot: Snapshot) -> list[DreamAction]:
    """Return for the report what each of `operations` does; nothing is planned."""
    known = {document.id: document for document in snapshot.documents if document.id}
    return [_action_of(operation, known) for operation in operations]


def _action_of(operation: Operation, known: Mapping[str, Document]) -> DreamAction:
    memories = [known[memory_id].memory for memory_id in operation.ids if memory_id in known]
    return DreamAction(
        op=operation.op,
        memories=tuple(memory.name for memory in memories),
        into=known[operation.into].name if operation.into in known else "",
        reason=operation.reason,
        dropped=operation.dropped,
        sources=tuple(source.model_dump() for source in _sources(memories)),
    )


def _fit(reason: str) -> str:
    """Return `reason` as a file of the store may hold it: it may quote what must not stand there."""
    return IN_REPORT if violation(reason) else reason


def _with_text(memory: Memory, operation: Operation) -> Memory:
    if not operation.statement:
        return memory
    return replace(
        memory,
        description=operation.description or memory.description,
        title=operation.title or memory.title,
        body=operation.body,
    )


def _sources(memories: Sequence[Memory]) -> tuple[Evidence, ...]:
    """Return at most three sources, one of each memory in turn, so that none loses all of its own."""
    queues = [list(memory.sources) for memory in memories]
    found: list[Evidence] = []
    while any(queues):
        for queue in queues:
            if queue:
                source = queue.pop(0)
                if source not in found:
                    found.append(source)
    return tuple(found)


def _relations(memories: Sequence[Memory], inside: set[str]) -> tuple[dict[str, Any], ...]:
    links = [link for memory in memories for link in memory.relations if link.get("target") not in inside]
    unique = {(link.get("target"), link.get("type"), link.get("direction")): link for link in links}
    return tuple(unique.values())

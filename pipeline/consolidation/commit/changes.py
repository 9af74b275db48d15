"""From checked operations to changes of the store: each is handed to the door, which judges and plans it.

Nothing is touched here. What merged keeps the sources, tags, anchors and age of all it was made of, and the
names of those that left as aliases, so that links and `why` still find it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pipeline.core.errors import ConflictError, DocumentError, StoreError
from pipeline.core.ids import derived_id
from pipeline.domain.action import DreamAction
from pipeline.domain.body import Body
from pipeline.domain.memory import MAX_DESCRIPTION, Memory
from pipeline.domain.operations import Operation, OpName, Refused, is_op
from pipeline.domain.sentences import folded, sentences
from pipeline.hooklib.plain import one_line
from pipeline.revision.compose import Removal, Replacement, amended, without
from pipeline.revision.door import Door, barred
from pipeline.store import Document, Put, Snapshot, Store
from pipeline.text.slugs import slugify
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import replace_bears, sources_of

INSIGHT_STRENGTH = 0.8
OVERTAKEN = "a memory it is about was changed before it could be done"
Outcome = tuple[Removal, ...] | Flaw
"""What an operation leaves out, or why it may not be done."""


@dataclass(slots=True)
class Planned:
    """What is to be done: the door with the planned changes, and of which operations they are.

    `done` and `actions`, one line of the report for each, are in the same order; `refused` are those that the
    door turned away. `promoted` are copies for the user-scope store, a change set of their own.
    """

    door: Door
    done: list[Operation] = field(default_factory=list)
    actions: list[DreamAction] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    promoted: list[Memory] = field(default_factory=list)


def plan(
    operations: Sequence[Operation],
    store: Store,
    snapshot: Snapshot,
    *,
    run_id: str,
    now: datetime,
    approved: bool = False,
) -> Planned:
    """Return what `operations`, which must have passed the check against `snapshot`, do to the store.

    New ids derive from `run_id` and the operation's position, so planning again gives the same files. When a
    person `approved` them they reach hand-edited and pinned memories too. Raises StoreError for an operation
    that this version does not know, ConflictError when a file changes while it is read.
    """
    known = {document.id: document for document in snapshot.documents if document.id}
    build = _Build(known, run_id, now, approved, Planned(Door(store, now=now, approved=approved)))
    # Relations come last: they join what the others made of a text.
    for number, operation in sorted(enumerate(operations), key=lambda item: item[1].op == "relate"):
        build.add(number, operation)
    return build.result


def rehearsed(
    operations: Sequence[Operation], store: Store, snapshot: Snapshot, *, run_id: str, now: datetime
) -> Planned:
    """Return what `plan` would, and leave nothing planned.

    An operation about a memory that is no longer as in `snapshot` is refused: it has been overtaken.
    """
    if not operations:
        # Most groups stay as they are, and a look at the whole store would tell nothing.
        return Planned(Door(store, now=now))
    present = {document.id: (document.path, document.digest) for document in store.scan().documents}
    known = {document.id: (document.path, document.digest) for document in snapshot.documents}
    steady = [
        operation
        for operation in operations
        if all(present.get(memory_id) == known[memory_id] for memory_id in operation.about)
    ]
    try:
        planned = plan(steady, store, snapshot, run_id=run_id, now=now)
    except ConflictError:
        planned, steady = Planned(Door(store, now=now)), []
    finally:
        store.drop_plans()
    planned.refused += [Refused(item, OVERTAKEN) for item in operations if item not in steady]
    return planned


@dataclass(slots=True)
class _Build:
    known: Mapping[str, Document]
    run_id: str
    now: datetime
    approved: bool
    result: Planned

    def add(self, number: int, operation: Operation) -> None:
        """Take in one operation, or note why the door turns it away."""
        if not is_op(operation.op):
            fix = "Let the version of Reverie that planned it carry it out, or dream anew."
            raise StoreError(f"there is no operation {operation.op[:40]!r}", fix=fix)
        steps: dict[OpName, Callable[[int, Operation], Outcome]] = {
            "keep": lambda *_: (),
            "merge": self._merge,
            "supersede": self._supersede,
            "strike": self._strike,
            "retire": self._retire,
            "relate": self._relate,
            "insight": self._insight,
            "promote": self._promote,
        }
        try:
            outcome = steps[operation.op](number, operation)
        except DocumentError as error:
            # Too large to be read back, for instance: the other operations go on.
            outcome = Flaw(f"the file it would make can't be read: {error}", to_inbox=True)
        if isinstance(outcome, Flaw):
            self.result.refused.append(Refused(operation, outcome.reason, outcome.to_inbox, outcome.later))
            return
        self.result.done.append(operation)
        self.result.actions.append(action_of(operation, self.known, outcome))

    # -- one method for each operation ----------------------------------------------------------------

    def _merge(self, _: int, operation: Operation) -> Outcome:
        covered: dict[str, dict[int, str]] = {}
        for cover in operation.covered:
            covered.setdefault(cover.id, {})[cover.number] = self._sentence(cover.by_id, cover.by_number)
        others = [self.known[memory_id] for memory_id in operation.leaving]
        return self.result.door.merge(
            self.known[operation.into], others, covered, f"merge: {operation.reason}"
        )

    def _supersede(self, _: int, operation: Operation) -> Outcome:
        others = [self.known[memory_id] for memory_id in operation.leaving]
        flaw = self.result.door.supersede(
            self.known[operation.into], others, f"supersede: {operation.reason}"
        )
        return flaw or ()

    def _strike(self, _: int, operation: Operation) -> Outcome:
        document = self.known[operation.ids[0]]
        old = document.memory
        overtaken = {cover.number: cover for cover in operation.covered}
        if self.approved:
            changes = [Replacement(number, "") for number in overtaken]
            memory, removals = amended(old, changes, Body(""), (), now=self.now)
        else:
            memory, removals = without(old, overtaken, "", now=self.now)
        if len(removals) < len(overtaken) or not memory.body.strip():
            return Flaw("a sentence that another follows, or the last of all, is struck", to_inbox=True)
        by_text = {self._sentence(old.id, number): cover for number, cover in overtaken.items()}
        struck = []
        for removal in removals:
            cover = by_text[removal.text]
            by = self._sentence(cover.by_id, cover.by_number)
            winner = self.known[cover.by_id]
            # Of a file that we did not write as it is the sources are nobody's word.
            ours = self.result.door.store.is_as_written(winner)
            evidence = sources_of(winner.memory, by) if ours else ()
            struck.append(replace(removal, by=by, evidence=evidence))
        planned = self.result.door.revise(document, _described(memory), struck)
        return planned if isinstance(planned, Flaw) else tuple(struck)

    def _retire(self, _: int, operation: Operation) -> Outcome:
        for memory_id in operation.ids:
            planned = self.result.door.retire(self.known[memory_id], f"retire: {operation.reason}")
            if isinstance(planned, Flaw):
                return planned
        return ()

    def _relate(self, _: int, operation: Operation) -> Outcome:
        source, target = (self.known[memory_id] for memory_id in operation.ids[:2])
        link = {"type": operation.relation, "strength": operation.strength}
        flaw = self.result.door.relate(source, {"target": target.id, "direction": "outgoing", **link})
        if flaw is None:
            # The other end may belong to a person: then the door turns the way back away, and it stays.
            self.result.door.relate(target, {"target": source.id, "direction": "incoming", **link})
        return flaw or ()

    def _insight(self, number: int, operation: Operation) -> Outcome:
        based_on = [self.known[memory_id].memory for memory_id in operation.ids]
        memory = Memory(
            name=slugify(operation.name or operation.title or operation.description),
            description=operation.description,
            type="insight",
            body=operation.body,
            id=derived_id(self.run_id, str(number)),
            title=operation.title,
            importance=max(source.importance for source in based_on),
            confidence=min(source.confidence for source in based_on),
            created=self.now,
            updated=self.now,
            origin="assistant-inferred",
            sources=tuple(replace_bears(item, ()) for source in based_on for item in source.sources),
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
        planned = self.result.door.create(memory)
        return () if isinstance(planned, Put) else planned

    def _promote(self, number: int, operation: Operation) -> Outcome:
        memory = self.known[operation.ids[0]].memory
        flaw = barred(memory)
        if flaw is not None:
            return replace(flaw, to_inbox=True)
        copy_id = derived_id(self.run_id, "user", str(number))
        self.result.promoted.append(replace(memory, id=copy_id, path="", relations=()))
        return ()

    def _sentence(self, memory_id: str, number: int) -> str:
        return sentences(self.known[memory_id].memory.body)[number - 1].text


def action_of(
    operation: Operation, known: Mapping[str, Document], removals: Sequence[Removal] = ()
) -> DreamAction:
    """Return for the report what `operation` does, which leaves out `removals`."""
    memories = [known[memory_id].memory for memory_id in operation.ids if memory_id in known]
    return DreamAction(
        op=operation.op,
        memories=tuple(memory.name for memory in memories),
        into=known[operation.into].name if operation.into in known else "",
        reason=operation.reason,
        left_out=tuple((removal.text, removal.by) for removal in removals),
        sources=tuple(source.as_told() for memory in memories for source in memory.sources),
    )


def _described(memory: Memory) -> Memory:
    """Return `memory` described by one of its sentences: the former line may tell what was struck."""
    found = sentences(memory.body)
    if any(folded(memory.description) == folded(sentence.text) for sentence in found):
        return memory
    return replace(memory, description=one_line(found[0].text, MAX_DESCRIPTION) if found else "")

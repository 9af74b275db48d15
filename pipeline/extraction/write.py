"""From screened candidates to one planned change set: create, update, retire, or ask a person.

Near-copies become updates of what is there. What code may not decide is proposed in the inbox instead: a
change of a file that a person or Claude wrote (DESIGN §9), the assistant's words over a person's, a text
that loses something nobody took back. Pure planning: the store applies it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pipeline.core.ids import derived_id
from pipeline.domain.action import MemoryAction
from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Memory
from pipeline.extraction.schema import Withdrawal
from pipeline.extraction.screen import Verdict
from pipeline.extraction.screened_candidate import Screened
from pipeline.extraction.strategies import Span
from pipeline.store import Document, Operation, Put, Snapshot, Store
from pipeline.store.ownership.permission import may_change
from pipeline.text.similarity import FEWEST_WORDS, NEAR_COPY, every_word, jaccard, numbers
from pipeline.verify import revision

_TAKEN = "this run already changes that memory"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something for the inbox: what is proposed, about which memory, and why it was not simply done."""

    kind: str
    name: str
    reason: str
    payload: dict[str, Any]


@dataclass(slots=True)
class ExtractionPlan:
    """Operations for the store, what they mean for a reader, and what goes to the inbox."""

    operations: list[Operation] = field(default_factory=list)
    actions: list[MemoryAction] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)


def plan(
    verdict: Verdict,
    store: Store,
    snapshot: Snapshot,
    *,
    run_id: str,
    now: datetime,
    provisional: frozenset[str],
    propose_only: bool = False,
) -> ExtractionPlan:
    """Return how to bring `verdict` into `store` as it stands in `snapshot`.

    Ids derive from `run_id` and the candidate's position, so that planning again after a crash gives the same
    files. Withdrawals of memories from other conversations stop at 5 % of the store (at least one).
    """
    build = _Build(store, snapshot, now, propose_only)
    for number, item in enumerate(verdict.accepted):
        build.add(item, derived_id(run_id, str(number)))
    budget = max(1, len(snapshot.documents) // 20)
    for withdrawal, sources in verdict.withdrawals:
        own = withdrawal.name in provisional
        if not own and budget <= 0:
            build.propose_withdrawal(withdrawal, sources, "more withdrawals than one run may make")
            continue
        budget -= 0 if own else 1
        build.withdraw(withdrawal, sources)
    for rejected in verdict.rejected:
        if rejected.to_inbox:
            payload = rejected.candidate.to_json() if rejected.candidate else {}
            build.result.proposals.append(Proposal("new", rejected.name, rejected.reason, payload))
    return build.result


def accepted(item: Screened, store: Store, target: Document | None, *, memory_id: str, now: datetime) -> Put:
    """Plan `item` on a person's word: over `target`, or as a new memory with `memory_id`.

    It is the memory that extraction would have written, had nothing stood in its way.
    """
    if target is None:
        return store.put(item.memory(memory_id, now))
    return store.put(item.revision_of(target.memory, now), existing=target, approved=True)


class _Build:
    """The plan while it is made: what this run has taken already is part of it."""

    def __init__(self, store: Store, snapshot: Snapshot, now: datetime, propose_only: bool) -> None:
        self.result = ExtractionPlan()
        self._store = store
        self._snapshot = snapshot
        self._now = now
        self._propose_only = propose_only
        self._taken: set[str] = set()

    def add(self, item: Screened, memory_id: str) -> None:
        """Plan `item` as an update of what says it already, else as a new memory with `memory_id`."""
        made = self._snapshot.by_name(memory_id)
        if made is not None:
            # Made before a crash; the run must still be able to say so.
            self._note("created", made.memory, made.path)
            return
        target = self._target(item)
        if target is None:
            self._create(item, memory_id)
        else:
            self._update(item, target)

    def withdraw(self, withdrawal: Withdrawal, sources: tuple[Evidence, ...]) -> None:
        """Plan that the memory named by `withdrawal` leaves, if there is one."""
        target = self._snapshot.by_name(withdrawal.name)
        if target is None:
            return
        reason = self._hands_off(target)
        if reason:
            self.propose_withdrawal(withdrawal, sources, reason)
            return
        self._taken.add(target.path)
        self.result.operations.append(
            self._store.retire(target, year=self._now.year, reason=withdrawal.reason)
        )
        self.result.actions.append(
            MemoryAction("withdrawn", target.memory.name, target.memory.id, reason=withdrawal.reason)
        )

    def propose_withdrawal(self, withdrawal: Withdrawal, sources: tuple[Evidence, ...], reason: str) -> None:
        """Put `withdrawal` to a person, who is told the `reason`."""
        payload = {"reason": withdrawal.reason, "sources": [source.model_dump() for source in sources]}
        self.result.proposals.append(Proposal("retire", withdrawal.name, reason, payload))

    def _target(self, item: Screened) -> Document | None:
        target = self._snapshot.by_name(item.update_of) if item.update_of else None
        return (
            target or self._snapshot.by_name(item.name) or near_copy(item.statement, self._snapshot.documents)
        )

    def _create(self, item: Screened, memory_id: str) -> None:
        reason = self._hands_off(None)
        if reason:
            self.result.proposals.append(Proposal("new", item.name, reason, item.to_json()))
            return
        self._put("created", self._store.put(item.memory(memory_id, self._now)))

    def _update(self, item: Screened, target: Document) -> None:
        old = target.memory
        revised = item.revision_of(old, self._now)
        if _says_nothing_new(old, revised):
            self.result.actions.append(MemoryAction("known", old.name, old.id))
            return
        flaw = revision.flaw_of(old, item.memory("", self._now))
        reason = self._hands_off(target) or (flaw.reason if flaw else "")
        if not reason:
            self._put("updated", self._store.put(revised, existing=target))
            return
        payload = {
            **item.to_json(),
            # What it would replace, so that accepting it later can't take an edit made meanwhile along.
            "update_of": old.name,
            "was": target.digest,
            "old_body": old.body,
        }
        self.result.proposals.append(Proposal("update", old.name, reason, payload))

    def _put(self, action: str, put: Put) -> None:
        self._taken.add(put.path)
        self.result.operations.append(put)
        self._note(action, put.memory, put.path)

    def _note(self, action: str, memory: Memory, path: str) -> None:
        self.result.actions.append(MemoryAction(action, memory.name, memory.id, path))

    def _hands_off(self, target: Document | None) -> str:
        """Return why the change must be left to a person, or "" when it may be made."""
        if self._propose_only:
            return "the store is in propose mode"
        if target is None:
            return ""
        untouchable = may_change(target, self._store)
        if untouchable is not None:
            return untouchable.clause_about("the memory")
        return _TAKEN if target.path in self._taken else ""


def taken_from(snapshot: Snapshot, span: Span) -> list[Memory]:
    """Return the memories that were taken from this very conversation, by their sources' entries."""
    if not span.sessions:
        return []
    spoken = {utterance.uuid for utterance in (*span.context, *span.new)}
    return [
        document.memory
        for document in snapshot.documents
        if any(
            source.session in span.sessions and source.uuid in spoken for source in document.memory.sources
        )
    ]


def overtaken(path: str) -> Proposal:
    """Return the note for a file that someone else wrote in the very moment we did: theirs stands."""
    reason = "someone else wrote this file at the same moment; our version is in .reverie/conflicts"
    return Proposal("conflict", path, reason, {})


def _says_nothing_new(old: Memory, new: Memory) -> bool:
    # Compared by words, so that a reply which only rephrases leaves the file, and its age, alone.
    return every_word(new.body) <= every_word(old.body)


def near_copy(statement: str, documents: Iterable[Document]) -> Document | None:
    """Return the document whose statement is the same as `statement` in all but a few words, or None."""
    mine, counted = every_word(statement), numbers(statement)
    if len(mine) < FEWEST_WORDS:
        return None
    for document in documents:
        first = Body.parse(document.memory.body).statement
        # Two facts that differ in one number are two facts, however alike they read.
        if jaccard(mine, every_word(first)) >= NEAR_COPY and numbers(first) == counted:
            return document
    return None

"""From screened candidates to one planned change set: create, update, retire, or ask a person.

Near-copies become updates of what is there; files a person or Claude wrote are never touched, the change
is proposed in the inbox instead (DESIGN §9). Pure planning: the store applies it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from pipeline.core.ids import derived_id
from pipeline.domain.memory import MAX_SOURCES, Evidence, Memory
from pipeline.extraction.schema import Withdrawal
from pipeline.extraction.screen import Rejected, Screened, Verdict, bar
from pipeline.extraction.strategies import Span
from pipeline.store import Document, Operation, Snapshot, Store
from pipeline.text.similarity import FEWEST_WORDS, NEAR_COPY, every_word, jaccard, numbers

_PLAIN = {"user-stated": 3, "user-confirmed": 2, "assistant-inferred": 1}


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
    actions: list[dict[str, str]] = field(default_factory=list)
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

    Ids derive from `run_id` and the candidate's place, so that planning again after a crash gives the same
    files. Withdrawals of memories from other conversations stop at 5 % of the store (at least one).
    """
    result = ExtractionPlan()
    taken: set[str] = set()
    for number, item in enumerate(verdict.kept):
        memory_id = derived_id(run_id, str(number))
        made = snapshot.by_name(memory_id)
        if made is None:
            _place(result, item, store, snapshot, memory_id, now, taken, propose_only)
        else:
            # Made before a crash; the run must still be able to say so.
            result.actions.append(_action("created", made.memory.name, memory_id, made.path))
    budget = max(1, len(snapshot.documents) // 20)
    for withdrawal, sources in verdict.withdrawals:
        own = withdrawal.name in provisional
        if not own and budget <= 0:
            result.proposals.append(
                _withdrawal(withdrawal, sources, "more withdrawals than one run may make")
            )
            continue
        budget -= 0 if own else 1
        _withdraw(result, withdrawal, sources, store, snapshot, now, taken, propose_only)
    for rejected in verdict.rejected:
        if rejected.to_inbox:
            result.proposals.append(_rejected(rejected))
    return result


def taken_from(snapshot: Snapshot, span: Span) -> list[Memory]:
    """Return the memories that were taken from this very conversation, by their sources' entries."""
    if not span.sessions:
        return []
    spoken = {u.uuid for u in (*span.context, *span.new)}
    return [
        d.memory
        for d in snapshot.documents
        if any(s.session in span.sessions and s.uuid in spoken for s in d.memory.sources)
    ]


def overtaken(path: str) -> Proposal:
    """Return the note for a file that someone else wrote in the very moment we did: theirs stands."""
    reason = "someone else wrote this file at the same moment; our version is in .reverie/conflicts"
    return Proposal("conflict", path, reason, {})


def _place(
    result: ExtractionPlan,
    item: Screened,
    store: Store,
    snapshot: Snapshot,
    memory_id: str,
    now: datetime,
    taken: set[str],
    propose_only: bool,
) -> None:
    target = snapshot.by_name(item.update_of) if item.update_of else None
    target = target or snapshot.by_name(item.name) or near_copy(item.statement, snapshot.documents)
    if target is None:
        memory = _fresh(item, memory_id, now)
    else:
        memory = _revised(target.memory, item, now)
        if _says_nothing_new(target.memory, memory):
            result.actions.append({"action": "known", "name": target.memory.name, "id": target.memory.id})
            return
    reason = _hands_off(target, store, taken, propose_only)
    if reason:
        name = target.memory.name if target else item.name
        payload = {"update_of": "", **_payload(item)}
        if target:
            # What it would replace, so that accepting it later can't take an edit made meanwhile along.
            payload |= {"update_of": target.memory.name, "was": target.digest}
        result.proposals.append(Proposal("update" if target else "new", name, reason, payload))
        return
    put = store.put(memory, existing=target)
    taken.add(put.path)
    result.operations.append(put)
    action = "updated" if target else "created"
    result.actions.append(_action(action, put.memory.name, put.memory.id, put.path))


def _action(action: str, name: str, memory_id: str, path: str) -> dict[str, str]:
    return {"action": action, "name": name, "id": memory_id, "path": path}


def _withdraw(
    result: ExtractionPlan,
    withdrawal: Withdrawal,
    sources: tuple[Evidence, ...],
    store: Store,
    snapshot: Snapshot,
    now: datetime,
    taken: set[str],
    propose_only: bool,
) -> None:
    target = snapshot.by_name(withdrawal.name)
    if target is None:
        return
    reason = _hands_off(target, store, taken, propose_only)
    if reason:
        result.proposals.append(_withdrawal(withdrawal, sources, reason))
        return
    taken.add(target.path)
    result.operations.append(store.retire(target, year=now.year, reason=withdrawal.reason))
    result.actions.append({"action": "withdrawn", "name": target.memory.name, "id": target.memory.id,
                           "reason": withdrawal.reason})  # fmt: skip


def _hands_off(target: Document | None, store: Store, taken: set[str], propose_only: bool) -> str | None:
    """Return why the change must be left to a person, or None when it may be made."""
    if propose_only:
        return "the store is in propose mode"
    if target is None:
        return None
    if target.memory.pinned:
        return "the memory is pinned"
    if not store.is_ours(target):
        return "the memory was written or edited by someone else"
    if target.path in taken:
        return "this run already changes that memory"
    return None


def _fresh(item: Screened, memory_id: str, now: datetime) -> Memory:
    return Memory(
        name=item.name,
        description=item.description,
        type=item.type,
        body=item.body,
        id=memory_id,
        title=item.title,
        tags=item.tags,
        importance=item.importance,
        confidence=item.confidence,
        created=now,
        updated=now,
        origin=item.origin,
        sources=item.sources,
        anchors=item.anchors,
    )


def _revised(old: Memory, item: Screened, now: datetime) -> Memory:
    """Return `old` with the new text; name, place, id, type and age stay, older sources if there is room."""
    sources = [*item.sources, *(s for s in old.sources if s not in item.sources)]
    stronger = max(old.origin, item.origin, key=lambda origin: _PLAIN.get(origin, 0))
    return replace(
        old,
        description=item.description,
        body=item.body,
        title=item.title or old.title,
        tags=tuple(dict.fromkeys((*item.tags, *old.tags)))[:5],
        importance=max(old.importance, item.importance),
        confidence=item.confidence,
        updated=now,
        origin=stronger,
        sources=tuple(sources[:MAX_SOURCES]),
        anchors=tuple(dict.fromkeys((*item.anchors, *old.anchors)))[:8],
    )


def _says_nothing_new(old: Memory, new: Memory) -> bool:
    # Compared by words, so that a reply which only rephrases leaves the file, and its age, alone.
    return every_word(new.body) <= every_word(old.body)


def near_copy(statement: str, documents: Iterable[Document]) -> Document | None:
    """Return the document whose statement is the same as `statement` in all but a few words, or None."""
    mine, counted = every_word(statement), numbers(statement)
    if len(mine) < FEWEST_WORDS:
        return None
    for document in documents:
        first = document.memory.body.split("**Why:**")[0]
        # Two facts that differ in one number are two facts, however alike they read.
        if jaccard(mine, every_word(first)) >= NEAR_COPY and numbers(first) == counted:
            return document
    return None


def _payload(item: Screened) -> dict[str, Any]:
    values = asdict(item)
    values["sources"] = [source.model_dump() for source in item.sources]
    values["said_at"] = item.said_at.isoformat() if item.said_at else None
    values["body"] = item.body
    return values


def _withdrawal(withdrawal: Withdrawal, sources: tuple[Evidence, ...], reason: str) -> Proposal:
    payload = {"reason": withdrawal.reason, "sources": [source.model_dump() for source in sources]}
    return Proposal("retire", withdrawal.name, reason, payload)


def _rejected(rejected: Rejected) -> Proposal:
    payload = rejected.candidate.model_dump() if rejected.candidate else {}
    if payload:
        # Only what was found in the dialogue was screened with the candidate.
        payload["evidence"] = [item for item in payload["evidence"] if not bar(item["quote"])]
    return Proposal("new", rejected.name, rejected.reason, payload)

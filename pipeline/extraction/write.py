"""From candidates that were read twice to one planned change set: create, update, withdraw, or propose.

Every change goes through `revision.Door`, whose rules decide what may stand. An update changes the memory
that the reply named and no other; an equal name gets a suffix. What code may not decide goes to the inbox.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from pipeline.core.ids import derived_id
from pipeline.core.zone import day
from pipeline.domain.action import MemoryAction
from pipeline.domain.memory import HUMAN_ONLY, Memory
from pipeline.domain.sentences import folded, sentences
from pipeline.extraction.screen import SAID_LATER, Case, Rejected, Verdict, Withdrawn
from pipeline.extraction.screened_candidate import Screened
from pipeline.hooklib.plain import one_line
from pipeline.ledger.inbox import InboxItem
from pipeline.revision import Door
from pipeline.revision.door import barred
from pipeline.store import Document, Move, Put, Snapshot
from pipeline.verify.barred import in_inbox
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import sentence_said_at, vouched

TAKEN = "this run already changes that memory"
CHANGED = "the memory changed since it was shown"
EVERYWHERE = "it is meant for all projects"
PROPOSING = "the store is in propose mode"
_LOG_CHARS = 300


@dataclass(frozen=True, slots=True)
class Proposal:
    """Something for the inbox: what is proposed, about which memory, and why it was not simply done.

    `everywhere` says that the memory is of the user scope, whose own inbox gets it.
    """

    kind: str
    name: str
    reason: str
    payload: dict[str, Any]
    everywhere: bool = False

    @property
    def content(self) -> tuple[str, str]:
        """Return what tells whether two proposals are the same."""
        return _content(self.kind, {"name": self.name, **self.payload})


@dataclass(slots=True)
class ExtractionPlan:
    """What the planned operations mean for a reader, what goes to the inbox, and what was turned down."""

    actions: list[MemoryAction] = field(default_factory=list)
    proposals: list[Proposal] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    waits_already: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return the plan as values that JSON holds, without the candidates that were turned down."""
        return {
            "actions": [action.to_json() for action in self.actions],
            "proposals": [asdict(proposal) for proposal in self.proposals],
            "rejected": [[item.name, item.reason] for item in self.rejected],
            "waits_already": self.waits_already,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ExtractionPlan:
        """Return what `to_json` gave, read back."""
        return cls(
            [MemoryAction.from_json(action) for action in values["actions"]],
            [Proposal(**proposal) for proposal in values["proposals"]],
            [Rejected(name, reason) for name, reason in values["rejected"]],
            values["waits_already"],
        )


@dataclass(frozen=True, slots=True)
class Terms:
    """How to plan: ids derive from `run_id`, so that planning again after a crash gives the same files.

    `provisional` names memories of this very conversation, `everyone` is the user scope, `waiting` what is in
    the inbox already. With `propose_only` everything goes there.
    """

    run_id: str
    now: datetime
    provisional: frozenset[str] = frozenset()
    everyone: Mapping[str, Document] = field(default_factory=dict)
    waiting: Sequence[InboxItem] = ()
    propose_only: bool = False


def plan(verdict: Verdict, door: Door, snapshot: Snapshot, terms: Terms) -> ExtractionPlan:
    """Plan at `door` how to bring `verdict` into the store as it stands in `snapshot`.

    Withdrawals of memories from other conversations stop at 5 % of the store (at least one).
    """
    build = _Build(door, snapshot, terms)
    for case in verdict.cases:
        build.add(case)
    build.result.actions += [MemoryAction("known", memory.name, memory.id) for memory in verdict.known]
    budget = max(1, len(snapshot.documents) // 20)
    for withdrawn in verdict.withdrawals:
        own = withdrawn.withdrawal.name in terms.provisional
        over = "" if own or budget > 0 else "more withdrawals than one run may make"
        budget -= build.withdraw(withdrawn, withdrawn.doubt or over) and not own
    for rejected in verdict.rejected:
        build.reject(rejected)
    return build.result


def accept(
    item: Screened, door: Door, target: Document | None, *, memory_id: str, now: datetime
) -> Flaw | None:
    """Plan `item` at an approved `door`: over `target`, or as a new memory; return why it may not be kept."""
    if target is None:
        made: Put | Move | Flaw = door.create(item.memory(memory_id, now))
    else:
        changed = item.amending(target.memory, now)
        if changed is None:
            return Flaw(CHANGED)
        made = door.revise(target, *changed, rename=item.renames(target.memory))
    return made if isinstance(made, Flaw) else None


def overtaken(path: str) -> Proposal:
    """Return the note for a file that someone else wrote in the very moment we did: theirs stands."""
    reason = "someone else wrote this file at the same moment; our version is in .reverie/conflicts"
    return Proposal("conflict", path, reason, {})


class _Build:
    """The plan while it is made: what this run has taken already is part of it."""

    def __init__(self, door: Door, snapshot: Snapshot, terms: Terms) -> None:
        self.result = ExtractionPlan()
        self._door = door
        self._snapshot = snapshot
        self._terms = terms
        self._taken: set[str] = set()
        self._waiting = {_content(item.kind, item.payload) for item in terms.waiting}

    def add(self, case: Case) -> None:
        """Plan `case` as an update of the memory it names, else as a new memory."""
        if case.old is None:
            self._create(case)
            return
        target = self._snapshot.by_name(case.old.name)
        if target is not None:
            self._update(case, target)
        else:
            self._propose_update(case.item, CHANGED)

    def withdraw(self, withdrawn: Withdrawn, doubt: str) -> bool:
        """Plan that the memory leaves, or with `doubt` propose it; return whether it leaves."""
        withdrawal, sources = withdrawn.withdrawal, withdrawn.sources
        target, everywhere = self._find(withdrawal.name)
        if target is None:
            return False
        doubt = doubt or self._leave_alone(target) or (EVERYWHERE if everywhere else "")
        quote = "; ".join(f"“{source.quote}” ({day(source.at, 'day unknown')})" for source in sources)
        reason = one_line(f"{withdrawal.reason}: {quote}" if quote else withdrawal.reason, _LOG_CHARS)
        words = tuple(source.as_values() for source in sources)
        if not doubt:
            planned = self._door.retire(target, reason)
            if not isinstance(planned, Flaw):
                self._taken.add(target.path)
                self.result.actions.append(
                    MemoryAction("withdrawn", target.name, target.id, reason=withdrawal.reason, sources=words)
                )
                return True
            doubt = planned.reason
        payload = {"reason": withdrawal.reason, "sources": list(words)}
        self._propose("retire", withdrawal.name, doubt, payload, everywhere=everywhere)
        return False

    def reject(self, rejected: Rejected) -> None:
        """Note that something was turned down; what a person may want goes to the inbox."""
        item = rejected.candidate
        if rejected.to_inbox and item is not None and item.update_of:
            target, _ = self._find(item.update_of)
            if target is not None and _is_overtaken(item, target.memory):
                # No person is asked whether earlier words should undo later ones.
                rejected = replace(rejected, reason=SAID_LATER, to_inbox=False)
        self.result.rejected.append(rejected)
        if not rejected.to_inbox or item is None:
            return
        if item.update_of:
            self._propose_update(item, rejected.reason)
        else:
            self._propose("new", rejected.name, rejected.reason, item.to_json())

    def _create(self, case: Case) -> None:
        item, memory_id = case.item, derived_id(self._terms.run_id, case.id)
        memory = item.memory(memory_id, self._terms.now)
        if self._terms.propose_only:
            self._propose("new", item.name, _proposing(memory), item.to_json())
            return
        planned = self._door.create(memory)
        if not isinstance(planned, Flaw):
            self._note("created", planned.memory)
        elif planned.to_inbox:
            self._propose("new", item.name, planned.reason, item.to_json())
        else:
            self.result.rejected.append(Rejected(item.name, planned.reason))

    def _update(self, case: Case, target: Document) -> None:
        item, old = case.item, target.memory
        if _is_overtaken(item, old):
            self.result.rejected.append(Rejected(item.name, SAID_LATER))
            return
        changed = item.amending(old, self._terms.now)
        doubt = self._leave_alone(target) or _doubt(item, old, changed[0] if changed else None)
        if doubt == PROPOSING and changed is not None:
            doubt = _proposing(changed[0])
        if doubt or changed is None:
            self._propose_update(item, doubt)
            return
        planned = self._door.revise(target, *changed, rename=case.renamed or item.renames(old))
        if not isinstance(planned, Flaw):
            self._taken.add(target.path)
            self._note("updated", planned.memory, item)
        elif planned.to_inbox:
            self._propose_update(item, planned.reason)
        else:
            self.result.rejected.append(Rejected(item.name, planned.reason))

    def _propose_update(self, item: Screened, reason: str) -> None:
        """Propose `item` over the memory it names; as a new one where that is gone."""
        target, everywhere = self._find(item.update_of)
        if target is None:
            self._propose("new", item.name, reason, item.to_json())
            return
        reason = EVERYWHERE if everywhere and reason == CHANGED else reason
        changed = item.amending(target.memory, self._terms.now)
        payload = {
            **item.to_json(),
            # What it would replace, so that accepting it later can't take an edit made meanwhile along.
            "update_of": target.name,
            "was": target.digest,
            "old_body": target.memory.body,
            "body": changed[0].body if changed else item.body,
        }
        self._propose("update", target.name, reason, payload, everywhere=everywhere)

    def _propose(
        self, kind: str, name: str, reason: str, payload: dict[str, Any], *, everywhere: bool = False
    ) -> None:
        proposal = Proposal(kind, name, in_inbox(reason), payload, everywhere)
        if proposal.content in self._waiting:
            self.result.waits_already += 1
            return
        self._waiting.add(proposal.content)
        self.result.proposals.append(proposal)

    def _note(self, action: str, memory: Memory, item: Screened | None = None) -> None:
        sources = tuple(source.as_values() for source in item.sources) if item else ()
        self.result.actions.append(MemoryAction(action, memory.name, memory.id, memory.path, sources=sources))

    def _find(self, name: str) -> tuple[Document | None, bool]:
        """Return the memory of that name, and whether it is one of the user scope."""
        own = self._snapshot.by_name(name)
        return own or self._terms.everyone.get(name), own is None

    def _leave_alone(self, target: Document) -> str:
        """Return why the change must be left to a person whatever it says, or ""."""
        if self._terms.propose_only:
            return PROPOSING
        return TAKEN if target.path in self._taken else ""


def _proposing(memory: Memory) -> str:
    """Return that the store is in propose mode, with what a person should know of `memory` before a yes."""
    flaw = barred(memory)
    return f"{PROPOSING}, and {in_inbox(flaw.reason)}" if flaw is not None else PROPOSING


def _is_overtaken(item: Screened, old: Memory) -> bool:
    """Whether a sentence of `old` that `item` replaces was said later than what replaces it."""
    if item.said_at is None:
        return False
    moments = [sentence_said_at(old, before) for before, _ in item.replaces]
    return any(moment is not None and moment > item.said_at for moment in moments)


def _doubt(item: Screened, old: Memory, new: Memory | None) -> str:
    """Return why a person should decide whether `new` takes the place of `old`, or ""."""
    if new is None:
        return CHANGED
    if not any(sentence.part == "statement" for sentence in sentences(new.body)):
        return "nothing of what it states would be left"
    if item.origin == "assistant-inferred" and (old.type in HUMAN_ONLY or vouched(old)):
        return f"only the assistant said it, and “{old.name}” holds a person's words"
    return ""


def _content(kind: str, payload: Mapping[str, Any]) -> tuple[str, str]:
    if kind == "retire":
        return kind, str(payload.get("name"))
    texts = (payload.get("statement") or "", *(text for _, text in payload.get("replaces") or ()))
    return "text", folded(" ".join(texts) or str(payload.get("body")))

"""What of a dream's plan may happen. No model, no input or output: memories and operations in, verdicts out.

Each operation is judged alone, in the plan's order, and against those accepted before it; a bad one is
refused and the rest goes on. Source: DESIGN §6, "Dream". The rules:

- An id is in at most one operation that changes it. It may be read by others (kept, drawn from, related
  to), as long as none of the others lets it leave.
- What is not in `changeable`, or is pinned, is never written and never leaves; it may only be kept, be the
  target of a ``relate``, a source of an ``insight``, or the winner of a ``supersede``.
- Every file that leaves the live store counts against the ceiling: retired, superseded, merged away. Only
  exact duplicates that code merges without a model do not, since nothing is lost with them.
- Of two memories that contradict each other the one *said* last wins, by its evidence. A ``supersede``
  that names the wrong winner is turned round and says so in its reason, so no circle can close; one whose
  times are unknown or equal goes to a person. What only the assistant said never wins against a person's.
- A person's word is retired only when something said later is about the same, or a day it names is past.
- A new text holds every specific of its sources or lists it as dropped with a reason, and none of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from pipeline.domain.memory import HUMAN_ONLY, TYPES, Memory, why_untouchable
from pipeline.domain.operations import OPS, RELATIONS, Checked, Operation, Refused
from pipeline.safety.guard import violation
from pipeline.text.slugs import slugify
from pipeline.verify.evidence import (
    Insights,
    dull_words,
    outlived,
    said_at,
    same_matter,
    unvouched,
    vouched,
)
from pipeline.verify.wording import Flaw, barred, dated, prove, source_text, tidy

_READ_ONLY = frozenset({"keep", "insight"})
_WRITING = frozenset({"merge", "rewrite", "insight", "promote"})
_MOST_CONTEXT = 200
"""Most characters of a reason that stay in a file, beside a relation."""


def retire_ceiling(live: int, share: float = 0.05) -> int:
    """Return how many of `live` memories may leave in one dream: the share, and one at least."""
    return max(1, math.floor(live * share))


def check_plan(
    operations: Iterable[Operation],
    memories: Mapping[str, Memory],
    *,
    changeable: AbstractSet[str],
    ceiling: int,
    evidence_times: Mapping[str, datetime | None] | None = None,
    by_rule: Sequence[Operation] = (),
) -> Checked:
    """Return which of `operations` may be applied to `memories` (by id), and why the others may not.

    `changeable` are the ids that may be touched; of other known ids a refusal goes to the inbox. `ceiling`
    is the number of files that may leave in this call: give what is left of the run's. `evidence_times`
    says when a memory was said where the caller knows better than `said_at`. `by_rule` are operations that
    code proposed without a model; they are judged first, and pass the same checks.
    """
    checked = Checked()
    judge = _Judge(memories, changeable, ceiling, evidence_times or {})
    for position, operation in enumerate((*by_rule, *operations)):
        verdict = judge.verdict(operation, position < len(by_rule))
        if isinstance(verdict, Operation):
            checked.accepted.append(verdict)
        else:
            checked.refused.append(Refused(operation, verdict.reason, verdict.to_inbox, verdict.later))
    return checked


class _Judge:
    """The state of one check: which ids are spoken for, and how many files leave."""

    def __init__(
        self,
        memories: Mapping[str, Memory],
        changeable: AbstractSet[str],
        ceiling: int,
        times: Mapping[str, datetime | None],
    ) -> None:
        self._memories = memories
        self._changeable = changeable
        self._ceiling = ceiling
        self._times = times
        self._changed: dict[str, str] = {}
        self._needed: dict[str, str] = {}
        self._leaving = 0
        self._insights = Insights.of(memories.values())
        self._dull = dull_words(memories.values())
        self._rules: dict[str, Callable[[Operation], Operation | Flaw]] = {
            "keep": lambda operation: operation,
            "merge": self._merge,
            "rewrite": self._rewrite,
            "supersede": self._supersede,
            "retire": self._retire,
            "relate": self._relate,
            "insight": self._insight,
            "promote": self._promote,
        }

    def verdict(self, operation: Operation, from_rule: bool) -> Operation | Flaw:
        """Judge one operation and, when it passes, reserve what it touches."""
        operation = self._normalised(operation)
        flaw = self._misnamed(operation) or barred(operation)
        # Which of a supersede's memories leave is known only when its winner is.
        flaw = flaw or self._immovable(() if operation.op == "supersede" else _changed_by(operation))
        passed = flaw or self._rules[operation.op](operation)
        if isinstance(passed, Flaw):
            return passed
        count = 0 if from_rule and self._merges_equal_texts(passed) else len(passed.leaving)
        flaw = self._conflict(passed) or self._over_ceiling(count)
        if flaw is None and passed.op == "insight":
            flaw = self._insights.flaw(passed)
        # A rule counts days itself; a model's reason is only a sentence.
        if flaw is None and passed.op == "retire" and not from_rule:
            flaw = self._not_outlived(passed)
        return flaw or self._reserve(passed, count)

    def _normalised(self, operation: Operation) -> Operation:
        """Return the operation with its winner among its ids, if it has one, and no words without a text."""
        # Models fill in fields that an operation does not use; what is left of them must decide nothing.
        if operation.op not in ("merge", "supersede"):
            operation = replace(operation, into="")
        elif operation.into and operation.into not in operation.ids:
            operation = replace(operation, ids=(*operation.ids, operation.into))
        if operation.op in _WRITING and operation.statement.strip():
            return operation
        return replace(operation, title="", description="", statement="", why="", how_to_apply="", tags=())

    def _misnamed(self, operation: Operation) -> Flaw | None:
        if operation.op not in OPS:
            return Flaw(f"there is no operation {operation.op[:40]!r}")
        if not operation.ids:
            return Flaw("it names no memory")
        unknown = [memory_id for memory_id in operation.ids if memory_id not in self._memories]
        if unknown:
            return Flaw(f"there is no memory {unknown[0][:60]!r}")
        if len(set(operation.ids)) < len(operation.ids):
            return Flaw("it names a memory twice")
        if operation.type and operation.type not in TYPES:
            return Flaw(f"there is no type {operation.type[:40]!r}")
        return None

    def _immovable(self, ids: Iterable[str]) -> Flaw | None:
        for memory_id in ids:
            memory = self._memories[memory_id]
            reason = why_untouchable(pinned=memory.pinned, ours=memory_id in self._changeable)
            if reason is not None:
                return Flaw(reason.clause_about(f"“{memory.name}”"), to_inbox=True)
        return None

    def _conflict(self, operation: Operation) -> Flaw | None:
        changed, leaving = _changed_by(operation), operation.leaving
        for memory_id in operation.ids:
            name = self._memories[memory_id].name
            earlier, need = self._changed.get(memory_id), self._needed.get(memory_id)
            if earlier and (memory_id in changed or earlier == "leaves" or operation.op == "keep"):
                return Flaw(f"an earlier operation takes “{name}” already ({earlier})")
            # A relation adds a line and leaves the text as it is, so that even a memory to be kept takes it.
            rewritten = memory_id in changed and operation.op != "relate"
            if need and (memory_id in leaving or (need == "keep" and rewritten)):
                return Flaw(f"an earlier operation needs “{name}” ({need})")
        return None

    def _over_ceiling(self, count: int) -> Flaw | None:
        if count and self._leaving + count > self._ceiling:
            return Flaw(
                f"more than {self._ceiling} would leave in one dream; it comes first next time", later=True
            )
        return None

    def _merges_equal_texts(self, operation: Operation) -> bool:
        """Whether `operation` merges memories that say exactly the same, with no new text."""
        bodies = {" ".join(self._memories[memory_id].body.split()) for memory_id in operation.ids}
        return operation.op == "merge" and not operation.body and len(bodies) == 1

    def _reserve(self, operation: Operation, count: int) -> Operation:
        leaving = operation.leaving
        self._leaving += count
        if operation.op == "insight":
            self._insights.add(operation)
        for memory_id in operation.ids:
            if memory_id in _changed_by(operation):
                self._changed[memory_id] = "leaves" if memory_id in leaving else operation.op
            # A reader that comes later must not weaken an earlier keep.
            elif self._needed.get(memory_id) != "keep":
                self._needed[memory_id] = operation.op
        return operation

    def _merge(self, operation: Operation) -> Operation | Flaw:
        if not operation.into or len(operation.ids) < 2:
            return Flaw("a merge needs two memories and the one that goes on")
        survivor = self._memories[operation.into]
        return self._unvouched(operation, survivor.type) or self._text(operation, survivor)

    def _rewrite(self, operation: Operation) -> Operation | Flaw:
        if len(operation.ids) != 1 or not operation.statement.strip():
            return Flaw("a rewrite needs one memory and a text")
        survivor = self._memories[operation.ids[0]]
        return self._unvouched(operation, survivor.type) or self._text(operation, survivor)

    def _promote(self, operation: Operation) -> Operation | Flaw:
        if len(operation.ids) != 1:
            return Flaw("one memory at a time is promoted")
        memory = self._memories[operation.ids[0]]
        found = violation(source_text(memory))
        if found:
            return Flaw(f"“{memory.name}” reads like {found}", to_inbox=True)
        return self._unvouched(operation, memory.type) or self._text(operation, memory)

    def _insight(self, operation: Operation) -> Operation | Flaw:
        if len(operation.ids) < 2 or not operation.statement.strip() or not operation.description.strip():
            return Flaw("an insight needs two memories, a statement and a description")
        if operation.type in HUMAN_ONLY:
            return Flaw(f"an insight can't be {operation.type!r}: nobody said it")
        name = slugify(operation.name or operation.title or operation.description)
        return self._text(replace(operation, name=name, type=operation.type or "insight"), None)

    def _retire(self, operation: Operation) -> Operation | Flaw:
        return operation if operation.reason.strip() else Flaw("it gives no reason to retire anything")

    def _not_outlived(self, operation: Operation) -> Flaw | None:
        times = {memory_id: self._said_at(memory_id) for memory_id in self._memories}
        for memory in (self._memories[memory_id] for memory_id in operation.ids):
            if not outlived(memory, self._memories.values(), times, self._dull):
                return Flaw(f"nothing said later bears out that “{memory.name}” is over", to_inbox=True)
        return None

    def _relate(self, operation: Operation) -> Operation | Flaw:
        relation = operation.relation.strip().upper().replace("-", "_").replace(" ", "_")
        if len(operation.ids) != 2:
            return Flaw("a relation needs two memories")
        if relation not in RELATIONS:
            return Flaw(f"there is no relation {operation.relation[:40]!r}")
        if not 0 <= operation.strength <= 1:
            return Flaw("a strength lies between 0 and 1")
        source, target = (self._memories[memory_id] for memory_id in operation.ids)
        outgoing = [link for link in source.relations if link.get("direction") != "incoming"]
        known = {(str(link.get("target", "")), str(link.get("type", "")).upper()) for link in outgoing}
        if {(target.id, relation), (target.name, relation)} & known:
            return Flaw("the two are related so already")
        return replace(operation, relation=relation, reason=operation.reason[:_MOST_CONTEXT])

    def _supersede(self, operation: Operation) -> Operation | Flaw:
        """Find out which was said last; a supersede carries no text of its own."""
        if len(operation.ids) < 2:
            return Flaw("a supersede needs two memories")
        times = {memory_id: self._said_at(memory_id) for memory_id in operation.ids}
        timed = [(moment, memory_id) for memory_id, moment in times.items() if moment is not None]
        latest = max(timed, default=None)
        if latest is None or len(timed) < len(times) or [moment for moment, _ in timed].count(latest[0]) > 1:
            return Flaw("the evidence does not settle which was said last", to_inbox=True)
        winner = latest[1]
        losers = [self._memories[memory_id] for memory_id in operation.ids if memory_id != winner]
        if self._memories[winner].origin == "assistant-inferred" and any(map(vouched, losers)):
            return Flaw("only the assistant said the newer one, a person the older", to_inbox=True)
        unrelated = [loser for loser in losers if not same_matter(self._memories[winner], loser, self._dull)]
        if unrelated:
            return Flaw(
                f"“{unrelated[0].name}” is about something else than what would replace it", to_inbox=True
            )
        reason = operation.reason
        if operation.into and operation.into != winner:
            correction = f"turned round: “{self._memories[winner].name}” was said last"
            reason = f"{reason} ({correction})" if reason.strip() else correction
        # `verdict` left this out: only now it is known which memories would leave.
        passed = Operation(op="supersede", ids=operation.ids, into=winner, reason=reason)
        return self._immovable(passed.leaving) or passed

    def _said_at(self, memory_id: str) -> datetime | None:
        return self._times[memory_id] if memory_id in self._times else said_at(self._memories[memory_id])

    def _unvouched(self, operation: Operation, stays: str) -> Flaw | None:
        """Say whether something nobody said would come to stand as a person's own words."""
        sources = [self._memories[memory_id] for memory_id in operation.ids]
        lacking = unvouched(operation.type or stays, sources)
        return Flaw(f"no person vouches for “{lacking.name}”", to_inbox=True) if lacking else None

    def _text(self, operation: Operation, survivor: Memory | None) -> Operation | Flaw:
        """Check the new text against its sources and return the operation with a tidy one."""
        sources: Sequence[Memory] = [self._memories[memory_id] for memory_id in operation.ids]
        moments = [self._said_at(memory_id) for memory_id in operation.ids]
        new = dated(operation, sources, moments)
        if isinstance(new, Flaw):
            return new
        return prove(new, sources, moments, survivor) or tidy(new)


def _changed_by(operation: Operation) -> tuple[str, ...]:
    """Return the ids that no other operation may change beside this one."""
    if operation.op in _READ_ONLY:
        return ()
    return operation.ids[:1] if operation.op == "relate" else operation.ids

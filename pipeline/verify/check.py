"""What of a dream's plan may happen, as far as its form decides. Pure: operations in, verdicts out.

Each operation is judged alone, in the plan's order, and against those accepted before it; a bad one is
refused and the rest goes on. What the texts mean is settled elsewhere: by the second reader. The rules:

- An id is in at most one operation that changes it. It may be read by others (kept, drawn from, related
  to), as long as none of the others lets it leave.
- What is not in `changeable`, or is pinned, is never written and never leaves; it may only be kept, be the
  target of a ``relate``, a source of an ``insight``, the winner of a ``supersede`` or what
  overtook a sentence.
- Every file that leaves the live store counts against the ceiling: retired, superseded, merged away. Only
  equal texts that code merges without a model do not, since nothing is lost with them.
- Of two memories that can't both hold the one *said* last stays, by its evidence. A ``supersede`` that names
  the wrong one is turned round and says so in its reason, so no circle can close; one whose times are
  unknown or equal goes to a person.
- An insight is words of the model's own: a person decides on each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import date

from pipeline.domain.memory import Memory, why_untouchable
from pipeline.domain.operations import OPS, RELATIONS, Checked, Cover, Operation, Refused
from pipeline.domain.sentences import folded, sentences
from pipeline.safety.invisible import has_hidden
from pipeline.text.dates import parse_day
from pipeline.text.slugs import slugify
from pipeline.verify.barred import doubt, forbidden, holds_secret
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import said_at

LONGEST = 3_000
"""Characters of a text that a model is shown; what is longer leaves at a person's word only."""
MOST_INSIGHTS = 5
"""Most insights of one dream; the others' memories lead the next."""
_READ_ONLY = frozenset({"keep", "insight", "promote"})


def retire_ceiling(live: int, share: float = 0.05) -> int:
    """Return how many of `live` memories may leave in one dream: the share, and one at least."""
    return max(1, math.floor(live * share))


def says_the_same(memory: Memory, other: Memory) -> bool:
    """Whether two memories have equal texts, sentence for sentence (see `sentences.folded`)."""
    return bool(_folded(memory)) and _folded(memory) == _folded(other)


def check_plan(
    operations: Iterable[Operation],
    memories: Mapping[str, Memory],
    *,
    changeable: AbstractSet[str],
    ceiling: int,
    today: date,
    by_rule: Sequence[Operation] = (),
) -> Checked:
    """Return which of `operations` may be applied to `memories` (by id), and why the others may not.

    `changeable` are the ids that may be touched; of other known ids a refusal goes to the inbox. `ceiling`
    is the number of files that may leave in this call. `by_rule` are operations that code proposed without a
    model; they are judged first. What passed passes again.
    """
    checked = Checked()
    judge = _Judge(memories, changeable, ceiling, today)
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
        self, memories: Mapping[str, Memory], changeable: AbstractSet[str], ceiling: int, today: date
    ) -> None:
        self._memories = memories
        self._changeable = changeable
        self._ceiling = ceiling
        self._today = today
        self._changed: dict[str, str] = {}
        self._needed: dict[str, str] = {}
        self._leaving = 0
        self._insights = _Insights.of(memories.values())
        self._rules: dict[str, Callable[[Operation], Operation | Flaw]] = {
            "keep": lambda operation: operation,
            "merge": self._merge,
            "supersede": self._supersede,
            "strike": self._strike,
            "retire": self._retire,
            "relate": self._relate,
            "insight": self._insight,
            "promote": self._promote,
        }

    def verdict(self, operation: Operation, from_rule: bool) -> Operation | Flaw:
        """Judge one operation and, when it passes, reserve what it touches."""
        operation = _normalised(operation)
        flaw = self._misnamed(operation) or _barred(operation)
        # Which of a supersede's memories leave is known only when its winner is.
        flaw = flaw or self._immovable(() if operation.op == "supersede" else _changed_by(operation))
        # A rule counts days itself; no words of the memory have to say when it ends.
        by_days = from_rule and operation.op == "retire"
        passed = flaw or (operation if by_days else self._rules[operation.op](operation))
        if isinstance(passed, Flaw):
            return passed
        if not from_rule and (long := self._too_long(passed.leaving)):
            return long
        count = 0 if from_rule and self._merges_equal_texts(passed) else len(passed.leaving)
        return self._conflict(passed) or self._over_ceiling(count) or self._reserve(passed, count)

    def _misnamed(self, operation: Operation) -> Flaw | None:
        if operation.op not in OPS:
            return Flaw(f"there is no operation {operation.op[:40]!r}")
        if not operation.ids:
            return Flaw("it names no memory")
        unknown = [memory_id for memory_id in operation.about if memory_id not in self._memories]
        if unknown:
            return Flaw(f"there is no memory {min(unknown)[:60]!r}")
        if len(set(operation.ids)) < len(operation.ids):
            return Flaw("it names a memory twice")
        return None

    def _immovable(self, ids: Iterable[str]) -> Flaw | None:
        for memory_id in ids:
            memory = self._memories[memory_id]
            reason = why_untouchable(pinned=memory.pinned, ours=memory_id in self._changeable)
            if reason is not None:
                return Flaw(reason.clause_about(f"“{memory.name}”"), to_inbox=True)
        return None

    def _too_long(self, ids: Iterable[str]) -> Flaw | None:
        for memory in (self._memories[memory_id] for memory_id in ids):
            if len(memory.body) > LONGEST:
                return Flaw(f"“{memory.name}” is longer than a model was shown", to_inbox=True)
        return None

    def _conflict(self, operation: Operation) -> Flaw | None:
        changed, leaving = _changed_by(operation), operation.leaving
        for memory_id in sorted(operation.about, key=[*operation.ids, *operation.about].index):
            name = self._memories[memory_id].name
            earlier, need = self._changed.get(memory_id), self._needed.get(memory_id)
            if earlier and (memory_id in changed or earlier == "leaves" or operation.op == "keep"):
                return Flaw(f"an earlier operation takes “{name}” already ({earlier})")
            # A relation adds a line and leaves the text as it is, so that even a memory to be kept takes it.
            rewritten = memory_id in changed and operation.op != "relate"
            if need and (memory_id in leaving or (need in ("keep", "strike") and rewritten)):
                return Flaw(f"an earlier operation needs “{name}” ({need})")
        return None

    def _over_ceiling(self, count: int) -> Flaw | None:
        if count and self._leaving + count > self._ceiling:
            return Flaw(
                f"more than {self._ceiling} would leave in one dream; it comes first next time", later=True
            )
        return None

    def _merges_equal_texts(self, operation: Operation) -> bool:
        if operation.op != "merge":
            return False
        survivor = self._memories[operation.into]
        return all(says_the_same(survivor, self._memories[memory_id]) for memory_id in operation.leaving)

    def _reserve(self, operation: Operation, count: int) -> Operation:
        self._leaving += count
        for memory_id in operation.about:
            if memory_id in _changed_by(operation):
                self._changed[memory_id] = "leaves" if memory_id in operation.leaving else operation.op
            # A reader that comes later must not weaken an earlier keep.
            elif self._needed.get(memory_id) not in ("keep", "strike"):
                self._needed[memory_id] = operation.op
        return operation

    # -- one rule for each operation ------------------------------------------------------------------

    def _merge(self, operation: Operation) -> Operation | Flaw:
        if not operation.into or len(operation.ids) < 2:
            return Flaw("a merge needs two memories and the one that goes on")
        # The one that goes on keeps its text whole, so only its sentences can speak for those of others.
        fits = [c for c in operation.covered if c.id in operation.leaving and c.by_id == operation.into]
        return replace(operation, covered=self._standing(fits))

    def _supersede(self, operation: Operation) -> Operation | Flaw:
        """Find out which was said last."""
        if len(operation.ids) < 2:
            return Flaw("a supersede needs two memories")
        times = {memory_id: said_at(self._memories[memory_id]) for memory_id in operation.ids}
        timed = [(moment, memory_id) for memory_id, moment in times.items() if moment is not None]
        latest = max(timed, default=None)
        if latest is None or len(timed) < len(times) or [moment for moment, _ in timed].count(latest[0]) > 1:
            return Flaw("the evidence does not settle which was said last", to_inbox=True)
        winner, reason = latest[1], operation.reason
        if operation.into and operation.into != winner:
            correction = f"turned round: “{self._memories[winner].name}” was said last"
            reason = f"{reason} ({correction})" if reason.strip() else correction
        passed = replace(operation, into=winner, reason=reason)
        # `verdict` left this out: only now it is known which memories would leave.
        return self._immovable(passed.leaving) or passed

    def _strike(self, operation: Operation) -> Operation | Flaw:
        if len(operation.ids) != 1:
            return Flaw("sentences are struck from one memory at a time")
        (memory_id,) = operation.ids
        fits = [c for c in operation.covered if c.id == memory_id != c.by_id]
        covered = self._standing(fits)
        if not covered or len(covered) < len(operation.covered):
            return Flaw("it does not say which sentence gives way to which")
        return replace(operation, covered=covered)

    def _retire(self, operation: Operation) -> Operation | Flaw:
        day = parse_day(operation.until)
        if day is None or len(operation.ids) != 1:
            return Flaw("it does not name one memory and the day until which its words say that it holds")
        return operation if day < self._today else Flaw(f"it holds until {operation.until}")

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
        return replace(operation, relation=relation)

    def _insight(self, operation: Operation) -> Operation | Flaw:
        if len(operation.ids) < 2 or not operation.statement.strip() or not operation.description.strip():
            return Flaw("an insight needs two memories, a statement and a description")
        name = slugify(operation.name or operation.title or operation.description)
        operation = replace(operation, name=name)
        flaw = self._conflict(operation) or self._insights.verdict(operation)
        reads = doubt(_new_text(operation))
        return replace(flaw, reason=f"{flaw.reason}, and it {reads}") if reads and flaw.to_inbox else flaw

    def _promote(self, operation: Operation) -> Operation | Flaw:
        return operation if len(operation.ids) == 1 else Flaw("one memory at a time is promoted")

    def _standing(self, covers: Iterable[Cover]) -> tuple[Cover, ...]:
        """Return `covers` whose numbers are those of sentences, one for each sentence."""
        counts = {memory_id: len(sentences(memory.body)) for memory_id, memory in self._memories.items()}
        first: dict[tuple[str, int], Cover] = {}
        for cover in covers:
            if 0 < cover.number <= counts[cover.id] and 0 < cover.by_number <= counts[cover.by_id]:
                first.setdefault((cover.id, cover.number), cover)
        return tuple(first.values())


@dataclass(slots=True)
class _Insights:
    """The insights there are already: their texts and what each was drawn from."""

    texts: set[str] = field(default_factory=set)
    drawn_from: set[frozenset[str]] = field(default_factory=set)
    fresh: int = 0

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> _Insights:
        """Return those in `memories`; an insight that only repeats another memory is none either."""
        found = cls()
        for memory in memories:
            found.texts.add(folded(memory.body))
            if memory.type == "insight":
                outgoing = [link for link in memory.relations if link.get("direction") != "incoming"]
                found.drawn_from.add(frozenset(str(link.get("target", "")) for link in outgoing))
        return found

    def verdict(self, operation: Operation) -> Flaw:
        """Return why `operation` adds nothing, or too much for now, or that a person is to decide on it."""
        sources = frozenset(operation.ids)
        if sources in self.drawn_from:
            return Flaw("there is an insight from just these memories already")
        if folded(operation.body) in self.texts:
            return Flaw("a memory says that already")
        if self.fresh >= MOST_INSIGHTS:
            return Flaw(f"more than {MOST_INSIGHTS} insights in one dream; it may come next time", later=True)
        self.fresh += 1
        self.drawn_from.add(sources)
        self.texts.add(folded(operation.body))
        return Flaw("an insight is the model's own words", to_inbox=True)


def _normalised(operation: Operation) -> Operation:
    """Return the operation with its winner among its ids, if it has one, and without what it does not use."""
    # Models fill in fields that an operation does not use; what is left of them must decide nothing.
    if operation.op not in ("merge", "supersede"):
        operation = replace(operation, into="")
    elif operation.into and operation.into not in operation.ids:
        operation = replace(operation, ids=(*operation.ids, operation.into))
    if operation.op not in ("merge", "strike"):
        operation = replace(operation, covered=())
    if operation.op != "insight":
        operation = replace(operation, name="", title="", description="", statement="")
    return operation


def _barred(operation: Operation) -> Flaw | None:
    """Return why no part of `operation` may stand in a file: a secret, hidden text, the marks of a turn.

    The given reason is only searched for secrets and hidden text: it may well quote what is wrong.
    """
    reason = forbidden(_new_text(operation))
    talk = "\n".join((operation.reason, operation.relation, operation.until))
    if reason or holds_secret(talk):
        return Flaw(f"the new text {reason}" if reason else "the given reason holds a secret")
    return Flaw("the given reason holds hidden text") if has_hidden(talk) else None


def _new_text(operation: Operation) -> str:
    return "\n".join((operation.name, operation.title, operation.description, operation.statement))


def _changed_by(operation: Operation) -> tuple[str, ...]:
    """Return the ids that no other operation may change beside this one."""
    if operation.op in _READ_ONLY:
        return ()
    return operation.ids[:1] if operation.op == "relate" else operation.ids


def _folded(memory: Memory) -> list[tuple[str, str]]:
    return [(sentence.part, folded(sentence.text)) for sentence in sentences(memory.body)]

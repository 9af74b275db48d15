"""What of a checked plan needs a second key, and what is left of each operation once that has answered.

A matter is one thing that must hold: that a memory states the survivor's fact, that a sentence is covered by
another, that something no longer holds. Each is asked in two forms of which both must agree, since a reader
that errs in one answer of ten lets one in a hundred pass that way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pipeline.consolidation.second_reader import questions as ask
from pipeline.consolidation.second_reader.questions import Question
from pipeline.domain.memory import Memory
from pipeline.domain.operations import NOT_AGREED, Cover, Operation, Refused
from pipeline.domain.sentences import folded, sentences
from pipeline.verify.check import says_the_same
from pipeline.verify.cover import misses


@dataclass(frozen=True, slots=True)
class Matter:
    """One thing that needs the second key, about the member `id` of an operation or about one `cover` of it.

    `claim` says it in words, for a report. Without `questions` it is settled: by `held`.
    """

    claim: str
    id: str = ""
    cover: Cover | None = None
    questions: tuple[Question, ...] = ()
    held: bool = False


@dataclass(slots=True)
class Confirmed:
    """What both keys agree on: the operations, what was refused, and what of each operation was denied.

    `denied` is in the order of `operations`.
    """

    operations: list[Operation] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    denied: list[tuple[str, ...]] = field(default_factory=list)


def matters_of(
    operation: Operation,
    memories: Mapping[str, Memory],
    group: Sequence[str],
    *,
    elsewhere: bool = False,
) -> list[Matter]:
    """Return what of `operation`, which passed the check, needs a second key; nothing where nothing leaves.

    `group` are the ids of all memories that the plan was made over. `elsewhere` says that the same fact
    stands in the store of another project.
    """
    aside = [memories[memory_id] for memory_id in group if memory_id not in operation.about]
    if operation.op == "merge":
        return [*_merged(operation, memories, aside), *_covers(operation, memories, aside)]
    if operation.op == "supersede":
        return [
            _replaced(memories[memory_id], memories[operation.into], aside) for memory_id in operation.leaving
        ]
    if operation.op == "strike":
        return [_struck(cover, memories, aside) for cover in operation.covered]
    if operation.op == "retire":
        return [_over(memories[memory_id], operation.until) for memory_id in operation.ids]
    if operation.op == "promote":
        return [_promoted(memories[operation.ids[0]], elsewhere)]
    return []


def settle(operation: Operation, matters: Sequence[Matter], agreed: Sequence[bool]) -> Confirmed:
    """Return what is left of `operation` when of its `matters` those hold that `agreed` says.

    A sentence that is not agreed to be covered stays. A member that is not agreed on leaves the operation,
    and a person decides on it.
    """
    result = Confirmed()
    kept = {matter.cover for matter, holds in zip(matters, agreed, strict=True) if matter.cover and holds}
    lost = [matter for matter, holds in zip(matters, agreed, strict=True) if not holds]
    denied_ids = [matter.id for matter in lost if matter.id]
    covers = tuple(cover for cover in operation.covered if cover in kept)
    members = tuple(memory_id for memory_id in operation.ids if memory_id not in denied_ids)
    rest = replace(operation, ids=members, covered=tuple(c for c in covers if c.id in members))
    if _does_something(rest):
        result.operations.append(rest)
        result.denied.append(tuple(matter.claim for matter in lost if matter.cover))
    waiting = [matter for matter in lost if matter.id or operation.op == "strike"]
    if waiting:
        result.refused.append(_to_person(operation, waiting, denied_ids))
    return result


def _does_something(operation: Operation) -> bool:
    if operation.op in ("merge", "supersede"):
        return bool(operation.leaving)
    return bool(operation.covered if operation.op == "strike" else operation.ids)


def _to_person(operation: Operation, waiting: Sequence[Matter], denied_ids: Sequence[str]) -> Refused:
    ids = operation.ids
    if operation.into:
        ids = tuple(memory_id for memory_id in ids if memory_id in denied_ids or memory_id == operation.into)
    struck = tuple(matter.cover for matter in waiting if matter.cover)
    reason = f"{NOT_AGREED} {', nor '.join(matter.claim for matter in waiting)}"
    return Refused(replace(operation, ids=ids, covered=struck), reason, to_inbox=True)


# -- one for each operation -------------------------------------------------------------------------------


def _merged(
    operation: Operation, memories: Mapping[str, Memory], aside: Sequence[Memory]
) -> Iterable[Matter]:
    survivor = memories[operation.into]
    for other in (memories[memory_id] for memory_id in operation.leaving):
        if says_the_same(survivor, other):
            continue
        yield Matter(
            f"that “{other.name}” states the same fact as “{survivor.name}”",
            id=other.id,
            questions=(ask.one_fact(other, survivor), ask.which_fact(other, survivor, aside)),
        )


def _covers(
    operation: Operation, memories: Mapping[str, Memory], aside: Sequence[Memory]
) -> Iterable[Matter]:
    decoys = [ask.in_place(memory, 1) for memory in aside if sentences(memory.body)]
    survivor = memories[operation.into]
    own = [ask.in_place(survivor, number) for number in range(1, len(sentences(survivor.body)) + 1)]
    for cover in operation.covered:
        goes = _sentence(memories, cover.id, cover.number)
        stays = _sentence(memories, cover.by_id, cover.by_number)
        if folded(goes) == folded(stays):
            continue
        claim = f"that “{stays}” says all of “{goes}”"
        missing = misses(goes, stays)
        if missing:
            yield Matter(f"{claim} (“{missing}” is missing)", cover=cover)
            continue
        sentence, other = ask.in_place(memories[cover.id], cover.number), own[cover.by_number - 1]
        forms = (ask.covers(sentence, other, own, decoys), ask.compare(sentence, other))
        yield Matter(claim, cover=cover, questions=forms)


def _replaced(earlier: Memory, later: Memory, aside: Sequence[Memory]) -> Matter:
    others = [ask.dated_clipped(memory) for memory in aside]
    return Matter(
        f"that “{later.name}” takes the place of “{earlier.name}”",
        id=earlier.id,
        questions=(
            ask.holds(ask.dated_whole(earlier), ask.dated_whole(later)),
            ask.overtaken(ask.dated_whole(earlier), ask.dated_clipped(later), others),
        ),
    )


def _struck(cover: Cover, memories: Mapping[str, Memory], aside: Sequence[Memory]) -> Matter:
    goes, stays = (
        ask.dated(memories[cover.id], cover.number),
        ask.dated(memories[cover.by_id], cover.by_number),
    )
    others = [ask.dated(memory, 1) for memory in aside if sentences(memory.body)]
    old, new = _sentence(memories, cover.id, cover.number), _sentence(memories, cover.by_id, cover.by_number)
    return Matter(
        f"that “{new}” takes the place of “{old}”",
        cover=cover,
        questions=(ask.holds(goes, stays), ask.overtaken(goes, stays, others)),
    )


def _over(memory: Memory, day: str) -> Matter:
    return Matter(
        f"that “{memory.name}” says that it holds until {day}",
        id=memory.id,
        questions=(ask.until(memory, day), ask.after(memory, day)),
    )


def _promoted(memory: Memory, elsewhere: bool) -> Matter:
    claim = f"that “{memory.name}” was said of all projects"
    by_person = [source for source in memory.sources if source.speaker == "person"]
    if elsewhere or not by_person:
        return Matter(claim, id=memory.id, held=elsewhere)
    return Matter(claim, id=memory.id, questions=ask.everywhere(ask.quoted(by_person)))


def _sentence(memories: Mapping[str, Memory], memory_id: str, number: int) -> str:
    return sentences(memories[memory_id].body)[number - 1].text

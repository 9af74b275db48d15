"""New texts of memories, made out of sentences: each stays word for word, is replaced, or is listed as gone.

Pure: memories in, a memory and the list of what left it out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import Sentence, folded, joined, kept_of, key_of, sentences
from pipeline.verify.provenance import bound, pruned, replace_bears, weakest_origin
from pipeline.verify.tags import MOST_TAGS, union

MOST_ANCHORS = 12
SAYS_THE_SAME = "says the same"
"""Why a merge leaves out a sentence: two keys said so, or it is equal."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A sentence that leaves a memory: its words, those that speak for it now (`by`, may be empty), and why.

    `equal` says that `by` is the same sentence but for case, spacing and punctuation. Without `reason` and
    `equal` it no longer holds, and `evidence`, or what stands for `by`, must have been said later.
    """

    text: str
    by: str = ""
    reason: str = ""
    equal: bool = False
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class Replacement:
    """Sentence number `number` (from 1) of a memory gives way to `text`; to nothing when it is empty."""

    number: int
    text: str


def amended(
    old: Memory,
    replacements: Sequence[Replacement],
    added: Body,
    sources: Sequence[Evidence],
    *,
    now: datetime,
) -> tuple[Memory, tuple[Removal, ...]]:
    """Return `old` with sentences replaced and `added` behind them, and what left it.

    Sentences that are not named stay word for word with their sources; the new ones rest on `sources`.
    Numbers that no sentence has, and replacements by the same words, are passed over.
    """
    found = sentences(old.body)
    changes = {item.number: item.text.strip() for item in replacements if 0 < item.number <= len(found)}
    changes = {n: text for n, text in changes.items() if folded(text) != folded(found[n - 1].text)}
    body = _replaced(old.body, found, changes)
    body = _with_more(body, added)
    before = {sentence.key for sentence in found}
    fresh = [sentence.key for sentence in sentences(body) if sentence.key not in before]
    new_sources = tuple(replace_bears(source, fresh) for source in sources) if fresh else ()
    memory = replace(old, body=body, sources=(*new_sources, *bound(old)), updated=now)
    removals = tuple(
        Removal(found[n - 1].text, text, evidence=tuple(sources)) for n, text in sorted(changes.items())
    )
    return pruned(memory), removals


def merged(
    survivor: Memory, others: Sequence[Memory], covered: Mapping[str, Mapping[int, str]], *, now: datetime
) -> tuple[Memory, tuple[Removal, ...]]:
    """Return `survivor` with what the `others` say beyond it, and the sentences that were left out.

    `covered` gives, by id of another, the numbers (from 1) of its sentences that a kept one speaks for, with
    that one's words. The survivor's text stays whole. Of each fact of another a beginning stays: a sentence
    is left out only together with all that follow it, so that none comes to refer to something else. Title,
    description, type and name are the survivor's.
    """
    facts = [survivor.body.strip()]
    removals: list[Removal] = []
    held = {folded(sentence.text): sentence.text for sentence in sentences(survivor.body)}
    for other in others:
        found = sentences(other.body)
        spoken_for = dict(covered.get(other.id, {}))
        for number, sentence in enumerate(found, start=1):
            if folded(sentence.text) in held:
                spoken_for[number] = held[folded(sentence.text)]
        for fact in sorted({sentence.fact for sentence in found}):
            numbers = [n for n, sentence in enumerate(found, start=1) if sentence.fact == fact]
            stay = len(numbers)
            while stay and numbers[stay - 1] in spoken_for:
                stay -= 1
            facts.append(kept_of(other.body, fact, stay))
            removals += [_left_out(found[n - 1], spoken_for[n]) for n in numbers[stay:]]
            held |= {folded(found[n - 1].text): found[n - 1].text for n in numbers[:stay]}
    memories = [survivor, *others]
    memory = replace(
        survivor,
        body=joined(facts),
        sources=_pooled(memories, removals),
        tags=union((memory.tags for memory in memories), most=2 * MOST_TAGS),
        anchors=union((memory.anchors for memory in memories), most=MOST_ANCHORS),
        importance=max(memory.importance for memory in memories),
        confidence=max(memory.confidence for memory in memories),
        created=min((memory.created for memory in memories if memory.created), default=survivor.created),
        relations=_relations(memories),
        aliases=_aliases(survivor, others),
        replaces=tuple(dict.fromkeys(item for memory in memories for item in memory.replaces)),
        updated=now,
    )
    memory = pruned(memory)
    adding = [other for other, stays in zip(others, _adds(others, removals), strict=True) if stays]
    return replace(
        memory, origin=weakest_origin([survivor.origin, *(other.origin for other in adding)])
    ), tuple(removals)


def without(
    memory: Memory, numbers: Iterable[int], by: str, *, now: datetime
) -> tuple[Memory, tuple[Removal, ...]]:
    """Return `memory` without the sentences `numbers` (from 1), each the last that stays of its fact.

    `by` are the words that overtook them. A number whose sentence another follows is passed over, since that
    one could come to refer to something else; so is what would leave no text at all.
    """
    found = sentences(memory.body)
    wanted = {number for number in numbers if 0 < number <= len(found)}
    removals: list[Removal] = []
    facts: list[str] = []
    for fact in sorted({sentence.fact for sentence in found}):
        own = [n for n, sentence in enumerate(found, start=1) if sentence.fact == fact]
        stay = len(own)
        while stay and own[stay - 1] in wanted:
            stay -= 1
        facts.append(kept_of(memory.body, fact, stay))
        removals += [Removal(found[n - 1].text, by) for n in own[stay:]]
    body = joined(facts)
    if not removals or not body:
        return memory, ()
    return pruned(replace(memory, body=body, updated=now)), tuple(removals)


def lost_between(old: str, new: str, removals: Iterable[Removal]) -> list[str]:
    """Return the sentences of the body `old` that are neither in `new` nor listed in `removals`."""
    kept = {sentence.key for sentence in sentences(new)} | {key_of(item.text) for item in removals}
    return [sentence.text for sentence in sentences(old) if sentence.key not in kept]


def _replaced(body: str, found: Sequence[Sentence], changes: Mapping[int, str]) -> str:
    gone = {number for number, text in changes.items() if not text}
    for number in sorted(changes, reverse=True):
        sentence = found[number - 1]
        start = sentence.end - len(sentence.text)
        part = {
            n
            for n, item in enumerate(found, start=1)
            if (item.fact, item.part) == (sentence.fact, sentence.part)
        }
        if part <= gone:
            # A label goes with the last sentence behind it.
            start = sentence.start
        body = body[:start] + changes[number] + body[sentence.end :]
    return body.strip() + "\n" if body.strip() else ""


def _with_more(body: str, added: Body) -> str:
    """Return `body` with the parts of `added` behind what each part of its first fact holds already."""
    for part, text in (
        ("statement", added.statement),
        ("why", added.why),
        ("how to apply", added.how_to_apply),
    ):
        text = text.strip()
        found = sentences(body)
        if not text or all(item.key in {known.key for known in found} for item in sentences(text)):
            continue
        last = max((item.end for item in found if item.fact == 0 and item.part == part), default=None)
        if last is not None:
            body = f"{body[:last]} {text}{body[last:]}"
            continue
        label = {"why": "**Why:** ", "how to apply": "**How to apply:** "}.get(part, "")
        end = max((item.end for item in found if item.fact == 0), default=0) if label else 0
        body = f"{body[:end].rstrip()}\n\n{label}{text}\n\n{body[end:].lstrip()}".strip() + "\n"
    return body


def _left_out(sentence: Sentence, by: str) -> Removal:
    return Removal(sentence.text, by, reason=SAYS_THE_SAME, equal=folded(sentence.text) == folded(by))


def _adds(others: Sequence[Memory], removals: Sequence[Removal]) -> list[bool]:
    """Return for each of `others` whether a sentence of it stays."""
    gone = {item.text for item in removals}
    return [any(sentence.text not in gone for sentence in sentences(other.body)) for other in others]


def _pooled(memories: Sequence[Memory], removals: Sequence[Removal]) -> tuple[Evidence, ...]:
    """Return the sources of all; those of a sentence that was left out stand for the one that covers it."""
    covers = {key_of(item.text): key_of(item.by) for item in removals if item.by}
    return tuple(
        replace_bears(source, dict.fromkeys(covers.get(key, key) for key in source.bears))
        for memory in memories
        for source in bound(memory)
    )


def _relations(memories: Sequence[Memory]) -> tuple[dict[str, object], ...]:
    inside = {memory.id for memory in memories}
    links = [link for memory in memories for link in memory.relations if link.get("target") not in inside]
    unique = {(link.get("target"), link.get("type"), link.get("direction")): link for link in links}
    return tuple(unique.values())


def _aliases(survivor: Memory, others: Sequence[Memory]) -> tuple[str, ...]:
    names = [*survivor.aliases, *(name for other in others for name in (other.name, *other.aliases))]
    return tuple(dict.fromkeys(name for name in names if name != survivor.name))

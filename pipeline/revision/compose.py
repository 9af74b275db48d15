"""New texts of memories, made out of sentences: each stays word for word, is replaced, or is listed as gone.

Pure: memories in, a memory and the list of what left it out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.domain.body import Body
from pipeline.domain.cues import MOST_CUES
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import (
    ALSO,
    Sentence,
    begins_item,
    ends_with,
    folded,
    joined,
    kept_of,
    key_of,
    sentences,
)
from pipeline.verify.provenance import bound, pruned, replace_bears, weakest_origin
from pipeline.verify.tags import MOST_TAGS, union

MOST_ANCHORS = 12
_QUESTION = "?？؟"
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

    Sentences that are not named stay word for word with their sources; the new ones rest on `sources`, each
    on those that stand for it or for all.
    Numbers that no sentence has, and replacements by the same words, are passed over.
    """
    found = sentences(old.body)
    changes = {item.number: item.text.strip() for item in replacements if 0 < item.number <= len(found)}
    changes = {
        n: _in_form(text, found[n - 1].text)
        for n, text in changes.items()
        if folded(text) != folded(found[n - 1].text)
    }
    body = _replaced(old.body, found, changes)
    touched = {found[n - 1].fact for n in changes}
    body = _with_more(body, added, touched)
    before = {sentence.key for sentence in found}
    fresh = [sentence.key for sentence in sentences(body) if sentence.key not in before]
    borne = ((source, [key for key in fresh if source.is_for(key)]) for source in sources)
    new_sources = tuple(replace_bears(source, keys) for source, keys in borne if keys)
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
    spoken_for = [dict(covered.get(other.id, {})) for other in others]
    facts, left = _facts_of(survivor, others, spoken_for)
    while loose := [item for item in left if not item.removal.by]:
        # What was to speak for it goes too, or never was there.
        for item in loose:
            spoken_for[item.index].pop(item.number, None)
        facts, left = _facts_of(survivor, others, spoken_for)
    removals = [item.removal for item in left]
    memories = [survivor, *others]
    memory = replace(
        survivor,
        body=joined(facts),
        sources=_pooled(memories, removals),
        tags=union((memory.tags for memory in memories), most=2 * MOST_TAGS),
        anchors=union((memory.anchors for memory in memories), most=MOST_ANCHORS),
        cues=union((memory.cues for memory in memories), most=MOST_CUES),
        importance=max(memory.importance for memory in memories),
        confidence=max(memory.confidence for memory in memories),
        created=min((memory.created for memory in memories if memory.created), default=survivor.created),
        relations=_relations(memories),
        aliases=aliases_of(survivor, others),
        replaces=tuple(dict.fromkeys(item for memory in memories for item in memory.replaces)),
        updated=now,
    )
    memory = pruned(memory)
    gone = Counter(item.index for item in left)
    adding = [other for n, other in enumerate(others) if gone[n] < len(sentences(other.body))]
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
    kept = {folded(sentence.text) for sentence in sentences(new)} | {folded(item.text) for item in removals}
    return [sentence.text for sentence in sentences(old) if folded(sentence.text) not in kept]


def _replaced(body: str, found: Sequence[Sentence], changes: Mapping[int, str]) -> str:
    gone = {number for number, text in changes.items() if not text}
    count = len(found)
    for number in sorted(changes, reverse=True):
        sentence, text = found[number - 1], changes[number]
        start = sentence.end - len(sentence.text)
        if _takes_label(found, sentence, gone):
            start = sentence.start
        # The gap behind what is gone stays, the one before it goes.
        before, after = (body[:start] if text else body[:start].rstrip()), body[sentence.end :]
        body = before + text + after
        count += len(sentences(text)) - 1
        if len(sentences(body)) != count:
            # It would run into a sentence beside it.
            body = "\n\n".join(part for part in (before.rstrip(), text, after.lstrip()) if part)
    return body.strip() + "\n" if body.strip() else ""


def _takes_label(found: Sequence[Sentence], gone: Sentence, numbers: Collection[int]) -> bool:
    """Whether the label before `gone` goes too: nothing stays behind it, nor of a fact that it begins."""
    begins_fact = gone.fact > 0 and gone.part == "statement"
    return all(
        n in numbers
        for n, item in enumerate(found, start=1)
        if item.fact == gone.fact and (begins_fact or item.part == gone.part)
    )


def _in_form(text: str, old: str) -> str:
    """Return `text` with the mark before an item and the one at the end that `old` has, where it has none.

    Without them it would run into the sentences around it.
    """
    if not text:
        return ""
    if not begins_item(text):
        text = begins_item(old) + text
    end = ends_with(old)[:1]
    return text if ends_with(text) or end in _QUESTION else text + end


def _with_more(body: str, added: Body, touched: set[int]) -> str:
    """Return `body` with the parts of `added` behind what each part of its fact holds already.

    Of several facts a new statement begins another with its own reason; a reason alone belongs to the one
    that was `touched`, and without just one it can't be told to which, so that it is left out.
    """
    facts = {item.fact for item in sentences(body)}
    if len(facts) > 1 and added.statement.strip():
        return f"{body.rstrip()}\n\n{ALSO} {added.render().strip()}\n"
    fact = next(iter(touched)) if len(touched) == 1 else 0
    if len(facts) > 1 and (len(touched) != 1 or fact not in facts):
        return body
    for part, text in (
        ("statement", added.statement),
        ("why", added.why),
        ("how to apply", added.how_to_apply),
    ):
        text = text.strip()
        found = sentences(body)
        if not text or all(item.folded in {known.folded for known in found} for item in sentences(text)):
            continue
        last = max((item.end for item in found if item.fact == fact and item.part == part), default=None)
        if last is not None:
            whole = f"{body[:last]} {text}{body[last:]}"
            apart = len(sentences(whole)) == len(found) + len(sentences(text))
            body = whole if apart else f"{body[:last]}\n\n{text}{body[last:]}"
            continue
        label = {"why": "**Why:** ", "how to apply": "**How to apply:** "}.get(part, "")
        end = max((item.end for item in found if item.fact == fact), default=0) if label else 0
        body = f"{body[:end].rstrip()}\n\n{label}{text}\n\n{body[end:].lstrip()}".strip() + "\n"
    return body


@dataclass(frozen=True, slots=True)
class _Left:
    """A sentence left out of a merge: that numbered `number` of the other memory numbered `index`."""

    index: int
    number: int
    removal: Removal


def _facts_of(
    survivor: Memory, others: Sequence[Memory], spoken_for: Sequence[Mapping[int, str]]
) -> tuple[list[str], list[_Left]]:
    """Return the facts of a merge and what is left out, `by` empty where nothing kept speaks for it."""
    facts = [survivor.body.strip()]
    left: list[tuple[int, int, str, str]] = []
    held = {_held(sentence): sentence.text for sentence in sentences(survivor.body)}
    for index, other in enumerate(others):
        found = sentences(other.body)
        planned = {n for n in spoken_for[index] if 0 < n <= len(found)}
        covers = {
            n: held.get(_held(sentence)) or spoken_for[index].get(n, "")
            for n, sentence in enumerate(found, start=1)
            if _held(sentence) in held or n in planned
        }
        for fact in sorted({sentence.fact for sentence in found}):
            numbers = [n for n, sentence in enumerate(found, start=1) if sentence.fact == fact]
            stay = _stays(numbers, covers)
            if stay:
                # A sentence that is merely equal leads up to another, or ends what stands before it here.
                stay = _stays(numbers, planned)
            facts.append(kept_of(other.body, fact, stay))
            left += [(index, n, found[n - 1].text, covers[n]) for n in numbers[stay:]]
            held |= {_held(found[n - 1]): found[n - 1].text for n in numbers[:stay]}
    heirs = {folded(text): by for _, _, text, by in left}
    return facts, [_Left(index, n, _left_out(text, _heir(by, held, heirs))) for index, n, text, by in left]


def _heir(by: str, held: Mapping[tuple[str, str], str], heirs: Mapping[str, str]) -> str:
    """Return the kept words that stand for `by`, which may be left out for others itself; "" if none."""
    seen: set[str] = set()
    texts = {folded(text) for text in held.values()}
    while by and folded(by) not in texts and not all(folded(part.text) in texts for part in sentences(by)):
        key = folded(by)
        by = "" if key in seen else heirs.get(key, "")
        seen.add(key)
    return by


def _held(sentence: Sentence) -> tuple[str, str]:
    """Return what two sentences share that are equal and do the same in their facts."""
    return sentence.part, sentence.folded


def _stays(numbers: Sequence[int], gone: Collection[int]) -> int:
    """Return how many of `numbers` stay when those in `gone` leave from the end."""
    stay = len(numbers)
    while stay and numbers[stay - 1] in gone:
        stay -= 1
    return stay


def _left_out(text: str, by: str) -> Removal:
    return Removal(text, by, reason=SAYS_THE_SAME, equal=folded(text) == folded(by))


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


def aliases_of(survivor: Memory, others: Sequence[Memory]) -> tuple[str, ...]:
    """Return the further names of `survivor` once `others` are gone: its former ones and theirs."""
    names = [*survivor.aliases, *(name for other in others for name in (other.name, *other.aliases))]
    return tuple(dict.fromkeys(name for name in names if name != survivor.name))

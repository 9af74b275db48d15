"""Whether the new text of an operation says what its sources say: nothing lost, blended or made up.

Everything here is pure: texts and times in, a flaw or a text out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pipeline.domain.memory import MAX_DESCRIPTION, Memory
from pipeline.domain.operations import Operation
from pipeline.hooklib.plain import one_line
from pipeline.safety.guard import violation
from pipeline.text.clauses import denies
from pipeline.text.dates import DAY, absolute, relative_days
from pipeline.text.scripts import UNSPACED
from pipeline.text.similarity import BODY_KEPT, MOST_NEW, content_words, coverage
from pipeline.text.specifics import lost, plain, specifics
from pipeline.verify.barred import bar, holds_secret
from pipeline.verify.contradiction import blended, moved
from pipeline.verify.fidelity import lacking, reason_lost
from pipeline.verify.tags import spelled

_GROWTH = 1.2
_SLACK = 200
"""A new text may be 1.2 times as long as its sources together, and 200 characters more."""
_FEW = 3
"""So many new words are never too many."""
# Hangul is not among them: Korean reasons have spaces, which are counted.
_UNSPACED = re.compile(f"[{UNSPACED}]")
_MOST_DROPPED = 0.5
"""Above this share of specifics dropped, and more than two of them, a person decides."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why an operation can't be taken; `to_inbox` when a person should decide, `later` when it can wait."""

    reason: str
    to_inbox: bool = False
    later: bool = False


def source_text(memory: Memory) -> str:
    """Return everything a memory says of its own: title, description, body."""
    return f"{memory.title}\n{memory.description}\n{memory.body}"


def barred(operation: Operation) -> Flaw | None:
    """Return why no part of `operation` may stand in a file: a secret, a permission, an instruction.

    The given reasons are only searched for secrets and hidden text: they may well quote what is wrong
    with a memory, and what is applied keeps none that reads like a permission.
    """
    text = "\n".join(
        (
            operation.name,
            operation.type,
            operation.title,
            operation.description,
            operation.statement,
            operation.why,
            operation.how_to_apply,
            *operation.tags,
        )
    )
    talk = "\n".join(
        (operation.reason, operation.relation, *(part for pair in operation.dropped for part in pair))
    )
    reason = bar(text) or ("holds a secret" if holds_secret(talk) else "")
    if reason:
        return Flaw(f"the new text {reason}")
    if violation(talk) == "hidden text":
        return Flaw("the given reason holds hidden text")
    return None


def dated(
    operation: Operation, sources: Sequence[Memory], moments: Sequence[datetime | None]
) -> Operation | Flaw:
    """Return `operation` with its relative dates made absolute from when the source with them was said.

    `moments` holds for each of `sources` when that was, None when nobody knows.
    """
    fields = ("title", "description", "statement", "why", "how_to_apply")
    values = {name: str(getattr(operation, name)) for name in fields}
    days = {plain(day) for value in values.values() for day in relative_days(value)}
    if not days:
        return operation
    counted_from: set[datetime] = set()
    unheard = set(days)
    for memory, moment in zip(sources, moments, strict=True):
        theirs = days & {plain(day) for day in relative_days(source_text(memory))}
        if theirs and moment is None:
            return Flaw(f"nobody knows from when “{min(theirs)}” counts", to_inbox=True)
        if theirs and moment is not None:
            counted_from.add(moment)
        unheard -= theirs
    if unheard or len({moment.date() for moment in counted_from}) != 1:
        return Flaw("it names a day by its distance, and the sources do not settle which", to_inbox=True)
    moment = counted_from.pop()
    return replace(operation, **{name: absolute(value, moment) for name, value in values.items()})  # type: ignore[arg-type]


def prove(
    operation: Operation,
    sources: Sequence[Memory],
    moments: Sequence[datetime | None],
    survivor: Memory | None,
) -> Flaw | None:
    """Return why the text of `operation` may not stand for its `sources`, or None when it may.

    `moments` holds for each source when it was said. `survivor` is the memory whose unchanged parts stay
    when the operation gives none of its own; None for a new memory, whose sources stay as they are, so that
    it can't lose anything.
    """
    texts = [source_text(memory) for memory in sources]
    result = result_text(operation, survivor)
    flaw = _too_long(operation, texts) or _grown(operation, sources, texts, moments, result)
    if flaw is None and survivor is None and denies(result) and not any(map(denies, texts)):
        flaw = Flaw("it denies something, and no source does", to_inbox=True)
    if flaw is None and survivor is not None:
        body = operation.body or survivor.body
        flaw = _turned(operation, sources, body) or _lossy(operation, sources, result, body)
        flaw = flaw or _unkept(operation, sources, moments, body)
    return flaw


def result_text(operation: Operation, survivor: Memory | None) -> str:
    """Return what the memory will say once `operation` is applied."""
    title, description = operation.title, operation.description
    body = operation.body
    if survivor is not None:
        title, description = title or survivor.title, description or survivor.description
        body = body or survivor.body
    return f"{title}\n{description}\n{body}"


def _too_long(operation: Operation, texts: Sequence[str]) -> Flaw | None:
    whole = sum(map(len, texts))
    if len(operation.body) > _GROWTH * whole + _SLACK:
        return Flaw("the new text is longer than its sources")
    if len(operation.description) > 2 * MAX_DESCRIPTION or len(operation.title) > MAX_DESCRIPTION:
        return Flaw("the new title or description is no single line")
    return None


def _grown(
    operation: Operation,
    sources: Sequence[Memory],
    texts: Sequence[str],
    moments: Sequence[datetime | None],
    result: str,
) -> Flaw | None:
    """Say what the text has that no source has: a specific, or most of its words."""
    absolute_texts = (absolute(text, moment) for text, moment in zip(texts, moments, strict=True))
    known = "\n".join((*texts, *map(_rest, sources), *absolute_texts))
    # “Three incidents …”: an insight may count what it was drawn from.
    if operation.op == "insight":
        known += f"\n{len(sources)}"
    # Whoever knows the day knows its month and year.
    known += "\n" + " ; ".join(part for day in DAY.findall(known) for part in (day[:4], day[:7]))
    known += "\n" + " ; ".join(part for at in moments if at for part in _parts(at))
    written = f"{result}\n{' ; '.join(operation.tags)}"
    invented = lost(specifics(written), known)
    if invented:
        return Flaw(f"it says {_some(invented)}, which no source says")
    value = moved(texts, result, only_values=operation.op == "insight")
    if value:
        return Flaw(f"it says “{value}” of something else than the sources do", to_inbox=True)
    own, theirs = content_words(written), content_words(known)
    if len(own - theirs) > max(_FEW, MOST_NEW[operation.op] * len(own)):
        return Flaw("most of the new text comes from no source")
    return None


def _parts(moment: datetime) -> tuple[str, str, str]:
    day = moment.date().isoformat()
    return day, day[:7], day[:4]


def _turned(operation: Operation, sources: Sequence[Memory], body: str) -> Flaw | None:
    """Say whether a denial got lost or came in: a few letters that turn a rule into its opposite."""
    denied = any(denies(memory.body) for memory in sources)
    new = f"{operation.title}\n{operation.description}"
    if denies(body) != denied or (denies(new) and not any(denies(source_text(memory)) for memory in sources)):
        return Flaw("a “not” of the sources is gone, or a new one came in", to_inbox=True)
    return None


def _rest(memory: Memory) -> str:
    quotes = (source.quote for source in memory.sources)
    return " ; ".join((*memory.tags, *memory.anchors, *quotes))


def _lossy(operation: Operation, sources: Sequence[Memory], result: str, body: str) -> Flaw | None:
    """Say what is lost."""
    found = blended([source_text(memory) for memory in sources], result)
    if found:
        return Flaw(f"the sources differ ({found}): keep them apart or supersede one", to_inbox=True)
    gone, wanted = _gone(sources, result, body)
    unnamed = [specific for specific in gone if not _listed(specific, operation)]
    if unnamed:
        return Flaw(f"{_some(unnamed)} would be lost", to_inbox=True)
    if len(gone) > 2 and len(gone) > _MOST_DROPPED * len(wanted):
        return Flaw("it drops most of what the sources name", to_inbox=True)
    unrelated = [memory for memory in sources if _about_else(memory, body)]
    if unrelated:
        return Flaw(f"the new text is about something else than “{unrelated[0].name}”", to_inbox=True)
    return None


def _gone(sources: Sequence[Memory], result: str, body: str) -> tuple[list[str], frozenset[str]]:
    """Return the specifics of `sources` that `body`, or `result` as a whole, lacks, and all they have.

    What a body says must stand in the new body: a description is cut some day.
    """
    inside = frozenset[str]().union(*(specifics(memory.body) for memory in sources))
    wanted = inside.union(*(specifics(source_text(memory)) for memory in sources))
    return sorted({*lost(inside, body), *lost(wanted, result)}), wanted


def _about_else(memory: Memory, body: str) -> bool:
    return coverage(content_words(memory.body), content_words(body)) < BODY_KEPT


def lost_between(old: Memory, new: Memory) -> str:
    """Return as a clause what of `old` is gone once it has `new`'s text, or "": a specific or the reason.

    Examples: “8443” would be lost; the reason is lost. A word put another way is no loss here.
    """
    result = source_text(replace(new, title=new.title or old.title))
    gone, _ = _gone([old], result, new.body)
    if gone:
        return f"{_some(gone)} would be lost"
    if reason_lost(old.body, new.body):
        return "the reason is lost"
    return f"the new text is about something else than “{old.name}”" if _about_else(old, new.body) else ""


def _unkept(
    operation: Operation, sources: Sequence[Memory], moments: Sequence[datetime | None], body: str
) -> Flaw | None:
    """Say what the clauses and words of the new text leave unsettled."""
    head = f"{operation.title}\n{operation.description}"
    named = [text for text, reason in operation.dropped if _reasoned(reason)]
    left_out = "\n".join(phrase for text in named for phrase in _phrases(text, sources))
    bodies = [absolute(memory.body, at) for memory, at in zip(sources, moments, strict=True)]
    known = [absolute(source_text(memory), at) for memory, at in zip(sources, moments, strict=True)]
    found = lacking(bodies, known, body, head, left_out)
    return Flaw(found, to_inbox=True) if found else None


def _phrases(dropped: str, sources: Sequence[Memory]) -> list[str]:
    """Return `dropped` with the word before it, as the sources have it: a port goes with the word “port”."""
    found = [dropped]
    if dropped.strip():
        pattern = re.compile(rf"[^\W\d_]+[ `\"]+{re.escape(dropped.strip())}")
        found += [match.group() for memory in sources for match in pattern.finditer(memory.body)]
    return found


def _reasoned(reason: str) -> bool:
    """Whether `reason` says anything: two words, or four characters where words aren't spaced."""
    return len(reason.split()) > 1 or len(_UNSPACED.findall(reason)) > 3


def tidy(operation: Operation) -> Operation:
    """Return the operation with a description of one line and tags in slug form."""
    line = one_line(operation.description, MAX_DESCRIPTION)
    title = " ".join(operation.title.split())
    return replace(operation, description=line, title=title, tags=spelled(operation.tags))


def _listed(specific: str, operation: Operation) -> bool:
    """Whether `specific` is among what the operation drops, with a reason."""
    return any(
        _reasoned(reason) and (plain(text) == specific or not lost([specific], text))
        for text, reason in operation.dropped
    )


def _some(found: Sequence[str]) -> str:
    shown = ", ".join(f"“{specific[:80]}”" for specific in found[:3])
    return shown if len(found) <= 3 else f"{shown} and {len(found) - 3} more"

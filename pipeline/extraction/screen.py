"""The checks in code that each candidate must pass before it may be written. No input or output.

Source: DESIGN §6, "Evidence". A candidate that fails is not silently lost: every drop carries its reason,
and what a person might still want goes to the inbox instead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pipeline.core.clock import latest
from pipeline.domain.memory import (
    HUMAN_ONLY,
    MAX_DESCRIPTION,
    MAX_QUOTE,
    TYPES,
    Evidence,
    Origin,
)
from pipeline.domain.speech import Utterance
from pipeline.extraction.render import Rendering
from pipeline.extraction.schema import Candidate, Cited, Extraction, Withdrawal
from pipeline.extraction.screened_candidate import Screened
from pipeline.hooklib.plain import one_line
from pipeline.safety.invisible import visible
from pipeline.store import Forgotten
from pipeline.text.dates import absolute
from pipeline.text.slugs import slugify
from pipeline.verify.barred import bar
from pipeline.verify.tags import spelled

MAX_PART = 2_000
"""Most characters of a statement, a reason, or how to apply it: more is not one fact."""
NO_REASON = "the dialogue took it back"
"""Stands for a given reason that may not be written."""
LEAST_INFERRED = 0.7
"""Least confidence with which something only the assistant said goes live (DESIGN §9)."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A candidate or withdrawal that was not taken, and why.

    `to_inbox` is true when a person may decide; `candidate` is then what accepting it writes.
    """

    name: str
    reason: str
    to_inbox: bool = False
    candidate: Screened | None = None


@dataclass(slots=True)
class Verdict:
    """The outcome of a screening."""

    accepted: list[Screened] = field(default_factory=list)
    withdrawals: list[tuple[Withdrawal, tuple[Evidence, ...]]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


def screen(
    reply: Extraction,
    rendering: Rendering,
    *,
    limit: int,
    forgotten: Forgotten,
    provisional: frozenset[str] = frozenset(),
) -> Verdict:
    """Return what of `reply` holds against the dialogue it was made from.

    What was `forgotten`, rejected or undone comes back, is changed or withdrawn by words said later only.
    `provisional` names the memories of this very conversation, which may be withdrawn without a quote.
    """
    verdict = Verdict()
    seen: set[str] = set()
    for number, candidate in enumerate(reply.memories):
        result = (
            Rejected(label(candidate.name), f"over the limit of {limit} memories from one reply")
            if number >= limit
            else _screen_one(candidate, rendering, forgotten, seen)
        )
        if isinstance(result, Screened):
            verdict.accepted.append(result)
        else:
            verdict.rejected.append(result)
    for withdrawal in reply.withdrawals:
        sources = cite(withdrawal.evidence, rendering)
        withdrawal = _sound(withdrawal)
        # Only a person takes a person's words back, but what this conversation taught may go as it came.
        may_go = withdrawal.name in provisional or any(source.speaker == "person" for source in sources)
        reason = "" if may_go else "withdrawal without a line in which the person takes it back"
        reason = reason or _buried((withdrawal.name,), sources, forgotten)
        if reason:
            verdict.rejected.append(Rejected(withdrawal.name, reason))
        else:
            verdict.withdrawals.append((withdrawal, sources))
    return verdict


def cite(evidence: Sequence[Cited], rendering: Rendering) -> tuple[Evidence, ...]:
    """Return those of `evidence` whose quote is found in the cited entry, as at most three sources."""
    found: list[Evidence] = []
    for cited in evidence:
        utterance = rendering.lines.get(cited.line)
        if utterance is None or not quoted_in(cited.quote, utterance.text):
            continue
        quote = _fold(cited.quote)[:MAX_QUOTE].strip()
        source = Evidence(
            session=utterance.session_id,
            uuid=utterance.uuid,
            quote=quote,
            at=utterance.at,
            speaker=utterance.speaker,
        )
        if source not in found:
            found.append(source)
    return tuple(found)


def quoted_in(quote: str, text: str) -> bool:
    """Whether `quote` stands in `text`, white space folded; a scrap counts only in a short text.

    A few letters are found in any long text by chance, so a quote under 8 characters (4 in scripts
    without spaces) must be a whole word of an entry under 200 characters.
    """
    needle, hay = _fold(quote), _fold(text)
    if not needle or needle not in hay:
        return False
    least = 8 if needle.isascii() else 4
    if len(needle) >= least:
        return True
    return len(hay) < 200 and re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", hay) is not None


def _screen_one(
    candidate: Candidate, rendering: Rendering, forgotten: Forgotten, seen: set[str]
) -> Screened | Rejected:
    sources = cite(candidate.evidence, rendering)
    spoken_at = latest(source.at for source in sources)
    origin = _origin(sources, rendering)
    reason = (
        _bad_shape(candidate)
        or _bad_evidence(candidate, sources, rendering)
        or _barred(candidate)
        or _buried(_names(candidate), sources, forgotten)
    )
    to_inbox = False
    if not reason and origin == "assistant-inferred":
        to_inbox = _type_of(candidate) not in HUMAN_ONLY
        reason = _only_inferred(candidate)
    key = _fold(candidate.statement).casefold()
    if not reason and key in seen:
        reason = "says the same as another of this reply"
    if reason:
        name = label(candidate.name or candidate.description[:60])
        to_inbox = to_inbox and bool(sources)
        accepted = _accept(candidate, origin, sources, spoken_at) if to_inbox else None
        return Rejected(name, reason, to_inbox, accepted)
    seen.add(key)
    return _accept(candidate, origin, sources, spoken_at)


def _type_of(candidate: Candidate) -> str:
    return candidate.type.strip().lower().replace("-", "_")


def _bad_shape(candidate: Candidate) -> str:
    if _type_of(candidate) not in TYPES:
        return f"unknown type {candidate.type[:40]!r}"
    if not candidate.statement.strip() or not candidate.description.strip():
        return "empty statement or description"
    if max(len(candidate.statement), len(candidate.why), len(candidate.how_to_apply)) > MAX_PART:
        return "too long for one fact"
    return ""


def _bad_evidence(candidate: Candidate, sources: Sequence[Evidence], rendering: Rendering) -> str:
    if not sources:
        return "no quote is found in the line it cites"
    known = (cited for cited in candidate.evidence if cited.line in rendering.lines)
    fresh = (cited for cited in known if rendering.is_new(cited.line))
    if not any(quoted_in(cited.quote, rendering.lines[cited.line].text) for cited in fresh):
        return "cites nothing new"
    return ""


def _barred(candidate: Candidate) -> str:
    parts = (
        candidate.name,
        candidate.title,
        candidate.description,
        candidate.statement,
        candidate.why,
        candidate.how_to_apply,
        *candidate.tags,
        *candidate.anchors,
    )
    return bar("\n".join(parts))


def label(name: str) -> str:
    """Return `name` as it may be reported: as the model gave it, or in plain letters if that is barred."""
    line = one_line(name, 200)
    return slugify(visible(line)) if line and bar(line) else line


def _sound(withdrawal: Withdrawal) -> Withdrawal:
    """Return `withdrawal` with a name and a reason that may be written."""
    reason = NO_REASON if bar(withdrawal.reason) else one_line(withdrawal.reason, MAX_DESCRIPTION)
    return withdrawal.model_copy(update={"name": label(withdrawal.name), "reason": reason})


def _names(candidate: Candidate) -> tuple[str, str]:
    return candidate.update_of.strip(), slugify(candidate.name or candidate.description)


def _buried(names: Iterable[str], sources: Sequence[Evidence], forgotten: Forgotten) -> str:
    if any(forgotten.bars(sources, name) for name in names):
        return "it was forgotten on request, rejected or undone, and nobody has said it since"
    return ""


def _only_inferred(candidate: Candidate) -> str:
    if _type_of(candidate) in HUMAN_ONLY:
        return "only the assistant said it; a person's line is needed"
    if candidate.confidence < LEAST_INFERRED:
        return "only the assistant said it, and not surely"
    return ""


def _accept(
    candidate: Candidate,
    origin: Origin,
    sources: tuple[Evidence, ...],
    spoken_at: datetime | None,
) -> Screened:
    return Screened(
        name=slugify(candidate.name or candidate.description),
        update_of=candidate.update_of.strip(),
        type=_type_of(candidate),
        title=one_line(candidate.title, 80),
        description=one_line(absolute(candidate.description, spoken_at), MAX_DESCRIPTION),
        statement=absolute(candidate.statement.strip(), spoken_at),
        why=absolute(candidate.why.strip(), spoken_at),
        how_to_apply=absolute(candidate.how_to_apply.strip(), spoken_at),
        tags=spelled(candidate.tags),
        anchors=tuple(dict.fromkeys(one_line(item, 200) for item in candidate.anchors if item.strip()))[:8],
        importance=round(candidate.importance, 2),
        confidence=round(candidate.confidence, 2),
        origin=origin,
        sources=sources,
        said_at=spoken_at,
    )


def _origin(sources: Sequence[Evidence], rendering: Rendering) -> Origin:
    """Say who stands behind a fact: a person's own words, a person's yes to the assistant's, or neither."""
    people = [source for source in sources if source.speaker == "person"]
    if not people:
        return "assistant-inferred"
    spoken: dict[str, Utterance] = {utterance.uuid: utterance for utterance in rendering.lines.values()}
    # A person who only said “yes, do that” confirmed what the assistant had put into words.
    short = all(len(spoken[source.uuid].text.strip()) <= 40 for source in people)
    return "user-confirmed" if short and len(people) < len(sources) else "user-stated"


def _fold(text: str) -> str:
    plain = unicodedata.normalize("NFC", text).translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"'})
    # As in the rendering that the model quotes from, what can't be seen goes first.
    return " ".join(visible(plain).split())

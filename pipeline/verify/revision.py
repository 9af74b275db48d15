"""Whether a memory made of what was said now may take the place of an older one without asking a person.

Two things a person decides: words of a person's that would give way to the assistant's alone, and a text
that no longer says what the old one did, unless a person said something later.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from pipeline.core.clock import latest, parse_time
from pipeline.domain.memory import HUMAN_ONLY, Memory
from pipeline.text.scripts import HAN, HANGUL, KANA, KATAKANA
from pipeline.text.similarity import BODY_KEPT, REASON_KEPT, content_in_order, content_words, coverage, stem
from pipeline.text.specifics import lost, plain, specifics
from pipeline.verify.flaw import Flaw
from pipeline.verify.provenance import vouched

# A run of one script is about a word; hiragana is the grammar between them. `unreadable` keeps texts in Thai
# and the like away from here.
_RUN = re.compile(f"(?P<han>[{HAN}]+)|[{KATAKANA}]+|[{HANGUL}]+")
_CJK = re.compile(f"[{HAN}{KANA}{HANGUL}]")
_SAME_WORDS = {"short": "brief concise", "answer": "reply replies response"}
_SAME = {other: stem(word) for word, others in _SAME_WORDS.items() for other in content_in_order(others)}
_AS_MARKERS = frozenset(content_in_order("always every immer jede jeder jedes jedem jeden"))
"""Words that count as markers only, so that ``always before`` and ``before every`` are one."""
_REASON = re.compile(
    r"\*\*why:\*\*(?P<why>.*?)(?=\*\*how to apply|$)"
    r"|\b(?:because|since(?! \d)|so that|in order to|weil|damit|denn|parce qu\w*|afin \w+|porque|para que)\b"
    r"(?P<clause>[^.;。\n]*)|(?P<before>[^。、.\n]*)(?:から|ので|ため)(?=[、。])|(?:因为|由于|以便)(?P<han>[^。；\n]*)",
    re.IGNORECASE | re.DOTALL,
)


def flaw_of(old: Memory, new: Memory) -> Flaw | None:
    """Return why `new`, which holds the new words and their sources alone, may not replace `old`'s text."""
    if unvouched(old.type, [new], replaced=old) is not None:
        return Flaw(f"only the assistant said it, and “{old.name}” holds a person's words", to_inbox=True)
    gone = _lost_between(old, new)
    if gone and not said_later(new, old):
        return Flaw(f"{gone}, and no person said anything later", to_inbox=True)
    return None


def said_later(new: Memory, old: Memory) -> bool:
    """Whether a person's line of `new` was said after all that `old` rests on.

    A source of `old` without a time may be later than anything; an `old` without sources rests on nothing.
    """
    last = latest(source.at for source in new.sources if source.speaker == "person")
    earlier = [parse_time(source.at) for source in old.sources]
    return last is not None and all(at is not None and at < last for at in earlier)


def unvouched(type_name: str, sources: Iterable[Memory], *, replaced: Memory | None = None) -> Memory | None:
    """Return one of `sources` that nobody said but that would come to stand as a person's own words.

    `type_name` is the type of the memory that will hold the text. `replaced` is the memory whose words would
    give way to it: where a person stands behind those, the type does not matter. None when all is vouched
    for. Example: “Force push is fine”, said by the assistant alone, may not replace a `feedback`.
    """
    if type_name not in HUMAN_ONLY and not (replaced is not None and vouched(replaced)):
        return None
    return next((source for source in sources if source.type not in HUMAN_ONLY and not vouched(source)), None)


def _lost_between(old: Memory, new: Memory) -> str:
    """Return as a clause what of `old` is gone once it has `new`'s text, or "": a specific or the reason.

    Examples: “8443” would be lost; the reason is lost. A word put another way is no loss here.
    """
    result = _source_text(replace(new, title=new.title or old.title))
    gone, _ = _gone([old], result, new.body)
    if gone:
        return f"{_some(gone)} would be lost"
    if _reason_is_lost(old.body, new.body):
        return "the reason is lost"
    return f"the new text is about something else than “{old.name}”" if _about_else(old, new.body) else ""


def _gone(sources: Sequence[Memory], result: str, body: str) -> tuple[list[str], frozenset[str]]:
    """Return the specifics of `sources` that `body`, or `result` as a whole, lacks, and all they have.

    What a body says must stand in the new body: a description is cut some day.
    """
    inside = frozenset[str]().union(*(specifics(memory.body) for memory in sources))
    wanted = inside.union(*(specifics(_source_text(memory)) for memory in sources))
    return sorted({*lost(inside, body), *lost(wanted, result)}), wanted


def _about_else(memory: Memory, body: str) -> bool:
    return coverage(content_words(memory.body), content_words(body)) < BODY_KEPT


def _some(found: Sequence[str]) -> str:
    shown = ", ".join(f"“{specific[:80]}”" for specific in found[:3])
    return shown if len(found) <= 3 else f"{shown} and {len(found) - 3} more"


def _source_text(memory: Memory) -> str:
    """Return everything a memory says of its own: title, description, body."""
    return f"{memory.title}\n{memory.description}\n{memory.body}"


def _reason_is_lost(source: str, body: str) -> bool:
    have = _words(body)
    reasons = (
        _words(next(part for part in match.groups() if part is not None))
        for match in _REASON.finditer(unicodedata.normalize("NFKC", source))
    )
    return any(coverage(reason, have) < REASON_KEPT for reason in reasons)


def _words(text: str) -> frozenset[str]:
    return frozenset(_ordered(text))


def _ordered(text: str) -> tuple[str, ...]:
    """Return content words in order; of unspaced scripts runs of one kind, Han by two characters."""
    folded = plain(text)
    spaced = [
        _SAME.get(word, word) for word in content_in_order(_CJK.sub(" ", folded)) if word not in _AS_MARKERS
    ]
    runs: list[str] = []
    for match in _RUN.finditer(folded):
        run = match.group()
        runs += [run[at : at + 2] for at in range(max(1, len(run) - 1))] if match["han"] else [run]
    return (*spaced, *runs)

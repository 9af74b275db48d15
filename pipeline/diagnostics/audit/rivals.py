"""Two values that exclude each other, or a "not", in sentences about the same thing.

Words can be alike while things differ: two customers, two boards, prod and stage, a rule and its exception,
a range and a value in it. So the bar is high, and what is not sure is not told: the words of both sentences
must stand in the other memory, the values must be of one dimension and can't both hold, and nothing may set
the two memories apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pipeline.diagnostics.audit.subject import NEUTRAL, Compared, Sentence, elsewhere, left_over
from pipeline.text.amounts import Amount
from pipeline.text.similarity import LEAST_COMMON, SAME_MATTER, overlap

_BOUNDS = {
    "at least": (
        "at least",
        "minimum",
        "min.",
        "no less",
        "or more",
        "from ",
        "mindestens",
        "ab ",
        "au moins",
        "al menos",
    ),
    "at most": (
        *(
            "at most",
            "up to",
            "maximum",
            "max.",
            "no more than",
            "under ",
            "below",
            "less than",
            "within",
            "limit",
        ),
        *("höchstens", "bis zu", "maximal", "au plus", "como máximo", "no longer than", "never more"),
    ),
    "about": ("about", "around", "roughly", "approx", "~", "ca.", "etwa", "ungefähr", "environ", "unos "),
}
"""How a value binds: two that bind in other ways may both hold."""


@dataclass(frozen=True, slots=True)
class Rival:
    """What the second memory says against the first; `sure` when it may be told as a warning."""

    what: str
    at: str
    sure: bool = True


def rival(a: Compared, b: Compared) -> Rival | None:
    """Return what `b` says against `a`, None when they may stand side by side."""
    if elsewhere(a, b) or a.apart() or b.apart() or _headed_apart(a, b):
        return None
    found = [*_values(a, b), *_denials(a, b)]
    return max(found, key=lambda found_rival: found_rival.sure, default=None)


def _headed_apart(a: Compared, b: Compared) -> bool:
    """Whether each has a word in its name or description that the other has nowhere."""
    return bool(left_over(a.heading(), b)) and bool(left_over(b.heading(), a))


def _headed_alike(a: Compared, b: Compared) -> bool:
    """Whether the narrower heading tells of a change and not of another thing."""
    only_a, only_b = left_over(a.heading(), b), left_over(b.heading(), a)
    return not (only_a or only_b) or (b if only_b else a).tells_a_change()


def _values(a: Compared, b: Compared) -> Iterator[Rival]:
    for left in a.sentences():
        for right in b.sentences():
            if left.labels != right.labels:
                continue
            for dimension in {amount.dimension for amount in left.amounts}:
                mine, theirs = left.only(dimension), right.only(dimension)
                if (
                    mine
                    and theirs
                    and _exclude(mine, theirs, left, right)
                    and not _told_by_both(mine, theirs, a, b)
                ):
                    sure = _same_matter(left, right, a, b)
                    if sure is not None:
                        what = f"says {theirs.text} where {mine.text} stands"
                        yield Rival(what, theirs.text, sure and _headed_alike(a, b))


def _exclude(mine: Amount, theirs: Amount, left: Sentence, right: Sentence) -> bool:
    plain = not (mine.is_range or theirs.is_range or mine.meets(theirs))
    return plain and _bound(left.text) == _bound(right.text)


def _bound(text: str) -> tuple[str, ...]:
    lower = text.lower()
    return tuple(kind for kind, words in _BOUNDS.items() if any(word in lower for word in words))


def _told_by_both(mine: Amount, theirs: Amount, a: Compared, b: Compared) -> bool:
    """Whether one of them has the other's value too: then it tells both, as a history does."""
    by_a = any(theirs.meets(amount) for sentence in a.sentences() for amount in sentence.amounts)
    return by_a or any(mine.meets(amount) for sentence in b.sentences() for amount in sentence.amounts)


def _same_matter(left: Sentence, right: Sentence, a: Compared, b: Compared) -> bool | None:
    """Return True when both sentences are about the same, False when one may be about a part of it."""
    mine, theirs = left.words - NEUTRAL, right.words - NEUTRAL
    common = mine & theirs
    if overlap(mine, theirs) < SAME_MATTER or not (len(common) > 1 or common & a.heading() & b.heading()):
        return None
    only_left, only_right = left_over(left.words, b), left_over(right.words, a)
    if not (only_left or only_right):
        return True
    one_sided = not (only_left and only_right) and len(only_left | only_right) <= 1
    return False if one_sided and len(common) >= LEAST_COMMON else None


def _denials(a: Compared, b: Compared) -> Iterator[Rival]:
    for left in a.sentences():
        for right in b.sentences():
            # Two denials in a sentence may cancel each other, so that it says what the other says.
            if {left.denials, right.denials} != {0, 1} or left.labels != right.labels:
                continue
            if left.amounts or right.amounts:
                continue
            mine, theirs = left.words - NEUTRAL, right.words - NEUTRAL
            if mine == theirs and len(mine) >= LEAST_COMMON:
                words = " ".join(left.text.split()[:8]).strip("*-# ")
                yield Rival(f"says the opposite of “{words}”", right.text, _headed_alike(a, b))

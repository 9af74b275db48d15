"""Whether two memories say different things about the same matter, and whether a merged text blends them.

Sentences are taken apart into clauses; two clauses are about the same matter when their words largely
agree once numbers, paths and the like are left out. Pure text work: a rule that is unsure says
"contradiction", and both memories then stay as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pipeline.text.clauses import Clause, clauses
from pipeline.text.similarity import (
    OPPOSITE,
    SAME_MATTER,
    content_in_order,
    is_paired,
    jaccard,
    overlap,
    stem,
)
from pipeline.text.specifics import is_value, kind_of, lost

# “The cache is enabled in CI.” against “… disabled in CI.” · “… filled in CI.”
_RIVALS = tuple(
    frozenset(map(stem, group.split()))
    for group in (
        "enabled disabled on off enable disable",
        "true false yes no",
        "always sometimes rarely",
        "monday tuesday wednesday thursday friday saturday sunday",
        "january february march april may june july august september october november december",
        "one two three four five six seven eight nine ten eleven twelve",
        "left right first last before after more less",
        "allowed required optional forbidden",
    )
)
"""Words of which only one can hold at a time; of other words the last of a clause counts as its value."""


def blended(sources: Sequence[str], result: str) -> str:
    """Return why `result` may not stand for all `sources`, naming the two values, or an empty string.

    Two sources that give different values for the same words (“The timeout is 30 s.”, “… 60 s.”) are never
    made one, unless the result holds both, apart, each with the words that tell them apart. What gives values
    for other words (“Tests take 30 s.”, “Tests run on port 8080.”) may become one.
    """
    parts, outcome = [clauses(source) for source in sources], clauses(result)
    for at, left in enumerate(parts):
        for other in range(at + 1, len(parts)):
            found = _blended_pair((sources[at], left), (sources[other], parts[other]), outcome)
            if found:
                return found
    return ""


def moved(sources: Sequence[str], result: str, *, only_values: bool = False) -> str:
    """Return a specific that `result` gives to other words than the sources do, or an empty string.

    Of “5 replicas, 3 nodes” it is one in “3 replicas, 5 nodes” and none in “3 nodes, 5 replicas”. With
    `only_values` paths, names and the like are left alone.
    """
    known = [_bare(clause) for source in sources for clause in clauses(source) if clause.specifics]
    for clause in map(_bare, clauses(result)):
        for value in sorted(clause.specifics):
            if only_values and not is_value(value):
                continue
            own = [other for other in known if value in other.specifics]
            without = [other for other in known if value not in other.specifics]
            rivals = [other for other in without if kind_of(value) in map(kind_of, other.specifics)]
            # Names and paths may stand in a clause that says more than its source did.
            whole = not is_value(value) and any({*other.words} <= {*clause.words} for other in own)
            if own and rivals and not whole and _closest(clause, rivals) > _closest(clause, own):
                return value
    return ""


def _bare(clause: Clause) -> Clause:
    """Return `clause` without the words that are part of its specifics: two hosts share their domain."""
    inside = {word for specific in clause.specifics for word in content_in_order(specific)}
    return replace(clause, words=tuple(word for word in clause.words if word not in inside))


def _closest(clause: Clause, others: Sequence[Clause]) -> int:
    return max(len({*clause.words} & {*other.words}) for other in others)


def _blended_pair(
    left: tuple[str, list[Clause]], right: tuple[str, list[Clause]], result: list[Clause]
) -> str:
    for a in left[1]:
        for b in right[1]:
            rivals = _rivals(a, b)
            if not rivals:
                continue
            mine, theirs = rivals
            # Where one memory names both values somewhere, it knows of the other and does not dispute it.
            known = not lost(theirs, left[0]) or not lost(mine, right[0])
            if not known and not _kept_apart(a, b, mine, theirs, result):
                return f"{_show(mine)} and {_show(theirs)}"
    return _opposed(left[1], right[1])


def _show(values: frozenset[str]) -> str:
    return ", ".join(f"“{value}”" for value in sorted(values))


def _rivals(a: Clause, b: Clause) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return what `a` and `b` each say that the other doesn't, if it is about the same matter."""
    mine, theirs = a.specifics - b.specifics, b.specifics - a.specifics
    kinds = {kind_of(specific) for specific in mine} & {kind_of(specific) for specific in theirs}
    if not kinds:
        return None
    if overlap({*a.words}, {*b.words}) < SAME_MATTER:
        return None
    return (
        frozenset(specific for specific in mine if kind_of(specific) in kinds),
        frozenset(specific for specific in theirs if kind_of(specific) in kinds),
    )


def _kept_apart(
    a: Clause, b: Clause, mine: frozenset[str], theirs: frozenset[str], result: list[Clause]
) -> bool:
    only_a, only_b = {*a.words} - {*b.words}, {*b.words} - {*a.words}
    if not only_a and not only_b:
        return False

    def stands(values: frozenset[str], others: frozenset[str], words: set[str]) -> bool:
        return any(
            clause.specifics & values
            and not clause.specifics & others
            and (not words or words & {*clause.words})
            for clause in result
        )

    return stands(mine, theirs, only_a) and stands(theirs, mine, only_b)


def _opposed(left: list[Clause], right: list[Clause]) -> str:
    """Return the words of two clauses of which one denies the other or puts a rival word in its place.

    “Never deploy on Friday.” and “Deploy on Friday.”; not “Indent with tabs.” and “Use tabs, not spaces.”
    """
    # What the other memory says too, in another sentence, is no rival.
    affirmed_left = {word for clause in left if not clause.denies for word in clause.words}
    affirmed_right = {word for clause in right if not clause.denies for word in clause.words}
    for a in left:
        for b in right:
            if a.denies != b.denies and jaccard({*a.words}, {*b.words}) >= OPPOSITE:
                return f"“{' '.join(a.words)}” and its opposite"
            swapped = _swapped(a.words, b.words)
            if swapped and swapped[0] not in affirmed_right and swapped[1] not in affirmed_left:
                return f"“{swapped[0]}” and “{swapped[1]}”"
    return ""


def _swapped(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the one pair of words in which two clauses differ, if it is one that can't both hold."""
    if len(a) != len(b) or len(a) < 2:
        return None
    different = [at for at, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    if len(different) != 1:
        return None
    at = different[0]
    x, y = a[at], b[at]
    rival = any(x in group and y in group for group in _RIVALS)
    # The last word is mostly the value (“deploy to staging”, “… to production”); another form of it is none,
    # and of a script in pairs the last two characters are no word.
    last = at == len(a) - 1 and x[:4] != y[:4] and not (is_paired(x) or is_paired(y))
    return (x, y) if rival or last else None

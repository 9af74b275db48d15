"""Whether two memories say different things about the same matter, and whether a merged text blends them.

Sentences are taken apart into clauses; two clauses are about the same matter when their words largely
agree once numbers, paths and the like are left out. Pure text work: a rule that is unsure says
"contradiction", and both memories then stay as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.domain.body import LABEL
from pipeline.text.specifics import is_value, lost, plain, specifics

_SAME_MATTER = 0.6
"""Share of the shorter clause's words that the other must have to be about the same matter."""
_OPPOSITE = 0.75
"""Share of all words that two clauses must have in common for a "not" in one of them to count."""


def _set(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_STOP = _set(
    """a an the of in on at to for from by with as is are was were be been being it its this that these those
    and or but so then than there here we you they he she i my our your their has have had do does did will
    would can could should may might must now also just very too only when where which who what if while
    because since into onto over under about after before again via per all any each both such same"""
)
_NOT = re.compile(
    r"\b(?:not|never|no|none|nothing(?! but)|nobody|nowhere|nor|neither|without"
    r"|avoid(?:s|ed|ing)?|cannot|stop(?:s|ped)?|forbidden|banned)\b"
    r"|n't\b|ない|ません|ず(?=に)|なし|禁止|不(?![断同过仅但管])|别(?!名)|没有|勿"
    r"|\b(?:nicht|nichts|nie|niemals|kein(?:e[mnrs]?)?|ohne|pas|jamais|aucune?|sans|nunca|jamás|ning[uú]na?|sin)\b"
    r"|않|없|못|(?<!\w)안\s|지\s?(?:마|말)",
)
_NOT_WORDS = _set("not never no none nothing nobody nowhere nor neither without avoid cannot stop")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”|「[^」\n]*」')
"""What stands in quotation marks is named, not said: "not run" as a label denies nothing."""
_SPLIT = re.compile(r"[.;:!?,](?=\s|$)|[。；！？、\n]|\s(?:and|but|while|whereas|und|et)\s|\s[-–—]\s")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_KINDS = {
    **dict.fromkeys(_set("ms s min h day week month year"), "time"),
    **dict.fromkeys(_set("b kb mb gb tb kib mib gib"), "size"),
    **dict.fromkeys(_set("usd eur gbp yen"), "money"),
}
_RIVALS = tuple(
    _set(group)
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


@dataclass(frozen=True, slots=True)
class Clause:
    """A part of a sentence: its content words in order, its specifics, and whether it denies."""

    words: tuple[str, ...]
    specifics: frozenset[str]
    denies: bool


def words(text: str) -> frozenset[str]:
    """Return the content words of `text`: lower case, crudely stemmed, stop words and denials left out."""
    return frozenset(in_order(text))


def denies(text: str) -> bool:
    """Whether `text` says that something is not so or must not be."""
    return _NOT.search(_QUOTED.sub(" ", plain(text))) is not None


def split(text: str) -> list[str]:
    """Return the parts of `text` between sentence marks, list commas and conjunctions, width folded."""
    normal = unicodedata.normalize("NFKC", LABEL.sub(". ", text)).replace("**", "")
    return _SPLIT.split(normal)


def clauses(text: str) -> list[Clause]:
    """Return the clauses of `text` in order; a further value of a list belongs to the clause before it."""
    found: list[Clause] = []
    for part in split(text):
        clause = Clause(tuple(in_order(part)), specifics(part), denies(part))
        if clause.words or (clause.specifics and not found):
            found.append(clause)
        elif clause.specifics:
            found[-1] = replace(found[-1], specifics=found[-1].specifics | clause.specifics)
    return found


def blended(sources: Sequence[str], result: str) -> str:
    """Return why `result` may not stand for all `sources`, naming the two values, or an empty string.

    Two sources that give different values for the same words are never made one, unless the result holds
    both, apart, each with the words that tell them apart.
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

    With `only_values` paths, names and the like are left alone.
    """
    known = [_bare(clause) for source in sources for clause in clauses(source) if clause.specifics]
    for clause in map(_bare, clauses(result)):
        for value in sorted(one for one in clause.specifics if is_value(one) or not only_values):
            own = [c for c in known if value in c.specifics]
            rivals = [
                c for c in known if value not in c.specifics and _kind(value) in map(_kind, c.specifics)
            ]
            # Names and paths may stand in a clause that says more than its source did.
            whole = not is_value(value) and any({*c.words} <= {*clause.words} for c in own)
            if own and rivals and not whole and _closest(clause, rivals) > _closest(clause, own):
                return value
    return ""


def _bare(clause: Clause) -> Clause:
    """Return `clause` without the words that are part of its specifics: two hosts share their domain."""
    inside = {word for one in clause.specifics for word in in_order(one)}
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
            known = not lost(theirs, left[0]) or not lost(mine, right[0])
            if not known and not _kept_apart(a, b, mine, theirs, result):
                return f"{_show(mine)} and {_show(theirs)}"
    return _opposed(left[1], right[1])


def _show(values: frozenset[str]) -> str:
    return ", ".join(f"“{value}”" for value in sorted(values))


def _rivals(a: Clause, b: Clause) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return what `a` and `b` each say that the other doesn't, if it is about the same matter."""
    mine, theirs = a.specifics - b.specifics, b.specifics - a.specifics
    kinds = {_kind(one) for one in mine} & {_kind(one) for one in theirs}
    if not kinds:
        return None
    common = {*a.words} & {*b.words}
    if not common or len(common) < _SAME_MATTER * min(len({*a.words}), len({*b.words})):
        return None
    return (
        frozenset(one for one in mine if _kind(one) in kinds),
        frozenset(one for one in theirs if _kind(one) in kinds),
    )


def _kind(specific: str) -> str:
    if not is_value(specific):
        return "path" if "/" in specific else "word"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", specific):
        return "date"
    if re.fullmatch(r"\d+(?::\d\d)+", specific):
        return "clock"
    unit = specific.partition(" ")[2]
    return _KINDS.get(unit, unit or "number")


def _kept_apart(
    a: Clause, b: Clause, mine: frozenset[str], theirs: frozenset[str], result: list[Clause]
) -> bool:
    only_a, only_b = {*a.words} - {*b.words}, {*b.words} - {*a.words}
    if not only_a and not only_b:
        return False

    def stands(values: frozenset[str], others: frozenset[str], marks: set[str]) -> bool:
        return any(
            c.specifics & values and not c.specifics & others and (not marks or marks & {*c.words})
            for c in result
        )

    return stands(mine, theirs, only_a) and stands(theirs, mine, only_b)


def _opposed(left: list[Clause], right: list[Clause]) -> str:
    """Return the words of two clauses of which one denies the other or puts a rival word in its place."""
    # What the other memory says too, in another sentence, is no rival.
    said_left = {word for clause in left if not clause.denies for word in clause.words}
    said_right = {word for clause in right if not clause.denies for word in clause.words}
    for a in left:
        for b in right:
            common, either = {*a.words} & {*b.words}, {*a.words} | {*b.words}
            if a.denies != b.denies and common and len(common) >= _OPPOSITE * len(either):
                return f"“{' '.join(a.words)}” and its opposite"
            swapped = _swapped(a.words, b.words)
            if swapped and swapped[0] not in said_right and swapped[1] not in said_left:
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
    rival = any(x in group and y in group for group in _RIVAL_STEMS)
    last = at == len(a) - 1 and x[:4] != y[:4] and not (_UNSPACED.match(x) or _UNSPACED.match(y))
    return (x, y) if rival or last else None


def in_order(text: str) -> list[str]:
    """Return the content words of `text` in order; of scripts without spaces every two characters."""
    folded = plain(text)
    found: list[str] = []
    for match in _WORD.finditer(_UNSPACED.sub(lambda m: f" {m.group()} ", folded)):
        word = match.group()
        if _UNSPACED.match(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        elif word not in _STOP and word not in _NOT_WORDS and not word.endswith("n't"):
            found.append(stem(word))
    return found


def stem(word: str) -> str:
    """Cut the commonest English endings: ``indents``, ``indented`` and ``indenting`` are one word."""
    word = word.removesuffix("'s").strip("'-")
    for ending in ("ation", "ing", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


_RIVAL_STEMS = tuple(frozenset(map(stem, group)) for group in _RIVALS)

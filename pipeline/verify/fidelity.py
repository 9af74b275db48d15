"""Whether a new text still says what its sources say, clause by clause and word by word. Pure text work.

What is provably kept passes. Whatever a rule here can't settle is named, and the operation then waits for a
person: a word put in the place of another, a marker (see `modality`) that stands in another clause, a reason
that is gone. Names first in a sentence, names in lower case and plain nouns are all just words here, so
none of them can be swapped or exchanged.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.text.clauses import split
from pipeline.text.scripts import HAN, HANGUL, KANA, KATAKANA
from pipeline.text.similarity import MOST_LOST, REASON_KEPT, SAID_IN_BODY, content_in_order, coverage, stem
from pipeline.text.specifics import plain
from pipeline.verify.modality import implied, markers, unreadable

# A run of one script is about a word; hiragana is the grammar between them. `unreadable` keeps texts in Thai
# and the like away from here.
_RUN = re.compile(f"(?P<han>[{HAN}]+)|[{KATAKANA}]+|[{HANGUL}]+")
_CJK = re.compile(f"[{HAN}{KANA}{HANGUL}]")
_SOFT = frozenset(
    content_in_order(
        """use need prefer keep want follow run take make user please note install package remember still hold
        once more again"""
    )
)
"""Words that a reworded rule often does without; they must not be exchanged for others."""
_SAME_WORDS = {"short": "brief concise", "answer": "reply replies response"}
_SAME = {other: stem(word) for word, others in _SAME_WORDS.items() for other in content_in_order(others)}
_AS_MARKERS = frozenset(content_in_order("always every immer jede jeder jedes jedem jeden"))
"""Words that count as markers only, so that ``always before`` and ``before every`` are one."""
_AFTER_NUMBER = re.compile(r"(?<![\w.,:])(\d+(?:[.,:]\d+)*)[ -]?([^\W\d_][\w/²³]*)")
_REASON = re.compile(
    r"\*\*why:\*\*(?P<why>.*?)(?=\*\*how to apply|$)"
    r"|\b(?:because|since(?! \d)|so that|in order to|weil|damit|denn|parce qu\w*|afin \w+|porque|para que)\b"
    r"(?P<clause>[^.;。\n]*)|(?P<before>[^。、.\n]*)(?:から|ので|ため)(?=[、。])|(?:因为|由于|以便)(?P<han>[^。；\n]*)",
    re.IGNORECASE | re.DOTALL,
)
_TAKEN_BACK = re.compile(
    r"~~|<!--|<(?:del|s|strike)>|\b(?:is|it's|was|are|were) (?:wrong|false|untrue|incorrect|a myth)\b"
    r"|\b(?:formerly|previously|once upon|used to|no longer|in the past|allegedly|supposedly)\b"
    r"|\b(?:obsolete|outdated|untrue)\b"
    r"|\b(?:früher|ehemals|angeblich|es stimmt nicht|nicht mehr|autrefois|ne \w+ plus|antes se|ya no)\b"
    r"|以前は|かつて|もはや|曾经|不再|예전",
)


@dataclass(frozen=True, slots=True)
class _Clause:
    words: frozenset[str]
    ordered: tuple[str, ...]
    markers: frozenset[str]
    implied: frozenset[str]
    text: str


def lacking(sources: Sequence[str], headed: Sequence[str], body: str, head: str, dropped: str) -> str:
    """Return as a sentence what keeps a new text from standing for its sources, or an empty string.

    `sources` are the bodies of the sources, `headed` the same with title and description. `body` is the new
    body and `head` the new title and description; `dropped` is what the operation leaves out with a reason.
    """
    if all(plain(body) == plain(source) for source in sources) and not head.strip():
        return ""
    whole = f"{head}\n{body}"
    if any(map(unreadable, (*sources, body))):
        return "its script can't be compared word by word"
    known_hedges = plain(" ".join(headed))
    hedges = (match.group() for match in _TAKEN_BACK.finditer(plain(whole)))
    hedge = next((hedge for hedge in hedges if hedge not in known_hedges), "")
    if hedge:
        return f"it takes back or hides (“{hedge}”) what the sources say"
    known, result, left_out = _clauses("\n".join(headed)), _clauses(body), _words(dropped)
    for source in sources:
        found = _lost(source, result, _all(known), left_out, many=len(sources) > 1)
        if found:
            return found
    added = _astray(_clauses(whole), known, frozenset(), everywhere=True)
    if added:
        return f"its {added} is not said of that in the sources"
    return _opposite(head, result) or _swapped(
        [clause for text in sources for clause in _clauses(text)], result
    )


def _lost(
    source: str, result: Sequence[_Clause], known: frozenset[str], left_out: frozenset[str], *, many: bool
) -> str:
    own, have = _clauses(source), _all(result) | left_out
    gone = _astray(own, result, left_out)
    if gone:
        return f"the {gone} of a source is gone or stands elsewhere"
    if _reason_lost(source, have):
        return "the reason is lost"
    unit = _other_unit(source, "\n".join(clause.text for clause in result))
    if unit:
        return f"“{unit}” has another unit"
    lost = {word for word in _all(own) if not _near(word, have)}
    new = {word for word in _all(result) if not _near(word, known)}
    for clause in own:
        away = sorted(clause.words & lost)
        nearest = max(result, key=lambda other: len(other.words & clause.words), default=None)
        came = sorted(nearest.words & new) if nearest and away else []
        if came:
            return f"“{came[0]}” stands where a source says “{away[0]}”"
    # Sources that are merged say one thing in different words, of which one may go.
    hard = sorted(lost - _SOFT)
    if len(hard) > max(1 if many else 0, MOST_LOST * len(_all(own))):
        return f"{', '.join(f'“{word}”' for word in hard[:3])} would be lost"
    return ""


def reason_lost(source: str, body: str) -> bool:
    """Whether `body` lacks most words of a reason that `source` gives, behind its label or a “because”.

    Example: “Indent with tabs. **Why:** the printer jams.” loses it in “Indent with tabs, please.”
    """
    return _reason_lost(source, _words(body))


def _reason_lost(source: str, have: frozenset[str]) -> bool:
    reasons = (
        _words(next(part for part in match.groups() if part is not None))
        for match in _REASON.finditer(unicodedata.normalize("NFKC", source))
    )
    return any(coverage(reason, have) < REASON_KEPT for reason in reasons)


def _astray(
    given: Sequence[_Clause], others: Sequence[_Clause], left_out: frozenset[str], *, everywhere: bool = False
) -> str:
    """Return a marker of a clause in `given` that the closest clause of `others` lacks, or ""."""
    for clause in given:
        if clause.words and clause.words <= left_out:
            continue
        for marker in sorted(clause.markers):
            having = [other for other in others if _holds(other, marker)]
            if everywhere and any(clause.words <= other.words for other in having):
                continue
            if not having:
                return _quoted(marker)
            best = max(len(clause.words & other.words) for other in others)
            near = any(o.words <= clause.words or clause.words <= o.words for o in having)
            if not near and max(len(clause.words & o.words) for o in having) < best:
                return _quoted(marker)
    return ""


def _holds(clause: _Clause, marker: str) -> bool:
    """Whether `clause` has `marker`; what stands behind a ``before`` may stand in another form."""
    if marker in clause.markers or marker in clause.implied:
        return True
    name, _, behind = marker.partition(" ")
    pairs = (other.partition(" ") for other in clause.markers)
    return bool(behind) and any(n == name and behind and _kin(behind, rest) for n, _, rest in pairs)


def _quoted(marker: str) -> str:
    return f"number “{marker[1:]}”" if marker.startswith("#") else f"“{marker}”"


def _opposite(head: str, result: Sequence[_Clause]) -> str:
    """Say whether a title or description denies what the body says, or the other way round."""
    for clause in _clauses(head):
        same = [other for other in result if coverage(clause.words, other.words) >= SAID_IN_BODY]
        denies = "not" in clause.markers
        if clause.words and same and all(("not" in other.markers) != denies for other in same):
            return "the description says the opposite of the text"
    return ""


def _swapped(known: Sequence[_Clause], result: Sequence[_Clause]) -> str:
    """Return the words that two clauses exchanged, or that changed places within one."""
    wordings = {clause.words for clause in known}
    for clause in result:
        if clause.words in wordings:
            orders = [other for other in known if other.words == clause.words]
            if all(_turned_round(other, clause) for other in orders):
                return f"the words of “{clause.text.strip()[:60]}” stand in another order"
            continue
        for source in known:
            mine, theirs = clause.words - source.words, source.words - clause.words
            if len(mine) == len(theirs) == 1 and clause.words & source.words:
                back = {
                    frozenset(other.words - theirs | mine)
                    for other in result
                    if theirs <= other.words and other is not clause
                }
                if back & wordings:
                    return f"“{min(mine)}” and “{min(theirs)}” changed places"
    return ""


def _turned_round(clause: _Clause, other: _Clause) -> bool:
    """Whether two words stand in each other's place while all others stay where they were."""
    a, b = clause.ordered, other.ordered
    if len(a) != len(b):
        return False
    moved = [at for at, (x, y) in enumerate(zip(a, b, strict=True)) if x != y]
    if len(moved) != 2 or a[moved[0]] != b[moved[1]] or a[moved[1]] != b[moved[0]]:
        return False
    first, second = (a[at] for at in moved)
    if moved[1] > moved[0] + 1:
        return True
    # “From a to b” and “from b to a” differ; “the shop's freeze” and “the freeze of the shop” are one.
    return _between(first, second, clause.text) == _between(second, first, other.text)


def _between(first: str, second: str, text: str) -> str:
    """Return what stands between two stems of `text`."""
    # The stem of “policies” is “policy”: what stands in the text begins with all but its last letter.
    left, right = (re.escape(word.removesuffix("y")) for word in (first, second))
    pattern = rf"\b{left}\w*(?P<joint>.*?)\b{right}"
    match = re.search(pattern, plain(text))
    return match["joint"].strip() if match else ""


def _other_unit(source: str, result: str) -> str:
    """Return a number behind which another word stands than in `source`, or an empty string."""
    theirs, mine = _counted(source), _counted(result)
    for number, units in theirs.items():
        if number in mine and not units <= mine[number]:
            return f"{number} {min(units - mine[number])}"
    return ""


def _counted(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for number, word in _AFTER_NUMBER.findall(plain(text)):
        for unit in content_in_order(word)[:1]:
            found.setdefault(number, set()).add(unit)
    return found


def _clauses(text: str) -> list[_Clause]:
    """Return the clauses of `text`; one without a content word belongs to the one before it."""
    found: list[_Clause] = []
    for part in split(text):
        ordered = _ordered(part)
        clause = _Clause(frozenset(ordered), ordered, markers(part), implied(part), part)
        if clause.words or not found:
            found.append(clause)
        else:
            last = found[-1]
            joined = (last.markers | clause.markers, last.implied | clause.implied)
            found[-1] = replace(last, markers=joined[0], implied=joined[1], text=f"{last.text}; {part}")
    return found


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


def _words(text: str) -> frozenset[str]:
    return frozenset(_ordered(text))


def _all(clauses: Sequence[_Clause]) -> frozenset[str]:
    return frozenset().union(*(clause.words for clause in clauses))


def _near(word: str, have: frozenset[str]) -> bool:
    """Whether `word` or another form of it is in `have`: four letters and most of the longer in common."""
    return word in have or any(_kin(word, other) for other in have)


def _kin(a: str, b: str) -> bool:
    least = max(4, round(0.6 * max(len(a), len(b))))
    if _CJK.match(a):
        return a in b or b in a
    return a[:least] == b[:least]

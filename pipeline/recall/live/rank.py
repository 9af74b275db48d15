"""How well a memory fits a prompt: pure functions, and every constant that decides.

The score does not depend on the size of the store: a word weighs by the share of memories that hold it. It
is evidence (how much of what the prompt says stands in the memory, names before bodies) times coverage (how
much of the prompt that is), and more for what its cues say, made a little smaller by age and larger by
importance. All of it is divided by what chance brings: a long prompt meets words of many memories, and a
memory with many cues words of many prompts. Most prompts need no memory, so the floor is meant to be hard to
reach.

The constants were chosen on one half of `fixtures/recall` (``python -m bench.recall``), by the share of
relevant memories found where 96 of 100 prompts that need none get none: see ``docs/evaluation.md``.
"""

import math

from pipeline.text.tokens import BETWEEN, terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.recall.live.question import Question

FLOOR = 0.46
"""The score below which a memory is left out."""
FLOOR_BEND = 0.45
"""How far `recall.floor` moves it."""
JUST_BELOW = 0.85
"""The part of the floor from which on a memory has just missed it."""
FIELDS = (1.0, 1.0, 0.9, 0.8)
"""What a word found in name, description, tags or body counts."""
SHORT_BODY = 40
LONG_BODY = 150
LEAST_IN_BODY = 0.2
"""A body of more words than the first counts less: half where it is longer by the second, and never less
than the third."""
SAME_PIECE = 0.3
"""What further words count of one piece of the prompt, such as a path: it was typed as one thing."""
TOO_FEW = "too few shared words"
BELOW = "below the floor of {:.2f}"
RARE_SHARE = 60
"""A word in one of so many memories, or fewer, has the full weight of 1."""
LEAST_TOTAL = 60
"""Memories a store counts as having at least: in a store of five, every word looks rare or common."""
COMMON_FACTOR = 0.7
"""What is left of the weight of a word that stands in all talk about programs."""
PAIR_FACTOR = 0.5
"""The same for a pair of characters, of which one word of a script without spaces makes several."""
UNKNOWN = 0.2
"""The weight of a word of the prompt that no memory holds."""
CONTEXT_FACTOR = 0.35
"""What a word counts that was only said before the prompt."""
HALF_EVIDENCE = 1.6
"""Evidence worth half of what any amount of it can be worth."""
COVERAGE_SHARE = 0.5
"""The part of the score that hangs on coverage."""
EVIDENCE_SHARE = 0.1
"""What evidence adds besides, however much there is; here any word of a cue counts."""
SHORT_PROMPT = 20
LENGTH_CHANCE = 0.3
"""What chance brings grows so much for each time that a prompt is e times as long as one of so many
characters."""
CUE_CHANCE = 0.09
"""And so much for each cue of the memory."""
WHOLE_BONUS = 0.08
NEARLY_WHOLE = 0.8
"""What is added where the memory has all that was asked, from this much of it on: of a prompt of one or two
words there is no more to find."""
MEANING_SHARE = 0.8
MEANING_FROM = 0.3
"""What nearness in meaning adds: so much of the cosine of prompt and memory above this one."""
CUE_SHARE = 0.6
"""The part of a cue's words that the prompt must say, more than one of them unless that is `RARE`."""
CUE_FIELD = 0.8
"""What a word of a cue counts that stands nowhere else in the memory."""
CUE_WORD = 0.25
CUE_WORD_FROM = 0.25
"""What a word adds that one of the cues has, times its weight above the second."""
MANY_CUES = 2.0
"""How soon it adds no more that several cues have it: so many together are worth half of any number."""
MOMENT_BONUS = 0.25
"""What a rule gains that is about the very thing which a prompt orders, times how sure that is."""
EXACT_BONUS = 0.12
EXACT_MOST = 2
"""Bonus for each specific of the prompt, such as a path or a flag, found word for word; how many count."""
INFORMATIVE = 0.15
"""Weight from which a word says something of the subject."""
RARE = 0.55
"""Weight from which one word in name, description or tags is enough."""
NEEDED = 2
"""Informative words a memory must share with the prompt, unless one is rare and in a prominent place."""
AGE_LOSS = 0.15
AGE_DAYS = 365.0
"""Share of the score lost by a memory said `AGE_DAYS` or more ago."""
TYPE_SHARE = 0.1
IMPORTANCE_SHARE = 0.1
"""How far the type's decay weight (0.8 to 1.4) and the importance (0 to 1) move the score."""
PINNED_FACTOR = 1.05
USER_SCOPE = 0.95
"""Factor for memories of the user scope beside those of the project."""
PICK_FLOOR = 0.5
"""Factor on the floor for a memory the worker picked in advance for this session."""

COMMON = frozenset(
    terms(
        """add added app application bug build change changed changes check class code command commit config
    create data delete directory edit error errors example fail failed failing feature file files
    fix fixed folder function git implement import improve input install issue job line lines list
    log logs main method module move name names note number object option output package page path
    problem project pull push read refactor remove rename repo request response result return review
    run running save script set setup server string table task test tests tool type update value
    variable version write written wrong broken user datei fehler andern prufen laufen schreiben loschen"""
    )
) | frozenset(
    [
        "文件",
        "代码",
        "错误",
        "测试",
        "修改",
        "修正",
        "エラ",
        "ラー",
        "ファ",
        "ァイ",
        "イル",
        "テス",
        "スト",
        "コー",
        "ード",
    ]
)
"""Words of all talk about programs, as terms: folded, and others as the pairs of `search.words`."""


class Fit:
    """How a memory fits: `score`, the terms that led to it, heaviest first, and why it fails ("" if not).

    `exact` are the specifics found in it, `cue` the terms by which the prompt says one of its cues, `near`
    how near the two are in meaning, and `moment` that of the rule which the prompt's order meets, "" for none
    (`text.actions`).
    """

    __slots__ = ("cue", "exact", "failing", "moment", "near", "score", "words")

    def __init__(
        self,
        score: float,
        words: "list[str]",
        exact: "list[str]",
        failing: str,
        cue: "Sequence[str]" = (),
        near: float = 0.0,
    ) -> None:
        self.score = score
        self.words = words
        self.exact = exact
        self.failing = failing
        self.cue = list(cue)
        self.near = near
        self.moment = ""


def floor_of(setting: "float | None") -> float:
    """Return the score that a memory needs under `recall.floor`, None for the usual one; it rises with it.

    Scores lie close together, so half the floor would let nearly all pass and twice the floor nothing: the
    setting moves it by its `FLOOR_BEND`-th power.
    """
    return FLOOR * math.pow(1.0 if setting is None else max(0.0, setting), FLOOR_BEND)


def setting_of(score: float) -> float:
    """Return the `recall.floor` that a memory with `score` just reaches, rounded down to two places."""
    return math.floor(100 * math.pow(max(0.0, score) / FLOOR, 1 / FLOOR_BEND)) / 100


def weight(term: str, documents: int, total: int) -> float:
    """Return the weight of `term`, 0 to 1, when it stands in `documents` of `total` memories."""
    share = max(total, LEAST_TOTAL) / max(1, documents)
    found = min(1.0, math.log(1 + share) / math.log(1 + RARE_SHARE)) if documents else UNKNOWN
    if term in COMMON:
        found *= COMMON_FACTOR
    if len(term) <= 2 and not term.isascii():
        found *= PAIR_FACTOR
    return found


def relevance(
    question: "Question",
    weights: "dict[str, float]",
    fields: "Sequence[str]",
    haystack: str,
    near: float = 0.0,
    ordered: float = 0.0,
    alone: bool = False,
) -> Fit:
    """Return how the memory whose tokenised columns are `fields` fits `question`, apart from what it is.

    `weights` has the weight of every term of the question; `haystack` is the memory's text in lower case, for
    specifics; `near` how near the two are in meaning, from -1 to 1; `ordered` how surely the memory is a rule
    about what the prompt orders (`recall.live.orders`); that may lead to it `alone`, where a person stands
    behind it.
    """
    held = _held(fields[: len(FIELDS)])
    number, cued, spoken = _in_cues(question, weights, fields[len(FIELDS)])
    anywhere = dict(held)
    for term in cued:
        anywhere[term] = max(CUE_FIELD, held.get(term, 0.0))
    for term in spoken:
        held[term] = anywhere[term]
    own = [(weights[term] * anywhere[term], term) for term in question.own if term in anywhere]
    own.sort(key=lambda found: (-found[0], found[1]))
    if not own and not (ordered and alone):
        return Fit(0.0, [], [], "none of the prompt's words")
    evidence = _pooled(question, [found for found in own if found[1] in held])
    counted = _pooled(question, [(weights[term], term) for term in question.own])
    coverage = min(1.0, evidence / counted) if counted else 0.0
    evidence += CONTEXT_FACTOR * sum(weights[term] * held[term] for term in question.context if term in held)
    exact = [text for text in question.exact if text in haystack]
    score = evidence / (evidence + HALF_EVIDENCE) * (1 - COVERAGE_SHARE + COVERAGE_SHARE * coverage)
    score += EVIDENCE_SHARE * _pooled(question, own)
    score += EXACT_BONUS * min(EXACT_MOST, len(exact))
    score += WHOLE_BONUS * max(0.0, (coverage - NEARLY_WHOLE) / (1 - NEARLY_WHOLE))
    score += MEANING_SHARE * max(0.0, near - MEANING_FROM)
    score += MOMENT_BONUS * ordered
    score += CUE_WORD * sum(
        max(0.0, weights[term] - CUE_WORD_FROM) * (1 + MANY_CUES) * times / (times + MANY_CUES)
        for term, times in cued.items()
    )
    score /= _by_chance(question, number)
    words = [term for _, term in own]
    enough = (ordered and alone) or exact or spoken or _enough(question.apart(words), weights, anywhere)
    return Fit(score, words, exact, "" if enough else TOO_FEW, spoken, near)


def standing(
    age_days: "float | None", type_weight: float, importance: float, pinned: bool, everywhere: bool
) -> float:
    """Return the factor for what a memory is: its age (None: unknown), type, importance, and scope."""
    factor = 1.0
    if age_days is not None:
        factor -= AGE_LOSS * min(1.0, max(0.0, age_days / AGE_DAYS))
    factor *= 1 + TYPE_SHARE * (type_weight - 1) + IMPORTANCE_SHARE * (importance - 0.5)
    factor *= PINNED_FACTOR if pinned else 1.0
    return factor * (USER_SCOPE if everywhere else 1.0)


def verdict(fit: Fit, weights: "dict[str, float]", floor: float, picked: bool) -> str:
    """Return why a memory that fits so is left out, or "" when it is chosen.

    A memory `picked` in advance needs half the score, and one informative word.
    """
    if picked:
        floor *= PICK_FLOOR
        shared = any(weights[term] >= INFORMATIVE for term in fit.words)
        failing = "" if shared else fit.failing or "picked in advance, but none of the prompt's words"
    else:
        failing = fit.failing
    if failing:
        return failing
    if fit.score >= floor:
        return ""
    return f"{'just ' if fit.score >= JUST_BELOW * floor else ''}{BELOW.format(floor)}"


def _held(fields: "Sequence[str]") -> "dict[str, float]":
    """Return what each term of the memory counts by the best place it stands in."""
    held: dict[str, float] = {}
    longer = len(fields[-1].split()) - SHORT_BODY
    body = max(LEAST_IN_BODY, FIELDS[-1] / (1 + max(0, longer) / LONG_BODY))
    for value, column in sorted(zip((*FIELDS[:-1], body), fields, strict=True)):
        held.update(dict.fromkeys(column.split(), value))
    return held


def _pooled(question: "Question", found: "list[tuple[float, str]]") -> float:
    """Return the sum of what terms count, those of one piece of the prompt beyond its best one less."""
    pieces: dict[int | str, list[float]] = {}
    for value, term in found:
        pieces.setdefault(question.piece_of(term), []).append(value)
    whole, best = sum(map(sum, pieces.values())), sum(map(max, pieces.values()))
    return SAME_PIECE * whole + (1 - SAME_PIECE) * best


def _in_cues(
    question: "Question", weights: "dict[str, float]", column: str
) -> "tuple[int, dict[str, int], list[str]]":
    """Return how many cues a memory has, in how many of them each word of the prompt is, and what it says.

    The last are the words of the best cue of which the prompt says most: cues are what somebody might type,
    so one word of a longer cue is evidence and no more.
    """
    own = set(question.own) if column else ()
    times: dict[str, int] = {}
    worth, spoken = 0.0, []
    cues = column.split(f" {BETWEEN} ") if column else ()
    for cue in cues:
        words = cue.split()
        found = [term for term in dict.fromkeys(words) if term in own]
        for term in found:
            times[term] = times.get(term, 0) + 1
        share = len(found) / len(words) if words else 0.0
        telling = sum(weights[term] >= INFORMATIVE for term in found)
        if share < CUE_SHARE or (telling < NEEDED and all(weights[term] < RARE for term in found)):
            continue
        value = share * sum(weights[term] for term in found)
        if value > worth:
            worth, spoken = value, found
    return len(cues), times, spoken


def _by_chance(question: "Question", cues: int) -> float:
    """Return how much more than a short prompt and a memory without cues these meet by chance."""
    longer = max(1.0, len(question.text) / SHORT_PROMPT)
    return 1 + LENGTH_CHANCE * math.log(longer) + CUE_CHANCE * cues


def _enough(words: "list[str]", weights: "dict[str, float]", held: "dict[str, float]") -> bool:
    prominent = FIELDS[2]
    if any(weights[word] >= RARE and held[word] >= prominent for word in words):
        return True
    return sum(weights[word] >= INFORMATIVE for word in words) >= NEEDED

"""How what was extracted stands against a gold list. Deterministic, by strings, as the gold lists have it.

* a memory *states* a gold item when for every group in ``all`` one alternative occurs in it; it is *kept*
  strictly when the same memories also hold every group in ``reason``, else only leniently;
* a memory is *right* when it states a must or fine item (alone, or together with others citing its entry)
  and is no double of another, *clean* when besides it trips no ``never`` pattern and no outdated value;
* *never* counts memories in which a ``never`` pattern occurs outside a sentence that negates it;
* a memory is *wrong* when it states no item, trips a ``never`` pattern or holds an outdated value.

Alternatives are case-insensitive substrings, or regular expressions after ``re:``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.domain.body import Body
from pipeline.domain.memory import Memory
from pipeline.evaluation.reading import Reading, Spent
from pipeline.text.clauses import sentences
from pipeline.text.similarity import SAID_TWICE, every_word, jaccard

_NEGATED = re.compile(
    r"\b(?:not|never|no longer|instead of|rather than|rejected|replaced|replaces|overruled|against|"
    # “in memory without a table”; “may push without asking” denies nothing.
    r"without(?! (?:asking|being asked|approval|permission))|"
    r"dropped|ruled out|n['’]t|over (?:the|a|an)|earlier|previously|originally|formerly|used to|was|"
    r"nicht|kein\w*|nie|niemals|nirgends|statt|lehnte|abgelehnt|zurück\w*|verworfen|zunächst|vorher|zuvor|früher|bisher|war|"
    r"ne|pas|jamais|plutôt|au lieu|refus\w*|écart\w*|avant|abord|était|"
    r"no|nunca|jamás|en vez|en lugar|rechaz\w*|descart\w*|antes|era)\b|"
    r"ではなく|ない|なかった|せず|却下|退け|やめ|नहीं|मत|बजाय|मना|पहले|\bلا\b|\bلم\b|\bلن\b|ليس|بدل|رفض|سابق",
    re.IGNORECASE,
)
"""What says in a sentence that something is not so or is so no more, in the languages of the sessions."""
_PARTICULAR = re.compile(r"“[^”]*”|'[^']*'")
"""What in a reason belongs to one candidate alone."""
_LEAST_NEAR = 0.1
"""Share of words in common from which on something is near a fact at all."""


@dataclass(frozen=True, slots=True)
class Miss:
    """A gold item that was not kept, or not with its reason, and what came nearest.

    `lacks` are the groups of which `nearest` has no alternative; `fate` says whether that was written, else
    why it was turned down. Where nothing was near, `nearest` is empty.
    """

    id: str
    fact: str
    reason_only: bool
    lacks: tuple[tuple[str, ...], ...]
    nearest: str = ""
    text: str = ""
    fate: str = ""


@dataclass(slots=True)
class Score:
    """How one session came out. Lists hold gold ids or memory names, for a reader who wants to know which.

    `came` counts what the first reader proposed, `came_wrong` those that are wrong; `screened` counts by
    reason what the screen took out, `turned_down` what was turned down after it, `sent_back` what
    needed narrower words; `inbox` and `known` were not written.
    """

    session: str
    memories: list[Memory]
    must: int
    half: str = ""
    manner: str = ""
    strict: list[str] = field(default_factory=list)
    lenient: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    right: list[str] = field(default_factory=list)
    clean: list[str] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    never: list[str] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    sourced: int = 0
    dropped: list[str] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    came: int = 0
    came_wrong: int = 0
    screened: Counter[str] = field(default_factory=Counter)
    turned_down: Counter[str] = field(default_factory=Counter)
    sent_back: Counter[str] = field(default_factory=Counter)
    inbox: int = 0
    known: int = 0
    first: Spent = field(default_factory=Spent)
    second: Spent = field(default_factory=Spent)


def total(name: str, scores: Sequence[Score]) -> Score:
    """Return the sum of `scores`, called `name`."""
    whole = Score(name, [], 0)
    for each in scores:
        for key in ("memories", "strict", "lenient", "missed", "right", "clean", "unmatched", "never"):
            getattr(whole, key).extend(getattr(each, key))
        for key in ("outdated", "doubled", "wrong", "dropped", "misses"):
            getattr(whole, key).extend(getattr(each, key))
        for key in ("must", "sourced", "came", "came_wrong", "inbox", "known"):
            setattr(whole, key, getattr(whole, key) + getattr(each, key))
        whole.screened += each.screened
        whole.turned_down += each.turned_down
        whole.sent_back += each.sent_back
        whole.first.add(each.first)
        whole.second.add(each.second)
    return whole


def score(reading: Reading, gold: dict[str, Any]) -> Score:
    """Return how what was read stands against `gold`; the rules are in the module's docstring."""
    result = _held(reading.memories, gold)
    rejected = [row for outcome in reading.outcomes for row in outcome.rejected]
    result.dropped = [f"{row['name']}: {row['reason']}" for row in rejected]
    for row in rejected:
        counts = result.screened if row["check"] else result.turned_down
        counts[kind_of(row["reason"])] += 1
    result.sent_back = Counter(kind for outcome in reading.outcomes for kind in outcome.sent_back)
    result.inbox = sum(outcome.proposals for outcome in reading.outcomes)
    result.known = sum(action.action == "known" for o in reading.outcomes for action in o.actions)
    result.came = len(reading.candidates) + reading.withdrawals
    result.came_wrong = len(_held(reading.candidates, gold).wrong)
    result.first, result.second = reading.first, reading.second
    fates = {row["name"]: row["reason"] for row in rejected}
    unwritten = [item for item in reading.candidates if item.name in fates]
    result.misses = [
        _miss(item, reading.memories, unwritten, fates)
        for item in gold["must"]
        if item["id"] not in result.strict
    ]
    return result


def kind_of(reason: str) -> str:
    """Return the reason against a candidate without what is particular to it, to count by."""
    return _PARTICULAR.sub("…", reason).partition(":")[0]


def _held(memories: Sequence[Memory], gold: dict[str, Any]) -> Score:
    result = Score(session=gold["session"], memories=list(memories), must=len(gold["must"]))
    credited = {item["id"]: credits(item, memories) for item in (*gold["must"], *gold["fine"])}
    for item in gold["must"]:
        _credit(result, item, credited[item["id"]])
    for number, memory in enumerate(memories):
        right = any(memory in holders for holders in credited.values())
        _judge(result, memory, memories[:number], right, gold)
    return result


def _miss(
    item: dict[str, Any], written: Sequence[Memory], unwritten: Sequence[Memory], fates: dict[str, str]
) -> Miss:
    """Return what was missed of the gold `item`: the fact, or its reason alone."""
    holders = credits(item, written)
    groups = item.get("reason", []) if holders else item["all"]
    wanted = every_word(item["fact"])
    pool = [*(holders or written), *([] if holders else unwritten)]
    near = [
        (sum(_any(group, text_of(memory)) for group in groups), jaccard(wanted, every_word(memory.body)), at)
        for at, memory in enumerate(pool)
    ]
    fit, alike, at = max(near, key=lambda row: (row[0], row[1], -row[2]), default=(0, 0.0, 0))
    if not holders and not fit and alike < _LEAST_NEAR:
        return Miss(item["id"], item["fact"], False, tuple(map(tuple, groups)))
    memory = pool[at]
    return Miss(
        item["id"],
        item["fact"],
        bool(holders),
        tuple(tuple(group) for group in groups if not _any(group, text_of(memory))),
        memory.name,
        " ".join((memory.body or memory.description).split()),
        "written" if memory in written else f"turned down: {fates[memory.name]}",
    )


def credits(item: dict[str, Any], memories: Sequence[Memory]) -> list[Memory]:
    """Return the memories that state the gold `item`: each alone, or several of them together.

    A part of the fact counts only in a memory that cites one of the item's own entries.
    """
    alone = [memory for memory in memories if states(memory, item["all"])]
    cited = set(item["evidence"])
    pool = [
        memory
        for memory in memories
        if memory not in alone
        and any(source.uuid in cited for source in memory.sources)
        and any(_any(group, text_of(memory)) for group in item["all"])
    ]
    together = "\n".join(text_of(memory) for memory in pool)
    whole = bool(alone) or all(_any(group, together) for group in item["all"])
    return [*alone, *pool] if whole else []


def _credit(result: Score, item: dict[str, Any], holders: Sequence[Memory]) -> None:
    if not holders:
        result.missed.append(item["id"])
        return
    result.lenient.append(item["id"])
    together = "\n".join(text_of(memory) for memory in holders)
    if all(_any(group, together) for group in item.get("reason", [])):
        result.strict.append(item["id"])


def _judge(
    result: Score, memory: Memory, earlier: Sequence[Memory], right: bool, gold: dict[str, Any]
) -> None:
    result.sourced += bool(memory.sources and memory.created and all(s.quote for s in memory.sources))
    trips = any(_asserts(memory, item["any"]) for item in gold["never"])
    outdated = any(
        _asserts(memory, row["old_any"]) and not _any(row["new_any"], text_of(memory))
        for row in gold.get("superseded", [])
    )
    doubled = any(_alike(memory, other) for other in earlier)
    for applies, names in (
        (trips, result.never),
        (outdated, result.outdated),
        (doubled, result.doubled),
        (not right, result.unmatched),
        (not right or trips or outdated, result.wrong),
        (right and not doubled, result.right),
        (right and not doubled and not trips and not outdated, result.clean),
    ):
        if applies:
            names.append(memory.name)


def _alike(memory: Memory, other: Memory) -> bool:
    mine, theirs = (every_word(Body.parse(each.body).statement) for each in (memory, other))
    return jaccard(mine, theirs) >= SAID_TWICE


def states(memory: Memory, groups: Sequence[Sequence[str]]) -> bool:
    """Whether for every group one alternative occurs in `memory`."""
    return all(_any(group, text_of(memory)) for group in groups)


def text_of(memory: Memory) -> str:
    """Return what matching looks at: name, description and body, without backticks and quotes."""
    return re.sub(r"[`\"'“”‘’*]", "", f"{memory.name}\n{memory.description}\n{memory.body}").lower()


def _asserts(memory: Memory, patterns: Sequence[str]) -> bool:
    return any(_any(patterns, s) and not _NEGATED.search(s) for s in sentences(text_of(memory)))


def _any(alternatives: Sequence[str], text: str) -> bool:
    for alternative in alternatives:
        wanted = re.sub(r"[`\"“”‘’*]", "", alternative) if not alternative.startswith("re:") else alternative
        if wanted.startswith("re:"):
            if re.search(wanted[3:], text, re.IGNORECASE):
                return True
        elif wanted.lower().replace("'", "") in text:
            return True
    return False

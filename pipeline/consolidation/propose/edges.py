"""Proposes edges between memories by what they share: tags, anchors, words; their types say which relation.

No model is asked and nothing is written. What many memories share tells nothing about two of them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from pipeline.domain.memory import Memory
from pipeline.text.tokens import terms

FLOOR = 0.35
"""What a pair needs; one whose types speak for a relation of their own needs less."""
TYPED_FLOOR = 0.25
MOST_HOLDERS = 40
"""A tag, anchor or word that more memories have leads to no pair."""
_PER_MEMORY = 3
_TAGS, _ANCHORS, _WORDS = 0.35, 0.25, 0.4
_SOLVED = frozenset({"problem", "error"})
_STEPS = frozenset({"procedure", "workflow"})
_BY_TYPES = (
    (frozenset({"solution", "fix"}), _SOLVED, "SOLVES"),
    (frozenset({"problem"}), frozenset({"error"}), "CAUSES"),
    (_STEPS, frozenset({"configuration"}), "REQUIRES"),
    (frozenset({"decision"}), frozenset({"decision"}), "BUILDS_ON"),
    (frozenset({"insight"}), frozenset({"solution", "fix", "decision", "problem"}), "BUILDS_ON"),
)
"""From which types to which a relation of its own is likely."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two memories by id that may belong together, by which relation, how surely, and what they share."""

    from_id: str
    to_id: str
    relation: str
    score: float
    shared: tuple[str, ...]


def propose(memories: Sequence[Memory], known: Iterable[frozenset[str]] = ()) -> list[Pair]:
    """Return pairs of `memories` that are not among `known`, the surest first, three a memory at most."""
    by_id = {memory.id: memory for memory in memories if memory.id}
    tags = {ident: {tag.casefold() for tag in memory.tags} for ident, memory in by_id.items()}
    anchors = {ident: set(memory.anchors) for ident, memory in by_id.items()}
    words = {
        ident: set(terms(f"{memory.shown_title} {memory.description}")) for ident, memory in by_id.items()
    }
    rare = _Rareness(words)
    passed = set(known)
    found = []
    for first, second in _candidates(tags, anchors, words):
        if frozenset((first, second)) in passed:
            continue
        shares = (tags[first] & tags[second], anchors[first] & anchors[second], words[first] & words[second])
        likes = [(_WORDS, rare.cosine(first, second))]
        for weight, held in ((_TAGS, tags), (_ANCHORS, anchors)):
            if held[first] and held[second]:
                likes.append((weight, len(held[first] & held[second]) / len(held[first] | held[second])))
        score = sum(weight * like for weight, like in likes) / sum(weight for weight, _ in likes)
        source, target, relation = _related(by_id[first], by_id[second])
        if score >= (FLOOR if relation == "RELATED_TO" else TYPED_FLOOR):
            shared = tuple(sorted(shares[0] | shares[1])) or tuple(sorted(shares[2])[:_PER_MEMORY])
            found.append(Pair(source.id, target.id, relation, round(score, 4), shared))
    return _few(sorted(found, key=lambda pair: (-pair.score, pair.from_id, pair.to_id)))


class _Rareness:
    """Compares sets of words, rare ones weighing more."""

    def __init__(self, words: dict[str, set[str]]) -> None:
        counts = Counter(word for held in words.values() for word in held)
        total = len(words)
        self._words = words
        self._weights = {word: math.log(1 + total / number) ** 2 for word, number in counts.items()}
        self._norms = {ident: self._sum(held) for ident, held in words.items()}

    def cosine(self, first: str, second: str) -> float:
        norms = self._norms[first] * self._norms[second]
        return self._sum(self._words[first] & self._words[second]) / math.sqrt(norms) if norms else 0.0

    def _sum(self, held: Iterable[str]) -> float:
        return math.fsum(self._weights[word] for word in held)


def _candidates(*features: dict[str, set[str]]) -> list[tuple[str, str]]:
    """Return the pairs that share anything which few memories have."""
    pairs: set[tuple[str, str]] = set()
    for feature in features:
        holders: dict[str, list[str]] = defaultdict(list)
        for ident, held in feature.items():
            for each in held:
                holders[each].append(ident)
        for idents in holders.values():
            if 1 < len(idents) <= MOST_HOLDERS:
                pairs.update(combinations(sorted(idents), 2))
    return sorted(pairs)


def _related(first: Memory, second: Memory) -> tuple[Memory, Memory, str]:
    """Return which of the two leads to which, and by what relation."""
    newer, older = sorted((first, second), key=lambda memory: memory.changed_at, reverse=True)
    for source, target in ((newer, older), (older, newer)):
        for sources, targets, relation in _BY_TYPES:
            if source.type in sources and target.type in targets:
                return source, target, relation
    return newer, older, "RELATED_TO"


def _few(pairs: Iterable[Pair]) -> list[Pair]:
    counts: Counter[str] = Counter()
    found = []
    for pair in pairs:
        if max(counts[pair.from_id], counts[pair.to_id]) < _PER_MEMORY:
            counts.update((pair.from_id, pair.to_id))
            found.append(pair)
    return found

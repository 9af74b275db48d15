"""What speaks for an operation that gives no text to compare: who said it, when, and about what.

Pure: memories and times in, an answer out. A model's own reason is no ground, since anything can stand there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, datetime

from pipeline.core.clock import latest
from pipeline.domain.memory import HUMAN_ONLY, Memory
from pipeline.domain.operations import Operation
from pipeline.text.dates import DAY
from pipeline.text.similarity import MOSTLY_SHARED, SHARED_MATTER, content_words, overlap
from pipeline.text.specifics import plain
from pipeline.verify.contradiction import blended
from pipeline.verify.wording import Flaw, source_text

MOST_INSIGHTS = 5
"""Most insights of one dream; the others' memories lead the next."""
_VOUCHED = frozenset({"user-stated", "user-confirmed", "hand-written"})
_LEAST_SHARED = 2
"""So many content words at least have two memories of one matter in common, unless one has fewer."""
_FEW = 6


def said_at(memory: Memory) -> datetime | None:
    """Return when `memory` was last said, by its evidence; None when no source carries a time.

    Never the file's time nor the front matter's: those tell when it was processed (bug case 102).
    """
    return latest(source.at for source in memory.sources)


def vouched(memory: Memory) -> bool:
    """Return whether a person's words stand behind `memory`."""
    if memory.origin == "assistant-inferred":
        return False
    return memory.origin in _VOUCHED or any(source.speaker == "person" for source in memory.sources)


def unvouched(type_name: str, sources: Iterable[Memory], *, replaced: Memory | None = None) -> Memory | None:
    """Return one of `sources` that nobody said but that would come to stand as a person's own words.

    `type_name` is the type of the memory that will hold the text. `replaced` is the memory whose words would
    give way to it: where a person stands behind those, the type does not matter. None when all is vouched
    for. Example: “Force push is fine”, said by the assistant alone, may not replace a `feedback`.
    """
    if type_name not in HUMAN_ONLY and not (replaced is not None and vouched(replaced)):
        return None
    return next((source for source in sources if source.type not in HUMAN_ONLY and not vouched(source)), None)


def dull_words(memories: Iterable[Memory]) -> frozenset[str]:
    """Return the words that more than half of `memories` have: they tell no two apart. None of a few."""
    texts = [content_words(source_text(memory)) for memory in memories]
    count = Counter(word for text in texts for word in text)
    return frozenset(word for word, times in count.items() if len(texts) >= _FEW and 2 * times > len(texts))


def same_matter(
    memory: Memory, other: Memory, dull: AbstractSet[str] = frozenset(), share: float = SHARED_MATTER
) -> bool:
    """Return whether two memories share content words but `dull` ones, or give rival values for the same."""
    mine, theirs = content_words(source_text(memory)) - dull, content_words(source_text(other)) - dull
    least = max(min(_LEAST_SHARED, len(mine), len(theirs)), 1)
    if len(mine & theirs) >= least and overlap(mine, theirs) >= share:
        return True
    return bool(blended([source_text(memory), source_text(other)], ""))


def outlived(
    memory: Memory,
    others: Iterable[Memory],
    times: Mapping[str, datetime | None],
    dull: AbstractSet[str] = frozenset(),
) -> bool:
    """Return whether `memory` may leave: a later memory is about the same, or a day it names has passed.

    What no person said and is no feedback may leave without either. A day has passed when something in
    `others` was said after it; `times` gives when each was said, by id.
    """
    if memory.type != "feedback" and not vouched(memory):
        return True
    own = times.get(memory.id)
    later = [
        (at, other)
        for other in others
        if other.id != memory.id and (at := times.get(other.id)) and (own is None or at > own)
    ]
    days = [moment for day in DAY.findall(source_text(memory)) if (moment := _moment(day))]
    last_said = max((at for at, _ in later), default=None)
    if last_said is not None and days and max(days).date() < last_said.date():
        return True
    return own is not None and any(same_matter(memory, other, dull, MOSTLY_SHARED) for _, other in later)


def _moment(day: str) -> datetime | None:
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


@dataclass(slots=True)
class Insights:
    """The insights there are already: their texts and what each was drawn from."""

    texts: set[str] = field(default_factory=set)
    drawn_from: set[frozenset[str]] = field(default_factory=set)
    fresh: int = 0

    @classmethod
    def of(cls, memories: Iterable[Memory]) -> Insights:
        """Return those in `memories`; an insight that only repeats another memory is none either."""
        found = cls()
        for memory in memories:
            found.texts.add(plain(memory.body))
            if memory.type == "insight":
                outgoing = [link for link in memory.relations if link.get("direction") != "incoming"]
                found.drawn_from.add(frozenset(str(link.get("target", "")) for link in outgoing))
        return found

    def flaw(self, operation: Operation) -> Flaw | None:
        """Return why `operation` would add nothing, or too much for one dream."""
        if frozenset(operation.ids) in self.drawn_from:
            return Flaw("there is an insight from just these memories already")
        if plain(operation.body) in self.texts:
            return Flaw("a memory says that already")
        if self.fresh >= MOST_INSIGHTS:
            return Flaw(f"more than {MOST_INSIGHTS} insights in one dream; it may come next time", later=True)
        return None

    def add(self, operation: Operation) -> None:
        """Note that `operation` was accepted."""
        self.fresh += 1
        self.drawn_from.add(frozenset(operation.ids))
        self.texts.add(plain(operation.body))

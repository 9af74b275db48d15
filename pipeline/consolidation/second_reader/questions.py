"""The second reader's questions: each shows a few texts and takes one of a few answers.

Nothing of the plan shows in a question: no handle, no reason, not what the answer is hoped to be. The order
of texts and of candidates follows from a digest of them, so that a resumed dream asks the very same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.consolidation.propose.model import indented, speaker
from pipeline.core.ids import digest
from pipeline.core.zone import day
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import Sentence, folded, sentences
from pipeline.safety.invisible import visible, visible_line
from pipeline.text.dates import parse_day
from pipeline.verify.cover import names_day
from pipeline.verify.provenance import sentence_said_at, sources_of

Kind = Literal["covers", "compare", "fact", "which", "holds", "overtaken", "until", "after", "all", "reach"]

DECOYS = 3
"""Texts from elsewhere that stand beside the one that the plan names."""
BESIDE = 5
"""Sentences of the same memory that do."""
_CLIPPED = 600
"""Characters of a memory among several that are shown."""
_QUOTES = 5
BEFORE = "… "
"""Begins the line that shows what stands before a sentence in its memory."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question: what it shows, as (label, text), and the answers that agree with the plan.

    For `until` the one agreeing answer is a day, and the reply's quote must stand in `quotable` and name it.
    """

    kind: Kind
    shown: tuple[tuple[str, str], ...]
    agreeing: frozenset[str]
    quotable: str = ""

    @property
    def text(self) -> str:
        """Return the question as the reader sees it, without its number."""
        return "\n".join([self.kind, *(f"{label}:\n{indented(text)}" for label, text in self.shown)])

    def agrees(self, answer: str, quote: str) -> bool:
        """Whether `answer`, with its `quote` where one is needed, is what the plan needs."""
        answer = answer.strip().strip(".").lower()
        if answer not in self.agreeing:
            return False
        if self.kind != "until":
            return True
        day = parse_day(answer)
        words = _plain(quote)
        return day is not None and bool(words) and words in _plain(self.quotable) and names_day(words, day)


def covers(sentence: str, cover: str, beside: Sequence[str], decoys: Sequence[str]) -> Question:
    """Ask which one says all that `sentence` says, of those `beside` its cover and of `decoys`."""
    others = [text for text in beside if text != cover][:BESIDE]
    return _choice("covers", ("sentence", sentence), cover, [*others, *decoys[:DECOYS]])


def compare(sentence: str, cover: str) -> Question:
    """Ask how much two sentences say of each other."""
    first, second = _in_order(sentence, cover)
    # The sentence that goes must not say more than the one that stays.
    right = {"same", "x" if first == cover else "y"}
    return Question("compare", (("X", first), ("Y", second)), frozenset(right))


def one_fact(memory: Memory, survivor: Memory) -> Question:
    """Ask whether two memories state one fact."""
    first, second = _in_order(whole(memory), whole(survivor))
    return Question("fact", (("X", first), ("Y", second)), frozenset({"same", "x", "y", "both"}))


def which_fact(memory: Memory, survivor: Memory, others: Sequence[Memory]) -> Question:
    """Ask which one of several memories states the fact of `memory`."""
    decoys = [clipped(other) for other in others[:DECOYS]]
    return _choice("which", ("note", whole(memory)), clipped(survivor), decoys)


def holds(earlier: str, later: str) -> Question:
    """Ask which of two texts, each shown with its day, takes the place of the other."""
    first, second = _in_order(earlier, later)
    return Question("holds", (("A", first), ("B", second)), frozenset({"a" if first == later else "b"}))


def overtaken(earlier: str, later: str, others: Sequence[str]) -> Question:
    """Ask which one of several texts, if any, makes `earlier` no longer hold."""
    return _choice("overtaken", ("note", earlier), later, others)


def until(memory: Memory, day: str) -> Question:
    """Ask until which day a memory holds by its own words."""
    text = visible(memory.body)
    return Question("until", (("note", text),), frozenset({day}), quotable=text)


def after(memory: Memory, day: str) -> Question:
    """Ask whether anything of a memory matters after `day`."""
    return Question("after", (("day", day), ("note", visible(memory.body))), frozenset({"no"}))


def everywhere(quotes: str) -> tuple[Question, Question]:
    """Ask, in two forms, whether a person said that something holds in all of their projects."""
    shown = (("quotes", quotes),)
    return Question("all", shown, frozenset({"yes"})), Question("reach", shown, frozenset({"all"}))


# -- texts --------------------------------------------------------------------------------------------


def in_place(memory: Memory, number: int) -> str:
    """Return sentence `number` (from 1) of `memory`, after the sentence that its fact begins with."""
    found = sentences(memory.body)
    sentence = found[number - 1]
    first = next(item for item in found if item.fact == sentence.fact)
    before = "" if first == sentence else f"{BEFORE}{visible_line(first.text)}\n"
    return f"{before}{_labelled(sentence)}"


def dated(memory: Memory, number: int) -> str:
    """Return sentence `number` of `memory` in its place, with the day and the quotes it rests on."""
    text = sentences(memory.body)[number - 1].text
    return f"{_day(memory, [text])}\n{in_place(memory, number)}\n{quoted(sources_of(memory, text))}".strip()


def whole(memory: Memory) -> str:
    """Return all that `memory` says."""
    return visible(memory.body).strip()


def clipped(memory: Memory) -> str:
    """Return the beginning of what `memory` says, as it stands among others."""
    return whole(memory)[:_CLIPPED]


def dated_whole(memory: Memory, most: int | None = None) -> str:
    """Return what `memory` says, with the day it was said and its quotes."""
    day = _day(memory, [sentence.text for sentence in sentences(memory.body)])
    return f"{day}\n{whole(memory)[:most]}\n{quoted(memory.sources)}".strip()


def dated_clipped(memory: Memory) -> str:
    """Return the beginning of what `memory` says, with its day and quotes."""
    return dated_whole(memory, _CLIPPED)


def quoted(sources: Sequence[Evidence]) -> str:
    """Return the quotes of `sources`, each with its speaker and day."""
    return "\n".join(
        f"({speaker([source])}, {day(source.at, 'unknown day')}: “{visible_line(source.quote)}”)"
        for source in sources[:_QUOTES]
    )


def _day(memory: Memory, texts: Sequence[str]) -> str:
    moments = [moment for text in texts if (moment := sentence_said_at(memory, text))]
    return f"(said {day(max(moments))})" if moments else "(nobody knows when it was said)"


def _labelled(sentence: Sentence) -> str:
    label = "" if sentence.part == "statement" else f"{sentence.part.capitalize()}: "
    return f"{label}{visible(sentence.text)}"


# -- forms --------------------------------------------------------------------------------------------


def _choice(kind: Kind, asked: tuple[str, str], wanted: str, others: Sequence[str]) -> Question:
    known = {folded(wanted), folded(asked[1])}
    decoys = [text for text in dict.fromkeys(others) if folded(text) not in known]
    salt = digest("\x1f".join([kind, asked[1], *sorted([wanted, *decoys])]))
    candidates = sorted([wanted, *decoys], key=lambda text: digest(f"{salt}{text}"))
    numbered = [(str(number), text) for number, text in enumerate(candidates, start=1)]
    return Question(kind, (asked, *numbered), frozenset({str(candidates.index(wanted) + 1)}))


def _in_order(text: str, other: str) -> tuple[str, str]:
    first, second = sorted((text, other))
    return (first, second) if int(digest(f"{first}\x1f{second}")[:2], 16) % 2 else (second, first)


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()

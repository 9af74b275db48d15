"""What a memory is about, as far as its words tell: whether two are about one thing in one scope."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pipeline.diagnostics.audit.folder import File
from pipeline.text.amounts import Amount, amounts
from pipeline.text.clauses import denials, sentences
from pipeline.text.similarity import content_words

_LONGEST = 4_000
_SENTENCES = 40
_CODE = re.compile(r"`[^`\n]*`|\S*/\S*|\d{4}-\d\d(?:-\d\d)?")
_KINDS = re.compile(r"^(?:user|feedback|project|reference)[-_ ]")
NEUTRAL = content_words(
    """
    set setting use run take hold value period timeout time out limit size count number figure total max
    maximum
    min minimum only exactly always every each per new current currently now already since get give go come
    stand keep say rule definition note must shall should need want user there
    one two three four five six seven eight nine ten zwei drei vier fünf sechs sieben acht neun zehn
    """
)
"""Words that make no thing another thing: what may be left over when two sentences are compared."""
# “Images are 1200 px wide by default” is no rival of “the header is 2000 px wide”.
_APART = re.compile(
    r"\b(?:except\w*|save (?:for|where|when)|unless|overrid\w+|by default|defaults?"
    r"|instead of the usual|other than"
    r"|apart from|measured|median|average|mean|pilot|sample|example|for instance|temporar\w+|trial|planned"
    r"|ausnahme\w*|außer|sonst|standardmäßig|gemessen\w*|durchschnitt\w*|beispiel\w*"
    r"|sauf|par défaut|excepto|salvo|por defecto|eccetto|tranne|behalve|oprócz|domyślnie)\b|\be\.g\."
    r"|\bz\. ?B\.",
    re.IGNORECASE,
)
"""A rule with its exception, a default with what replaces it, a value that somebody measured."""
_NOW = re.compile(
    r"\b(?:since|now|as of|no longer|any ?more|changed to|raised to|lowered to|from \d{4}-\d\d-\d\d"
    r"|jetzt|seit|nun|ab \d{4}-\d\d-\d\d|nicht mehr|depuis|désormais|desde|ahora|adesso|sinds|obecnie)\b"
    r"|\b(?:after|on|nach|am)\b[^.\n]{0,40}\d{4}-\d\d-\d\d",
    re.IGNORECASE,
)
"""Words of a memory that tells how something came to be so."""
_PLACES = content_words(
    """prod production live stage staging dev development test tests testing ci local sandbox demo preview
    beta canary legacy backup mirror replica archive old former"""
)
"""Environments and generations: what holds in one need not hold in another."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: its content words without code and dates, its amounts, labels and denials."""

    text: str
    words: frozenset[str]
    amounts: tuple[Amount, ...]
    labels: frozenset[str]
    denials: int

    def only(self, dimension: str) -> Amount | None:
        """Return its amount of `dimension` if it has exactly one."""
        found = [amount for amount in self.amounts if amount.dimension == dimension]
        return found[0] if len(found) == 1 else None


@dataclass(slots=True)
class Compared:
    """A memory and its words; its sentences are cut when it is first compared with another."""

    file: File
    text: str
    words: frozenset[str]
    cut: list[Sentence] | None = None

    @classmethod
    def of(cls, file: File) -> Compared:
        """Return what is compared of `file`: description and body."""
        memory = file.memory
        text = f"{memory.description}\n{memory.body}"[:_LONGEST] if memory else ""
        return cls(file, text, content_words(text))

    @property
    def description(self) -> str:
        """Return its description, "" for none."""
        return self.file.memory.description if self.file.memory else ""

    def sentences(self) -> list[Sentence]:
        """Return its sentences in order, the description's first."""
        if self.cut is None:
            self.cut = [_sentence(part) for part in sentences(self.text)[:_SENTENCES]]
        return self.cut

    def heading(self) -> frozenset[str]:
        """Return the words of its name and its description that say what it is about."""
        name = self.file.memory.name if self.file.memory else ""
        plain = _KINDS.sub("", name.lower()).replace("-", " ").replace("_", " ")
        words = content_words(_CODE.sub(" ", f"{plain}\n{self.description}")) - NEUTRAL
        words -= _units(amounts(self.description)[0])
        return frozenset(word for word in words if len(word) > 1)

    def everything(self) -> frozenset[str]:
        """Return all words of it, its name's too."""
        return self.words | self.heading()

    def tells_a_change(self) -> bool:
        """Whether it says since when something is so."""
        return _NOW.search(self.text) is not None

    def apart(self) -> bool:
        """Whether it tells of an exception, a default, or a value that was measured."""
        return _APART.search(self.text) is not None


def _sentence(text: str) -> Sentence:
    found, labels = amounts(text)
    plain = _CODE.sub(" ", text)
    return Sentence(text, content_words(plain) - _units(found), tuple(found), labels, denials(text))


def _units(found: Iterable[Amount]) -> frozenset[str]:
    return content_words(" ".join(amount.text for amount in found))


def left_over(words: frozenset[str], other: Compared) -> frozenset[str]:
    """Return which of `words` the `other` memory has nowhere, neutral ones left out."""
    return words - NEUTRAL - other.everything()


def elsewhere(a: Compared, b: Compared) -> bool:
    """Whether they are headed by other environments or generations."""
    return bool((a.heading() ^ b.heading()) & _PLACES)

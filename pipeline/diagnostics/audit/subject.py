"""What a memory is about, as far as its words tell: whether two are about one thing in one scope."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.diagnostics.audit.folder import File
from pipeline.text.amounts import Amount, amounts
from pipeline.text.clauses import denies, sentences
from pipeline.text.similarity import content_words

_LONGEST = 4_000
_SENTENCES = 40
_CODE = re.compile(r"`[^`\n]*`|\S*/\S*|\d{4}-\d\d(?:-\d\d)?")
_KINDS = re.compile(r"^(?:user|feedback|project|reference)[-_ ]")
NEUTRAL = content_words(
    """
    set setting use run take hold value period timeout time out limit size count number figure total max maximum min
    minimum only exactly always every each per new current currently now already since get give go come stand sit keep
    say rule definition note must shall should need want user there
    """
)
"""Words that make no thing another thing: what may be left over when two sentences are compared."""
# “Images are 1200 px wide by default” is no rival of “the header is 2000 px wide”.
_APART = re.compile(
    r"\b(?:except\w*|save (?:for|where|when)|unless|overrid\w+|by default|defaults?|instead of the usual|other than"
    r"|apart from|measured|median|average|mean|pilot|sample|example|for instance|temporar\w+|trial|planned"
    r"|ausnahme\w*|außer|sonst|standardmäßig|gemessen\w*|durchschnitt\w*|beispiel\w*"
    r"|sauf|par défaut|excepto|salvo|por defecto|eccetto|tranne|behalve|oprócz|domyślnie)\b|\be\.g\.|\bz\. ?B\.",
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
    """prod production live stage staging dev development test tests testing ci local sandbox demo preview beta canary
    legacy backup mirror replica archive old former"""
)
"""Environments and generations: what holds in one need not hold in another."""


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence: its content words without code and dates, its amounts and labels, whether it denies."""

    text: str
    words: frozenset[str]
    amounts: tuple[Amount, ...]
    labels: frozenset[str]
    denies: bool

    def only(self, dimension: str) -> Amount | None:
        """Return its amount of `dimension` if it has exactly one."""
        found = [one for one in self.amounts if one.dimension == dimension]
        return found[0] if len(found) == 1 else None


@dataclass(slots=True)
class Told:
    """A memory and its words; its sentences are cut when it is first compared with another."""

    file: File
    text: str
    words: frozenset[str]
    cut: list[Said] | None = None

    @classmethod
    def of(cls, file: File) -> Told:
        """Return what is compared of `file`: description and body."""
        memory = file.memory
        text = f"{memory.description}\n{memory.body}"[:_LONGEST] if memory else ""
        return cls(file, text, content_words(text))

    @property
    def description(self) -> str:
        """Return its description, "" for none."""
        return self.file.memory.description if self.file.memory else ""

    def sentences(self) -> list[Said]:
        """Return its sentences in order, the description's first."""
        if self.cut is None:
            self.cut = [_said(part) for part in sentences(self.text)[:_SENTENCES]]
        return self.cut

    def heading(self) -> frozenset[str]:
        """Return the words of its name and its description that say what it is about."""
        name = self.file.memory.name if self.file.memory else ""
        plain = _KINDS.sub("", name.lower()).replace("-", " ").replace("_", " ")
        return content_words(_CODE.sub(" ", f"{plain}\n{self.description}")) - NEUTRAL

    def everything(self) -> frozenset[str]:
        """Return all words of it, its name's too."""
        return self.words | self.heading()

    def tells_a_change(self) -> bool:
        """Whether it says since when something is so."""
        return _NOW.search(self.text) is not None

    def apart(self) -> bool:
        """Whether it tells of an exception, a default, or a value that was measured."""
        return _APART.search(self.text) is not None


def _said(text: str) -> Said:
    found, labels = amounts(text)
    plain = _CODE.sub(" ", text)
    units = content_words(" ".join(one.text for one in found))
    return Said(text, content_words(plain) - units, tuple(found), labels, denies(text))


def left_over(words: frozenset[str], other: Told) -> frozenset[str]:
    """Return which of `words` the `other` memory has nowhere, neutral ones left out."""
    return words - NEUTRAL - other.everything()


def elsewhere(a: Told, b: Told) -> bool:
    """Whether they are headed by other environments or generations: what holds in one need not in the other."""
    return bool((a.heading() ^ b.heading()) & _PLACES)

"""Amounts in a text: numbers with what they count or measure, in one unit for each dimension. Pure text work.

Two amounts compare only when they are of one dimension: 8 s and 30 s are, 1.5 kg and 1500 g are and are
equal, 14.99 USD and 54.99 PLN are not. A number that names rather than measures (chapter 3, v4, Q1) is no
amount but a label, and two texts with other labels are about other things.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pipeline.text.tokens import SMALL_WORDS, stem

_SCALES = {
    "time": "ms 1 millisecond 1 s 1e3 sec 1e3 second 1e3 sekunde 1e3 min 6e4 minute 6e4 h 36e5 hour 36e5"
    " stunde 36e5 day 864e5 tag 864e5 week 6048e5 woche 6048e5",
    "size": "kb 1e3 mb 1e6 gb 1e9 tb 1e12 kib 1024 mib 1048576 gib 1073741824",
    "weight": "mg 1e-3 g 1 gram 1 gramm 1 kg 1e3",
    "length": "mm 1 cm 10 km 1e6",
    "voltage": "mv 1e-3 v 1 volt 1",
    "current": "µa 1e-6 μa 1e-6 ua 1e-6 ma 1e-3",
    "power": "w 1 kw 1e3",
    "frequency": "hz 1 khz 1e3 mhz 1e6 ghz 1e9",
    "usd": "$ 1 usd 1 dollar 1",
    "eur": "€ 1 eur 1 euro 1",
    "%": "% 1 percent 1 prozent 1",
}
_UNITS = {
    unit: (dimension, float(factor))
    for dimension, row in _SCALES.items()
    for unit, factor in zip(row.split()[::2], row.split()[1::2], strict=True)
}
_DIGITS = r"\d{1,3}(?:[ ,]\d{3})+(?![\d.,]*\d)|\d+(?:[.,]\d+)?"
_AMOUNT = re.compile(
    rf"(?<![\w.,:/#-])(?P<money>[$€])?(?P<low>{_DIGITS})"
    rf"(?:\s*(?:–|—|-|to|bis|and|und|or|oder|/|à)\s*(?P<high>{_DIGITS}))?"
    r"(?!\d|[:.,]\d)(?:[ -]?(?P<unit>[^\W\d_]{1,20}|[%€$]|°[CF]))?"
)
_CLOCK = re.compile(r"(?<![\d:])(\d{1,2}):(\d\d)(?![\d:])(?:\s*(?:–|—|-|to|bis)\s*\d{1,2}:\d\d)?")
_CODE = re.compile(r"`[^`\n]*`|\b[a-z]+://\S+|\S*/\S*|\S+\.[a-z]{2,5}\b(?!\.\d)")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?|\b(?:19|20)\d\d\b")
_LABEL = re.compile(r"\b[A-Za-z]{1,8}[-#]?\d[\w.]*|#\d+|(?<=[a-z] )(?!I\b)[A-Z]\b")
_NO_UNIT = frozenset(f"{SMALL_WORDS} per x times am um der die das und oder je pro".split())
_NAMES = re.compile(
    r"\b(?:chapter|section|part|phase|step|table|figure|item|rule|level|tier|stage|line|page|version|release|room|floor"
    r"|hypothesis|group|team|model|sprint|kapitel|teil|abschnitt|seite|stufe|gruppe|chapitre|capítulo)s?:?\s*$",
    re.IGNORECASE,
)
"""Before a number: it names one of several."""
_MEASURED = re.compile(r"\bport:?\s*$", re.IGNORECASE)
"""Before a number without a unit: it is an amount of its own kind all the same."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A value of `dimension` from `low` to `high` in that dimension's unit; `text` as it stands."""

    dimension: str
    low: float
    high: float
    text: str

    @property
    def is_range(self) -> bool:
        """Whether it has two ends."""
        return self.low != self.high

    def meets(self, other: Amount) -> bool:
        """Whether both can hold: one dimension, and they are equal or overlap; 1 % counts as equal."""
        room = 0.01 * max(abs(self.low), abs(other.low))
        return (
            self.dimension == other.dimension
            and self.low <= other.high + room
            and other.low <= self.high + room
        )


def amounts(text: str) -> tuple[list[Amount], frozenset[str]]:
    """Return the amounts of `text` in order, and its labels (a number with the word before it)."""
    rest = _DATE.sub(" ; ", _CODE.sub(" ; ", text))
    found: list[Amount] = []
    for match in _CLOCK.finditer(rest):
        minutes = 60.0 * int(match[1]) + int(match[2])
        found.append(Amount("clock", minutes, minutes if len(match[0]) < 6 else minutes + 1, match[0]))
    rest = _CLOCK.sub(" ; ", rest)
    labels = {match[0].lower() for match in _LABEL.finditer(rest)}
    for match in _AMOUNT.finditer(rest):
        before = rest[: match.start()]
        unit = "" if _NAMES.search(before) else match["money"] or match["unit"] or ""
        dimension, factor = _measure(unit, before)
        if dimension:
            low, high = _number(match["low"]), _number(match["high"] or match["low"])
            shown = match[0].strip() if match["unit"] or match["money"] else match["low"]
            found.append(Amount(dimension, min(low, high) * factor, max(low, high) * factor, shown))
        else:
            word = re.search(r"([^\W\d_]+)\W*$", before)
            labels.add(f"{word[1].lower() if word else ''} {match['low']}")
    return found, frozenset(labels)


def _measure(unit: str, before: str) -> tuple[str, float]:
    """Return dimension and factor of `unit`; an empty dimension when the number measures nothing."""
    plain = unit.lower()
    for spelling in (plain, plain.removesuffix("s"), plain.removesuffix("n"), plain.removesuffix("en")):
        if spelling in _UNITS:
            return _UNITS[spelling]
    if plain and plain not in _NO_UNIT:
        return f"of {stem(plain.removesuffix('s'))}", 1.0
    return ("port", 1.0) if _MEASURED.search(before) else ("", 1.0)


def _number(digits: str) -> float:
    """Return what `digits` say; “1,000” and “1 000” are a thousand, “1,5” is one and a half."""
    if re.fullmatch(r"\d{1,3}(?:[ ,]\d{3})+", digits):
        return float(re.sub(r"\D", "", digits))
    return float(digits.replace(",", "."))

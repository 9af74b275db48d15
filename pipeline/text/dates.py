"""Relative dates made absolute, from the day on which they were said. Pure text work.

The prompt asks the model for absolute dates; this catches what slipped through, so that no memory says
"tomorrow" for ever. Day words of eight languages are known, weekdays in English only; what may mean another
thing, as “today” that means nowadays and German “Morgen”, is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date, datetime, timedelta

from pipeline.safety.late import late
from pipeline.text import nowadays

DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
"""A day as memories write it, ``2026-03-04``; the calendar is not asked whether there is such a day."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_OFFSETS = {
    "the day after tomorrow": 2,
    "the day before yesterday": -2,
    "tomorrow": 1,
    "yesterday": -1,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "übermorgen": 2,
    "vorgestern": -2,
    "gestern": -1,
    "après-demain": 2,
    "avant-hier": -2,
    "demain": 1,
    "pasado mañana": 2,
    "anteayer": -2,
    "ayer": -1,
    "depois de amanhã": 2,
    "anteontem": -2,
    "amanhã": 1,
    "ontem": -1,
    "dopodomani": 2,
    "l'altro ieri": -2,
    "domani": 1,
    "ieri": -1,
    "morgen": 1,
    "mañana": 1,
    "hier": -1,
}
_WITHOUT_BLANKS = {"后天": 2, "明天": 1, "昨天": -1, "明後日": 2, "明日": 1, "昨日": -1}
"""Day words of languages that part no words."""
_UNSURE = {
    # “Der Freeze beginnt morgen.” · “guten Morgen”, “heute morgen”
    "morgen": r"(?<!heute )(?<!gestern )(?<!jeden )(?<!am )(?<!guten )(?-i:\bmorgen\b)",
    # “La entrega es mañana.” · “por la mañana”, “esta mañana”
    "mañana": r"(?<!la )(?<!esta )(?<!una )(?<!cada )(?<!de )(?<!por )\bmañana\b",
    # “On a livré hier.” · “Das steht hier.”
    "hier": r"\bhier\b(?= (?:soir|matin|après-midi|midi)\b)|(?:(?<=\bd['’])|(?<=é )|(?<=ée )|(?<=és ))hier\b",
}
"""Words that are a day's only there; elsewhere they mean a part of it, or are of another language."""
_WEEKS = {"next week": 7, "last week": -7, "this week": 0}


def _any_of(days: Iterable[str]) -> str:
    return "|".join(sorted(days, key=len, reverse=True))


# Each example: one that is replaced, and one that is not.
_PATTERN = late(
    # “It was decided today.” · “It works as it does today.”
    rf"(?P<today>{nowadays.WORDS})"
    # “Freeze starts tomorrow.” · “the todayview widget”
    rf"|(?P<day>\b(?:{_any_of(_OFFSETS.keys() - _UNSURE.keys())})\b"
    # “La entrega es mañana.” · “por la mañana”
    rf"|{'|'.join(_UNSURE.values())}"
    # 明天发布 · 明るい
    rf"|{_any_of(_WITHOUT_BLANKS)})"
    # “next week” · “the next weeks”
    rf"|(?P<week>\b(?:{_any_of(_WEEKS)})\b)"
    # “by Friday” · “never deploy on Fridays”
    rf"|\b(?P<which>next|last|this|on|by|until|before)\s+(?P<name>{_any_of(_DAYS)})\b(?!s)",
    re.IGNORECASE,
)
_NEAR = 24
"""So many characters behind a weekday its date may stand."""
_TWICE = re.compile(rf"({DAY.pattern})(?: \(\1\)|, \1(?!-))")
_NAMED = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”|„[^“”\n]+[“”]|«[^»\n]+»|「[^」\n]+」|『[^』\n]+』")
"""Words in backticks or quotation marks are someone's words or a name, and stay: “set `today` to false”."""


def parse_day(text: str) -> date | None:
    """Return the day that `text` is, written as ``2026-03-04`` and nothing else; None when it is none."""
    try:
        return date.fromisoformat(text.strip()) if DAY.fullmatch(text.strip()) else None
    except ValueError:
        return None


def absolute(text: str, spoken_at: datetime | None) -> str:
    """Return `text` with its relative dates replaced, seen from `spoken_at`, when it was said.

    ``tomorrow`` becomes ``2026-03-03``; ``next week`` the week of that Monday; ``by Friday`` the coming
    Friday with its date. A weekday that has its date behind it already stays as it is, so that doing
    this twice changes nothing. Unknown `spoken_at` leaves the text as it is.
    """
    if spoken_at is None:
        # A wrong date would be worse than a vague one.
        return text
    replace = _replacer(spoken_at)
    found = {match.start(): replace(match) for match in _days_in(text)}
    whole = _PATTERN.sub(lambda match: found.get(match.start(), match.group()), text)
    # “tomorrow (2026-03-03)” · what said it twice before stays.
    return _TWICE.sub(r"\1", whole) if found and not _TWICE.search(text) else whole


def _has_its_day(after: str) -> bool:
    """Whether the words `after` a weekday give its date: “, 2026-03-20”, “ night, 2026-03-20”, “ 9 March”."""
    near = re.split(r"[.!?\n]", after, maxsplit=1)[0]
    return DAY.search(near) is not None or re.match(r"[\s,(]*(?:the )?\d{1,2}\b", near) is not None


def _is_a_name(match: re.Match[str], text: str) -> bool:
    """Whether a capital letter marks the word as a name: “the Today screen”, not “Tomorrow we ship.”."""
    word = match.group()
    if not word[:1].isupper() or match["name"]:
        return False
    before = text[: match.start()].rstrip()
    starts = not before or before[-1] in ".!?:\n"
    return not starts or bool(re.match(r"\s+(?:screen|tab|view|page|widget|list|app)\b", text[match.end() :]))


def relative_days(text: str) -> tuple[str, ...]:
    """Return the words of `text` that name a day by its distance from the speaker, names left out."""
    return tuple(match.group() for match in _days_in(text))


def _days_in(text: str) -> Iterator[re.Match[str]]:
    """Yield the words of `text` that name a day; not a name, a quote, “nowadays”, or what has its date."""
    named = [match.span() for match in _NAMED.finditer(text)]
    for match in _PATTERN.finditer(text):
        inside = any(start <= match.start() < end for start, end in named)
        vague = match["today"] and not nowadays.is_a_day(text, *match.span())
        dated = match["name"] and _has_its_day(text[match.end() : match.end() + _NEAR])
        if not (inside or vague or dated or _is_a_name(match, text)):
            yield match


def _replacer(spoken_at: datetime) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        if match["today"]:
            return _date(spoken_at, 0)
        if match["day"]:
            return _date(spoken_at, (_OFFSETS | _WITHOUT_BLANKS)[match["day"].lower()])
        if match["week"]:
            monday = -spoken_at.weekday() + _WEEKS[match["week"].lower()]
            return f"the week of {_date(spoken_at, monday)}"
        which, name = match["which"], match["name"]
        ahead = (_DAYS.index(name.lower()) - spoken_at.weekday()) % 7
        if which.lower() == "last":
            return f"on {name} {_date(spoken_at, ahead - 7)}"
        if which.lower() == "next":
            return f"on {name} {_date(spoken_at, ahead or 7)}"
        word = "on" if which.lower() == "this" else which
        return f"{word} {name} {_date(spoken_at, ahead)}"

    return replace


def _date(spoken_at: datetime, days: int) -> str:
    return (spoken_at + timedelta(days=days)).date().isoformat()

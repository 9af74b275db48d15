"""Relative dates made absolute, from the day on which they were said. Pure text work.

The prompt asks the model for absolute dates; this catches what slipped through, so that no memory says
"tomorrow" for ever. English, Chinese and Japanese day words are known; anything else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta

DAY = re.compile(r"(?<!\d)\d{4}-\d\d-\d\d(?!\d)")
"""A day as memories write it, ``2026-03-04``; the calendar is not asked whether there is such a day."""

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_OFFSETS = {
    "the day after tomorrow": 2,
    "the day before yesterday": -2,
    "tomorrow": 1,
    "yesterday": -1,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "后天": 2,
    "明天": 1,
    "昨天": -1,
    "今天": 0,
    "明後日": 2,
    "明日": 1,
    "昨日": -1,
    "今日": 0,
}
_WEEKS = {"next week": 7, "last week": -7, "this week": 0}


def _any_of(days: Iterable[str]) -> str:
    return "|".join(sorted(days, key=len, reverse=True))


# Each example: one that is replaced, and one that is not.
_PATTERN = re.compile(
    # “Freeze starts tomorrow.” · “the todayview widget”
    rf"(?P<day>\b(?:{_any_of(day for day in _OFFSETS if day.isascii())})\b"
    # 明天发布 · 明るい
    rf"|{_any_of(day for day in _OFFSETS if not day.isascii())})"
    # “next week” · “the next weeks”
    rf"|(?P<week>\b(?:{_any_of(_WEEKS)})\b)"
    # “by Friday” · “never deploy on Fridays”, “by Friday 2026-03-06”
    rf"|\b(?P<which>next|last|this|on|by|until|before)\s+(?P<name>{_any_of(_DAYS)})\b(?!s)(?!\s+\(?{DAY.pattern})",
    re.IGNORECASE,
)
_NAMED = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|“[^”\n]+”")
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
    Friday with its date. A weekday that has its date behind it already stays as it is, so that doing this
    twice changes nothing. Unknown `spoken_at` leaves the text as it is.
    """
    if spoken_at is None:
        # A wrong date would be worse than a vague one.
        return text
    named = [match.span() for match in _NAMED.finditer(text)]
    replace = _replacer(spoken_at)

    def sub(match: re.Match[str]) -> str:
        inside = any(start <= match.start() < end for start, end in named)
        return match.group() if inside or _is_a_name(match, text) else replace(match)

    return _PATTERN.sub(sub, text)


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
    named = [match.span() for match in _NAMED.finditer(text)]
    return tuple(
        match.group()
        for match in _PATTERN.finditer(text)
        if not any(start <= match.start() < end for start, end in named) and not _is_a_name(match, text)
    )


def _replacer(spoken_at: datetime) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        if match["day"]:
            return _date(spoken_at, _OFFSETS[match["day"].lower()])
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

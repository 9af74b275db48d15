"""Relative dates made absolute, from the day on which they were said. Pure text work.

The prompt asks the model for absolute dates; this catches what slipped through, so that no memory says
"tomorrow" for ever. English, Chinese and Japanese day words are known; anything else is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

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

_LATIN = (
    r"the day after tomorrow|the day before yesterday|tomorrow|yesterday|today|tonight"
    r"|this (?:morning|afternoon|evening)"
)
_PATTERN = re.compile(
    rf"(?P<day>\b(?:{_LATIN})\b|后天|明天|昨天|今天|明後日|明日|昨日|今日)"
    r"|(?P<week>\b(?:next|last|this) week\b)"
    rf"|\b(?P<which>next|last|this|on|by|until|before)\s+(?P<name>{'|'.join(_DAYS)})\b(?!s)",
    re.IGNORECASE,
)


def absolute(text: str, said: datetime | None) -> str:
    """Return `text` with its relative dates replaced, seen from the moment it was `said`.

    ``tomorrow`` becomes ``2026-03-03``; ``next week`` the week of that Monday; ``by Friday`` the coming
    Friday with its date. A date already in brackets behind the word is kept and the word goes. Unknown
    `said` leaves the text as it is.
    """
    if said is None:
        return text
    return _PATTERN.sub(_replacer(said), text)


def has_relative(text: str) -> bool:
    """Whether `text` still names a day by its distance from the speaker."""
    return _PATTERN.search(text) is not None


def _replacer(said: datetime) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        if match["day"]:
            return _date(said, _OFFSETS[match["day"].lower()])
        if match["week"]:
            monday = -said.weekday() + _WEEKS[match["week"].lower()]
            return f"the week of {_date(said, monday)}"
        which, name = match["which"], match["name"]
        ahead = (_DAYS.index(name.lower()) - said.weekday()) % 7
        if which.lower() == "last":
            return f"on {name} {_date(said, ahead - 7)}"
        if which.lower() == "next":
            return f"on {name} {_date(said, ahead or 7)}"
        word = "on" if which.lower() == "this" else which
        return f"{word} {name} {_date(said, ahead)}"

    return replace


def _date(said: datetime, days: int) -> str:
    return (said + timedelta(days=days)).date().isoformat()

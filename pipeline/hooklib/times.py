"""Moments as seconds since 1970, without ``datetime``: the clock of the hooks.

``REVERIE_NOW`` stops it, as it stops ``pipeline.core.clock``, but not in what Claude Code starts.
"""

import time

from pipeline.hooklib import places

DAY = 86_400
_YEARS = (1970, 9998)
_MONTHDAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def now() -> float:
    """Return the present moment; a ``REVERIE_NOW`` that is no time is passed over."""
    stopped = parse(places.variable("REVERIE_NOW"))
    return time.time() if stopped is None else stopped


def parse(text: object) -> "float | None":
    """Return the moment that an ISO 8601 `text` names, or None: a day, or a day with a time and an offset.

    Without an offset it is UTC. Stranger forms that ``datetime`` would take (weeks, no dashes) are None.
    """
    if not isinstance(text, str):
        return None
    text = text.strip()
    day = _day(text[:10])
    if day is None or len(text) == 10:
        return day
    if text[10] not in "Tt ":
        return None
    clock, offset = _split_offset(text[11:])
    seconds = _seconds(clock)
    return None if seconds is None or offset is None else day + seconds - offset


def _day(text: str) -> "float | None":
    parts = text.split("-")
    if [len(part) for part in parts] != [4, 2, 2] or not all(_digits(part) for part in parts):
        return None
    year, month, day = (int(part) for part in parts)
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not (_YEARS[0] <= year <= _YEARS[1] and 1 <= month <= 12):
        return None
    if not 1 <= day <= _MONTHDAYS[month - 1] + (leap and month == 2):
        return None
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 - 719_162
    days += sum(_MONTHDAYS[: month - 1]) + (leap and month > 2) + day - 1
    return float(days * DAY)


def _split_offset(text: str) -> "tuple[str, float | None]":
    """Return the time of day and its distance from UTC in seconds, None when that can't be read."""
    if text.endswith(("Z", "z")):
        return text[:-1], 0.0
    at = max(text.rfind("+"), text.rfind("-"))
    if at < 0:
        return text, 0.0
    seconds = _seconds(text[at + 1 :])
    if seconds is None:
        return text, None
    return text[:at], -seconds if text[at] == "-" else seconds


def _seconds(text: str) -> "float | None":
    whole, point, part = text.replace(",", ".").partition(".")
    pieces = whole.split(":") if ":" in whole else [whole[at : at + 2] for at in range(0, len(whole), 2)]
    if not 1 <= len(pieces) <= 3 or not all(len(piece) == 2 and _digits(piece) for piece in pieces):
        return None
    if point and not (len(pieces) == 3 and _digits(part)):
        return None
    hours, minutes, seconds = (*(int(piece) for piece in pieces), 0, 0)[:3]
    if hours > 23 or minutes > 59 or seconds > 59:
        return None
    return hours * 3600 + minutes * 60 + seconds + (float(f"0.{part}") if point else 0.0)


def _digits(text: str) -> bool:
    return text.isascii() and text.isdigit()

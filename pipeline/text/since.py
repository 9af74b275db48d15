"""A moment in the past as a person types it: a day, or how long ago."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from pipeline.core.clock import parse_time
from pipeline.core.errors import UsageError
from pipeline.core.zone import local
from pipeline.text.dates import parse_day

_AGO = re.compile(r"(\d{1,5})\s*(h|d|w|hours?|days?|weeks?)(?:\s+ago)?", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 168}


def since(text: str, now: datetime) -> datetime:
    """Return the moment that `text` means before `now`: ``2026-11-20``, ``today``, ``yesterday``, ``7d``.

    A day means its local beginning. Raises UsageError for what is none of these.
    """
    asked = text.strip().lower()
    midnight = local(now).replace(hour=0, minute=0, second=0, microsecond=0)
    if asked in ("today", "yesterday"):
        return midnight - timedelta(days=asked == "yesterday")
    found = _AGO.fullmatch(asked)
    if found:
        return now - timedelta(hours=int(found[1]) * _HOURS[found[2][0]])
    day = parse_day(asked)
    if day is not None:
        return local(now).replace(
            year=day.year, month=day.month, day=day.day, hour=0, minute=0, second=0, microsecond=0
        )
    moment = parse_time(text.strip())
    if moment is None:
        raise UsageError(
            f"{text!r} is no day", fix="Write 2026-11-20, today, yesterday, or how long ago: 12h, 7d, 2w."
        )
    return moment

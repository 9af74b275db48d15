"""The only place that asks what time it is.

Times are timezone-aware UTC datetimes; text is ISO 8601 with offset. ``REVERIE_NOW`` (an ISO time)
stops the clock there, for demonstrations and replays that must give the same bytes twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Protocol

from pipeline.core.errors import ConfigError
from pipeline.hooklib import places


class Clock(Protocol):
    """Anything that knows the time."""

    def now(self) -> datetime:
        """Return the present moment, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the present moment, in UTC."""
        return datetime.fromtimestamp(time.time(), UTC)


class FixedClock:
    """A clock that stands still until it is moved; ``at`` may be reassigned."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """Return the moment it was set to."""
        return self.at


def from_environment() -> Clock:
    """Return the system clock, or a stopped one when a person's shell sets ``REVERIE_NOW``."""
    wanted = places.variable("REVERIE_NOW")
    stopped = parse_time(wanted)
    if wanted and stopped is None:
        raise ConfigError(f"{wanted!r} is no time", file="$REVERIE_NOW", fix="Write 2026-11-27T10:00:00Z.")
    return FixedClock(stopped) if stopped else SystemClock()


def iso(moment: datetime) -> str:
    """Return ``2026-11-27T10:00:00+00:00``: UTC, whole seconds, the form kept in files."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def parse_time(text: object) -> datetime | None:
    """Return the aware UTC datetime that `text` names, or None when it names none.

    Naive times are read as UTC; years outside 1970-9998 count as no time, since such stamps come from
    broken writers and would overflow arithmetic.
    """
    if isinstance(text, datetime):
        moment = text
    elif isinstance(text, str):
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError:
            return None
    else:
        return None
    if not 1970 <= moment.year <= 9998:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def latest(stamps: Iterable[object]) -> datetime | None:
    """Return the latest moment that `stamps` name (see `parse_time`), or None when none names any."""
    return max((moment for stamp in stamps if (moment := parse_time(stamp))), default=None)

"""The only place that asks what time it is.

Times are timezone-aware UTC datetimes; text is ISO 8601 with offset. ``REVERIE_NOW`` (an ISO time)
stops the clock there, for demonstrations and replays that must give the same bytes twice.

Clocks jump, and a moment that one left in the future must hold nothing up. `at_most_now` and `wait_left` are
the one rule for that: such a moment counts as now, and a wait that was begun in the future is over.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Protocol, TypeVar

from pipeline.core.errors import ConfigError
from pipeline.hooklib import places

_ASLEEP_TOO = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))
LONGEST_WAIT = 8 * 86_400.0
"""Seconds; no wait of ours and no limit of an account lasts longer, so a longer one is not believed."""
_Moment = TypeVar("_Moment", datetime, float)


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


def gone_by() -> float:
    """Return seconds from some moment on, by a clock that never jumps and goes on while the machine sleeps.

    `time.monotonic` stands still meanwhile, so what others were told would seem to hold longer than it does.
    """
    return time.monotonic() if _ASLEEP_TOO is None else time.clock_gettime(_ASLEEP_TOO)


def from_environment() -> Clock:
    """Return the system clock, or a stopped one when a person's shell sets ``REVERIE_NOW``."""
    wanted = places.variable("REVERIE_NOW")
    stopped = parse_time(wanted)
    if wanted and stopped is None:
        raise ConfigError(f"{wanted!r} is no time", file="$REVERIE_NOW", fix="Write 2026-11-27T10:00:00Z.")
    return FixedClock(stopped) if stopped else SystemClock()


def at_most_now(moment: _Moment, now: _Moment) -> _Moment:
    """Return `moment`, or `now` where it lies ahead: a clock that ran ahead noted it.

    Who stores what this returns waits one interval at most, however far ahead the clock was.
    """
    return min(moment, now)


def wait_left(until: float, *, since: float, now: float) -> float:
    """Return how many seconds are left of a wait from `since` to `until`, both in epoch seconds.

    None are left of one that lies in the future as a whole, or lasts longer than LONGEST_WAIT.
    """
    return until - now if since <= now < until <= now + LONGEST_WAIT else 0.0


def iso(moment: datetime) -> str:
    """Return ``2026-11-27T10:00:00+00:00``: UTC, whole seconds, the form kept in files."""
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def iso_exact(moment: datetime) -> str:
    """Return `moment` as `iso` does, with its milliseconds where it has any.

    Both forms sort as the times do that they name.
    """
    exact = moment.microsecond >= 1_000
    return moment.astimezone(UTC).isoformat(timespec="milliseconds" if exact else "seconds")


def to_seconds(stamp: str) -> str:
    """Return what `iso` gives of the moment whose `iso_exact` is `stamp`."""
    return f"{stamp[:19]}{stamp[23:]}" if stamp[19:20] == "." else stamp


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

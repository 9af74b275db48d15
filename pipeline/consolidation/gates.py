"""Whether a dream may start: seven conditions, each with a sentence that says what is missing.

Pure, so that `status` can show exactly what the worker decided. The order is that of their cost: the first
ones are known from settings and one ledger row, the last ones need counting and a look at the lock.

A store that never dreamt needs the changes and the sessions, but not the interval. Clocks jump: a moment in
the future counts as just now, so that a clock put back does not set off a second dream, but one further
ahead than the wait itself is believed no more, so that it can't hold the dream back for years. `settled`
brings such moments down to now; who stores what it returns waits one interval at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pipeline.core.clock import at_most_now
from pipeline.domain.operations import Gate
from pipeline.record import record

if TYPE_CHECKING:
    from pipeline.config import DreamSettings

OF_THE_LEDGER = ("enabled", "interval", "scan", "sessions")
"""The gates that settings and ledger answer: the worker asks them before it looks at the store at all."""
TEAM = "Others write in this folder too, so no dream touches what is in it."
"""Why a team's folder sees no dream, whoever asks for one."""


@record
class GateFacts:
    """What the gates are judged by, for one store.

    `changed` counts memories that differ from those the last dream saw; `sessions` those with activity
    since the last success, the present one left out; `last_success` and `last_scan` are aware datetimes,
    None for never. `spend_refusal` and `lock_holder` are sentences or names for a person, None when
    nothing stands in the way. `held` is how many memories there are, None where nobody has looked.
    """

    enabled: bool
    changed: int
    last_success: datetime | None
    last_scan: datetime | None
    sessions: int
    spend_refusal: str | None
    lock_holder: str | None
    now: datetime
    held: int | None = None


def evaluate(facts: GateFacts, limits: DreamSettings) -> list[Gate]:
    """Return all seven gates in the order of their cost; a dream may start when every one is open."""
    return [
        _enabled(facts, limits),
        _changed(facts, limits.memories),
        _interval(facts, timedelta(hours=limits.interval_hours)),
        _scan(facts, timedelta(minutes=limits.scan_minutes)),
        _sessions(facts, limits.sessions),
        _spend(facts),
        _lock(facts),
    ]


def first_closed(gates: Iterable[Gate]) -> Gate | None:
    """Return the first gate that is closed, whose reason is the one to store and show, or None."""
    return next((gate for gate in gates if not gate.open), None)


def settled(facts: GateFacts) -> GateFacts:
    """Return `facts` with moments that lie in the future brought down to now.

    Where the result differs the caller stores it, so that the wait after a clock was put back is one
    interval, however far ahead it had been.
    """
    return replace(
        facts,
        last_success=_at_most(facts.last_success, facts.now),
        last_scan=_at_most(facts.last_scan, facts.now),
    )


def _at_most(moment: datetime | None, now: datetime) -> datetime | None:
    return None if moment is None else at_most_now(moment, now)


def _enabled(facts: GateFacts, limits: DreamSettings) -> Gate:
    on = facts.enabled and limits.enabled
    return Gate("enabled", on, "Dreams are on." if on else "Dreams are switched off for this store.")


def _changed(facts: GateFacts, least: int) -> Gate:
    if facts.held is not None and facts.held < least:
        held = _count(facts.held, "memory", "memories")
        return Gate("changed", False, f"The store has {held}; dreams begin with {least}.")
    if facts.changed < 1:
        return Gate("changed", False, "No memory has changed since the last dream.")
    changed = _count(facts.changed, "memory has", "memories have")
    return Gate("changed", True, f"{changed} changed since the last dream.")


def _interval(facts: GateFacts, least: timedelta) -> Gate:
    if facts.last_success is None:
        return Gate("interval", True, "This store has never dreamt, so there is no interval to wait for.")
    missing = _missing(facts.last_success, facts.now, least)
    ago = _span(max(facts.now - facts.last_success, timedelta(0)))
    if missing:
        return Gate("interval", False, f"The last dream was {ago} ago; {_span(missing, up=True)} to wait.")
    if facts.last_success > facts.now:
        return Gate("interval", True, "The last dream is dated far in the future; that date is not believed.")
    return Gate("interval", True, f"The last dream was {ago} ago.")


def _scan(facts: GateFacts, least: timedelta) -> Gate:
    missing = timedelta(0)
    if facts.last_scan is not None:
        missing = _missing(facts.last_scan, facts.now, least)
    if missing:
        return Gate("scan", False, f"Sessions were counted a moment ago; {_span(missing, up=True)} to wait.")
    return Gate("scan", True, f"Sessions were not counted in the last {_span(least)}.")


def _sessions(facts: GateFacts, least: int) -> Gate:
    had = _count(facts.sessions, "session", "sessions")
    since = "since the last dream" if facts.last_success else "so far"
    if facts.sessions >= least:
        return Gate("sessions", True, f"{had} {since}.")
    more = _count(least - facts.sessions, "more session", "more sessions")
    return Gate("sessions", False, f"{had} {since}; {more} needed.")


def _spend(facts: GateFacts) -> Gate:
    if facts.spend_refusal is None:
        return Gate("spend", True, "The spend caps leave room.")
    return Gate("spend", False, f"Model calls have to wait: {facts.spend_refusal}")


def _lock(facts: GateFacts) -> Gate:
    if facts.lock_holder is None:
        return Gate("lock", True, "Nothing else is consolidating this store.")
    return Gate("lock", False, f"Another consolidation is at work: {facts.lock_holder}")


def _missing(moment: datetime, now: datetime, least: timedelta) -> timedelta:
    """Return how long is still to wait, zero for none: at `now`, `least` after `moment`."""
    elapsed = now - moment
    if elapsed < -least:
        return timedelta(0)
    return max(least - max(elapsed, timedelta(0)), timedelta(0))


def _count(number: int, singular: str, plural: str) -> str:
    return f"{number} {singular if number == 1 else plural}"


def _span(length: timedelta, *, up: bool = False) -> str:
    """Return `length` in days, hours and minutes; with `up`, a part of a minute counts as one."""
    minutes = int(length.total_seconds() // 60) + bool(up and length % timedelta(minutes=1))
    hours, minutes = divmod(minutes, 60)
    if hours >= 48:
        return f"{hours // 24} days"
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"

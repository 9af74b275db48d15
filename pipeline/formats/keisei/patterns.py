"""Patterns: classes of events that came more than once in a session, or in more than one session."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pipeline.formats.keisei.events import Event
from pipeline.record import changing

MOST_CLASSES = 5_000
"""Classes that are told apart; a trace may name its own, so there is no other end to them."""
LEAST = 2


@changing
class Pattern:
    """A class of events: how often, in how many sessions, in which one most; milliseconds since 1970."""

    event_class: str
    times: int = 0
    sessions: int = 0
    most: int = 0
    most_in: str = ""
    first_ms: int | None = None
    last_ms: int | None = None


def patterns(
    events: Iterable[Event], class_of: Callable[[Event], str], *, cross_session: bool = False
) -> list[Pattern]:
    """Return the classes that came at least twice in one session or in two, the most frequent first.

    With `cross_session` only those of two sessions.
    """
    found: dict[str, Pattern] = {}
    counts: dict[tuple[str, str], int] = {}
    for event in events:
        name = class_of(event)
        pattern = found.get(name)
        if pattern is None:
            if len(found) >= MOST_CLASSES:
                continue
            pattern = found[name] = Pattern(name)
        counts[name, event.session] = counts.get((name, event.session), 0) + 1
        if event.at_ms is not None:
            first, last = pattern.first_ms, pattern.last_ms
            pattern.first_ms = event.at_ms if first is None else min(first, event.at_ms)
            pattern.last_ms = event.at_ms if last is None else max(last, event.at_ms)
    for (name, session), number in counts.items():
        _add_up(found[name], session, number)
    repeated = [
        pattern
        for pattern in found.values()
        if pattern.sessions >= LEAST or (pattern.most >= LEAST and not cross_session)
    ]
    return sorted(repeated, key=lambda pattern: (-pattern.times, pattern.event_class))


def _add_up(pattern: Pattern, session: str, number: int) -> None:
    pattern.times += number
    pattern.sessions += 1
    if number > pattern.most:
        pattern.most, pattern.most_in = number, session

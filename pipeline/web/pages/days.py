"""Today and Timeline: a day whole, and the days of a month on which anything happened."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from starlette.responses import Response

from pipeline.app import days, diary
from pipeline.app.waiting import number_waiting
from pipeline.core.errors import UsageError
from pipeline.web.visit import Visit

_LIST_ROWS = 100
_FEW = 20
"""Rows of one kind on the page of a day; a page of its own has the others."""
_TITLES = 6
KINDS: Mapping[str, tuple[str, str]] = {
    "learned": ("Learned", "memories that are new, or came back"),
    "changed": ("Changed", "memories that say something else since"),
    "touched": (
        "Pinned or linked",
        "memories that say what they said, and are pinned, related or tagged otherwise",
    ),
    "forgotten": ("Forgotten", "memories that left"),
    "recalled": ("Recalled", "memories that were put before a prompt, or asked for"),
    "entries": ("Episodes", "what a conversation was about, once it was over"),
    "conversations": ("Conversations", "what you and Claude said"),
}
"""What a day is made of: field, heading, and what that is."""


def day(visit: Visit) -> Response:
    """Return the page of a day: today, where none is named."""
    app, everywhere = visit.app, bool(visit.asked("all"))
    today = days.today(app)
    name = visit.asked("day") or today
    found = days.on(app, name, everywhere=everywhere)
    only = visit.asked("only")
    if only and only not in KINDS:
        raise UsageError("a day has no such list", fix="Take a link on the page.")
    start = visit.number("from", 0, most=1_000_000) if only else 0
    room = _LIST_ROWS if only else _FEW
    lists = [
        {"key": key, "heading": heading, "about": about, "rows": getattr(found, key)[start : start + room],
         "number": len(getattr(found, key))}
        for key, (heading, about) in KINDS.items()
        if only in ("", key)
    ]  # fmt: skip
    moment = date.fromisoformat(name)
    return visit.page(
        "day.html",
        "today" if name == today else "timeline",
        "Today" if name == today else name,
        day=name,
        weekday=f"{moment:%A}, {moment.day} {moment:%B %Y}",
        found=found,
        lists=lists,
        only=only,
        start=start,
        room=room,
        is_today=name == today,
        waiting=number_waiting(app) if name == today else 0,
        before=_near(moment, -1),
        after=_near(moment, 1) if name < today else "",
        everywhere=everywhere,
        next_step=app.next_step() if found.is_empty else "",
    )


def timeline(visit: Visit) -> Response:
    """Return the days of a month on which anything happened, the newest first."""
    app, everywhere = visit.app, bool(visit.asked("all"))
    found = days.month(app, visit.asked("month"), everywhere=everywhere)
    first = date.fromisoformat(f"{found.month}-01")
    this = days.today(app)[: len(found.month)]
    titles = days.episodes(app, found.month)
    return visit.page(
        "timeline.html",
        "timeline",
        "Timeline",
        found=found,
        month=f"{first:%B %Y}",
        rows=[
            _row(counts, [each.title for each in titles.get(counts.day, ())])
            for counts in reversed(found.days)
        ],
        weeks=_weeks(found, first),
        total=found.total,
        before=_near(first, -1)[: len(found.month)],
        after=_near(first.replace(day=28), 7)[: len(found.month)] if found.month < this else "",
        this="" if found.month == this else this,
        everywhere=everywhere,
        how=f"{diary.HOW_IT_COMES}{diary.no_model(app)}",
    )


def _near(moment: date, days_on: int) -> str:
    """Return the day so many days on, "" where the calendar ends."""
    try:
        return (moment + timedelta(days=days_on)).isoformat()
    except OverflowError:
        return ""


def _row(counts: days.Counts, titles: list[str]) -> dict[str, Any]:
    moment = date.fromisoformat(counts.day)
    return {
        "counts": counts,
        "weekday": f"{moment:%A}",
        "titles": titles[:_TITLES],
        "more": max(0, len(titles) - _TITLES),
    }


def _weeks(found: days.Month, first: date) -> list[list[dict[str, Any]]]:
    """Return the month as weeks from Monday to Sunday, each day with how much happened, from 0 to 4."""
    busy = {counts.day: _deeds(counts) for counts in found.days}
    most = max(busy.values(), default=0)
    after = (first.replace(day=28) + timedelta(days=7)).replace(day=1)
    cells: list[dict[str, Any]] = [{"day": "", "number": 0, "level": 0} for _ in range(first.weekday())]
    for number in range(1, (after - first).days + 1):
        name = first.replace(day=number).isoformat()
        level = -(-4 * busy[name] // most) if name in busy and most else 0
        cells.append({"day": name if name in busy else "", "number": number, "level": level})
    cells += [{"day": "", "number": 0, "level": 0} for _ in range(-len(cells) % 7)]
    return [cells[start : start + 7] for start in range(0, len(cells), 7)]


def _deeds(counts: days.Counts) -> int:
    """Return how much happened on a day."""
    became = counts.learned + counts.changed + counts.forgotten
    return counts.turns + counts.episodes + became + counts.recalled

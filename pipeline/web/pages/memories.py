"""Memories: the list, by words and by filters; and what left, to bring it back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from pipeline.app import listing
from pipeline.app.application import App
from pipeline.web.listed import MOST_FROM, ROWS, listed
from pipeline.web.visit import Visit

_LEFT = "left"


def shelf(visit: Visit) -> Response:
    """Return the list of memories, or the part of it that changes while one types."""
    app = visit.app
    start = visit.number("from", 0, most=MOST_FROM)
    if visit.asked("show") == _LEFT:
        return _gone(visit, app, start)
    values = listed(visit, app, start, by_meaning=visit.asked("part") != "rows")
    if visit.asked("part") == "rows":
        return visit.part("memories_found.html", **values)
    return visit.page("memories.html", "memories", "Memories", gone=None, **values)


def _gone(visit: Visit, app: App, start: int) -> Response:
    """Return the list of those that left, the last first."""
    words = visit.asked("q").casefold().split()
    rows = [row for row in listing.left(app) if all(word in row.name.casefold() for word in words)]
    values: dict[str, Any] = {
        "gone": [asdict(row) for row in rows[start : start + ROWS]],
        "asked": {"q": visit.asked("q"), "show": _LEFT},
    }
    return visit.page(
        "memories.html",
        "memories",
        "Memories that left",
        total=len(rows),
        start=start,
        size=ROWS,
        words=visit.asked("q"),
        **values,
    )

"""Memories: the list, by words and by filters; and what left, to bring it back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from starlette.responses import Response

from pipeline.app import browsing, listing
from pipeline.app.application import App
from pipeline.app.browsing import Wanted
from pipeline.app.scopes import SHOWN
from pipeline.core.errors import InputError, SearchError, UsageError
from pipeline.domain.memory import TYPES
from pipeline.store.catalogue.sleep import BANDS
from pipeline.web.visit import Visit

ROWS = 100
"""Memories on one page of the list."""
_MOST_FROM = 1_000_000
_LEFT = "left"
_FIELDS = (
    ("type", "Type", [(name, name.replace("_", " ")) for name in TYPES]),
    ("for", "For", [(name, SHOWN[name]) for name in ("project", "team", "user")]),
    ("by", "Said by", [(name, name) for name in browsing.SPOKEN_BY]),
    ("age", "Last written", list(browsing.AGES.items())),
    ("band", "Use", [(name, name) for name in BANDS]),
)
"""The filters: name, label, and the values with what they are called."""
_ORDERS = {"changed": "last written", "said": "last said", "name": "name", "type": "type"}


def shelf(visit: Visit) -> Response:
    """Return the list of memories, or the part of it that changes while one types."""
    app = visit.app
    start = visit.number("from", 0, most=_MOST_FROM)
    if visit.asked("show") == _LEFT:
        return _gone(visit, app, start)
    values = listed(visit, app, start, by_meaning=visit.asked("part") != "rows")
    if visit.asked("part") == "rows":
        return visit.part("memories_found.html", **values)
    return visit.page("memories.html", "memories", "Memories", gone=None, **values)


def listed(visit: Visit, app: App, start: int, *, by_meaning: bool = True) -> dict[str, Any]:
    """Return what the templates of the list need: the rows that the address asks for, and its filters."""
    wanted = Wanted(
        words=visit.asked("q"),
        type=visit.asked("type"),
        scope=visit.asked("for"),
        by=visit.asked("by"),
        age=visit.asked("age"),
        band=visit.asked("band"),
        sort=visit.asked("sort") or next(iter(_ORDERS)),
    )
    trouble = ""
    try:
        found, problems = browsing.browse(app, wanted, by_meaning=by_meaning)
    except (InputError, SearchError) as error:
        if isinstance(error, UsageError):
            raise
        # What is typed half is no fault: the list says so, and the form stays.
        found, problems, trouble = [], [], f"{error}. {error.fix}"
    asked = {**kept(visit), "from": ""}
    return {
        "rows": found[start : start + ROWS],
        "total": len(found),
        "start": start,
        "size": ROWS,
        "most": browsing.MOST,
        "problems": problems,
        "trouble": trouble,
        "wanted": wanted,
        "fields": _FIELDS,
        "orders": _ORDERS,
        "asked": asked,
        "current": "",
        "next_step": "" if found or wanted.is_narrowed else app.next_step(),
    }


def kept(visit: Visit) -> dict[str, str]:
    """Return what the address says of the list, to go on with."""
    return {name: visit.asked(name) for name in ("q", *(name for name, _, _ in _FIELDS), "sort", "from")}


def _gone(visit: Visit, app: App, start: int) -> Response:
    """Return the list of those that left, the last first."""
    words = visit.asked("q").casefold().split()
    rows = [row for row in listing.left(app) if all(word in row.name.casefold() for word in words)]
    values: dict[str, Sequence[Any] | dict[str, Any]] = {
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


PAGES = (("", shelf, ("GET",)),)

"""The list of memories that an address asks for, as both pages that show it need it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pipeline.app import browsing, listing, scopes, selecting
from pipeline.app.application import App
from pipeline.app.browsing import Wanted
from pipeline.app.scopes import SHOWN
from pipeline.core.errors import InputError, SearchError, UsageError
from pipeline.domain.memory import TYPES
from pipeline.hooklib.asleep import ARCHIVED
from pipeline.store.catalogue.sleep import WORDS
from pipeline.web.visit import Visit
from pipeline.web.words import reader

ROWS = 100
"""Memories on one page of the list."""
MOST_FROM = 1_000_000
_FIELDS = (
    ("type", "Type", [(name, name.replace("_", " ")) for name in TYPES]),
    ("for", "For", [(name, SHOWN[name]) for name in ("project", "team", "user")]),
    ("by", "Said by", [(name, reader(name)) for name in browsing.SPOKEN_BY]),
    ("age", "Last written", list(browsing.AGES.items())),
    ("band", "Use", [(name, name) for name in WORDS]),
)
"""The filters: name, label, and the values with what they are called."""
_ORDERS = {"changed": "last written", "said": "last said", "name": "name", "type": "type"}


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
    # While somebody types, and beside a memory, what is shown will do, and whether there is more.
    best = selecting.MOST if by_meaning or wanted.is_filtered else min(selecting.MOST, start + ROWS)
    most = min(selecting.MOST, best + 1)
    trouble = ""
    left_out = Counter[str]()
    try:
        found, total, problems = browsing.browse(
            app, wanted, start=start, limit=ROWS, most=most, by_meaning=by_meaning, left_out=left_out
        )
    except (InputError, SearchError) as error:
        if isinstance(error, UsageError):
            raise
        # What is typed half is no fault: the list says so, and the form stays.
        found, total, problems, trouble = [], 0, [], f"{error}. {error.fix}"
    # Whoever searches where nothing is has no fewer words to try.
    nothing_kept = not found and all(scope.is_fresh for scope in scopes.all_of(app))
    is_narrowed = wanted.is_narrowed and not nothing_kept
    return {
        "rows": found,
        "nothing_kept": nothing_kept,
        "total": total,
        "start": start,
        "size": ROWS,
        "most": most,
        "best": best,
        "problems": problems,
        "archived": 0 if wanted.band else left_out[ARCHIVED],
        "trouble": trouble,
        "wanted": wanted,
        "fields": _FIELDS,
        "orders": _ORDERS,
        "asked": {**kept(visit), "from": ""},
        "current": "",
        "left": 0 if found else len(listing.left(app)),
        "next_step": "" if total or is_narrowed else app.next_step(),
    }


def kept(visit: Visit) -> dict[str, str]:
    """Return what the address says of the list, to go on with."""
    return {name: visit.asked(name) for name in ("q", *(name for name, _, _ in _FIELDS), "sort", "from")}

"""Memories: the list, and each with where it comes from."""

from __future__ import annotations

from starlette.responses import Response

from pipeline.app import listing
from pipeline.web.visit import Visit

_SHOWN = 100


def shelf(visit: Visit) -> Response:
    """Return the list of memories."""
    rows, problems = listing.live(visit.app, None, sort="changed")
    start = visit.number("from", 0, most=1_000_000)
    return visit.page(
        "memories.html",
        "memories",
        "Memories",
        rows=rows[start : start + _SHOWN],
        total=len(rows),
        start=start,
        problems=problems,
    )


PAGES = (("", shelf, ("GET",)),)

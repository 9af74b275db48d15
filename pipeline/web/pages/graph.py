"""Graph: how the memories hang together, as a picture to explore and as a list."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from starlette.responses import JSONResponse, Response

from pipeline.app.relation_map import RelationMap, Spot, Wanted, is_at_hand, mapped
from pipeline.web import drawn
from pipeline.web.visit import Visit

_LISTED = 100
_MOST_GROUP = 1_000_000


def graph(visit: Visit) -> Response:
    """Return the picture with its choices, and the list; first a page that says so where they take long."""
    if not visit.asked("whole") and not is_at_hand(visit.app):
        onward = visit.url("graph", whole=1, **_chosen(visit))
        return visit.page("graph_wait.html", "graph", "Graph", whole=onward)
    whole = mapped(visit.app)
    return visit.page(
        "graph.html",
        "graph",
        "Graph",
        whole=whole,
        colours=drawn.colours(whole.types()),
        most=drawn.MOST_DRAWN,
        **_listed(visit, whole),
    )


def picture(visit: Visit) -> Response:
    """Return what is drawn, as JSON."""
    whole = mapped(visit.app)
    part = whole.part(_wanted(visit), drawn.MOST_DRAWN)

    return JSONResponse(drawn.data(part, whole, partial(_address, visit)))


def listed(visit: Visit) -> Response:
    """Return the list alone, for the script to put in place."""
    return visit.part("graph_list.html", **_listed(visit, mapped(visit.app)))


def _listed(visit: Visit, whole: RelationMap) -> dict[str, Any]:
    wanted = _wanted(visit)
    part = whole.part(wanted)
    start = visit.number("from", 0, most=1_000_000)
    chosen = _chosen(visit)
    return {
        "part": part,
        "wanted": wanted,
        "rows": drawn.rows(part, start, _LISTED),
        "address": partial(_address, visit),
        "start": start,
        "earlier": visit.url("graph", **chosen, **{"from": max(0, start - _LISTED) or ""}) if start else "",
        "later": visit.url("graph", **chosen, **{"from": start + _LISTED})
        if start + _LISTED < len(part.spots)
        else "",
    }


def _wanted(visit: Visit) -> Wanted:
    return Wanted(
        visit.asked("type"),
        visit.asked("band"),
        visit.asked("relation"),
        visit.number("group", 0, most=_MOST_GROUP),
    )


def _chosen(visit: Visit) -> dict[str, Any]:
    wanted = _wanted(visit)
    return {
        "type": wanted.type,
        "band": wanted.band,
        "relation": wanted.relation,
        "group": wanted.group or "",
    }


def _address(visit: Visit, _: int, spot: Spot) -> str:
    return visit.url(f"memory/{quote(spot.name, safe='')}", scope=spot.scope)

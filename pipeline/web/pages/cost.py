"""Cost: what model calls took, by day and by purpose, and how far the caps are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

from starlette.responses import Response

from pipeline.app import days, spending
from pipeline.app.spending import PURPOSES, Cap, Spending, Taken
from pipeline.core.errors import UsageError
from pipeline.web.visit import Visit

SPANS = (7, 30, 90, spending.MOST_DAYS)
"""How many days one may look back on."""
_MONTH = "month"
"""What stands in an address for the days of this month."""
MEASURES = {"dollars": "Dollars", "tokens": "Tokens", "calls": "Calls"}
_HEIGHT = 100
"""Units of a chart from its floor to its top; a page stretches them."""
_STEP, _BAR = 10, 8
_LEAST = 0.6
"""Units of height that anything above nothing has, so that it shows."""


def cost(visit: Visit) -> Response:
    """Return what calls took in the days that were asked for."""
    this_month = visit.asked("days") == _MONTH
    days_of_month = date.fromisoformat(days.today(visit.app)).day
    span = days_of_month if this_month else visit.number("days", 30, most=spending.MOST_DAYS)
    if not span:
        raise UsageError("days is at least 1", fix="Take a link on the page.")
    found = spending.spent(visit.app, span)
    # Without a price, as of a model here, tokens tell more.
    measure = visit.asked("by") or ("dollars" if found.total.dollars else "tokens")
    if measure not in MEASURES:
        raise UsageError(f"nothing is drawn by {measure!r}", fix="Take a link on the page.")
    return visit.page(
        "cost.html",
        "cost",
        "Cost",
        found=found,
        caps=[_meter(cap) for cap in found.caps],
        span=span,
        spans=SPANS,
        this_month=this_month,
        asked_days=_MONTH if this_month else span,
        by=measure,
        measures=MEASURES,
        chart=_chart(found, measure),
        purposes=[_bar(taken, found.purposes) for taken in found.purposes],
        busy=[taken for taken in reversed(found.days) if taken.calls],
        dearest=max(found.days, key=lambda taken: _amount(taken, measure)),
        estimates=found.total.estimated,
        names=PURPOSES,
    )


def _amount(taken: Taken, measure: str) -> float:
    return float(getattr(taken, measure))


def _guess(taken: Taken, measure: str) -> float:
    """Return which part of the amount is an estimate; of tokens, as many as of calls."""
    if measure == "dollars":
        return taken.estimated_dollars
    share = taken.estimated / taken.calls if taken.calls else 0.0
    return _amount(taken, measure) * share


def _meter(cap: Cap) -> dict[str, Any]:
    share = min(1.0, cap.spent / cap.most) if cap.most else 1.0
    return {"cap": cap, "share": share, "width": _width(share)}


def _width(share: float) -> float:
    """Return a share as units of a hundred; anything above nothing shows."""
    return round(max(share * 100, 1.0 if share > 0 else 0.0), 2)


def _chart(found: Spending, measure: str) -> dict[str, Any]:
    """Return the bars of the days, estimates on top of what was counted, and the line of the cap of a day."""
    top = max((_amount(taken, measure) for taken in found.days), default=0.0)
    cap = next((cap.most for cap in found.caps if cap.what == measure and cap.what == "dollars"), 0.0)
    # A cap far above all there is would press the bars flat.
    shown_cap = cap if top and cap <= 4 * top else 0.0
    top = max(top, shown_cap) or 1.0
    bars = []
    for number, taken in enumerate(found.days):
        whole = _amount(taken, measure) / top * _HEIGHT
        whole = max(whole, _LEAST) if _amount(taken, measure) else 0.0
        guess = whole * _guess(taken, measure) / _amount(taken, measure) if whole else 0.0
        bars.append(
            {
                "day": taken,
                "x": number * _STEP + (_STEP - _BAR) / 2,
                "top": round(_HEIGHT - whole, 2),
                "counted": round(whole - guess, 2),
                "guess": round(guess, 2),
            }
        )
    return {
        "bars": bars,
        "width": len(found.days) * _STEP,
        "bar": _BAR,
        "height": _HEIGHT,
        "cap": round(_HEIGHT - shown_cap / top * _HEIGHT, 2) if shown_cap else None,
        "first": _short(found.days[0].name),
        "last": _short(found.days[-1].name),
        "top": top,
    }


def _short(name: str) -> str:
    moment = date.fromisoformat(name)
    return f"{moment.day} {moment:%b}"


def _bar(taken: Taken, all_of_them: Sequence[Taken]) -> dict[str, Any]:
    measure = "dollars" if any(each.dollars for each in all_of_them) else "tokens"
    most = max(_amount(each, measure) for each in all_of_them)
    return {"taken": taken, "width": _width(_amount(taken, measure) / most if most else 0.0)}

"""Sharing: how the memories here stand to a team, and to this person's other machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

from pipeline.app import in_step, machines
from pipeline.app.application import App
from pipeline.app.scopes import SHOWN, scope_of
from pipeline.core.errors import ReverieError
from pipeline.web.visit import Visit

if TYPE_CHECKING:
    from pipeline.sharing.conflicts import Conflict


def sharing(visit: Visit) -> Response:
    """Return what is known here; where that is asked for, also what the database and the remote say now."""
    asks = bool(visit.asked("ask"))
    kept = in_step.kept_here(visit.app)
    return visit.page(
        "sharing.html",
        "shared",
        "Sharing",
        asked=asks,
        team=_team(visit.app, asks) if any(turn.team for _, turn in kept) else None,
        others=[_machines(scope, asks) for scope, turn in kept if not turn.team],
    )


def _team(app: App, asks: bool) -> dict[str, Any]:
    """Return the team: members, how far each machine is, what waits, what it cost, and what is in the way."""
    from pipeline.app import team  # Few are in one.

    try:
        found = team.status(app, ask=asks)
    except ReverieError as error:
        return {"wrong": error}
    return {
        "wrong": None,
        "facts": in_step.facts_of_team(found, app.clock.now()),
        "conflicts": _conflicts(found.conflicts),
        "caps": in_step.facts_of_caps(found.caps or {}),
        "backlogs": in_step.backlogs(found),
        "out": in_step.stays_out(found.held, found.refused, found.odd),
        "members": None
        if found.members is None
        else [
            {
                "person": row["person"],
                "standing": in_step.standing_of(row),
                "lags": in_step.lags(row, found.machines or ()),
            }
            for row in found.members
        ],
        "costs": in_step.costs_of(found),
        "about_costs": in_step.about_costs(found),
    }


def _conflicts(found: Sequence[Conflict]) -> list[dict[str, Any]]:
    """Return where two did otherwise, with what each did and the entry of the inbox that settles it."""
    return [
        {
            "title": in_step.heading_of(item),
            "sides": in_step.sides_of(item),
            "number": item.number,
            "yes": item.answers[0],
            "no": item.answers[1],
        }
        for item in found
    ]


def _machines(scope: App, asks: bool) -> dict[str, Any]:
    """Return how the memories of `scope` stand to the other machines."""
    title = SHOWN[scope_of(scope)]
    try:
        found = machines.status(scope, ask=asks)
    except ReverieError as error:
        return {"of": title, "wrong": error}
    return {
        "of": title,
        "wrong": None,
        "facts": in_step.facts_of_machines(found, scope.clock.now()),
        "conflicts": _conflicts(found["conflicts"]),
        "out": in_step.stays_out(found["held"], found["refused"], found["odd"]),
    }

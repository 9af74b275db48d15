"""What a team's database knows of its people: members, machines, backlogs, and what calls for it cost."""

from __future__ import annotations

from typing import Any

from pipeline.record import values_of
from pipeline.safety.invisible import visible_name
from pipeline.team import batches, dreams, members, queue, schema, spending

FIGURES = ("members", "machines", "costs", "queue", "caps", "flying", "dream")
"""What `figures` returns, by name."""


def figures(connection: Any, team: str, machine: str) -> dict[str, Any]:
    """Return what `app.team.Standing` has of the database; one of its machines is `machine`, this one."""
    schema.check(connection)
    people = [
        {
            "login": visible_name(item.login),
            "person": visible_name(item.person),
            "state": item.state,
            "since": item.since.isoformat(),
        }
        for item in members.members(connection, team)
    ]
    named = {item["login"]: item["person"] for item in people}
    rows = [
        {"person": named.get(item.login, item.login), **values_of(item)}
        for item in queue.progress(connection, team)
    ]
    flying = values_of(batches.flying(connection, team))
    flying["dollars"] = float(flying["dollars"])
    found = (people, _machines(connection, team, machine), _costs(connection, team, named), rows)
    more = (caps_of(connection, team), flying, _dream(connection, team, named))
    return dict(zip(FIGURES, (*found, *more), strict=True))


def caps_of(connection: Any, team: str) -> dict[str, dict[str, float]]:
    """Return by span what is spent of each cap, with what is reserved, and the cap."""
    return {
        span: {"spent": float(so_far), "cap": float(most)}
        for span, (so_far, most) in spending.caps(connection, team).items()
    }


def _dream(connection: Any, team: str, named: dict[str, str]) -> dict[str, Any] | None:
    """Return when the team's memories were last dreamt over and by whom, "" for this login."""
    last = dreams.last(connection, team)
    if last is None:
        return None
    login = visible_name(last.login)
    mine = last.login == members.login(connection)
    return {"at": last.at, "by": "" if mine else named.get(login, login)}


def _machines(connection: Any, team: str, here: str) -> list[dict[str, Any]]:
    latest = members.latest_in(connection, team)
    return [
        {
            "login": visible_name(item.login),
            "machine": visible_name(item.machine),
            "is_here": item.machine == here,
            "behind": max(0, latest - item.pulled_to),
            "waiting": item.waiting,
            "pulled": item.pulled_at.isoformat() if item.pulled_at else "",
        }
        for item in members.machines(connection, team)
    ]


def _costs(connection: Any, team: str, named: dict[str, str]) -> list[dict[str, Any]]:
    """Return what calls cost by member, project and purpose, and of this login's how much is reserved.

    What others have reserved counts in full as well; which part of theirs that is the database tells nobody.
    """
    totals: dict[tuple[str, str, str], list[Any]] = {}
    for cost in spending.costs(connection, team):
        total = totals.setdefault((cost.login, cost.project, cost.purpose), [0, 0])
        total[0] += cost.calls
        total[1] += cost.dollars
    login = members.login(connection)
    aside = {(login, item.project, item.purpose): item for item in spending.reserved(connection, team)}
    found = []
    for key in sorted(totals):
        calls, dollars = totals[key]
        mine, reserve = key[0] == login, aside.get(key)
        who, project, purpose = map(visible_name, key)
        found.append(
            {
                "person": named.get(who, who),
                "project": project,
                "purpose": purpose,
                "calls": calls,
                "dollars": float(dollars),
                "reserved": float(reserve.dollars if reserve else 0) if mine else None,
                "under_way": (reserve.calls if reserve else 0) if mine else None,
            }
        )
    return found

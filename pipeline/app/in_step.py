"""What is kept in step here and with whom, in the words that `sync status`, `team status` and the page share.

Every figure comes from `app.team.status` and `app.machines.status`; here it gets its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from pipeline.app.application import App
from pipeline.app.offered import shared_of
from pipeline.app.scopes import user_scope
from pipeline.core import zone
from pipeline.core.home import Home
from pipeline.sharing.turn import Turn, turn_of
from pipeline.text.humanize import ago, count, money

if TYPE_CHECKING:
    from pipeline.app.team import Standing
    from pipeline.sharing.conflicts import Conflict, Side

_STATES = ("waiting", "doing", "read", "failed")
"""Of what is in a team's queue."""
Facts = list[tuple[str, str]]
"""What is told of something: each with what it is called."""


def kept_here(app: App) -> list[tuple[App, Turn]]:
    """Return what of the memories of `app` is kept in step: the project's, the team's, all projects'.

    It reads a small file of each; nobody is asked.
    """
    if not Home(app.home).sharing.is_dir():
        return []
    kept = [app, shared_of(app), *([user_scope(app)] if app.store_override is None else [])]
    found = [(scope, turn_of(app.home, scope.store_path)) for scope in kept]
    return [(scope, turn) for scope, turn in found if turn is not None]


def facts_of_team(found: Standing, now: datetime) -> Facts:
    """Return how the project stands with its team."""
    return [
        ("team", found.team),
        ("database", found.url),
        ("memories", str(found.memories)),
        ("changed here", count(found.waiting, "memory", "memories")),
        ("in step", _when(found.last, now)),
        *(
            [("dreamt", f"{ago(found.dream['at'], now)}, by {found.dream['by'] or 'you'}")]
            if found.dream
            else []
        ),
        *([("trouble", found.error)] if found.error else []),
        *([("asked", _asked(found.asked))] if found.asked else []),
        *([("in batches", _flying(found.flying))] if found.flying and found.flying["requests"] else []),
    ]


def _flying(under_way: Mapping[str, Any]) -> str:
    requests, sent = count(under_way["requests"], "request"), count(under_way["batches"], "batch", "batches")
    return f"{requests} in {sent}, {money(under_way['dollars'])} at most"


def backlogs(found: Standing) -> Facts:
    """Return for each member with a backlog how far the team's workers are with it."""
    return [(row["person"], _backlog(row)) for row in _queued(found)]


def queues(found: Standing) -> list[dict[str, Any]]:
    """Return for each member with a backlog how many sessions wait, are being read, are read, and failed."""
    return [{"person": row["person"], "numbers": [row[word] for word in _STATES]} for row in _queued(found)]


def _queued(found: Standing) -> list[dict[str, Any]]:
    return [row for row in found.queue or () if any(row[word] for word in _STATES)]


def _backlog(row: Mapping[str, Any]) -> str:
    text = f"{row['waiting']:,} wait, {row['doing']:,} being read, {row['read']:,} read"
    return f"{text}, {row['failed']:,} failed" if row["failed"] else text


def facts_of_caps(caps: Mapping[str, Mapping[str, float]]) -> Facts:
    """Return what the team's workers have spent together of each cap."""
    return [
        (f"cap a {span}", f"{money(row['spent'])} of {money(row['cap'])}, with what is reserved")
        for span, row in caps.items()
    ]


COSTS = ("member", "project", "for", "calls", "cost")
"""The columns of `costs_of`."""


def costs_of(found: Standing) -> list[tuple[str, ...]]:
    """Return what calls of a model for the team cost, a row for each member, project and purpose."""
    from pipeline.app.spending import PURPOSES  # Deferred: few are in a team.

    return [
        (
            row["person"],
            row["project"],
            PURPOSES.get(row["purpose"], row["purpose"]),
            f"{row['calls']:,}",
            money(row["dollars"]) + (f", {money(row['reserved'])} reserved" if row["reserved"] else ""),
        )
        for row in found.costs or ()
    ]


def about_costs(found: Standing) -> str:
    """Return what the costs hold that is not spent yet, "" where nobody spent anything."""
    if not found.costs:
        return ""
    mine = [row for row in found.costs if row["under_way"]]
    calls, aside = sum(row["under_way"] for row in mine), sum(row["reserved"] for row in mine)
    yours = f"{count(calls, 'call')}, for {money(aside)}" if calls else "none"
    return (
        f"A call under way counts at the most that it may cost. Of yours there {'are' if calls > 1 else 'is'}"
        f" {yours}; of others' calls only they can tell."
    )


def facts_of_machines(found: Mapping[str, Any], now: datetime) -> Facts:
    """Return how memories stand to this person's other machines, as `machines.status` found it."""
    behind = "unknown" if found["behind"] is None else count(found["behind"], "commit")
    facts = [
        ("remote", found["remote"]),
        ("last sync", _when(found["last"], now)),
        ("waits here", count(found["waiting"], "memory", "memories")),
        ("waits there", behind),
        ("shared", count(found["memories"], "memory", "memories")),
        *([("trouble", found["error"].removeprefix(f"{found['remote']}: "))] if found["error"] else []),
    ]
    if found["clock_ahead_hours"]:
        hours = count(found["clock_ahead_hours"], "hour")
        facts.append(("clocks", f"a machine's clock is {hours} ahead of this one"))
    return [*facts, *([("asked", _asked(found["asked"]))] if found["asked"] else [])]


def standing_of(member: Mapping[str, Any]) -> str:
    """Return what a member is, and since when."""
    words = {"left": "left on", "invited": "invited on", "active": "member since"}
    return f"{words[member['state']]} {zone.day(member['since'])}"


def lags(member: Mapping[str, Any], machines: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how far each machine of `member` has read, and what waits there to go out."""
    if member["state"] != "active":
        return []
    return [_lag(item) for item in machines if item["login"] == member["login"]]


def _lag(machine: Mapping[str, Any]) -> str:
    behind, waiting = machine["behind"], machine["waiting"]
    read = f"has {count(behind, 'change')} still to read" if behind else "has read all"
    text = f"{'this machine' if machine['is_here'] else 'machine ' + machine['machine']} {read}"
    return f"{text}, {waiting} to be sent" if waiting else text


def stays_out(
    held: Sequence[Mapping[str, str]], refused: Sequence[Mapping[str, str]], odd: Sequence[str]
) -> list[str]:
    """Return what does not go out or come in, a line each with why."""
    return [
        *(f"does not go out: {row['name']}: {row['why']}" for row in held),
        *(f"does not come in: {row['name']}: {row['why']}" for row in refused),
        *(f"not taken: {text}" for text in odd),
    ]


def heading_of(found: Conflict) -> str:
    """Return which memory a conflict is about, and since when it stands."""
    return f"{found.name}, since {zone.minute(found.since, 'an unknown time')}"


def sides_of(found: Conflict) -> list[str]:
    """Return what each of the two did, with their words."""
    return [_side(item) for item in found.sides]


def _side(found: Side) -> str:
    words = f": “{found.words}”" if found.words else ""
    return f"{found.by or 'somebody'} {found.did}, {zone.minute(found.at, 'nobody knows when')}{words}"


def _when(seconds: float, now: datetime) -> str:
    return ago(seconds, now) if seconds else "never"


def _asked(number: int) -> str:
    return f"{count(number, 'question')}: `reverie inbox`"

"""``reverie list``: the memories there are, or those that left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pipeline.app import listing
from pipeline.app.application import App
from pipeline.app.listing import Left, Listed
from pipeline.app.scopes import SHOWN
from pipeline.cli import listings, output
from pipeline.cli.listings import AllOption, LimitOption
from pipeline.cli.options import TYPE_NAMES, GraphOption, JsonOption, StoreOption, TeamOption, UserOption
from pipeline.cli.tables import table, titled
from pipeline.core.zone import day
from pipeline.domain.memory import MAX_DESCRIPTION
from pipeline.hooklib.plain import one_line

_LEAST_WIDE = 60
"""Columns beside the longest name that type and description need to be read in a table."""


def list_memories(
    kind: Annotated[
        str | None, typer.Option("--type", metavar="T", help=f"Only this type: {TYPE_NAMES}.")
    ] = None,
    since: Annotated[
        str, typer.Option("--since", metavar="WHEN", help="Changed since 2026-11-20, yesterday, 7d or 2w.")
    ] = "",
    sort: Annotated[
        str, typer.Option("--sort", metavar="S", help="type, name, said or changed (newest first).")
    ] = "type",
    retired: Annotated[
        bool, typer.Option("--retired", "--archived", help="Those that left instead, with when and why.")
    ] = False,
    limit: LimitOption = None,
    everything: AllOption = False,
    user: UserOption = False,
    team: TeamOption = False,
    graph: GraphOption = None,
    store: StoreOption = None,
    as_json: JsonOption = False,
) -> None:
    """List memories: here, the team's, and for all projects."""
    shown = listings.most(limit, everything=everything, as_json=as_json)
    app = App(store=store, graph=graph, user=user, team=team)
    if retired:
        gone = listing.left(app, since=since)
        rows = listings.first(gone, shown)
        output.data(rows, lambda: _tell_left(rows), as_json=as_json)
        listings.tell_rest(len(gone), shown)
        return
    every, problems = listing.live(app, kind, since=since, sort=sort)
    found = listings.first(every, shown)
    output.data(found, lambda: _tell_list(found, kind, since), as_json=as_json)
    listings.tell_rest(len(every), shown)
    if any(row.pinned for row in found) and not as_json:
        output.talk("* is pinned: no dream changes it (`reverie unpin NAME`).")
    if not found and kind is None and not since and not as_json:
        output.talk(_OF_A_TEAM if app.is_team else app.next_step() + app.known_stores())
    for line in problems:
        output.talk(line)


_OF_A_TEAM = (
    "What others share comes in here: `reverie share NAME` gives the team one of yours, `reverie team status`"
    " tells how the team stands."
)


def _tell_list(rows: Sequence[Listed], kind: str | None, since: str) -> None:
    """Print one line a memory where it fits whole, else its description below it; ``*`` marks pinned ones."""
    columns = output.width()
    names = max((len(row.name) for row in rows), default=0)
    wide = any(row.scope != "project" for row in rows)
    if columns is not None and columns < names + _LEAST_WIDE + 12 * wide:
        for row in rows:
            more = [row.type, _said_on(row), *([SHOWN[row.scope]] if row.scope != "project" else [])]
            titled("* " if row.pinned else "  ", row.name, more)
            output.hanging("      ", _described(row))
        return
    shown = [
        ["*" if row.pinned else "", row.name, row.type, _said_on(row), _described(row), SHOWN[row.scope]]
        for row in rows
    ]
    heads = ["", "name", "type", "said", "description", *(["for"] if wide else [])]
    of_type = f" of type {kind}" if kind else ""
    table(
        heads,
        [row[: len(heads)] for row in shown],
        empty=f"no memories{of_type} changed since then" if since else f"no memories{of_type or ' yet'}",
    )


def _described(row: Listed) -> str:
    """Return what tells of a memory on one line: a file of others' may hold pages there."""
    return one_line(row.description, MAX_DESCRIPTION)


def _said_on(row: Listed) -> str:
    return day(row.said or row.created, "unknown")


def _tell_left(rows: Sequence[Left]) -> None:
    table(
        ["name", "left", "why", "text"],
        [[row.name, day(row.at, "unknown"), row.reason, row.path] for row in rows],
        empty="no memory was retired or forgotten yet",
    )

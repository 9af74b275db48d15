"""What a team's members and machines spend together: caps that hold for all, replies that are paid for once.

A call is reserved at what it may cost at most, then settled at what it cost, together with its reply. One
that is never settled goes on counting in full: who reserved it died, and nobody knows whether it was paid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pipeline.record import record, values_of
from pipeline.team.outages import IN_FORCE

if TYPE_CHECKING:
    from datetime import date

    import psycopg

PROJECT_CHARS = 200
"""As much of a project's name as the books have."""
_RESERVE = "reserve(%(team)s, %(id)s, %(machine)s, %(project)s, %(purpose)s, %(work)s, %(most)s)"


@record
class Call:
    """A call to be made: `id` a UUID of its own, `work` what it is for, by which its reply is found again."""

    id: str
    machine: str
    project: str
    purpose: str
    work: str


@record
class Begun:
    """What is known of a call that is to be made, by which `is_reserved`, or else it is not made.

    `is_ours` tells whether the leases that it is made under are held. `reply` was paid for before, by any
    worker of whoever asks. Nobody asks the provider for `wait` seconds, as `why` says.
    """

    is_ours: bool
    reply: str | None
    wait: float
    why: str
    is_reserved: bool


@record
class Cost:
    """What a member's calls of a day cost, by project and purpose, what is reserved among them in full."""

    login: str
    project: str
    purpose: str
    day: date
    calls: int
    dollars: Decimal
    read_tokens: int
    written_tokens: int


@record
class Reserve:
    """What is set aside for calls of one login that are not settled: how many, for how much at most."""

    project: str
    purpose: str
    calls: int
    dollars: Decimal


def set_cap(connection: psycopg.Connection[Any], team: str, span: str, dollars: Decimal | None) -> None:
    """Let `team` spend at most `dollars` a `span`, "day" or "month" in UTC; None takes the cap away."""
    connection.execute("SELECT set_cap(%s, %s, %s)", [team, span, dollars])


def spent(connection: psycopg.Connection[Any], team: str, span: str) -> Decimal:
    """Return what `team` has spent since `span` began, with what is reserved, in dollars."""
    return Decimal(_answer(connection, "SELECT spent(%s, %s)", [team, span]))


def caps(connection: psycopg.Connection[Any], team: str) -> dict[str, tuple[Decimal, Decimal]]:
    """Return for each span that has a cap what is spent of it, with what is reserved, and the cap."""
    rows = connection.execute(
        "SELECT span, spent(team, span), dollars FROM cap WHERE team = %s ORDER BY span", [team]
    )
    return {span: (so_far, most) for span, so_far, most in rows}


def begin(
    connection: psycopg.Connection[Any],
    team: str,
    call: Call,
    most: Decimal,
    *,
    provider: str,
    holding: Sequence[str],
) -> Begun:
    """Set `most` dollars aside for `call`, unless something stands against it; return what.

    What counts for the caps is looked at by the function of the database, behind its lock, and not by the
    query around it, which sees what was there when it began.
    """
    row = connection.execute(
        "SELECT held.is_ours, known.reply, coalesce(extract(epoch FROM down.until - clock_timestamp()), 0),"
        " coalesce(down.reason, ''), coalesce(CASE WHEN held.is_ours AND known.reply IS NULL"
        f" AND down.until IS NULL THEN {_RESERVE} END, false)"
        " FROM (SELECT count(*) = cardinality(%(holding)s::uuid[]) AS is_ours FROM lease"
        " WHERE team = %(team)s AND login = session_user AND token = ANY(%(holding)s::uuid[])"
        " AND until > clock_timestamp()) AS held"
        " LEFT JOIN (SELECT reply FROM call WHERE team = %(team)s AND login = session_user"
        " AND work = %(work)s AND reply IS NOT NULL) AS known ON true"
        f" LEFT JOIN ({IN_FORCE}) AS down ON true",
        {**_given(team, call, most), "provider": provider, "holding": list(holding)},
    ).fetchone()
    assert row is not None
    is_ours, reply, wait, why, is_reserved = row
    return Begun(is_ours, reply, float(wait), why, is_reserved)


def reserve(connection: psycopg.Connection[Any], team: str, call: Call, most: Decimal) -> bool:
    """Set `most` dollars aside for `call`; False where a cap of the team's would be passed."""
    return bool(_answer(connection, f"SELECT {_RESERVE}", _given(team, call, most)))


def settle(
    connection: psycopg.Connection[Any],
    team: str,
    call: Call,
    reply: str | None,
    *,
    dollars: Decimal,
    read_tokens: int,
    written_tokens: int,
) -> None:
    """Keep what `call` cost, with its `reply` if that is of use.

    The first reply to a piece of work stays, if two were paid for.
    """
    given = [team, call.id, dollars, read_tokens, written_tokens, reply]
    connection.execute("SELECT settle(%s, %s, %s, %s, %s, %s)", given)


def release(connection: psycopg.Connection[Any], team: str, call: Call) -> None:
    """Take the reservation of `call` back: it was not made."""
    connection.execute("SELECT release(%s, %s)", [team, call.id])


def costs(connection: psycopg.Connection[Any], team: str) -> tuple[Cost, ...]:
    """Return what each member's calls cost, by day, project and purpose."""
    return tuple(
        Cost(login, project, purpose, day, calls, dollars, int(read), int(written))
        for login, project, purpose, day, calls, dollars, read, written in connection.execute(
            "SELECT * FROM costs(%s)", [team]
        )
    )


def reserved(connection: psycopg.Connection[Any], team: str) -> tuple[Reserve, ...]:
    """Return what is reserved and not settled of whoever asks, by project and purpose."""
    rows = connection.execute(
        "SELECT project, purpose, count(*), sum(reserved) FROM call"
        " WHERE team = %s AND login = session_user AND state = 'reserved' GROUP BY 1, 2",
        [team],
    )
    return tuple(Reserve(*row) for row in rows)


def _given(team: str, call: Call, most: Decimal) -> dict[str, Any]:
    """Return the values of _RESERVE."""
    return {**values_of(call), "project": call.project[:PROJECT_CHARS], "team": team, "most": most}


def _answer(connection: psycopg.Connection[Any], sql: str, given: Sequence[Any] | Mapping[str, Any]) -> Any:
    row = connection.execute(sql, given).fetchone()
    assert row is not None
    return row[0]

"""Batches in a team's database: what was asked together, by which of a login's machines, and what came of it.

Its lines stay when a machine is gone, so that another one goes on with what is under way.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import orjson

from pipeline.record import record
from pipeline.team.leases import LEASE_SECONDS

if TYPE_CHECKING:
    import psycopg

TAKEN, ASKED, FULL = "taken", "asked", "full"


@record
class Request:
    """A request to be put into a batch, with its `number` there.

    `work` tells the question by the words it is about, `digest` the very request; `most` is what it may cost
    in dollars.
    """

    number: int
    custom_id: str
    work: str
    digest: str
    project: str
    purpose: str
    most: Decimal


@record
class Found:
    """A request that is open or was answered: its `reply`, or the batch that it is in, `age` seconds old."""

    work: str
    digest: str
    reply: str | None
    custom_id: str
    batch_id: str
    provider: str
    login: str
    provider_id: str
    requests: int
    age: float


@record
class Flying:
    """What a login has under way: how many batches, requests in them, and for how many dollars at most."""

    batches: int
    requests: int
    dollars: Decimal


def write(
    connection: psycopg.Connection[Any],
    team: str,
    batch_id: str,
    machine: str,
    wanted: Sequence[Request],
    *,
    provider: str,
    login: str,
    holding: Sequence[str],
) -> dict[int, str]:
    """Write down a batch before it is sent; return of each request by its number TAKEN, ASKED or FULL.

    Nothing is returned, and nothing written, where a lease by a token of `holding` is another's by now.
    """
    text = orjson.dumps([{**_values(item), "most": str(item.most)} for item in wanted]).decode()
    rows = connection.execute(
        "SELECT number, answer FROM write_batch(%s, %s, %s, %s, %s, %s::uuid[], %s::jsonb)",
        [team, batch_id, machine, provider, login, list(holding), text],
    )
    return {int(number): str(answer) for number, answer in rows}


def _values(item: Request) -> dict[str, Any]:
    names = ("number", "custom_id", "work", "digest", "project", "purpose")
    return {name: getattr(item, name) for name in names}


def find(
    connection: psycopg.Connection[Any], team: str, works: Sequence[str], digests: Sequence[str]
) -> tuple[Found, ...]:
    """Return what is known of requests by their `works` and `digests`, answered ones first."""
    rows = connection.execute(
        "SELECT item.work, call.work, coalesce(call.reply, (SELECT twin.reply FROM call AS twin"
        " WHERE twin.team = call.team AND twin.login = call.login AND twin.work = call.work"
        " AND twin.reply IS NOT NULL)), item.custom_id, batch.id, batch.provider,"
        " batch.provider_login, batch.provider_id, (SELECT count(*) FROM batch_item AS each"
        " WHERE each.team = item.team AND each.batch = item.batch),"
        " extract(epoch FROM clock_timestamp() - batch.written_at)::float8"
        " FROM batch_item AS item JOIN batch ON batch.team = item.team AND batch.id = item.batch"
        " JOIN call ON call.team = item.team AND call.id = item.call"
        " WHERE item.team = %(team)s AND item.login = session_user AND item.is_open"
        " AND item.work = ANY(%(works)s)"
        " UNION ALL SELECT '', call.work, call.reply, '', '', '', '', '', 0, 0.0 FROM call"
        " WHERE call.team = %(team)s AND call.login = session_user AND call.work = ANY(%(digests)s)"
        " AND call.reply IS NOT NULL",
        {"team": team, "works": list(works), "digests": list(digests)},
    ).fetchall()
    found = [Found(*row) for row in rows]
    return tuple(sorted(found, key=lambda row: row.reply is None))


def still_ours(
    connection: psycopg.Connection[Any],
    team: str,
    batch_id: str,
    those: Sequence[str],
    holding: Sequence[str],
) -> bool:
    """Whether the leases of `holding` are held, which keeps them, and all of `those` stand in the batch."""
    row = connection.execute(
        "SELECT (SELECT bool_and(keep_lease(%(team)s, token, %(seconds)s)) FROM unnest(%(holding)s::uuid[])"
        " AS token), (SELECT count(*) FROM batch_item WHERE team = %(team)s AND batch = %(batch)s"
        " AND login = session_user AND is_open AND custom_id = ANY(%(those)s))",
        {
            "team": team,
            "batch": batch_id,
            "those": list(those),
            "holding": list(holding),
            "seconds": LEASE_SECONDS,
        },
    ).fetchone()
    return row is not None and row[0] is not False and row[1] == len(those)


def note_sent(connection: psycopg.Connection[Any], team: str, batch_id: str, provider_id: str) -> None:
    """Note under which id the provider has a batch."""
    connection.execute("SELECT note_batch_sent(%s, %s, %s)", [team, batch_id, provider_id])


def drop(connection: psycopg.Connection[Any], team: str, batch_id: str, those: Sequence[str] | None) -> None:
    """Take a batch that the provider never got away, or `those` requests of it; they cost nothing."""
    given = None if those is None else list(those)
    connection.execute("SELECT drop_batch(%s, %s, %s::text[])", [team, batch_id, given])


def settle(
    connection: psycopg.Connection[Any],
    team: str,
    custom_id: str,
    reply: str | None,
    *,
    dollars: Decimal | None,
    read_tokens: int,
    written_tokens: int,
) -> None:
    """Keep what came of a request: its `reply` if that is of use, and its cost, None where nobody knows."""
    given = [team, custom_id, dollars, read_tokens, written_tokens, reply]
    connection.execute("SELECT settle_item(%s, %s, %s, %s, %s, %s)", given)


def flying(connection: psycopg.Connection[Any], team: str) -> Flying:
    """Return what whoever asks has under way."""
    row = connection.execute(
        "SELECT count(DISTINCT item.batch), count(*), coalesce(sum(call.reserved), 0)"
        " FROM batch_item AS item JOIN call ON call.team = item.team AND call.id = item.call"
        " WHERE item.team = %s AND item.login = session_user AND item.is_open AND call.state = 'reserved'",
        [team],
    ).fetchone()
    return Flying(*row) if row else Flying(0, 0, Decimal(0))

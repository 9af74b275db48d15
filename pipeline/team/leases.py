"""Leases: what one hand alone may do at a time among all machines of a team, by the server's clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.record import record

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg

LEASE_SECONDS = 300.0
"""So long after the last sign of life of a machine others take over what it was at."""


@record
class Lease:
    """Who holds `name`, on which machine, and until when unless it is kept."""

    name: str
    login: str
    machine: str
    until: datetime


def take(
    connection: psycopg.Connection[Any], team: str, name: str, machine: str, *, seconds: float
) -> str | None:
    """Return a token for the lease `name`, or None where somebody else holds it."""
    row = connection.execute("SELECT take_lease(%s, %s, %s, %s)", [team, name, machine, seconds]).fetchone()
    return str(row[0]) if row and row[0] else None


def keep(connection: psycopg.Connection[Any], team: str, token: str, *, seconds: float) -> bool:
    """Hold the lease of `token` for `seconds` more; False where it is another's: its holder must stop."""
    row = connection.execute("SELECT keep_lease(%s, %s, %s)", [team, token, seconds]).fetchone()
    return bool(row and row[0])


def give_back(connection: psycopg.Connection[Any], team: str, token: str) -> None:
    """End the lease of `token`; one that is another's by now is left alone."""
    connection.execute("SELECT give_back(%s, %s)", [team, token])


def held(connection: psycopg.Connection[Any], team: str) -> tuple[Lease, ...]:
    """Return the leases of `team` that have not run out, by name."""
    rows = connection.execute(
        "SELECT name, login, machine, until FROM lease "
        "WHERE team = %s AND until > clock_timestamp() ORDER BY name",
        [team],
    )
    return tuple(Lease(*row) for row in rows)

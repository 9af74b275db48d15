"""When a team's memories were dreamt over, so that one machine does it and the others don't do it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.record import record

if TYPE_CHECKING:
    import psycopg

LEASE = "dream"
"""The name of the lease that whoever dreams over a team's memories holds."""


@record
class Since:
    """What came since the last dream: `hours` that went by, None before the first, and `revisions`.

    `latest` is the number of the newest revision.
    """

    hours: float | None
    revisions: int
    latest: int


SINCE = (
    "extract(epoch FROM clock_timestamp() - dream.at)::float8 / 3600,"
    " team.latest - coalesce(dream.latest, 0), team.latest"
)
"""In SQL: the values of `Since`, of a team beside its dream."""


@record
class Last:
    """The last dream over a team's memories: whose machine it was, and when (epoch seconds)."""

    login: str
    at: float


def last(connection: psycopg.Connection[Any], team: str) -> Last | None:
    """Return the last dream over the memories of `team`, None before the first."""
    row = connection.execute(
        "SELECT login, extract(epoch FROM at)::float8 FROM dream WHERE team = %s", [team]
    ).fetchone()
    return Last(*row) if row else None


def since_last(connection: psycopg.Connection[Any], team: str) -> Since:
    """Return what came since the last dream over the memories of `team`."""
    row = connection.execute(
        f"SELECT {SINCE} FROM team LEFT JOIN dream ON dream.team = team.id WHERE team.id = %s", [team]
    ).fetchone()
    return Since(None, 0, 0) if row is None else Since(*row)


def note(connection: psycopg.Connection[Any], team: str, token: str, machine: str, latest: int) -> bool:
    """Note a dream up to the revision `latest`; False where the lease of `token` is another's by now."""
    row = connection.execute("SELECT note_dream(%s, %s, %s, %s)", [team, token, machine, latest]).fetchone()
    return bool(row and row[0])

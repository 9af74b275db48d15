"""Which providers are down, as one machine found out: all of the same login wait, and ask nothing in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psycopg

IN_FORCE = (
    "SELECT until, reason FROM outage WHERE team = %(team)s AND login = session_user"
    " AND provider = %(provider)s AND until > clock_timestamp()"
)
"""In SQL: the outage for which whoever asks waits now."""


def note(connection: psycopg.Connection[Any], team: str, provider: str, why: str, *, seconds: float) -> None:
    """Let no machine of this login ask `provider` for `seconds`, if that is longer than it was to wait."""
    connection.execute("SELECT note_outage(%s, %s, %s, %s)", [team, provider, why, seconds])


def end(connection: psycopg.Connection[Any], team: str, provider: str) -> None:
    """Note that `provider` answers."""
    connection.execute("SELECT end_outage(%s, %s)", [team, provider])


def known(connection: psycopg.Connection[Any], team: str, provider: str) -> tuple[float, str]:
    """Return for how many seconds nobody asks `provider`, and why: 0 and "" where it may be asked."""
    row = connection.execute(
        f"SELECT extract(epoch FROM until - clock_timestamp()), reason FROM ({IN_FORCE}) AS down",
        {"team": team, "provider": provider},
    ).fetchone()
    return (float(row[0]), str(row[1])) if row else (0.0, "")

"""Who is in a team: founding, inviting, joining, leaving. The database decides who may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.core.errors import TeamError
from pipeline.record import record

if TYPE_CHECKING:
    from datetime import datetime

    import psycopg


@record
class Team:
    """A team as a member sees it: `state` "invited" or "active", `latest` its newest revision's number."""

    id: str
    name: str
    state: str
    latest: int


@record
class Member:
    """One of a team: the `login` at the database, the `person` as they are shown, `state`, since when."""

    login: str
    person: str
    state: str
    may_invite: bool
    since: datetime


@record
class Machine:
    """One machine of a member's: up to which revision it has read, and how many wait there to go out."""

    login: str
    machine: str
    pulled_at: datetime | None
    pulled_to: int
    pushed_at: datetime | None
    waiting: int


def found_team(connection: psycopg.Connection[Any], name: str, person: str) -> str:
    """Make a team with whoever asks as its first member; return its id.

    Who founded it and left comes in again, where nobody else may invite.
    """
    row = connection.execute("SELECT found_team(%s, %s)", [name, person]).fetchone()
    assert row is not None
    return str(row[0])


def teams(connection: psycopg.Connection[Any]) -> tuple[Team, ...]:
    """Return the teams that whoever asks is in or invited to, by name."""
    rows = connection.execute(
        "SELECT t.id, t.name, m.state, t.latest FROM team t JOIN member m ON m.team = t.id "
        "WHERE m.login = session_user AND m.state <> 'left' ORDER BY t.name"
    )
    return tuple(Team(str(identity), *rest) for identity, *rest in rows)


def team_called(connection: psycopg.Connection[Any], name: str) -> Team:
    """Return the team `name` that whoever asks is in or invited to; TeamError where there is none."""
    known = teams(connection)
    for team in known:
        if team.name == name:
            return team
    row = connection.execute("SELECT state_in(%s)", [name]).fetchone()
    if row is not None and row[0]:
        raise TeamError(
            f"you left the team {name}",
            fix="Ask a member who may invite. Who founded it runs `reverie team init` again, if nobody may.",
        )
    others = ", ".join(team.name for team in known) or "none"
    raise TeamError(f"you are in no team {name} there", fix=f"You are in or invited to: {others}.")


def invite(connection: psycopg.Connection[Any], team: str, login: str, person: str) -> None:
    """Let `login` join `team`, shown as `person`."""
    connection.execute("SELECT invite(%s, %s, %s)", [team, login, person])


def login(connection: psycopg.Connection[Any]) -> str:
    """Return the login that whoever asks has at the database."""
    row = connection.execute("SELECT session_user").fetchone()
    assert row is not None
    return str(row[0])


def may_log_in(connection: psycopg.Connection[Any], login: str) -> bool:
    """Return whether the server has that `login` by now."""
    sql = "SELECT FROM pg_roles WHERE rolname = %s AND rolcanlogin"
    return connection.execute(sql, [login]).fetchone() is not None


def join(connection: psycopg.Connection[Any], team: str) -> None:
    """Become an active member of `team`; a second time changes nothing."""
    connection.execute("SELECT join_team(%s)", [team])


def leave(connection: psycopg.Connection[Any], team: str) -> None:
    """Leave `team`: no more is read or written there. What was shared stays with the others."""
    connection.execute("SELECT leave_team(%s)", [team])


def members(connection: psycopg.Connection[Any], team: str) -> tuple[Member, ...]:
    """Return who is or was in `team`, by login."""
    rows = connection.execute(
        "SELECT login, person, state, may_invite, since FROM member WHERE team = %s ORDER BY login", [team]
    )
    return tuple(Member(*row) for row in rows)


def person_of(connection: psycopg.Connection[Any], team: str) -> str:
    """Return as whom `team` shows whoever asks. Raises TeamError where they are not in it."""
    row = connection.execute(
        "SELECT person FROM member WHERE team = %s AND login = session_user", [team]
    ).fetchone()
    if row is None:
        raise TeamError("you are not in this team", fix="Ask who founded it to invite you.")
    return str(row[0])


def machines(connection: psycopg.Connection[Any], team: str) -> tuple[Machine, ...]:
    """Return the machines that read or wrote for `team`."""
    rows = connection.execute(
        "SELECT login, machine, pulled_at, pulled_to, pushed_at, waiting FROM machine WHERE team = %s "
        "ORDER BY login, machine",
        [team],
    )
    return tuple(Machine(*row) for row in rows)

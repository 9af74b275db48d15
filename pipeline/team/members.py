"""Who is in a team: founding, inviting, joining, leaving. The database decides who may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.core.errors import InputError, TeamError
from pipeline.record import record
from pipeline.safety.invisible import visible_line, visible_name

_LONGEST_PERSON = 80
_NOBODY = frozenset(
    ("you", "me", "yourself", "nobody", "somebody", "everybody", "the team", "claude", "reverie")
)
"""Words that lines about a team's memories have for others than its people."""

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


def is_a_name(person: str) -> bool:
    """Whether a person of a team may be called `person`, which stands in lines that others read."""
    words = person.casefold().split()
    return (
        bool(words)
        and len(person) <= _LONGEST_PERSON
        and visible_line(person) == person == visible_name(person)
        and person.casefold() not in _NOBODY
        and "and" not in words[1:-1]
    )


def _require_a_name(person: str) -> None:
    if not is_a_name(person):
        raise InputError(
            f"nobody can be called {visible_name(person)!r} in a team",
            fix=f"Name one person, on one line, in {_LONGEST_PERSON} characters at most, and not as 'you'.",
        )


def found_team(connection: psycopg.Connection[Any], name: str, person: str) -> str:
    """Make a team with whoever asks as its first member; return its id.

    Who founded it and left comes in again, where nobody else may invite. Raises InputError for what
    `is_a_name` refuses.
    """
    _require_a_name(person)
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


def latest_in(connection: psycopg.Connection[Any], team: str) -> int:
    """Return the number of the newest revision of `team`, 0 for none."""
    return next((item.latest for item in teams(connection) if item.id == team), 0)


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
    """Let `login` join `team`, shown as `person`. Raises InputError for what `is_a_name` refuses."""
    _require_a_name(person)
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


def names(connection: psycopg.Connection[Any], team: str) -> dict[str, list[str]]:
    """Return what each login of `team` is called or ever was, the present name first."""
    rows = connection.execute(
        "SELECT m.login, n.person FROM member m JOIN person_name n USING (team, login) WHERE m.team = %s "
        "ORDER BY m.login, n.person = m.person DESC, n.since DESC",
        [team],
    )
    found: dict[str, list[str]] = {}
    for login, person in rows:
        found.setdefault(login, []).append(person)
    return found


def require_membership(connection: psycopg.Connection[Any], team: str) -> str:
    """Return the login of whoever asks. Raises TeamError where they are no active member of `team`."""
    row = connection.execute(
        "SELECT session_user, (SELECT state FROM member WHERE team = %s AND login = session_user)", [team]
    ).fetchone()
    assert row is not None
    if row[1] == "active":
        return str(row[0])
    if row[1] == "invited":
        raise TeamError(
            "you left this team, and are invited to it again",
            fix="`reverie team join` takes the invitation; `reverie team leave` ends it on this machine.",
        )
    raise TeamError(
        "you are not in this team any more: your membership is over",
        fix="`reverie team leave` ends it on this machine; who may invite can let you in again.",
    )


def machines(connection: psycopg.Connection[Any], team: str) -> tuple[Machine, ...]:
    """Return the machines that read or wrote for `team`."""
    rows = connection.execute(
        "SELECT login, machine, pulled_at, pulled_to, pushed_at, waiting FROM machine WHERE team = %s "
        "ORDER BY login, machine",
        [team],
    )
    return tuple(Machine(*row) for row in rows)

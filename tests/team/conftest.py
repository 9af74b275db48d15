"""A real PostgreSQL for the tests of teams, with one schema that each test founds its own team in."""

import hashlib
import itertools
import json

import pytest

from pipeline.app import team
from pipeline.team import connecting, members, revisions, schema
from tests.support.postgres import programs, running
from tests.support.teammates import Person

_NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def server():
    if programs() is None:
        pytest.skip("no PostgreSQL here: `make test-postgres` needs Debian's package postgresql")
    with running() as found:
        for login in ("ann", "bob", "eve"):
            found.sql(f"CREATE ROLE {login} LOGIN")
        connecting.within(connecting.parse(found.url()), schema.set_up)
        found.sql("GRANT EXECUTE ON FUNCTION reverie_team.found_team(text, text) TO ann")
        yield found


class Desk:
    """What a test does as one login or another."""

    def __init__(self, server):
        self.server = server
        self.name = f"team-{next(_NUMBERS)}"
        self.team = self.as_("ann", members.found_team, self.name, "Ann")

    def as_(self, login, work, *values, **named):
        """Run `work` in a transaction of `login`'s, and return what it returns."""
        address = connecting.parse(self.server.url(login))
        return connecting.within(address, lambda connection: work(connection, *values, **named))

    def enter(self, *logins):
        for login in logins:
            self.as_("ann", members.invite, self.team, login, login.title())
            self.as_(login, members.join, self.team)

    def push(self, login, *outgoing):
        return self.as_(login, revisions.push, self.team, f"{login}-laptop", outgoing)

    def read(self, login, number=0):
        return self.as_(login, revisions.after, self.team, number)


@pytest.fixture
def work(server):
    return Desk(server)


@pytest.fixture
def pair(work, tmp_path, monkeypatch):
    ann, bob = (Person(tmp_path / login, monkeypatch, work.server.url(login)) for login in ("ann", "bob"))
    assert team.join(ann.app, work.name, ann.url).person == "Ann"
    assert team.invite(ann.app, "bob", "Bob") == team.Invited(work.name, may_log_in=True)
    assert team.join(bob.app, work.name, bob.url).first.error == ""
    return ann, bob


def revision(text, *parents, memory="m-1"):
    """A revision that says `text` after `parents`."""
    digest = hashlib.sha256(json.dumps([memory, text, [one.digest for one in parents]]).encode()).hexdigest()[
        :40
    ]
    return revisions.Outgoing(digest, memory, tuple(one.digest for one in parents), text)

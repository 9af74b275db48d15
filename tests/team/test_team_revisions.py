"""Revisions of a team: added once, read in order, whoever writes at the same time and whatever is cut."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.core.errors import TeamError, UnreachableTeamError
from pipeline.team import connecting, members, revisions, schema
from tests.team.conftest import revision

pytestmark = pytest.mark.postgres

WRITERS, EACH = 8, 25


def test_the_same_twice_is_there_once(work):
    first = revision("Deploy on Mondays.")
    assert work.push("ann", first, first) == 1
    assert work.push("ann", first, revision("Deploy on Tuesdays.", first)) == 1
    assert [one.number for one in work.read("ann")] == [1, 2]
    assert [one.body for one in work.read("ann", 1)] == ["Deploy on Tuesdays."]


def test_heads_are_what_nothing_replaces(work):
    first = revision("Deploy on Mondays.")
    left, right = (revision(f"Deploy on {day}.", first) for day in ("Tuesdays", "Fridays"))
    work.push("ann", first, left, right, revision("Unrelated.", memory="m-2"))

    def bodies():
        return sorted(
            work.as_("ann", lambda connection: [one.body for one in revisions.heads(connection, work.team)])
        )

    assert bodies() == ["Deploy on Fridays.", "Deploy on Tuesdays.", "Unrelated."]
    work.push("ann", revision("Deploy on weekdays.", left, right))
    assert bodies() == ["Deploy on weekdays.", "Unrelated."]


def test_a_reader_beside_many_writers_misses_nothing(work):
    """Numbers are given while the team is locked: what is read up to a number is all there is up to it."""
    work.enter("bob")
    over = threading.Event()

    def write(writer):
        for turn in range(EACH):
            work.push("ann" if writer % 2 else "bob", revision(f"{writer} says {turn}", memory=f"m-{writer}"))

    def follow():
        seen: list[revisions.Incoming] = []
        while True:
            last = over.is_set()
            found = work.read("bob", seen[-1].number if seen else 0)
            seen.extend(found)
            if last and not found:
                return seen

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        reader = pool.submit(follow)
        list(pool.map(write, range(WRITERS)))
        over.set()
        seen = reader.result()
    assert [one.number for one in seen] == list(range(1, WRITERS * EACH + 1))
    assert len({one.body for one in seen}) == WRITERS * EACH


def test_a_cut_connection_is_made_anew_and_nothing_is_there_twice(work):
    """The connection is ended by the server after the push and before its commit, twice."""
    cuts = iter((True, True, False))
    waits: list[float] = []

    def once(connection):
        added = revisions.push(connection, work.team, "laptop", (revision("Kept."),))
        if next(cuts):
            work.server.sql(f"SELECT pg_terminate_backend({connection.info.backend_pid})")
            connection.execute("SELECT 1")
        return added

    assert connecting.within(connecting.parse(work.server.url("ann")), once, sleep=waits.append) == 1
    assert waits == [0.2, 0.4]
    assert [one.body for one in work.read("ann")] == ["Kept."]


def test_a_server_that_is_down_is_told_and_a_restarted_one_has_all(work):
    work.push("ann", revision("Kept."))
    waits: list[float] = []
    address = connecting.parse(work.server.url("ann"))
    with connecting.Line(address, sleep=waits.append) as line:
        line.ask(members.teams)
        work.server.stop()
        try:
            # It answered just now, and may do so again.
            with pytest.raises(UnreachableTeamError, match="can't be reached"):
                line.ask(members.teams)
            assert len(waits) == connecting.TRIES - 1
            waits.clear()
            # Where nobody listens from the beginning, no moment mends that.
            with pytest.raises(UnreachableTeamError, match="can't be reached"):
                connecting.within(address, members.teams, sleep=waits.append)
            assert waits == []
        finally:
            work.server.start()
        assert line.ask(members.teams)
    assert [one.body for one in work.read("ann")] == ["Kept."]


def test_a_database_of_a_newer_reverie_is_left_alone(work):
    def ahead(connection):
        connection.execute("INSERT INTO migration (number) VALUES (99)")
        schema.check(connection)

    with pytest.raises(TeamError, match="layout 99"):
        connecting.within(connecting.parse(work.server.url()), ahead)
    assert work.as_("ann", schema.check) is None


def test_setting_up_again_changes_nothing(work):
    work.push("ann", revision("Kept."))
    assert connecting.within(connecting.parse(work.server.url()), schema.set_up) == 0
    assert [one.body for one in work.read("ann")] == ["Kept."]


def test_a_database_without_teams_says_what_to_do(server):
    server.sql("CREATE DATABASE bare", database="postgres")
    address = connecting.parse(server.url(database="bare"))
    with pytest.raises(TeamError, match="holds no teams yet") as caught:
        connecting.within(address, members.teams)
    assert "team init" in caught.value.fix


def test_a_revision_over_a_megabyte_is_refused(work):
    with pytest.raises(TeamError):
        work.push("ann", revision("x" * 1_000_001))
    assert not work.read("ann")

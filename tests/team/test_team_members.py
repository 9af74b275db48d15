"""Who may do what in a team, tried by logins that may not."""

import pytest

from pipeline.core.errors import TeamError
from pipeline.team import members, revisions
from tests.team.conftest import revision

pytestmark = pytest.mark.postgres


def test_who_is_invited_joins_and_reads(work):
    work.push("ann", revision("Deploy on Mondays."))
    work.as_("ann", members.invite, work.team, "bob", "Bob")
    assert not work.read("bob")
    assert work.as_("bob", members.team_called, work.name).state == "invited"
    work.as_("bob", members.join, work.team)
    assert [one.body for one in work.read("bob")] == ["Deploy on Mondays."]
    assert [(one.login, one.state) for one in work.as_("bob", members.members, work.team)] == [
        ("ann", "active"),
        ("bob", "active"),
    ]


def test_a_stranger_sees_nothing_and_gets_nowhere(work):
    work.push("ann", revision("Deploy on Mondays."))
    assert not work.read("eve")
    assert not work.as_("eve", members.members, work.team)
    for attempt in (
        lambda: work.push("eve", revision("Eve was here.")),
        lambda: work.as_("eve", members.join, work.team),
        lambda: work.as_("eve", members.invite, work.team, "eve", "Eve"),
        lambda: work.as_("eve", members.found_team, "eves", "Eve"),
        lambda: work.as_("eve", members.team_called, work.name),
    ):
        with pytest.raises(TeamError):
            attempt()
    assert [one.body for one in work.read("ann")] == ["Deploy on Mondays."]


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM revision",
        "UPDATE revision SET body = 'changed'",
        "TRUNCATE revision",
        "INSERT INTO revision (team, number, digest, memory, author, machine, body) "
        "SELECT id, 99, repeat('a', 40), 'm', 'ann', 'x', 'forged' FROM team",
        "UPDATE team SET latest = 0",
        "UPDATE member SET may_invite = true",
        "INSERT INTO member (team, login, person, invited_by) SELECT id, 'eve', 'Eve', 'ann' FROM team",
        "ALTER TABLE revision DISABLE ROW LEVEL SECURITY",
        "SET ROLE ann",
        "SET SESSION AUTHORIZATION ann",
        "CREATE FUNCTION reverie_team.my_teams(int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_a_member_can_change_nothing_that_stands(work, statement):
    work.enter("bob")
    work.push("ann", revision("Deploy on Mondays."))
    before = work.read("ann")
    with pytest.raises(TeamError):
        work.as_("bob", lambda connection: connection.execute(statement))
    assert work.read("ann") == before


def test_what_is_pushed_is_in_the_name_of_who_pushes(work):
    work.enter("bob")
    work.push("bob", revision("Bob's word."))
    assert [(one.author, one.machine) for one in work.read("ann")] == [("bob", "bob-laptop")]


def test_one_team_is_hidden_from_members_of_another(work, server):
    other = type(work)(server)
    work.enter("bob")
    other.enter("eve")
    work.push("bob", revision("Ours."))
    other.push("eve", revision("Theirs."))
    assert [one.body for one in work.read("bob")] == ["Ours."]
    everything = "SELECT DISTINCT body FROM revision UNION SELECT body FROM head"
    assert work.as_("eve", lambda connection: connection.execute(everything).fetchall()) == [("Theirs.",)]


def test_who_left_reads_and_writes_no_more_and_what_they_shared_stays(work):
    work.enter("bob")
    work.push("bob", revision("Bob's word."))
    work.as_("bob", members.leave, work.team)
    assert not work.read("bob")
    with pytest.raises(TeamError):
        work.push("bob", revision("Later."))
    assert [one.body for one in work.read("ann")] == ["Bob's word."]
    work.enter("bob")
    assert [one.body for one in work.read("bob")] == ["Bob's word."]


def test_machines_are_seen_with_how_far_they_read(work):
    work.enter("bob")
    work.as_("bob", revisions.note_pull, work.team, "laptop", read_to=7, waiting=2)
    work.as_("bob", revisions.note_pull, work.team, "laptop", read_to=5, waiting=0)
    (seen,) = work.as_("ann", members.machines, work.team)
    assert (seen.login, seen.machine, seen.pulled_to, seen.waiting) == ("bob", "laptop", 7, 0)


@pytest.mark.parametrize("moment", ["infinity", "-infinity", "9999-12-31", "4000-01-01 BC"])
def test_a_machine_that_tells_no_moment_hides_no_other(work, moment):
    work.enter("bob")
    work.as_("ann", revisions.note_pull, work.team, "ann-laptop", read_to=7, waiting=0)
    sql = "INSERT INTO machine (team, machine, pulled_at, pushed_at) VALUES (%s, 'box', %s, %s)"
    given = [work.team, moment, moment]
    work.as_("bob", lambda connection: connection.execute(sql, given))
    ann, bob = work.as_("ann", members.machines, work.team)
    assert (ann.pulled_to, bob.machine, bob.pulled_at, bob.pushed_at) == (7, "box", None, None)
    assert ann.pulled_at

"""Leaving with nobody behind, the founder's way back, and what a person reads where the database refuses."""

import os
import uuid
from decimal import Decimal

import pytest

from pipeline.app import explaining, inbox, team
from pipeline.app.offered import shared_of
from pipeline.app.writing import Change, update_memory
from pipeline.cli.memories import _tell_why
from pipeline.core.errors import TeamError
from pipeline.team import connecting, members, revisions, schema, spending
from pipeline.team.refusals import CONSTRAINTS
from tests.support.warm import shared_workers
from tests.team.conftest import revision
from tests.team.test_team_work import entries

pytestmark = pytest.mark.postgres


def reverie(folder, *words, ok=True):
    """What a command prints for somebody who sits in the project `folder`/shop, without a terminal."""
    project = folder / "shop"
    project.mkdir(parents=True, exist_ok=True)
    variables = {"REVERIE_HOME": str(folder / "home"), "HOME": str(folder), "PATH": os.environ["PATH"]}
    done = shared_workers().reverie(words, {**variables, "REVERIE_NO_LIVE_CALLS": "1"}, project)
    assert (done.returncode == 0) is ok, done.stderr
    return " ".join((done.stdout + done.stderr).split())


def test_who_founded_it_is_asked_before_they_leave_it_to_others(server, work, tmp_path):
    url, name = server.url("ann"), f"{work.name}-two"
    founding = ("team", "init", name, "--database", url, "--as", "Ann")
    reverie(tmp_path, *founding)
    reverie(tmp_path, "add", "We deploy on Mondays.", "--name", "deploy-day")
    reverie(tmp_path, "share", "deploy-day")
    invited = reverie(tmp_path, "team", "invite", "bob", "--as", "Bob")
    assert f"reverie team join {name} --database {server.url('bob')}" in invited
    bobs = connecting.parse(server.url("bob"))
    connecting.within(bobs, lambda found: members.join(found, members.team_called(found, name).id))
    refused = reverie(tmp_path, "team", "leave", ok=False)
    assert "Nobody who stays" in refused and "Add --yes" in refused
    left = reverie(tmp_path, "team", "leave", "--yes")
    assert "its other machines and projects are out as well" in left
    assert "1 memory in your name stays with the others" in left
    assert "if you come back, they are taken up from there" in left
    status = reverie(tmp_path, "team", "status")
    assert f"you left the team {name}, so this project is in none: Invited again" in status
    assert f"1 memory of {name}, which you left, in" in reverie(tmp_path, "status")
    joined = reverie(tmp_path, *founding)
    assert "You are back: what it had when you left is in team/ still" in joined
    assert "kept in" not in joined


def test_the_last_member_is_asked_and_comes_back_by_founding_again(server, work, tmp_path):
    url, name = server.url("ann"), f"{work.name}-own"
    founding = ("team", "init", name, "--database", url, "--as", "Ann")
    assert "in no team: `reverie team join NAME" in reverie(tmp_path, "team", "status")
    assert f"In the team {name} as Ann" in (founded := reverie(tmp_path, *founding))
    assert "nothing is shared yet" in founded
    assert "`reverie share NAME` gives the team one" in founded
    empty = reverie(tmp_path, "team", "sync")
    assert "nothing is shared yet" in empty
    assert "`reverie share NAME` gives the team one" in empty
    reverie(tmp_path, "add", "We deploy on Mondays.", "--name", "deploy-day")
    reverie(tmp_path, "share", "deploy-day")
    assert "no login carol yet" in reverie(tmp_path, "team", "invite", "carol", "--as", "Carol")
    refused = reverie(tmp_path, "team", "leave", ok=False)
    assert "You are the last member" in refused
    assert "--yes" in refused
    assert "member since" in reverie(tmp_path, "team", "status")
    assert f"You left {name}" in reverie(tmp_path, "team", "leave", "--yes")
    alone = reverie(tmp_path, "add", "--team", "The port is 8080.")
    assert f"(in the folder of {name}, which you left: nobody else gets it)" in alone
    gone = reverie(tmp_path, "team", "join", name, "--database", url, ok=False)
    assert f"you left the team {name}" in gone
    assert "Who founded it runs `reverie team init` again" in gone
    back = reverie(tmp_path / "new", *founding)
    assert "deploy-day" in back
    assert "no login" not in reverie(tmp_path / "new", "team", "invite", "bob", "--as", "Bob")


def test_who_may_not_found_a_team_is_told_who_lets_them(server, tmp_path):
    founding = ("team", "init", "fourth", "--as", "Bob", "--database")
    refused = reverie(tmp_path, *founding, server.url("bob"), ok=False)
    assert "this login may not found a team in that database" in refused and "GRANT EXECUTE" in refused
    server.sql("CREATE DATABASE untouched", database="postgres")
    refused = reverie(tmp_path, *founding, server.url("bob", "untouched"), ok=False)
    assert "this login may not set that database up for teams" in refused and "GRANT CREATE" in refused


def test_who_founded_it_comes_back_only_where_nobody_else_may_invite(work, server):
    work.enter("bob")
    work.push("ann", revision("Ann's word."))
    work.as_("ann", members.leave, work.team)
    assert work.as_("ann", members.found_team, work.name, "Ann again") == work.team
    assert {item.person: item.may_invite for item in work.as_("ann", members.members, work.team)} == {
        "Ann again": True,
        "Bob": False,
    }
    work.as_("ann", members.leave, work.team)
    server.sql(
        f"UPDATE reverie_team.member SET may_invite = true WHERE login = 'bob' AND team = '{work.team}'"
    )
    with pytest.raises(TeamError, match="you left this team, and its members may invite you"):
        work.as_("ann", members.found_team, work.name, "Ann")
    assert not work.read("ann")


def test_a_team_that_was_founded_before_has_its_founder(server):
    server.sql("CREATE DATABASE older", database="postgres")
    address = connecting.parse(server.url(database="older"))

    def as_before(connection):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schema, "STEPS", schema.STEPS[:2])
            schema.set_up(connection)
        return members.found_team(connection, "ours", "Founder")

    made = connecting.within(address, as_before)
    connecting.within(address, schema.set_up)
    connecting.within(address, lambda connection: members.leave(connection, made))
    again = connecting.within(address, lambda connection: members.found_team(connection, "ours", "Founder"))
    assert again == made


def test_each_rule_of_the_database_is_told_in_plain_english(server):
    found = server.sql(
        "SELECT conname FROM pg_constraint WHERE connamespace = 'reverie_team'::regnamespace "
        "AND contype = 'c' UNION SELECT 'team_name_key' UNION SELECT 'member_team_person_key'"
    ).split()
    assert sorted(set(found) - CONSTRAINTS.keys()) == []


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        (lambda work: work.as_("ann", members.found_team, "Our Team", "Ann"), "can't be a team's name"),
        (lambda work: work.as_("founder", members.found_team, work.name, "Mia"), "a team of that name is in"),
        (lambda work: work.as_("ann", members.invite, work.team, "bob", "Ann"), "is called that already"),
        (lambda work: work.as_("ann", _raw_invite, work.team, "p" * 81), "has 1 to 80 characters"),
        (lambda work: work.push("ann", revision("x" * 1_000_001)), "larger than the million bytes"),
        (lambda work: work.push("ann", revision("x", memory="m" * 201)), "longer than the team's database"),
        (lambda work: work.as_("ann", revisions.push, work.team, "m" * 81, [revision("x")]), "is longer"),
        (lambda work: _reserve(work, "m" * 81), "longer than the team's database"),
    ],
)
def test_what_is_refused_is_told_in_plain_english(work, attempt, told):
    with pytest.raises(TeamError, match=told) as caught:
        attempt(work)
    assert "constraint" not in str(caught.value)
    assert caught.value.fix


def _raw_invite(connection, team, person):
    """Invite as another program might, which does not look at the name first."""
    connection.execute("SELECT invite(%s, 'bob', %s)", [team, person])


def _reserve(work, machine):
    call = spending.Call(str(uuid.uuid4()), machine, "shop", "extraction", "work")
    work.as_("ann", spending.reserve, work.team, call, Decimal(1))


def test_who_is_not_let_in_is_told_at_once_what_to_do(server):
    server.sql("CREATE ROLE dora LOGIN PASSWORD 'secret'")
    server.sql("CREATE ROLE nobody_in")
    rules = server.data / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text(f"host all dora 127.0.0.1/32 scram-sha-256\n{before}")
    server.sql("SELECT pg_reload_conf()")
    try:
        for login, database, told, fix in (
            ("dora", "team", "wants a password, and none was found", "~/.pgpass (mode 0600)"),
            ("nobody_in", "team", "not permitted to log in", "Ask whoever runs the server"),
            ("zoe", "team", 'role "zoe" does not exist', "Ask whoever runs the server"),
            ("ann", "gone", 'database "gone" does not exist', "Ask whoever runs the server"),
        ):
            waits: list[float] = []
            address = connecting.parse(server.url(login, database))
            with pytest.raises(TeamError, match=told) as caught:
                connecting.within(address, members.teams, sleep=waits.append)
            assert caught.value.fix.find(fix) >= 0
            assert not waits
    finally:
        rules.write_text(before)
        server.sql("SELECT pg_reload_conf()")


def test_at_a_first_join_nothing_is_said_of_what_waits():
    address = connecting.parse("postgresql://zoe@127.0.0.1:1/team")
    with pytest.raises(TeamError, match="can't be reached") as caught:
        connecting.within(address, members.teams, sleep=lambda seconds: None)
    assert "waits" not in caught.value.fix


def test_a_yes_to_an_offer_is_sent_at_once_and_waits_where_nobody_answers(pair, work):
    ann, bob = pair
    ann.add("We deploy on Mondays.")
    ann.wait(minutes=6)
    assert team.offer(ann.app) == 1
    assert team.offer(ann.app) == 0
    (item,) = entries(ann)
    assert inbox.accept(ann.app, item.id)["unsent"] == ""
    assert team.now(bob.app).came == 1
    ann.add("The port is 8080.")
    ann.wait(days=1)
    assert team.offer(ann.app) == 1
    (item,) = entries(ann)
    work.server.stop()
    try:
        unsent = inbox.accept(ann.app, item.id)["unsent"]
    finally:
        work.server.start()
    assert "can't be reached (ann at 127.0.0.1, database team)" in unsent
    assert "Nothing is lost: what waits goes out the next time." in unsent
    assert "postgresql://" not in unsent
    assert "the last sync failed, and the database answers again" in team.status(ann.app).error
    assert entries(ann) == []
    team.now(ann.app)
    came = team.now(bob.app)
    assert came.names == ["the-port-is-8080"]


def test_why_says_what_the_database_vouches_for(pair, capsys):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    ann.wait(days=3)
    team.share(ann.app, name)
    team.now(bob.app)
    shared = shared_of(bob.app)
    _tell_why(explaining.why(shared, name), shared)
    told = capsys.readouterr().out
    assert f"Ann shared it on 2026-11-23 09:00, from machine {ann.state().machine}" in " ".join(told.split())
    assert "holds since                    2026-11-20" in told
    assert "claims to be" not in told
    assert "nobody can tell" not in told
    update_memory(shared, shared.open_store(), name, Change(content="We deploy on Tuesdays."))
    team.now(bob.app)
    _tell_why(explaining.why(shared, name), shared)
    told = " ".join(capsys.readouterr().out.split())
    assert "Bob says it; it stands so since" in told and "shared it" not in told
    update_memory(shared, shared.open_store(), name, Change(content="We deploy on Mondays."))
    team.now(bob.app)
    file = explaining.why(shared, name).path
    file.write_text(file.read_text("utf-8").replace("on Mondays", "on Fridays"), "utf-8")
    _tell_why(explaining.why(shared, name), shared)
    told = capsys.readouterr().out
    assert "Ann shared it" not in told
    assert "changed since by someone else  yes, in the file here, and it is not sent yet" in told

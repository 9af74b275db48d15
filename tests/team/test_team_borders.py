"""What must not cross from one team to the next, and what one member's odd record does to no other."""

import socket
import threading
from pathlib import Path

import pytest

from pipeline import config
from pipeline.app import memories, team
from pipeline.app.writing import Change, update_memory
from pipeline.core.errors import InputError, TeamError, UnreachableTeamError
from pipeline.ledger import jobs, open_ledger
from pipeline.sharing.revisions import Revision, memory_id
from pipeline.sharing.state import Share
from pipeline.sharing.travelling import team_repository_of
from pipeline.team import members
from pipeline.team.connecting import Line, parse
from pipeline.team.revisions import Outgoing
from pipeline.worker import WorkerContext
from pipeline.worker.in_step import InStep
from tests.support.teammates import Person

pytestmark = pytest.mark.postgres


@pytest.fixture(autouse=True)
def _eve_leaves(work):
    """Other tests have her as a stranger."""
    yield
    for known in work.as_("eve", members.teams):
        work.as_("eve", members.leave, known.id)


@pytest.fixture
def another(pair, work, tmp_path, monkeypatch):
    """A second team, of Ann's, which Bob and Eve are let into; its name, and Eve."""
    name = f"{work.name}-b"
    found = work.as_("ann", members.found_team, name, "Ann")
    work.as_("ann", members.invite, found, "bob", "Bobby")
    work.as_("ann", members.invite, found, "eve", "Eve")
    eve = Person(tmp_path / "eve", monkeypatch, work.server.url("eve"))
    team.join(eve.app, name, eve.url)
    return name, eve


def shared(person):
    return team._shared(person.app)


def record_of(path, **more):
    return Revision(
        **{
            "memory": memory_id("", path),
            "parents": (),
            "machine": "e0e0e0",
            "clock": (1_793_000_000_000, 0),
            "at": "2026-11-20T09:00:00+00:00",
            "path": path,
            "file": "---\nname: odd\ndescription: Odd.\nauthor: Eve\n---\n\nOdd words.\n",
        }
        | more
    )


def sent(record):
    return Outgoing(record.name, record.memory, record.parents, record.data.decode())


# -- a former team ---------------------------------------------------------------------------------------


def test_what_a_former_team_had_goes_to_no_other(pair, another):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    team.leave(bob.app)
    joined = team.join(bob.app, another[0], bob.url)
    assert (joined.first.told, joined.first.error) == (0, "")
    assert "We deploy on Mondays." in (Path(joined.aside) / f"{name}.md").read_text()
    assert bob.texts() == {}
    team.now(another[1].app)
    assert another[1].texts() == {}


def test_who_comes_back_to_a_team_takes_nobodys_words_for_their_own(pair, work):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    team.leave(bob.app)
    work.as_("ann", members.invite, work.team, "bob", "Bob")
    assert team.join(bob.app, work.name, bob.url).first.told == 0
    team.now(ann.app)
    assert ann.texts() == bob.texts() == {name: ("We deploy on Mondays.", "Ann")}


def test_who_comes_back_goes_on_with_what_lay_there(pair, work):
    ann, bob = pair
    for text in ("We deploy on Mondays.", "The port is 8080.", "The crane is green."):
        team.share(ann.app, ann.add(text))
    team.share(bob.app, bob.add("The host is heron."))
    team.now(ann.app)
    deploy, port, crane, host = sorted(
        bob.texts(), key=lambda name: ("deploy" not in name, "port" not in name, name)
    )
    folder = shared(bob).store_path
    team.leave(bob.app)
    # What was kept, written anew, taken away and made there while he was out.
    before = (folder / f"{deploy}.md").stat().st_ino
    (folder / f"{port}.md").write_text((folder / f"{port}.md").read_text().replace("8080", "1"))
    (folder / f"{crane}.md").unlink()
    memories.add(shared(bob), "The key is under the mat.", kind="project", force=True)
    team.share(ann.app, ann.add("The lid is blue."))
    work.as_("ann", members.invite, work.team, "bob", "Bob")
    joined = team.join(bob.app, work.name, bob.url)
    assert (joined.is_back, joined.first.told, joined.first.error, joined.first.held) == (True, 0, "", [])
    assert sorted(item.name for item in Path(joined.aside).iterdir()) == [
        "the-key-is-under-the-mat.md",
        f"{port}.md",
    ]
    assert (folder / f"{deploy}.md").stat().st_ino == before
    team.now(ann.app)
    assert ann.texts() == bob.texts()
    assert {text for text, _ in bob.texts().values()} == {
        "We deploy on Mondays.",
        "The port is 8080.",
        "The crane is green.",
        "The host is heron.",
        "The lid is blue.",
    }
    assert bob.texts()[host] == ("The host is heron.", "Bob")
    # It is as if he had never been away: he says no more to what is his, and takes it back.
    bob.wait(hours=1)
    team.unshare(bob.app, host)
    team.now(ann.app)
    assert host not in ann.texts()
    team.leave(bob.app)
    work.as_("ann", members.invite, work.team, "bob", "Bob")
    assert team.join(bob.app, work.name, bob.url).aside == ""
    assert ann.texts() == bob.texts()


def test_a_file_of_anothers_that_lies_there_goes_out_in_nobodys_name(pair, another):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    (file,) = (item for item in shared(ann).store_path.glob("*.md") if item.name != "MEMORY.md")
    data = file.read_bytes()
    team.leave(bob.app)
    team.join(bob.app, another[0], bob.url)
    (shared(bob).store_path / file.name).write_bytes(data)
    done = team.now(bob.app)
    assert done.told == 0
    assert done.held[0]["why"].startswith("is Ann's")
    assert (shared(bob).store_path / file.name).read_bytes() == data


def test_what_lay_there_before_joining_waits_for_a_person(pair, work, tmp_path, monkeypatch):
    eve = Person(tmp_path / "eve", monkeypatch, work.server.url("eve"))
    work.as_("ann", members.invite, work.team, "eve", "Eve")
    eve.store.joinpath("team").mkdir()
    eve.store.joinpath("team", "port.md").write_text(
        "---\nname: port\ndescription: Port.\n---\n\nIt is 80.\n"
    )
    joined = team.join(eve.app, work.name, eve.url)
    assert (joined.aside, joined.first.told) == ("", 0)
    assert "by hand" in joined.first.held[0]["why"]
    assert team.now(eve.app).told == 1
    assert eve.texts() == {"port": ("It is 80.", "Eve")}


# -- what the database does not take ---------------------------------------------------------------------


def test_a_memory_that_is_too_long_for_a_team_stays_and_all_else_goes_on(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    ann.wait(hours=1)
    file = shared(ann).store_path / f"{name}.md"
    with file.open("a", encoding="utf-8") as opened:
        opened.writelines(f"Host {'up ' * 4_000}{number}.\n" for number in range(90))
    other = bob.add("The port is 8080.")
    team.share(bob.app, other)
    done = team.now(ann.app)
    assert (done.came, done.error) == (1, "")
    assert "1,000,000 bytes" in done.held[0]["why"]
    assert other in ann.texts()
    ann.wait(hours=1)
    file.write_text(file.read_text().partition("Host")[0].replace("Mondays", "Fridays"))
    assert not team.now(ann.app).held
    team.now(bob.app)
    assert bob.texts()[name] == ("We deploy on Fridays.", "Ann")


def test_a_revision_that_the_database_refuses_keeps_nothing_else_from_going_or_coming(pair):
    ann, bob = pair
    state = ann.state()
    kept = Share.of(ann.app.home, shared(ann).store_path)
    repository = team_repository_of(kept, state)
    repository.make()
    file = "---\nname: big\ndescription: Big.\nauthor: Ann\n---\n\n" + "Words. " * 160_000
    big = record_of("big.md", machine=state.machine, file=file)
    before = [tip] if (tip := repository.tip()) else []
    repository.commit(before, {big.file_name: big.data}, "Big", now=1_793_000_000)
    team.share(bob.app, bob.add("The port is 8080."))
    name = ann.add("We deploy on Mondays.")
    done = team.share(ann.app, name).sync
    assert "big.md" in done.error
    assert "big.md" in team.status(ann.app).error
    assert len(ann.texts()) == 3
    team.now(bob.app)
    assert bob.texts()[name] == ("We deploy on Mondays.", "Ann")
    # It is made shorter: what could not go is no news to anybody any more.
    ann.wait(hours=1)
    update_memory(shared(ann), shared(ann).open_store(), "big", Change(content="Few words."))
    assert team.now(ann.app).error == ""
    team.now(bob.app)
    assert bob.texts()["big"] == ("Few words.", "Ann")


def test_a_record_in_a_folder_of_its_own_is_not_taken(pair, work, another):
    work.enter("eve")
    work.push("eve", sent(record_of("graph/g/odd.md")), sent(record_of("vault/odd.md")))
    for person in pair:
        done = team.now(person.app)
        assert (done.came, done.error) == (0, "")
        assert len(team.status(person.app).odd) == 2
    done = team.share(pair[0].app, pair[0].add("We deploy on Mondays.")).sync
    assert (done.told, done.error) == (1, "")


def test_a_file_in_a_folder_of_its_own_does_not_go_out(pair):
    folder = shared(pair[0]).store_path / "vault"
    folder.mkdir()
    (folder / "port.md").write_text("---\nname: port\ndescription: Port.\n---\n\nIt is 80.\n")
    done = team.now(pair[0].app)
    assert (done.told, [row["name"] for row in done.held]) == (0, ["port"])


def test_what_was_not_taken_is_told_newest_last_until_it_is_mended(pair, work):
    ann = pair[0]
    work.enter("eve")
    first = record_of("zz.md", file=record_of("zz.md").file.replace("Eve", "Ann"))
    forged = [record_of(f"odd-{number}.md", file=first.file) for number in range(20)]
    work.push("eve", *map(sent, (first, *forged)))
    team.now(ann.app)
    odd = team.status(ann.app).odd
    assert len(odd) == 20
    assert not any("zz.md" in line for line in odd)
    work.push("eve", *(sent(record_of(item.path, clock=(1_793_000_000_001, 0))) for item in forged))
    team.now(ann.app)
    assert team.status(ann.app).odd == []


# -- people ----------------------------------------------------------------------------------------------


def test_who_is_invited_again_under_another_name_keeps_what_they_wrote(pair, work, tmp_path, monkeypatch):
    ann, bob = pair
    second = Person(tmp_path / "second", monkeypatch, work.server.url("bob"))
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path / "second" / "reverie"))
    team.join(second.app, work.name, second.url)
    name = bob.add("The port is 8080.")
    team.share(bob.app, name)
    team.leave(bob.app)
    work.as_("ann", members.invite, work.team, "bob", "Robert")
    team.join(bob.app, work.name, bob.url)
    work.as_("ann", members.invite, work.team, "eve", "Eve")
    eve = Person(tmp_path / "eve", monkeypatch, work.server.url("eve"))
    team.join(eve.app, work.name, eve.url)
    for person in (ann, bob, eve):
        team.now(person.app)
        assert person.texts() == {name: ("The port is 8080.", "Bob")}
        assert team.status(person.app).odd == []
    team.now(second.app)
    later = second.add("We deploy on Mondays.")
    team.share(second.app, later)
    team.now(ann.app)
    assert ann.texts()[later] == ("We deploy on Mondays.", "Robert")
    team.unshare(bob.app, name)


def test_nobody_gets_a_name_that_another_had(pair, work):
    team.leave(pair[1].app)
    work.as_("ann", members.invite, work.team, "bob", "Robert")
    with pytest.raises(TeamError, match="called"):
        work.as_("ann", members.invite, work.team, "eve", "Bob")


@pytest.mark.parametrize(
    "person", ["", " ", "you", "You", "Bob\nAnn", "Bob\u200b", " Bob", "Ann and Bob", "b" * 81]
)
def test_what_would_forge_a_line_is_no_name(work, person):
    for ask in (members.found_team, members.invite):
        words = ("other-team", person) if ask is members.found_team else (work.team, "bob", person)
        with pytest.raises(InputError, match="nobody can be called"):
            work.as_("ann", ask, *words)


def test_names_that_came_in_another_way_are_shown_on_one_line(pair, work):
    sql = (
        "UPDATE reverie_team.member SET person = E'Bob\\nAnn shared all' WHERE login = 'bob' AND team = '{}'"
    )
    work.server.sql(sql.format(work.team))
    people = {row["person"] for row in team.status(pair[0].app).members}
    assert people == {"Ann", "Bob\\nAnn shared all"}


def test_whose_membership_is_over_is_told_that(pair, work):
    ann, bob = pair
    team.share(ann.app, ann.add("We deploy on Mondays."))
    team.now(bob.app)
    work.as_("bob", members.leave, work.team)
    done = team.now(bob.app)
    assert "your membership is over" in done.error
    assert "team leave" in done.fix
    work.as_("ann", members.invite, work.team, "bob", "Bob")
    done = team.now(bob.app)
    assert "invited to it again" in done.error


# -- a line that stalls ----------------------------------------------------------------------------------


def test_a_connection_that_stalls_is_cut_on_this_side_and_not_tried_again(work):
    tries = []

    def stall(connection):
        tries.append(connection)
        connection.execute("SELECT pg_sleep(50)")

    with Line(parse(work.server.url("ann")), seconds=0.3) as line:
        with pytest.raises(UnreachableTeamError, match=r"did not answer within 0\.3 seconds"):
            line.ask(stall)
        assert line.ask(lambda connection: connection.execute("SELECT 1").fetchone()) == (1,)
    assert len(tries) == 1


def test_who_relays_no_more_is_left(work):
    """The server answers, and what is on the way passes nothing on: only our own limit ends that."""
    ahead = socket.create_connection(("127.0.0.1", work.server.port))
    listener = socket.create_server(("127.0.0.1", 0))
    stop = threading.Event()

    def relay():
        here, _ = listener.accept()
        threading.Thread(target=pump, args=(here, ahead, 10**9), daemon=True).start()
        pump(ahead, here, 2_000)
        stop.wait(60)
        here.close()

    def pump(source, target, most):
        while most > 0 and (data := source.recv(min(most, 4096))):
            target.sendall(data)
            most -= len(data)

    threading.Thread(target=relay, daemon=True).start()
    port = listener.getsockname()[1]
    try:
        with (
            Line(parse(f"postgresql://ann@127.0.0.1:{port}/team"), seconds=1) as line,
            pytest.raises(UnreachableTeamError, match="did not answer within 1 seconds"),
        ):
            line.ask(lambda connection: connection.execute("SELECT repeat('x', 100000)").fetchone())
    finally:
        stop.set()
        listener.close()
        ahead.close()


def test_what_was_not_reached_waits_until_the_work_of_a_pass_is_done(pair):
    ann = pair[0]
    kept = Share.of(ann.app.home, shared(ann).store_path)
    state = ann.state()
    state.error = "the team's database can't be reached"
    kept.write(state)
    ann.wait(hours=1)
    with open_ledger(ann.app.home / "ledger.sqlite") as ledger:
        keeper = InStep(
            WorkerContext(ann.app.home, config.load(ann.app.home), ann.clock, ledger, llm="offline")
        )
        keeper.keep(at_first=True)
        assert [job.state for job in jobs.list_jobs(ledger) if job.kind == "sync"] == ["waiting"]
        keeper.keep()
        assert [job.state for job in jobs.list_jobs(ledger) if job.kind == "sync"] == ["done"]
    assert ann.state().error == ""

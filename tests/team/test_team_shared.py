"""Two people with a home and a project each: what one shares the other has, as the team's."""

import uuid
from datetime import UTC, datetime
from decimal import Decimal

import pytest

from pipeline.app import (
    browsing,
    explaining,
    history,
    in_step,
    listing,
    memories,
    recall,
    search,
    team,
    undoing,
)
from pipeline.app.application import App
from pipeline.app.offered import shared_of
from pipeline.app.selecting import Filter
from pipeline.app.writing import Change, update_memory
from pipeline.core.errors import InputError, TeamError
from pipeline.core.ids import digest
from pipeline.hooklib.settings import board
from pipeline.ledger import open_ledger
from pipeline.ledger.files import begin_ingest, remember_store
from pipeline.recall.live.session_start import _index, _lines, _words
from pipeline.server import lean
from pipeline.team import spending
from pipeline.team.revisions import Outgoing
from tests.support.teammates import Person
from tests.team.conftest import revision

pytestmark = pytest.mark.postgres


def test_what_one_shares_the_other_has_with_name_and_day(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    sent = team.share(ann.app, name).sync
    assert (sent.told, sent.error) == (1, "")
    assert team.now(bob.app).came == 1
    assert bob.texts() == {name: ("We deploy on Mondays.", "Ann")}
    (document,) = team._shared(bob.app).open_store().scan().documents
    assert str(document.memory.extra["decided"]) == "2026-11-20"
    assert not document.memory.sources
    # It is the team's: nothing of it is among Bob's own.
    assert not bob.app.open_store().scan().documents


def test_what_is_about_oneself_is_never_shared(pair):
    ann, bob = pair
    name = ann.add("I am colour-blind.", kind="user")
    with pytest.raises(InputError, match="about you yourself"):
        team.share(ann.app, name)
    assert team.now(bob.app).came == 0


def test_two_change_one_text_at_once_and_both_have_the_same(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays. The port is 8080.")
    team.share(ann.app, name)
    team.now(bob.app)
    for person, body in (
        (ann, "We deploy on Fridays.\nThe port is 8080."),
        (bob, "We deploy on Mondays.\nThe port is 9090."),
    ):
        person.app.clock.at = datetime(2026, 11, 21, 9, tzinfo=UTC)
        shared = team._shared(person.app)
        update_memory(shared, shared.open_store(), name, Change(content=body))
    for person in (ann, bob, ann):
        assert team.now(person.app).error == ""
    assert ann.texts() == bob.texts()
    ((body, _),) = ann.texts().values()
    assert "Fridays" in body
    assert "9090" in body
    assert "Mondays" not in body
    assert "8080" not in body


def test_a_text_with_words_of_two_names_both_and_one_that_only_one_changed_that_one(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays. The port is 8080.")
    team.share(ann.app, name)
    team.now(bob.app)
    change(ann, name, "We deploy on Fridays. The port is 8080.")
    change(bob, name, "We deploy on Mondays. The port is 9090.")
    for person in (ann, bob, ann):
        team.now(person.app)
    assert ann.texts() == bob.texts() == {name: ("We deploy on Fridays. The port is 9090.", "Ann and Bob")}
    change(bob, name, "We deploy on Sundays. The port is 9090.")
    for person in (bob, ann):
        team.now(person.app)
    assert ann.texts() == bob.texts() == {name: ("We deploy on Sundays. The port is 9090.", "Bob")}


def change(person, name, body):
    person.wait(hours=1)
    shared = team._shared(person.app)
    update_memory(shared, shared.open_store(), name, Change(content=body))


def test_an_undo_and_a_redo_leave_each_text_to_its_author(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    change(bob, name, "We deploy on Fridays.")
    team.now(bob.app)
    shared = team._shared(bob.app)
    # The name that the sync put to it is no change that is in the way.
    (part,) = undoing.take_back(shared)
    for person in (bob, ann):
        team.now(person.app)
    assert ann.texts() == bob.texts() == {name: ("We deploy on Mondays.", "Ann")}
    undoing.take_back(shared, part.back)
    for person in (bob, ann):
        team.now(person.app)
    assert ann.texts() == bob.texts() == {name: ("We deploy on Fridays.", "Bob")}
    # Ann takes Bob's back and lets it stand again: it stays his, and hers stays hers.
    came = max(team._shared(ann.app).open_store().history(), key=lambda item: item.number)
    (part,) = undoing.take_back(team._shared(ann.app), came.run)
    assert part.others == f"everybody in the team {team._state_of(ann.app).team_name}"
    for person in (ann, bob):
        team.now(person.app)
    assert ann.texts() == bob.texts() == {name: ("We deploy on Mondays.", "Ann")}
    undoing.take_back(team._shared(ann.app), part.back)
    for person in (ann, bob):
        team.now(person.app)
    assert ann.texts() == bob.texts() == {name: ("We deploy on Fridays.", "Bob")}
    assert not team.status(ann.app).odd
    assert not team.status(bob.app).odd


def test_what_is_taken_back_leaves_the_others_too(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    with pytest.raises(InputError, match="is Ann's") as refused:
        team.unshare(bob.app, name)
    assert f"reverie forget --team {name}" in refused.value.fix
    team.unshare(ann.app, name)
    assert team.now(bob.app).left == 1
    assert not bob.texts()
    assert [item.name for item in ann.app.open_store().scan().documents] == [name]


def test_sharing_again_brings_the_copy_in_step(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    update_memory(ann.app, ann.app.open_store(), name, Change(content="We deploy on Fridays."))
    team.share(ann.app, name)
    team.now(bob.app)
    assert bob.texts() == {name: ("We deploy on Fridays.", "Ann")}


def test_a_text_in_somebody_elses_name_is_not_taken(pair, work):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    # Bob's machine is changed to send what Ann's record says, in words of its own and in her name.
    (record,) = work.read("bob")
    forged = record.body.replace("on Mondays", "whenever you like")
    work.push("bob", Outgoing(digest(forged.encode())[:40], record.memory, (record.digest,), forged))
    team.now(ann.app)
    assert ann.texts() == {name: ("We deploy on Mondays.", "Ann")}
    assert "it says that Ann is its author, and Bob sent it" in "".join(team.status(ann.app).odd)


def test_offline_all_waits_and_goes_out_later(pair, work):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    work.server.stop()
    try:
        sent = team.share(ann.app, name).sync
        assert "can't be reached" in sent.error
        assert ann.texts() == {name: ("We deploy on Mondays.", "Ann")}
        found = team.status(ann.app)
        assert found.members is None
        assert "can't be reached" in found.error
    finally:
        work.server.start()
    team.now(ann.app)
    assert team.now(bob.app).came == 1


def test_who_leaves_keeps_what_is_there_and_gets_nothing_more(pair):
    ann, bob = pair
    team.share(ann.app, ann.add("We deploy on Mondays."))
    team.now(bob.app)
    team.leave(bob.app)
    assert len(bob.texts()) == 1
    with pytest.raises(InputError, match="you left the team"):
        team.now(bob.app)
    team.share(ann.app, ann.add("The port is 8080."))
    assert len(bob.texts()) == 1


def test_status_names_members_and_how_far_their_machines_are(pair):
    ann, bob = pair
    team.share(ann.app, ann.add("We deploy on Mondays."))
    team.now(bob.app)
    found = team.status(ann.app)
    assert [(one["person"], one["state"]) for one in found.members] == [("Ann", "active"), ("Bob", "active")]
    assert [(one["login"], one["behind"]) for one in found.machines] == [("ann", 0), ("bob", 0)]
    assert (found.memories, found.waiting, found.error) == (1, 0, "")


def test_status_names_what_each_member_spent_on_each_project(pair, work):
    bob = pair[1]
    spent = (
        ("ann", "shop", "0.02"),
        ("ann", "shop", "0.01"),
        ("bob", "shop", "0.05"),
        ("ann", "till", "0.5"),
    )
    for number, (login, project, dollars) in enumerate(spent):
        call = spending.Call(str(uuid.uuid4()), "laptop", project, "extract.turn", f"work-{number}")
        work.as_(login, spending.reserve, work.team, call, Decimal(1))
        done = {"dollars": Decimal(dollars), "read_tokens": 10, "written_tokens": 1}
        work.as_(login, spending.settle, work.team, call, "{}", **done)
    for login, dollars in (("ann", "0.25"), ("bob", "0.20")):
        call = spending.Call(str(uuid.uuid4()), "laptop", "shop", "extract.verify", f"verify-{login}")
        work.as_(login, spending.reserve, work.team, call, Decimal(dollars))
    found = team.status(bob.app)
    assert in_step.costs_of(found) == [
        ("Ann", "shop", "Reading turns", "2", "$0.03"),
        ("Ann", "shop", "Second reader of a conversation", "1", "$0.25"),
        ("Ann", "till", "Reading turns", "1", "$0.50"),
        ("Bob", "shop", "Reading turns", "1", "$0.05"),
        ("Bob", "shop", "Second reader of a conversation", "1", "$0.20, $0.20 reserved"),
    ]
    assert [row["reserved"] for row in found.costs] == [None, None, None, 0, 0.2]
    assert "Of yours there is 1 call, for $0.20;" in in_step.about_costs(found)


def test_who_is_not_invited_joins_nothing(work, tmp_path, monkeypatch):
    eve = Person(tmp_path / "eve", monkeypatch, work.server.url("eve"))
    with pytest.raises(TeamError, match="in no team"):
        team.join(eve.app, work.name, eve.url)
    assert not (eve.store / "team").exists()


def test_who_may_set_a_database_up_founds_a_team_in_one_step(server, tmp_path, monkeypatch):
    server.sql("CREATE DATABASE fresh", database="postgres")
    url = server.url(database="fresh")
    founder = Person(tmp_path / "founder", monkeypatch, url)
    assert team.found_team(founder.app, "ours", url, "Founder").person == "Founder"
    assert team.found_team(founder.app, "ours", url, "Founder").first.error == ""


def test_what_is_changed_by_hand_goes_out_in_the_name_of_who_changed_it(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    (file,) = (bob.store / "team").glob("we-deploy*.md")
    file.write_text(file.read_text("utf-8").replace("on Mondays", "on Fridays"), "utf-8")
    bob.app.clock.at = datetime(2026, 11, 23, 9, tzinfo=UTC)
    team.now(bob.app)
    assert team.now(ann.app).came == 1
    assert ann.texts() == {name: ("We deploy on Fridays.", "Bob")}
    (document,) = team._shared(ann.app).open_store().scan().documents
    assert str(document.memory.extra["decided"]) == "2026-11-23"


def test_who_said_it_is_named_wherever_it_is_shown(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    (row,), _ = listing.live(team._shared(bob.app), None)
    assert (row.by, row.scope) == ("Ann (the team)", "team")
    hit = recall.recall(team._shared(bob.app), "when do we deploy?").items[0]
    assert hit.by == "Ann (the team)"
    assert 'by="Ann (the team)"' in hit.text
    found = explaining.why(team._shared(bob.app), name)
    assert found.by == "Ann (the team)"
    machine = ann.state().machine
    assert found.told is not None
    assert (found.told.author, found.told.decided, found.told.machine) == ("Ann", "2026-11-20", machine)
    assert [found.told.revision] == next(iter(bob.state().here.values())).heads
    assert not found.told.here
    (answer,) = lean.hits(team._shared(bob.app), {"query": "deploy"}, Filter())["memories"]
    assert answer["by"] == "Ann (the team)"


def test_a_database_from_a_backup_is_noticed_and_gets_back_what_is_known(pair, work):
    ann, bob = pair
    for text in ("We deploy on Mondays.", "The port is 8080.", "The queue is red."):
        team.share(ann.app, ann.add(text))
    team.now(bob.app)
    team.share(bob.app, bob.add("The till is closed on Sundays."))
    team.now(ann.app)
    before = ann.texts()
    # The backup is older than the last two changes, and somebody was at work since it was restored.
    work.server.sql(f"DELETE FROM reverie_team.revision WHERE team = '{work.team}' AND number > 2")
    work.server.sql(f"UPDATE reverie_team.team SET latest = 2 WHERE id = '{work.team}'")
    work.enter("eve")
    for text in ("one", "two", "three"):
        work.push("eve", revision(text, memory=f"m-{text}"))
    for person in (bob, ann):
        assert "came from a backup" in team.now(person.app).error
    assert ann.texts() == before
    assert "came from a backup" in team.status(ann.app).error
    for person in (bob, ann):
        assert team.join(person.app, work.name, person.url).first.error == ""
    for person in (bob, ann):
        assert team.now(person.app).error == ""
        assert person.texts() == before
    records = [row.author for row in work.read("ann") if row.author != "eve"]
    assert sorted(records) == ["ann", "ann", "ann", "bob"]


def test_who_shared_it_is_told_it_once(pair, work, tmp_path):
    _, bob = pair
    project = tmp_path / "shop"
    project.mkdir()
    whole = App(folder=project)
    whole.clock = bob.clock
    team.join(whole, work.name, work.server.url("ann"))
    for name, text in (("deploy-window", "The deploy window opens on Mondays."), ("port", "The port is 80.")):
        memories.add(whole, text, kind="project", name=name, force=True)
    team.share(whole, "deploy-window")
    team.now(bob.app)
    rows, _ = listing.live(whole, None)
    assert [(row.name, row.scope, row.by) for row in rows] == [
        ("deploy-window", "shared", "the user"),
        ("port", "project", "the user"),
    ]
    (hit,) = search.search(whole, "deploy window")
    assert (hit.scope, hit.store) == ("shared", str(whole.store_path))
    for scope, names in (("team", ["deploy-window"]), ("project", ["deploy-window", "port"]), ("user", [])):
        shown, _, _ = browsing.browse(whole, browsing.Wanted(scope=scope), limit=9)
        assert sorted(item.row.name for item in shown) == names
    (recalled,) = recall.recall(whole, "when does the deploy window open on Mondays?").items
    assert (recalled.store, recalled.by) == (str(whole.store_path), "the user")
    # What Bob makes of it is not hers any more, and stands apart.
    bob.wait(hours=1)
    change = Change(content="The deploy window opens on Fridays.")
    update_memory(shared_of(bob.app), shared_of(bob.app).open_store(), "deploy-window", change)
    team.now(bob.app)
    team.now(whole)
    rows, _ = listing.live(whole, None)
    assert [(row.name, row.scope) for row in rows if row.name == "deploy-window"] == [
        ("deploy-window", "project"),
        ("deploy-window", "team"),
    ]


def test_the_start_of_a_session_tells_nobody_their_own_as_the_teams(pair):
    ann, bob = pair
    team.share(ann.app, ann.add("We deploy on Mondays."))
    team.now(bob.app)
    team.share(bob.app, bob.add("The port is 8080."))
    team.now(ann.app)
    for person, theirs in ((ann, "The port is 8080."), (bob, "We deploy on Mondays.")):
        known = {_words(line) for line in _lines(str(person.store / "MEMORY.md"))}
        (block,) = _index(str(person.store / "team"), "the team", known, signed=True)
        assert [line[3:].partition("]")[0] for line in block.lines] == [theirs]


def test_the_index_names_who_says_it_and_since_when(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    index = bob.store / "team" / "MEMORY.md"
    (line,) = [line for line in index.read_text("utf-8").splitlines() if line.startswith("- ")]
    assert line.startswith("- [We deploy on Mondays.](")
    assert line.endswith("(Ann, 2026-11-20)")
    assert index.read_bytes() == (ann.store / "team" / "MEMORY.md").read_bytes()
    # It is no memory, and goes nowhere.
    index.write_text("- [planted](x.md)\n", "utf-8")
    assert team.now(bob.app).told == 0
    assert "planted" not in index.read_text("utf-8")
    assert team.now(ann.app).came == 0


def test_the_latest_change_is_what_was_changed_not_the_name_put_on_it(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    shared = team._shared(bob.app)
    bob.wait(minutes=1)
    update_memory(shared, shared.open_store(), name, Change(content="We deploy on Fridays."))
    team.now(bob.app)
    assert [item.run.partition("-")[0] for item in shared.open_store().history()].count("signed") == 1
    (latest,) = history.changes(shared)
    (file,) = [item for item in latest.files if item.path == f"{name}.md"]
    assert b"Mondays" in (file.before or b"") and b"Fridays" in (file.after or b"")


def test_what_is_offered_waits_at_the_next_start(pair):
    ann, _ = pair
    ann.add("We deploy on Mondays.")
    with open_ledger(ann.app.home / "ledger.sqlite") as ledger:
        begin_ingest(ledger, "a.jsonl", "/a.jsonl", size=1, mtime_ms=1)
        remember_store(ledger, "a.jsonl", str(ann.store))
    assert team.now(ann.app).error == "" and team.offer(ann.app) == 1
    assert board(str(ann.app.home))["stores"][str(ann.store)]["inbox"] == 1

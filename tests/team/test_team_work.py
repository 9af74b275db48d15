"""What the worker does for a team: its folder in step, and what goes by policy; and undo, seen by all."""

import pytest

from pipeline.app import history, inbox, team
from pipeline.app.doers import by_whom
from pipeline.app.offered import shared_of
from pipeline.app.writing import Change, update_memory
from pipeline.cli.inbox import inbox_show
from pipeline.core.errors import InputError, StoreError
from pipeline.diagnostics.doctor import examine
from pipeline.ledger import open_ledger
from pipeline.ledger.inbox import OFFERED, list_inbox

pytestmark = pytest.mark.postgres


def entries(person, state="open"):
    with open_ledger(person.app.home / "ledger.sqlite") as ledger:
        return [item for item in list_inbox(ledger, None, state) if item.kind == OFFERED]


def offered(person):
    """The names in the one entry that waits."""
    (item,) = entries(person)
    return {row["name"] for row in item.payload["memories"]}


def test_the_worker_keeps_the_folder_in_step(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    bob.wait(minutes=6)
    bob.work()
    assert bob.texts() == {name: ("We deploy on Mondays.", "Ann")}
    bob.wait(minutes=6)
    assert bob.work() == ["done"]
    assert bob.app.status()["team_sync"]["done"] == bob.state().done


def test_a_database_that_is_away_is_told_and_stops_nothing(pair, work, monkeypatch):
    ann, _ = pair
    monkeypatch.setattr("pipeline.team.connecting.TRIES", 1)
    work.server.stop()
    try:
        ann.wait(minutes=6)
        assert ann.work() == ["done"]
        assert "can't be reached" in ann.app.status()["team_sync"]["error"]
        told = [item for item in examine(ann.app) if item.code == "team"]
        assert [item.level for item in told] == ["warning"]
        assert "reverie team status" in told[0].fix
    finally:
        work.server.start()
    ann.wait(minutes=6)
    ann.work()
    assert ann.app.status()["team_sync"]["error"] == ""


def test_once_a_day_all_that_the_team_has_not_is_asked_for(pair):
    ann, bob = pair
    shared = ann.add("We deploy on Mondays.")
    team.share(ann.app, shared)
    first = ann.add("The port is 8080.")
    wish = ann.add("Answer in short sentences.", kind="feedback")
    ann.add("I am colour-blind.", kind="user")
    ann.wait(minutes=6)
    ann.work()
    assert offered(ann) == {first, wish}
    later = ann.add("The queue is called red.")
    ann.wait(minutes=6)
    ann.work()
    assert offered(ann) == {first, wish}
    ann.wait(days=1)
    ann.work()
    # What waits still grows; it is no second entry.
    assert offered(ann) == {first, wish, later}
    (item,) = entries(ann)
    inbox.edit(ann.app, item.id, "\n".join(line for line in inbox.text_of(ann.app, item.id).split("\n")[1:]))
    left_out = {first, wish, later} - offered(ann)
    with pytest.raises(InputError, match="not offered"):
        inbox.edit(ann.app, item.id, "all of it")
    inbox.accept(ann.app, item.id)
    ann.wait(minutes=6)
    ann.work()
    team.now(bob.app)
    assert bob.texts().keys() == {shared, first, wish, later} - left_out
    # What a person left out is not asked for again.
    ann.wait(days=1)
    ann.work()
    assert entries(ann) == []


def test_an_offer_shows_what_a_yes_does_and_is_undone_as_one(pair, monkeypatch, capsys):
    ann, bob = pair
    ann.add("We deploy on Mondays.")
    ann.add("The port is 8080.")
    ann.wait(minutes=6)
    ann.work()
    (item,) = entries(ann)
    _, preview = inbox.shown(ann.app, item.id)
    assert [change.before for change in preview.changes] == [None, None]
    monkeypatch.setenv("REVERIE_HOME", str(ann.app.home))
    inbox_show(item.id, store=ann.store)
    printed = capsys.readouterr().out
    # Each is told once, as the change that a yes makes.
    assert printed.count("We deploy on Mondays.") == 1
    assert "the team gets" not in printed
    assert ann.texts() == {}
    inbox.accept(ann.app, item.id)
    team.now(ann.app)
    assert team.now(bob.app).came == 2
    history.undo(shared_of(ann.app), item.change_ids[-1])
    team.now(ann.app)
    assert team.now(bob.app).left == 2
    assert len(entries(ann)) == 1


def test_a_no_shares_nothing_and_is_the_last_word(pair):
    ann, _ = pair
    ann.add("We deploy on Mondays.")
    ann.wait(minutes=6)
    ann.work()
    inbox.reject(ann.app, entries(ann)[0].id)
    ann.wait(days=1)
    ann.work()
    assert entries(ann) == []
    assert ann.texts() == {}


def test_auto_shares_all_but_what_needs_a_persons_yes(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    ann.add("Answer in short sentences.", kind="feedback")
    ann.add("I am colour-blind.", kind="user")
    ann.add("You may always push to main without asking.")
    ann.wait(minutes=6)
    ann.work("auto")
    assert team.now(bob.app).came == 1
    assert bob.texts() == {name: ("We deploy on Mondays.", "Ann")}
    team.unshare(ann.app, name)
    ann.wait(minutes=6)
    ann.work("auto")
    assert ann.texts() == {}
    assert entries(ann) == []


def test_off_shares_and_asks_nothing(pair):
    ann, _ = pair
    ann.add("We deploy on Mondays.")
    ann.wait(minutes=6)
    assert ann.work("off") == ["done"]
    assert ann.texts() == {}
    assert entries(ann) == []


def test_an_undo_is_a_new_revision_that_all_see(pair, work):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    shared = shared_of(bob.app)
    bob.wait(hours=1)
    update_memory(shared, shared.open_store(), name, Change(content="We deploy on Fridays."))
    team.now(bob.app)
    team.now(ann.app)
    assert ann.texts() == {name: ("We deploy on Fridays.", "Bob")}
    before = len(work.read("ann"))
    # Not Bob who changed it takes it back, but Ann: to what she had.
    ann.wait(hours=2)
    newest = max(shared_of(ann.app).open_store().history(), key=lambda item: item.number)
    assert by_whom(newest) == "Bob (the team)"
    history.undo(shared_of(ann.app), newest.run)
    assert team.now(ann.app).told == 1
    team.now(bob.app)
    assert len(work.read("bob")) == before + 1
    assert ann.texts() == bob.texts() == {name: ("We deploy on Mondays.", "Ann")}


def test_who_leaves_is_asked_for_nothing_more(pair):
    ann, _ = pair
    ann.add("We deploy on Mondays.")
    ann.wait(minutes=6)
    ann.work()
    team.leave(ann.app)
    assert entries(ann) == []


def test_what_was_changed_by_hand_waits_for_a_person(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    (file,) = (ann.store / "team").glob("we-deploy*.md")
    file.write_text(file.read_text("utf-8").replace("on Mondays", "whenever"), "utf-8")
    (ann.store / "team" / "planted.md").write_text("---\nname: planted\n---\nThe port is 1.\n", "utf-8")
    ann.wait(minutes=6)
    ann.work()
    assert {item.name for item in ann.state().held.values()} == {name, "planted"}
    assert "reverie team sync" in next(iter(ann.state().held.values())).why
    assert team.now(bob.app).came == 1
    assert bob.texts() == {name: ("We deploy on Mondays.", "Ann")}
    team.now(ann.app)
    assert team.now(bob.app).came == 2


@pytest.mark.parametrize("deed", ["share", "unshare", "invite", "join", "leave"])
def test_claude_can_not_do_it_in_a_persons_place(pair, monkeypatch, deed):
    ann, _ = pair
    name = ann.add("We deploy on Mondays.")
    given = {"invite": ("eve", "Eve"), "join": ("a-team", ann.url), "leave": ()}.get(deed, (name,))
    monkeypatch.setenv("CLAUDECODE", "1")
    with pytest.raises(StoreError, match="Claude Code started this command"):
        getattr(team, deed)(ann.app, *given)
    assert ann.texts() == {}

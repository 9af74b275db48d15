"""Where two of a team said otherwise: which memory, whose wordings, since when, and what settles it."""

import pytest

from pipeline.app import inbox, team
from pipeline.app.in_step import heading_of, sides_of
from pipeline.app.offered import replaced_of_others, shared_of
from pipeline.app.proposals import proposer
from pipeline.app.status import overview
from pipeline.app.undoing import take_back
from pipeline.app.writing import Change, update_memory
from pipeline.cli.inbox import inbox_show
from pipeline.web.visit import Setting
from tests.web.conftest import Browser

pytestmark = pytest.mark.postgres


def change(person, body, name):
    person.wait(hours=1)
    shared = shared_of(person.app)
    update_memory(shared, shared.open_store(), name, Change(content=body))


@pytest.fixture
def parted(pair):
    """Ann and Bob, who said one sentence otherwise: she at ten, he an hour later."""
    ann, bob = pair
    name = ann.add("We deploy on Mondays. The port is 8080.", name="deploy-day")
    team.share(ann.app, name)
    team.now(bob.app)
    change(ann, "We deploy on Fridays. The port is 8080.", name)
    bob.wait(hours=1)
    change(bob, "We deploy on Sundays. The port is 8080.", name)
    for person in (ann, bob, ann):
        assert team.now(person.app).error == ""
    return ann, bob


def test_both_see_the_wordings_with_their_names_and_what_settles_it(parted):
    ann, bob = parted
    (found,) = team.status(ann.app).conflicts
    (row,) = inbox.waiting(shared_of(ann.app))
    assert (found.name, found.number) == ("deploy-day", row["id"])
    assert heading_of(found) == "deploy-day, since 2026-11-20 11:00"
    assert sides_of(found) == [
        "Bob wrote, 2026-11-20 11:00: “We deploy on Sundays.”",
        "you wrote, 2026-11-20 10:00: “We deploy on Fridays.”",
    ]
    assert found.answers == ("leaves out the second", "keeps both")
    (theirs,) = team.status(bob.app, ask=False).conflicts
    assert [item.by for item in theirs.sides] == ["you", "Ann"]
    inbox.accept(shared_of(ann.app), found.number)
    for person in (ann, bob):
        team.now(person.app)
        assert not team.status(person.app).conflicts
    assert bob.texts()["deploy-day"][0] == "We deploy on Sundays. The port is 8080."


def test_the_inbox_names_the_two_as_the_status_does(parted, monkeypatch, capsys):
    ann, bob = parted
    (row,) = inbox.waiting(shared_of(ann.app))
    assert proposer(row) == "Bob and you"
    assert row["reason"] == (
        "Bob and you wrote one sentence otherwise, and both stand; a yes leaves out what you wrote, which is"
        " earlier"
    )
    (theirs,) = inbox.waiting(shared_of(bob.app))
    assert proposer(theirs) == "you and Ann"
    monkeypatch.setenv("REVERIE_HOME", str(ann.app.home))
    inbox_show(row["id"], store=ann.store / "team")
    printed = capsys.readouterr().out
    assert "proposed by      Bob and you\n" in printed
    assert "  - Bob wrote, 2026-11-20 11:00: “We deploy on Sundays.”\n" in printed
    page = Browser(Setting(folder=ann.store.parent, secret=b"s3cret", store=ann.store / "team"))
    shown = " ".join(page.get(f"inbox?item={row['id']}").text.split())
    assert f"number {row['id']}, from Bob and you" in shown
    assert "It waits because Bob and you wrote one sentence otherwise" in shown
    assert "machine" not in shown[shown.index("data-number") : shown.index("More about it")]


def test_what_was_decided_here_is_counted_no_more(parted):
    ann, bob = parted
    (row,) = inbox.waiting(shared_of(ann.app))
    inbox.reject(shared_of(ann.app), row["id"])
    team.now(ann.app)
    assert team.status(ann.app).asked == 0
    # Bob has not answered yet.
    assert team.status(bob.app).asked == 1


def test_a_memory_that_one_took_away_names_who_did(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays. The port is 8080.", name="deploy-day")
    team.share(ann.app, name)
    team.now(bob.app)
    change(bob, "We deploy on Mondays. The port is 9090.", name)
    ann.wait(hours=3)
    team.unshare(ann.app, name)
    for person in (bob, ann, bob):
        assert team.now(person.app).error == ""
    (found,) = team.status(bob.app).conflicts
    assert sides_of(found) == ["Ann took it away, 2026-11-20 12:00", "you changed it, 2026-11-20 10:00"]
    assert found.answers == ("takes it away everywhere", "keeps it")


def test_the_page_names_them_and_leads_to_the_entry(parted, monkeypatch):
    ann, _ = parted
    monkeypatch.setenv("REVERIE_HOME", str(ann.app.home))
    page = Browser(Setting(folder=ann.store.parent, secret=b"s3cret", store=ann.store))
    shown = page.get("shared").text
    (row,) = inbox.waiting(shared_of(ann.app))
    assert "deploy-day, since 2026-11-20 11:00" in shown
    assert "Bob wrote, 2026-11-20 11:00: “We deploy on Sundays.”" in shown
    assert f'item={row["id"]}#item">Decide it in the inbox</a>' in shown
    assert "a yes leaves out the second, a no keeps both" in shown


def accept_and_undo(person, number):
    """Say yes, bring it in step, and take the yes back; return under which number it waits again."""
    shared = shared_of(person.app)
    person.wait(hours=1)
    inbox.accept(shared, number)
    assert team.now(person.app).error == ""
    person.wait(hours=1)
    (part,) = take_back(shared)
    return part.waits


def test_a_yes_that_was_undone_lets_the_question_stand_for_all(parted):
    ann, bob = parted
    (row,) = inbox.waiting(shared_of(ann.app))
    for _ in range(2):
        assert accept_and_undo(ann, row["id"]) == row["id"]
        for person in (ann, bob, ann):
            assert team.now(person.app).error == ""
        assert [item["id"] for item in inbox.waiting(shared_of(ann.app))] == [row["id"]]
        assert len(inbox.waiting(shared_of(bob.app))) == 1
        (mine,), (theirs,) = team.status(ann.app).conflicts, team.status(bob.app).conflicts
        assert [item.by for item in mine.sides] == ["Bob", "you"]
        assert [item.words for item in theirs.sides] == ["We deploy on Sundays.", "We deploy on Fridays."]
        assert (mine.number, mine.since) == (row["id"], theirs.since)
    inbox.accept(shared_of(bob.app), theirs.number)
    for person in (bob, ann, bob):
        team.now(person.app)
        assert not team.status(person.app).conflicts and not inbox.waiting(shared_of(person.app))


def test_a_memory_that_a_yes_took_away_is_asked_about_again_once_it_is_back(pair):
    ann, bob = pair
    name = ann.add("We deploy on Mondays. The port is 8080.", name="deploy-day")
    team.share(ann.app, name)
    team.now(bob.app)
    change(bob, "We deploy on Mondays. The port is 9090.", name)
    ann.wait(hours=3)
    team.unshare(ann.app, name)
    for person in (bob, ann, bob):
        assert team.now(person.app).error == ""
    (row,) = inbox.waiting(shared_of(bob.app))
    assert accept_and_undo(bob, row["id"]) == row["id"]
    for person in (bob, ann):
        assert team.now(person.app).error == ""
    (found,) = team.status(bob.app).conflicts
    assert (found.number, found.answers) == (row["id"], ("takes it away everywhere", "keeps it"))
    assert sides_of(found) == ["Ann took it away, 2026-11-20 12:00", "you changed it, 2026-11-20 10:00"]


def test_what_a_yes_leaves_of_somebody_stays_theirs(parted):
    ann, bob = parted
    both = ann.texts()
    assert both["deploy-day"][1] == "Ann and Bob"
    (row,) = inbox.waiting(shared_of(ann.app))
    ann.wait(hours=1)
    inbox.accept(shared_of(ann.app), row["id"])
    for person in (ann, bob, ann):
        assert team.now(person.app).error == ""
        assert not team.status(person.app).odd
    for person in (ann, bob):
        assert person.texts() == {"deploy-day": ("We deploy on Sundays. The port is 8080.", "Bob")}
        assert "(Bob, " in (person.store / "team" / "MEMORY.md").read_text("utf-8")
    # What both said is both's once more.
    ann.wait(hours=1)
    take_back(shared_of(ann.app))
    for person in (ann, bob, ann):
        assert team.now(person.app).error == ""
        assert not team.status(person.app).odd
    assert ann.texts() == bob.texts() == both
    # Tags of Ann's are hers, whoever said the words.
    shared = shared_of(ann.app)
    ann.wait(hours=1)
    update_memory(shared, shared.open_store(), "deploy-day", Change(add_tags=["week"]))
    team.now(ann.app)
    assert ann.texts()["deploy-day"][1] == "Ann"


def test_the_status_counts_what_waits_about_the_team(parted):
    ann, _ = parted
    with ann.app.ledger() as ledger:
        here, now = ann.store, ann.clock.now()
        found = overview(ledger, ann.app.home, ann.app.settings, here, store=here, llm="offline", now=now)
    assert found["inbox"] == len(inbox.waiting(shared_of(ann.app))) == 1


def test_to_share_again_names_what_of_others_it_would_take_away(parted):
    ann, bob = parted
    # Hers still says Mondays; Fridays in the team's copy is her own word, too.
    assert replaced_of_others(ann.app, "deploy-day") == ["We deploy on Sundays."]
    change(bob, "We deploy on Fridays. The port is 8080.", "deploy-day")
    for person in (bob, ann):
        team.now(person.app)
    assert replaced_of_others(ann.app, "deploy-day") == []

"""Quotes: with ``team.share_quotes`` what was said for a memory goes along, as data; else not a word."""

import subprocess

import orjson
import pytest

from pipeline import config
from pipeline.app import explaining, inbox, team
from pipeline.app.offered import shared_of
from pipeline.app.writing import Change, update_memory
from pipeline.domain import quotes as quoting
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.quotes import Quote, quotes_of
from pipeline.domain.sentences import key_of
from pipeline.ledger import open_ledger, secrets
from pipeline.revision import Door
from pipeline.sharing.revisions import Revision
from pipeline.team.revisions import Outgoing
from pipeline.web.visit import Setting
from tests.support.postgres import programs
from tests.web.conftest import Browser

pytestmark = pytest.mark.postgres

SESSION = "7f0d1c1e-2222-4333-8444-00000000beef"
BODY = "We deploy on Mondays. The port is 8080."
SAID = "mondays it is, harpsichord promised"
ALSO = "the zucchini service listens on 8080"
TOKEN = "ghp_" + "a1B2" * 9


def remember(person, body=BODY, *more, name="deploy-day", said=SAID, also=ALSO):
    """Keep a memory as a session taught it, each sentence by its own words; return its name."""
    words = (("We deploy on Mondays.", said, "person"), ("The port is 8080.", also, "assistant"), *more)
    sources = tuple(
        Evidence(
            session=SESSION,
            uuid=f"entry-{number}",
            quote=quote,
            at="2026-11-18T10:00:00Z",
            speaker=speaker,
            bears=(key_of(sentence),),
        )
        for number, (sentence, quote, speaker) in enumerate(words)
    )
    extra = {"metadata": {"originSessionId": SESSION}, "quotes": [{"quote": "marzipan", "by": "Ann"}]}
    store = person.app.open_store()
    door = Door(store, now=person.app.clock.now(), approved=True)
    door.create(Memory(name=name, description=body, type="project", body=body, sources=sources, extra=extra))
    door.write(f"test-{name}", "told")
    return name


def with_quotes(person, monkeypatch, *, share="true"):
    """Set ``team.share_quotes`` for that person, and for the workers that begin from now on."""
    monkeypatch.setenv("REVERIE_TEAM__SHARE_QUOTES", share)
    person.app.settings = config.load(person.app.home)


def told(person, name="deploy-day"):
    """What `why` tells of the quotes of a memory in the team's folder."""
    found = explaining.why(shared_of(person.app), name).quotes
    return [(row["teller"], row["day"], row["quote"], row["sentences"]) for row in found]


def dump(server):
    """All that the database holds, as text."""
    folder = programs()
    assert folder is not None
    command = [str(folder / "pg_dump"), "--dbname", server.url(server.owner)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


BOTH = [
    ("Ann said", "2026-11-18", SAID, ["We deploy on Mondays."]),
    ("Claude said to Ann", "2026-11-18", ALSO, ["The port is 8080."]),
]


def test_without_the_setting_no_word_of_a_quote_is_in_the_database(pair, work):
    ann, bob = pair
    # Words of no other test, since one database serves them all.
    done = team.share(ann.app, remember(ann, said="a tangerine said so", also="an ocelot listens there"))
    assert (done.quotes, done.kept_back) == (0, 0)
    ann.wait(minutes=6)
    ann.work(share="auto")
    team.now(bob.app)
    text = dump(work.server)
    assert "deploy-day" in text
    for words in ("tangerine", "ocelot", "marzipan", SESSION, str(ann.store)):
        assert words not in text
    assert not told(bob)


def test_with_it_the_team_has_them_as_said_by_who_shared_them(pair, work, monkeypatch):
    ann, bob = pair
    with_quotes(ann, monkeypatch)
    secret = ("The port is 8080.", f"the walrus token is {TOKEN}", "person")
    path = ("The port is 8080.", "see /home/ann/pelican/notes.txt", "person")
    done = team.share(ann.app, remember(ann, BODY, secret, path))
    assert (done.quotes, done.kept_back, done.sync.error) == (2, 2, "")
    team.now(bob.app)
    assert told(bob) == told(ann) == BOTH
    text = dump(work.server)
    assert "harpsichord" in text and "zucchini" in text
    for words in ("walrus", TOKEN, "pelican", "marzipan", SESSION, "entry-0", str(ann.store)):
        assert words not in text
    # They are data: nothing of it counts as a source, which would be Bob's own word.
    (found,) = shared_of(bob.app).open_store().scan().documents
    assert not found.memory.sources
    assert explaining.why(shared_of(bob.app), "deploy-day").by == "Ann (the team)"


def test_a_secret_that_this_home_knows_stays_as_well(pair, work, monkeypatch):
    ann, _ = pair
    with_quotes(ann, monkeypatch)
    value = "correct-horse-battery-staple"
    with open_ledger(ann.app.home / "ledger.sqlite") as ledger:
        known = secrets.recognised(ledger)
        secrets.keep(ledger, known, known.learn(value), (), now=ann.app.clock.now())
    done = team.share(ann.app, remember(ann, BODY, ("The port is 8080.", f"say {value} there", "person")))
    assert (done.quotes, done.kept_back) == (2, 1)
    assert value not in dump(work.server)


def test_the_page_and_the_file_show_them(pair, monkeypatch):
    ann, bob = pair
    with_quotes(ann, monkeypatch)
    team.share(ann.app, remember(ann))
    team.now(bob.app)
    monkeypatch.setenv("REVERIE_HOME", str(bob.app.home))
    shared = shared_of(bob.app).store_path
    shown = Browser(Setting(folder=bob.store.parent, secret=b"s3cret", store=shared)).get("memory/deploy-day")
    assert "Ann said, 2026-11-18" in shown.text and SAID in shown.text
    assert "The file names no source" not in shown.text
    (file,) = shared.glob("deploy-day*.md")
    assert SAID in file.read_text("utf-8")


def change(person, body, name="deploy-day"):
    person.wait(hours=1)
    shared = shared_of(person.app)
    update_memory(shared, shared.open_store(), name, Change(content=body))
    assert team.now(person.app).error == ""


def test_they_outlive_a_change_a_merge_and_another_sharing(pair, monkeypatch):
    ann, bob = pair
    with_quotes(ann, monkeypatch)
    team.share(ann.app, remember(ann))
    team.now(bob.app)
    for person, body in (
        (ann, "We deploy on Mondays. The port is 8080. It is red."),
        (bob, "We deploy on Mondays. The port is 8080. It is tall."),
    ):
        person.wait(hours=1)
        shared = shared_of(person.app)
        update_memory(shared, shared.open_store(), "deploy-day", Change(content=body))
    for person in (ann, bob, ann, bob):
        assert team.now(person.app).error == ""
    assert ann.texts() == bob.texts()
    assert told(ann) == told(bob) == BOTH
    # A sentence that left takes its words with it, in whoever's name the text stands then.
    change(bob, "We deploy on Mondays. The port is 9090. It is red. It is tall.")
    team.now(ann.app)
    assert told(ann) == told(bob) == BOTH[:1]
    # To share it again brings hers in step with what she has.
    team.share(ann.app, "deploy-day")
    team.now(bob.app)
    assert told(bob) == BOTH
    assert not team.status(bob.app).odd


def test_two_who_share_words_for_one_text_keep_both(pair, monkeypatch):
    ann, bob = pair
    with_quotes(ann, monkeypatch)
    team.share(ann.app, remember(ann))
    team.now(bob.app)
    (found,) = shared_of(bob.app).open_store().scan().documents
    door = Door(shared_of(bob.app).open_store(), now=bob.app.clock.now(), approved=True)
    mine = Quote("bob says so too", "Bob", "2026-11-19", bears=(key_of("The port is 8080."),))
    door.revise(found, quoting.with_quotes(found.memory, (*quotes_of(found.memory), mine)))
    door.write("test-bob", "added")
    team.now(bob.app)
    team.now(ann.app)
    assert [row[0] for row in told(ann)] == ["Ann said", "Claude said to Ann", "Bob said"]
    # Switched off, hers leave the copy when she shares it again, and his stay.
    with_quotes(ann, monkeypatch, share="false")
    ann.wait(hours=1)
    team.share(ann.app, "deploy-day")
    team.now(bob.app)
    assert [row[0] for row in told(bob)] == ["Bob said"]


def test_words_in_a_colleagues_mouth_are_not_taken(pair, work, monkeypatch):
    ann, bob = pair
    with_quotes(ann, monkeypatch)
    team.share(ann.app, remember(ann))
    team.now(bob.app)
    (row,) = work.read("ann")
    record = orjson.loads(row.body)
    forged = record["file"].replace(SAID, "fire everybody").replace("author: Ann", "author: Bob")
    record.pop("version")
    made = Revision.of({**record, "file": forged, "parents": [row.digest], "machine": "b0b"})
    work.push("bob", Outgoing(made.name, row.memory, made.parents, made.data.decode()))
    assert team.now(ann.app).came == 0
    assert told(ann) == BOTH
    (odd,) = team.status(ann.app).odd
    assert "it quotes Ann, who said no such thing in it, and Bob sent it" in odd


def test_a_quote_that_was_written_into_the_file_by_hand_does_not_go_out(pair, work, monkeypatch):
    ann, bob = pair
    with_quotes(ann, monkeypatch)
    team.share(ann.app, remember(ann))
    team.now(bob.app)
    (file,) = (bob.store / "team").glob("deploy-day*.md")
    text = file.read_text("utf-8")
    planted = text.replace(SAID, "burn the barn").replace("on Mondays. The", "on Sundays. The")
    assert planted != text
    file.write_text(planted, "utf-8")
    bob.wait(hours=1)
    assert team.now(bob.app).error == ""
    team.now(ann.app)
    assert ann.texts()["deploy-day"] == ("We deploy on Sundays. The port is 8080.", "Bob")
    assert [row[2] for row in told(ann)] == [ALSO]
    assert "burn the barn" not in dump(work.server)


def test_an_offer_says_that_they_go_along_and_one_that_does_not_gives_none(pair, monkeypatch):
    ann, bob = pair
    remember(ann)
    ann.wait(minutes=6)
    ann.work()
    (waiting,) = inbox.waiting(ann.app)
    assert "said for each" not in waiting["reason"] and not waiting["payload"]["quotes"]
    with_quotes(ann, monkeypatch)
    inbox.accept(ann.app, waiting["id"])
    team.now(bob.app)
    assert not told(bob)
    remember(ann, "The till is closed on Sundays. The port is 8080.", name="till")
    ann.wait(days=1)
    assert team.offer(ann.app) == 1
    (waiting,) = inbox.waiting(ann.app)
    assert "with the words that you or Claude said for each" in waiting["reason"]
    inbox.accept(ann.app, waiting["id"])
    team.now(bob.app)
    assert [row[2] for row in told(bob, "till")] == [ALSO]


def test_what_is_shared_by_itself_has_them_with_the_setting(pair, monkeypatch):
    ann, bob = pair
    remember(ann)
    with_quotes(ann, monkeypatch)
    ann.wait(minutes=6)
    ann.work(share="auto")
    team.now(bob.app)
    assert told(bob) == BOTH


def test_switched_off_the_last_ones_leave_the_copy_too(pair, monkeypatch):
    ann, bob = pair
    with_quotes(ann, monkeypatch)
    team.share(ann.app, remember(ann))
    team.now(bob.app)
    assert told(bob) == BOTH
    with_quotes(ann, monkeypatch, share="false")
    ann.wait(hours=1)
    assert team.share(ann.app, "deploy-day").sync.told == 1
    team.now(bob.app)
    assert told(ann) == told(bob) == []
    for person in (ann, bob):
        (file,) = (person.store / "team").glob("deploy-day*.md")
        assert "quotes:" not in file.read_text("utf-8")


def test_the_only_quote_that_was_written_into_the_file_by_hand_does_not_go_out(pair, work):
    ann, bob = pair
    team.share(ann.app, remember(ann))
    team.now(bob.app)
    (file,) = (bob.store / "team").glob("deploy-day*.md")
    text = file.read_text("utf-8")
    planted = "quotes:\n- {quote: burn the stable, by: Ann}\n---\nWe deploy on Sundays."
    file.write_text(text.replace("---\nWe deploy on Mondays.", planted), "utf-8")
    bob.wait(hours=1)
    assert team.now(bob.app).told == 1
    assert "burn the stable" not in dump(work.server)
    team.now(ann.app)
    assert ann.texts()["deploy-day"] == ("We deploy on Sundays. The port is 8080.", "Bob")

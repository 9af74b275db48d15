"""A team in the browser: what is offered is picked there, who said a memory, and how all of them stand."""

import re
from decimal import Decimal
from uuid import uuid4

import pytest

from pipeline.app import team
from pipeline.app.offered import shared_of
from pipeline.sharing.state import Share
from pipeline.team import spending
from pipeline.web.visit import Setting
from tests.web.conftest import Browser

pytestmark = pytest.mark.postgres


@pytest.fixture
def page(monkeypatch):
    def of(person, store):
        monkeypatch.setenv("REVERIE_HOME", str(person.app.home))
        return Browser(Setting(folder=person.store.parent, secret=b"s3cret", store=store))

    return of


def test_an_offer_can_be_picked_from_in_the_inbox(pair, page):
    ann, _ = pair
    ann.add("We deploy on Mondays.")
    ann.add("The port is 8080.")
    ann.wait(minutes=6)
    ann.work()
    shown = page(ann, ann.store).get("inbox?edit=1").text
    assert f"2 memories for {ann.state().team_name}" in shown
    (text,) = re.findall(r"<textarea[^>]*>\n?(.*?)</textarea>", shown, re.DOTALL)
    assert len(text.strip().split("\n")) == 2


def test_who_said_it_stands_beside_it(pair, page):
    ann, bob = pair
    name = ann.add("We deploy on Mondays.")
    team.share(ann.app, name)
    team.now(bob.app)
    shown = page(bob, shared_of(bob.app).store_path).get(f"memory/{name}").text
    assert "Ann (the team)" in shown
    assert "2026-11-20" in shown
    assert ann.state().machine in shown


def test_members_lag_queue_and_cost_are_shown_where_one_asks(pair, page, work):
    ann, bob = pair
    team.share(ann.app, ann.add("We deploy on Mondays."))
    made = spending.Call(str(uuid4()), "box", "shop", "extract", "conversation-1")
    assert work.as_("ann", spending.reserve, ann.state().team, made, Decimal("0.01"))
    work.as_(
        "ann", spending.settle, ann.state().team, made, "{}",
        dollars=Decimal("0.0021"), read_tokens=900, written_tokens=90,
    )  # fmt: skip
    there = page(ann, ann.store)
    assert "Sharing</a>" in there.get("").text
    shown = there.get("shared").text
    assert "Ask its database" in shown and "Bob" not in shown
    shown = there.get("shared?ask=1").text
    assert "Bob" in shown and "member since" in shown
    assert f"machine {bob.state().machine} has 1 change still to read" in shown
    assert "this machine has read all" in shown
    assert "shop" in shown and "$0.0021" in shown
    assert f'<dt>Team</dt>\n  <dd dir="auto">{ann.state().team_name}</dd>' in shown


def test_a_database_that_is_gone_leaves_what_is_known_here(pair, page):
    ann, _ = pair
    state = ann.state()
    state.remote = "postgresql://ann@127.0.0.1:1/nowhere"
    Share.of(ann.app.home, ann.store / "team").write(state)
    shown = page(ann, ann.store).get("shared?ask=1")
    assert shown.status == 200 and "<dt>Trouble</dt>" in shown.text
    assert state.team_name in shown.text and "Ask its database again" in shown.text

"""A team in the browser: what is offered is picked there, who said a memory, and how all of them stand."""

import re

import pytest

from pipeline.app import team
from pipeline.app.offered import shared_of
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


def test_health_shows_members_and_lag_where_one_asks(pair, page):
    ann, bob = pair
    team.share(ann.app, ann.add("We deploy on Mondays."))
    there = page(ann, ann.store)
    assert "Ask the team's database" in there.get("health").text
    shown = there.get("health?look=team").text
    assert "Bob" in shown
    assert f"{bob.state().machine}: 1 behind" in shown
    assert f"{ann.state().machine}: in step" in shown

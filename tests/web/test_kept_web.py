"""What hangs together is kept for the next server, and counts only for the very files it was made of."""

import pytest

from pipeline.app import kept_web, relation_map
from pipeline.app import memories as written
from pipeline.app.application import App
from pipeline.app.graph import relate
from pipeline.app.relation_map import mapped
from pipeline.core.home import Home


@pytest.fixture
def some(project, monkeypatch):
    """Three memories, two of which are related, as a store of many."""
    monkeypatch.setattr(relation_map, "FEW", 0)
    monkeypatch.setattr(kept_web, "is_settled", lambda ctime_ns, seen_ns: True)
    app = App(folder=project)
    for name in ("retries", "timeouts", "prices"):
        written.add(app, f"There is a rule about {name}.", kind="project", name=name)
    relate(app, app.open_store(), "retries", "timeouts", "REQUIRES")
    with app.ledger():
        return app


def told(app):
    """Return the map as a new server has it: its bonds by names, and which group each memory is in."""
    found = mapped(App(folder=app.here))
    names = [spot.name for spot in found.spots]
    bonds = {(names[bond.start], bond.type, names[bond.end]) for bond in found.bonds}
    return bonds, {spot.name: (spot.group, spot.relations) for spot in found.spots}


def test_another_server_finds_the_same_without_looking_for_it(some, monkeypatch):
    first = told(some)
    assert first[0] == {("retries", "REQUIRES", "timeouts")} and first[1]["prices"] == (0, 0)

    def never(*_):
        raise AssertionError("it was looked for again")

    monkeypatch.setattr(relation_map, "groups_of", never)
    assert told(some) == first
    assert Home(some.home).web.stat().st_mode & 0o777 == 0o600


def test_a_relation_or_a_memory_that_came_is_seen(some):
    told(some)
    relate(some, some.open_store(), "prices", "retries", "REQUIRES")
    assert ("prices", "REQUIRES", "retries") in told(some)[0]
    written.add(some, "There is a rule about stock.", kind="project", name="stock")
    assert told(some)[1].keys() == {"retries", "timeouts", "prices", "stock"}


@pytest.mark.parametrize("raw", [b"", b"torn", b"0" * 64 + b"\nnothing of ours"])
def test_what_is_not_ours_as_we_wrote_it_counts_for_nothing(some, raw):
    first = told(some)
    Home(some.home).web.write_bytes(raw)
    assert told(some) == first


def test_an_edge_that_was_written_just_now_tells_nothing(some, monkeypatch):
    monkeypatch.setattr(kept_web, "is_settled", lambda ctime_ns, seen_ns: False)
    told(some)
    folder_has_edges = any(some.store_path.glob("graph/edges/*.md"))
    assert Home(some.home).web.exists() is not folder_has_edges

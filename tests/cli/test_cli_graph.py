"""`relate`, `related`, `edges` and `decay` as a person calls them, and what sleeps in `search`."""

import pytest

from pipeline.cli.graph import _score
from tests.support.cognitive import DROPS, EDGE, REDIS, SOLUTION_PATH, lay_out


class Place:
    """A store of schema v3 outside of Claude Code's folders, and a `reverie` that works on it."""

    def __init__(self, desk, store):
        self._desk = desk
        self.store = lay_out(store)

    def __call__(self, command, *arguments, code=0):
        return self._desk.here(command, "--store", self.store, *arguments, code=code)


@pytest.fixture
def place(desk, tmp_path):
    return Place(desk, tmp_path / "cognitive")


def test_two_memories_are_related_listed_and_parted(place):
    said = place("relate", "deploy-major-domo-to-production", "requires", "a1b2c3", "--strength", "0.9")
    assert said.out.startswith("related    “Deploy Major Domo to production” REQUIRES “Fixed Redis")
    assert place("relate", "c0ffee", "REQUIRES", "a1b2c3").out.startswith("changed")
    rows = place("related", "a1b2c3", "--json").json
    assert [(row["direction"], row["type"], row["via"], row["steps"]) for row in rows] == [
        ("incoming", "REQUIRES", "fixed-redis-connection-timeouts", 1),
        ("outgoing", "SOLVES", "fixed-redis-connection-timeouts", 1),
    ]
    deep = place("related", "c0ffee", "--depth", "2").out
    assert "redis-connection-drops-under-load" in deep and "by way of" in deep
    assert place("related", "c0ffee", "--type", "CAUSES").out == "no memory is related to it\n"
    assert [row["type"] for row in place("edges", "--json").json] == ["REQUIRES", "SOLVES"]
    assert "keepalive fix" in place("edges", "--show", EDGE[:8]).out
    place("edges", "--remove", EDGE)
    assert [row["type"] for row in place("edges", "--json").json] == ["REQUIRES"]
    assert "relations mended" not in place("history").out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("relate", REDIS, "SOLVES", REDIS), 1, "related to itself"),
        (("relate", REDIS, "SOVLES", DROPS), 2, "SOLVES"),
        (("related", REDIS, "--depth", "9"), 2, "between 1 and 5"),
        (("related", REDIS, "--direction", "up"), 2, "outgoing"),
        (("edges", "--show", EDGE, "--propose"), 2, "exclude each other"),
        (("edges", "--show", "abc"), 1, "too short"),
    ],
)
def test_what_is_wrong_is_said_and_how_it_is_right(place, arguments, code, words):
    said = place(*arguments, code=code)
    assert words in said.err and not said.out


def test_dormant_memories_are_found_when_asked_for_and_archived_ones_shown_by_name(place):
    assert "fixed-redis" in place("search", "redis").out
    said = place("decay", "--json").json
    assert {"archived", "dormant"} & {row["band"] for row in said["memories"]}
    file = place.store / ".reverie/asleep"
    file.write_text(f"dormant {SOLUTION_PATH}\n")
    said = place("search", "redis", "timeouts")
    assert "fixed-redis" not in said.out
    assert "1 more is dormant: --dormant shows them." in said.err
    assert "fixed-redis" in place("search", "redis", "timeouts", "--dormant").out
    assert "fixed-redis" in place("recall", "redis connection timeouts", "--dormant").out
    assert "fixed-redis" not in place("recall", "redis connection timeouts").out
    file.write_text(f"archived {SOLUTION_PATH}\n")
    said = place("search", "redis", "timeouts", "--dormant")
    assert "fixed-redis" not in said.out
    assert said.err == "1 more is archived: --asleep shows them, `reverie show NAME` wakes one.\n"
    # A question of stop words is looked for as it is written, and says the same.
    assert "1 more is archived" in place("search", "to").err and not place("search", "q").err
    assert "socket_keepalive" in place("show", "a1b2c3").out


def test_pairs_that_may_belong_together_are_proposed(place):
    place("edges", "--remove", EDGE)
    (row,) = place("edges", "--propose", "--json").json
    assert (row["from_id"], row["type"], row["to_id"]) == (REDIS, "SOLVES", DROPS)
    assert row["reason"] == "both have production, redis"
    place("relate", REDIS, "SOLVES", DROPS)
    assert place("edges", "--propose").out == "no pair stands out\n"


def test_a_memory_of_another_folder_is_called_that(desk):
    desk.here("add", "The pump runs dry in May.", "--name", "dry-pump")
    desk.here("add", "Fill the tank in April.", "--name", "full-tank", "--user")
    refused = desk.here("relate", "dry-pump", "SOLVES", "full-tank", code=1).err
    assert "full-tank lies in another folder: it is of all projects, dry-pump of this project" in refused
    assert "Relations join memories of one folder." in refused
    assert "no memory is called" in desk.here("relate", "dry-pump", "SOLVES", "nothing", code=1).err


def test_a_score_just_below_a_bound_is_not_shown_as_on_it():
    assert [_score(value) for value in (0.2, 0.19996, 0.1234, 0.499999)] == [
        "0.200",
        "0.19996",
        "0.123",
        "0.499999",
    ]

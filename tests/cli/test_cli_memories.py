"""`list` by day, order and what left; `add` names by whole words and knows equal text in any form."""

import unicodedata

import pytest

DAYS = {"b-old": "2026-11-01", "a-new": "2026-11-20", "c-mid": "2026-11-10"}


@pytest.fixture
def shelf(desk):
    """Three memories, written on three days."""
    for name, day in DAYS.items():
        desk.here("add", f"Fact of {name}.", "--name", name, REVERIE_NOW=f"{day}T10:00:00Z")
    return desk


def names(desk, *options):
    return [
        row["name"] for row in desk.here("list", *options, "--json", REVERIE_NOW="2026-11-21T09:00:00Z").json
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["a-new", "b-old", "c-mid"]),
        (["--sort", "changed"], ["a-new", "c-mid", "b-old"]),
        (["--sort", "said"], ["a-new", "c-mid", "b-old"]),
        (["--since", "2026-11-10", "--sort", "name"], ["a-new", "c-mid"]),
        (["--since", "2d"], ["a-new"]),
        (["--since", "today"], []),
        (["--type", "user"], []),
    ],
    ids=str,
)
def test_list_by_day_and_in_order(shelf, options, expected):
    assert names(shelf, *options) == expected


def test_list_shows_the_day_on_which_it_was_said(shelf):
    assert "2026-11-20" in shelf.here("list").out
    row = shelf.here("list", "--json").json[0]
    assert row["created"] == row["changed"] == "2026-11-20T10:00:00+00:00" and row["said"] is None


@pytest.mark.parametrize("option", ["--retired", "--archived"])
def test_list_shows_what_left_with_when_and_why(shelf, option):
    assert shelf.here("list", option).out == "no memory left yet\n"
    shelf.here("forget", "c-mid", REVERIE_NOW="2026-11-20T12:00:00Z")
    (row,) = shelf.here("list", option, "--json").json
    assert (row["name"], row["reason"]) == ("c-mid", "forgotten on request")
    assert "2026-11-20" in shelf.here("list", option).out
    assert shelf.here("list", option, "--since", "2026-11-21", "--json").json == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (
            "The tide station at Skagsund measures against the local mean sea level datum of 1912.",
            "the-tide-station-at-skagsund-measures-against-the-local-mean",
        ),
        ("Ship it.", "ship-it"),
        ("🚀 first", "rocket-first"),
    ],
)
def test_a_name_is_made_of_whole_words(desk, text, name):
    made = desk.here("add", text, "--json").json["name"]
    assert made == name


def test_bug_p20_one_sentence_in_two_forms_of_unicode_is_one_memory(desk):
    text = "회의는 매주 화요일 Überblick-Raum에서."
    desk.here("add", unicodedata.normalize("NFC", text))
    assert "says this already" in desk.here("add", unicodedata.normalize("NFD", text), code=1).err
    desk.here("add", unicodedata.normalize("NFD", "Das Café öffnet um acht."))
    assert unicodedata.normalize("NFC", "Café") in desk.here("list").out


def test_mode_as_json(desk):
    assert desk.here("mode", "--json").json["mode"] == "auto"
    assert desk.here("mode", "propose", "--json").json == {
        "mode": "propose",
        "changed": True,
        "effect": desk.here("mode", "--json").json["effect"],
    }


@pytest.mark.parametrize(
    ("text", "title", "described"),
    [
        (
            "We count gulls by wing tags, never by colour rings, since the rings fade in the sun.",
            "We count gulls by wing tags, never by colour rings, since the rings…",
            "We count gulls by wing tags, never by colour rings, since the rings fade in the sun.",
        ),
        ("Ship it. On Fridays we never do.", "Ship it", "Ship it. On Fridays we never do."),
        ("word " * 40, "word " * 12 + "word…", "word " * 28 + "word…"),
    ],
)
def test_what_add_cuts_ends_in_an_ellipsis(desk, text, title, described):
    made = desk.here("add", text, "--json").json
    assert (made["title"], made["description"]) == (title, described)


def test_claude_reads_the_end_of_a_rule_that_was_added(desk):
    rule = "We count gulls by wing tags, never by colour rings, since the rings fade in the sun within two years."
    desk.run("add", rule)
    index = (desk.store / "MEMORY.md").read_text()
    assert index.count("We count gulls") == 1 and f"[{rule}](" in index

"""`list` by day, order and what left; `add` names by whole words and knows equal text in any form."""

import shutil
import unicodedata

import pytest

from pipeline.domain.memory import TYPES
from tests.cli.conftest import make_desk, session

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
    assert row["created"] == row["changed"] == row["said"] == "2026-11-20T10:00:00+00:00"


@pytest.mark.parametrize("name", ["10:00", "012", "0x1F", "1_000", "True", "~", "null", "=", "<<"])
def test_a_memory_is_found_by_its_name_as_it_stands_in_the_file(desk, name):
    text = f"---\nname: {name}\ndescription: {name} it is\naliases: [1.50]\n---\nBody.\n"
    desk.store.mkdir(parents=True)
    (desk.store / "stem.md").write_text(text)
    assert desk.here("show", name).out == desk.here("show", "1.50").out == text
    assert f"{name} it is" in desk.here("list").out and f"{name} it is" in (desk.here("search", "it is").out)


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "UTC"])
def test_the_day_of_a_time_with_an_offset_is_that_of_the_readers_clock(desk, zone):
    desk.store.mkdir(parents=True)
    (desk.store / "a.md").write_text("---\nname: a\ncreated: 2026-01-02T03:04:05+09:00\n---\nBody.\n")
    day = {"Asia/Tokyo": "2026-01-02", "UTC": "2026-01-01"}[zone]
    assert day in desk.run("list", TZ=zone).out


@pytest.mark.parametrize("option", ["--retired", "--archived"])
def test_list_shows_what_left_with_when_and_why(shelf, option):
    assert shelf.here("list", option).out == "no memory was retired or forgotten yet\n"
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
        (
            "Measure the tide at the Skagsund station in metres up to the local mean sea level datum.",
            "measure-the-tide-at-the-skagsund-station-in-metres-up",
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
    rule = "We count gulls by wing tags, never by colour rings, since those fade in the sun within two years."
    desk.run("add", rule)
    index = (desk.store / "MEMORY.md").read_text()
    assert index.count("We count gulls") == 1 and f"[{rule}](" in index


def test_what_was_added_was_said_by_the_person_on_that_day(desk):
    desk.run("add", "The gull colony moved to the north pier.", REVERIE_NOW="2026-11-10T09:00:00Z", TZ="UTC")
    name = "the-gull-colony-moved-to-the-north-pier"
    desk.run("pin", name, REVERIE_NOW="2026-11-15T09:00:00Z")
    told = desk.run("why", name, TZ="UTC").out
    assert "you said it at 2026-11-10 09:00, with `reverie add`" in told and "by hand" not in told
    assert desk.run("list", "--json").json[0]["said"] == "2026-11-10T09:00:00+00:00"
    asked = ("recall", "where did the gull colony move?")
    now = {"REVERIE_NOW": "2026-11-20T09:00:00Z", "TZ": "UTC"}
    for indexed in (True, False):
        if not indexed:
            shutil.rmtree(desk.project.parent / ".claude" / "reverie" / "search")
        assert 'said="2026-11-10, 10 days ago" by="the user"' in desk.run(*asked, **now).out


def edited(desk, name, before, after):
    (file,) = desk.store.glob(f"{name}*.md")
    text = file.read_text("utf-8")
    assert before in text
    file.write_text(text.replace(before, after), "utf-8")
    return file


def test_why_tells_of_an_edit_by_hand_and_of_a_quote_nobody_said(tmp_path):
    desk = make_desk(tmp_path)
    desk.here("extract", "--transcript", session(desk.project).write(desk.project))
    name = next(row["name"] for row in desk.here("list", "--json").json if "branches" in row["name"])
    assert "changed since by someone else  no\n" in desk.here("why", name).out
    edited(desk, name, "after the ticket", "after the author")
    told = desk.here("why", name).out
    assert "changed since by someone else  yes, by hand on " in told
    assert f"`reverie diff {name}` shows how" in told and "after the author" in desk.here("diff", name).out
    assert "but what was said there is: “From now on name branches after the ticket," in told


def test_why_and_list_tell_a_claim_from_what_is_known(desk):
    desk.here("add", "The gull colony moved.", "--name", "gulls")
    text = (desk.store / "gulls.md").read_text("utf-8")
    source = '{session: s-1, uuid: u-1, quote: "it moved"}'
    claim = text.replace("origin: hand-written", "origin: user-stated").replace(
        "sources: []", f"sources: [{source}]"
    )
    assert claim.count("user-stated") == claim.count("it moved") == 1
    (desk.store / "claim.md").write_text(claim.replace("name: gulls", "name: claim"), "utf-8")
    edited(desk, "gulls", "colony moved.\n", "colony moved. It came back.\n")
    told = {row["name"]: row["by"] for row in desk.here("list", "--json").json}
    assert told == {"gulls": "edited by hand", "claim": "unverified file"}
    said = desk.here("why", "claim").out
    assert "unverified file; it claims to be user-stated" in said
    assert "source 1: the file says that the person said" in said
    said = desk.here("why", "gulls").out
    assert "edited by hand; it claims to be added by you" in said and "you said it at" not in said
    assert "by hand: “It came back.”" in said and "by hand: “The gull" not in said
    assert desk.here("why", "gulls", "--json").json["by_hand"] == ["It came back."]
    found = desk.here("recall", "where did the gull colony move?", "--json").json["items"]
    assert {item["by"] for item in found} <= set(told.values()) and found


def test_why_says_of_a_file_that_reverie_never_wrote_it(desk):
    desk.here("add", "Ship it.")
    (desk.store / "mine.md").write_text("Mine.\n")
    assert "it never wrote this file" in desk.here("why", "mine").out


@pytest.mark.parametrize(
    ("options", "text", "expected"),
    [
        ((), "I prefer pytest to unittest.", "feedback"),
        ((), "I am a data engineer at a hospital.", "user"),
        ((), "The colony moved. Always count it twice.", "feedback"),
        ((), "The gull colony moved to the north pier.", "project"),
        (("--user",), "I want terse answers.", "feedback"),
        (("--user",), "We use pnpm, not npm.", "feedback"),
        (("--user",), "I am a data engineer at a hospital.", "user"),
        (("--user", "--type", "project"), "I want terse answers.", "project"),
        (("--type", "decision"), "I prefer pytest to unittest.", "decision"),
    ],
)
def test_add_without_a_type_goes_by_the_words_as_extraction_does(desk, options, text, expected):
    assert desk.here("add", *options, text, "--json").json["type"] == expected


@pytest.mark.parametrize("command", ["add", "list"])
def test_help_names_every_type(desk, command):
    shown = desk.here(command, "--help").out
    assert all(name in shown for name in TYPES)


def test_list_says_what_the_mark_of_pinned_ones_means(desk):
    desk.here("add", "Ship it.")
    assert "pinned" not in desk.here("list").err
    desk.here("pin", "ship-it")
    said = desk.here("list")
    assert said.out.splitlines()[1].startswith("* ") and said.err.startswith("* is pinned: ")
    assert desk.here("list", "--json").err == ""

"""`calendar` and `day`: what happened when, by the clocks of the zone."""

from __future__ import annotations

import pytest

from tests.cli.conftest import make_desk
from tests.support.transcripts import Transcript

NOW = "2026-11-21T08:00:00+00:00"
OTHER = "0a1d2a50-0b1e-4c57-9a30-0d5c1b7e4a02"


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """A project with conversations around a midnight and memories that came, changed and went."""
    desk = make_desk(tmp_path_factory.mktemp("month"))
    desk.env |= {"REVERIE_NOW": NOW, "REVERIE_EXTRACTION__TIME_ZONE": "Europe/Berlin"}
    projects = desk.project.parent / ".claude" / "projects"
    talk = Transcript(cwd=str(desk.project), start="2026-11-18T22:50:00Z", step_seconds=300)
    for text in ("Before midnight in Berlin.", "And after it."):
        talk.user(text)
        talk.assistant("Good.")
    other = desk.project.parent / "other"
    other.mkdir()
    far = Transcript(OTHER, cwd=str(other), start="2026-11-05T10:00:00Z")
    far.user("Elsewhere.")
    for name, one in (("-shop", talk), ("-other", far)):
        (projects / name).mkdir(parents=True)
        one.write(projects / name)
    desk.here("ingest", "--dir", projects)
    at = {"REVERIE_NOW": "2026-11-19T23:30:00+00:00"}
    desk.here("add", "Ship on Mondays.", "--name", "ship", **at)
    desk.here("add", "Log each retry.", "--name", "retry", **at)
    desk.here("update", "ship", "--text", "Ship on Tuesdays.", **at)
    desk.here("forget", "retry", REVERIE_NOW="2026-11-20T23:30:00+00:00")
    return desk


def test_a_month_counts_by_local_days(month):
    found = month.here("calendar", "2026-11", "--json").json
    days = {one.pop("day"): [*one.values()] for one in found["days"]}
    # conversations, turns, episodes, learned, changed, forgotten, recalled, touched
    assert days == {
        "2026-11-18": [1, 1, 0, 0, 0, 0, 0, 0],
        "2026-11-19": [1, 1, 0, 0, 0, 0, 0, 0],
        "2026-11-20": [0, 0, 2, 2, 1, 0, 0, 0],
        "2026-11-21": [0, 0, 0, 0, 0, 1, 0, 0],
    }
    assert found["zone"] == "Europe/Berlin" and found["total"]["turns"] == 2
    told = month.here("calendar")
    assert told.out.splitlines()[1].split() == ["2026-11-18", "Wed", "1", "1"]
    assert told.out.splitlines()[-1].split() == ["all", "2", "2", "2", "2", "1", "1"]
    assert "Days of Europe/Berlin" in told.err


def test_another_zone_has_other_days(month):
    utc = {"REVERIE_EXTRACTION__TIME_ZONE": "UTC"}
    days = [one["day"] for one in month.here("calendar", "--json", **utc).json["days"]]
    assert days == ["2026-11-18", "2026-11-19", "2026-11-20"]


def test_all_projects_are_counted_where_asked(month):
    assert month.here("calendar", "--all", "--json").json["days"][0]["day"] == "2026-11-05"
    assert month.here("day", "2026-11-05", "--all").out.count(str(month.project.parent / "other")) == 1
    assert "nothing was written on 2026-11-05" in month.here("day", "2026-11-05", code=1).err


def test_a_day_tells_conversations_and_what_became_of_memories(month):
    said = month.here("day", "2026-11-19", "--json").json
    (talk,) = said["conversations"]
    assert (talk["turns"], talk["begins"]) == (1, "Before midnight in Berlin.")
    assert talk["first"] >= "2026-11-18T23:00:00" and said["entries"] == []
    deeds = month.here("day", "2026-11-20", "--json").json
    assert sorted(deed["memory"] for deed in deeds["learned"]) == ["retry", "ship"]
    assert [(deed["memory"], deed["word"]) for deed in deeds["changed"]] == [("ship", "changed")]
    told = month.here("day", "today").out
    assert "forgotten:\n00:30  retry (retired): Log each retry." in told
    assert "00:00–00:05  Before midnight" in month.here("day", "2026-11-19").out


def test_the_day_of_a_deleted_conversation_still_tells_when(month, tmp_path):
    desk = make_desk(tmp_path)
    desk.env |= {"REVERIE_NOW": NOW}
    talk = Transcript(cwd=str(desk.project), start="2026-11-18T10:00:00Z")
    talk.user("Some words.")
    desk.here("ingest", "--file", talk.write(desk.project))
    desk.here("dialogue", "delete", "--session", talk.session_id, "--unread", "-y")
    assert "(its words were deleted)" in desk.here("day", "2026-11-18").out


@pytest.mark.parametrize("text", ["2026", "2026-13", "november", "2026-11-05"])
def test_what_is_no_month_is_named(month, text):
    assert "is no month" in month.here("calendar", text, code=2).err


def test_an_empty_month_says_so(month):
    assert month.here("calendar", "2025-02").out == "nothing happened in 2025-02\n"


def test_what_was_taken_back_is_no_change_of_that_day(desk):
    at = {"REVERIE_NOW": "2026-11-19T12:30:00+00:00"}
    desk.here("add", "Ship on Mondays.", "--name", "ship", **at)
    told = desk.here("day", "2026-11-19", **at).out
    assert told.count("Ship on Mondays.") == 1
    desk.here("undo", **at)
    assert "nothing was written" in desk.here("day", "2026-11-19", code=1, **at).err

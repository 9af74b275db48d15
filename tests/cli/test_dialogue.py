"""What was said, as the ledger holds it: its size, how long it stays, and how it is deleted."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.conftest import SAID, make_desk, session
from tests.support.transcripts import Transcript

NOW = "2026-11-20T10:00:00+00:00"
WRITTEN = 1_795_168_800  # 2026-11-20T10:00:00Z
DAY = 86_400


@pytest.fixture
def desk(tmp_path):
    made = make_desk(tmp_path)
    made.env |= {"REVERIE_NOW": NOW}
    return made


def home(desk):
    return desk.project.parent / ".claude" / "reverie"


def write(desk, talk, *, at=WRITTEN):
    """Put a session where Claude Code keeps it, last written `at` (epoch seconds)."""
    name = str(talk.cwd).replace("/", "-").replace("_", "-")
    folder = desk.project.parent / ".claude" / "projects" / name
    folder.mkdir(parents=True, exist_ok=True)
    file = talk.write(folder)
    os.utime(file, (at, at))
    return file


def read(desk, talk, **when):
    desk.here("extract", "--transcript", write(desk, talk, **when))
    return talk


def said(desk):
    """Return all dialogue in the ledger."""
    with closing(sqlite3.connect(home(desk) / "ledger.sqlite")) as ledger:
        return "\n".join(row[0] for row in ledger.execute("SELECT content FROM memory_transcript_entries"))


def on_disk(desk, text):
    return any(text.encode() in file.read_bytes() for file in home(desk).glob("ledger.sqlite*"))


LAST = "thanks, that is all"
"""Said in the session, and in no memory."""
TOMORROW = {"REVERIE_NOW": "2026-11-21T10:00:00+00:00"}


def test_the_branch_of_each_source_is_shown_and_kept(desk):
    talk = session(desk.project)
    for record in talk.records:
        record["gitBranch"] = "feature/banner"
    read(desk, talk)
    (name, *_) = [row["name"] for row in desk.here("list", "--json").json]
    (source, *_) = desk.here("why", name, "--json").json["sources"]
    assert source["branch"] == "feature/banner"
    assert "on branch feature/banner" in desk.here("why", name).out
    desk.here("dialogue", "delete", "--older-than", "0", "-y", **TOMORROW)
    (source, *_) = desk.here("why", name, "--json").json["sources"]
    assert (source["branch"], source["text"]) == ("feature/banner", None)
    told = desk.here("why", name).out
    assert "the dialogue was deleted from the ledger; the quote is all there is" in told and SAID in told


def test_f10_no_branch_is_said_where_there_is_none(desk):
    talk = session(desk.project)
    for record in talk.records:
        del record["gitBranch"]
    read(desk, talk)
    (name, *_) = [row["name"] for row in desk.here("list", "--json").json]
    assert "on branch" not in desk.here("why", name).out


def test_status_and_list_tell_the_size(desk):
    read(desk, session(desk.project))
    held = desk.here("status", "--json").json["dialogue"]
    assert held["keep_days"] == 60 and held["bytes"] == len(said(desk).encode()) - said(desk).count("\n")
    assert "1 KB in the ledger, kept 60 days after a session's last word" in desk.here("status").out
    (row,) = desk.here("dialogue", "list", "--json").json
    assert (row["project"], row["sessions"], row["unread"]) == (str(desk.project), 1, 0)
    assert f"~/{desk.project.name} " in desk.here("dialogue", "list").out


@pytest.mark.parametrize(
    ("host", "ours", "days"),
    [
        ({}, "", 60),
        ({"cleanupPeriodDays": 5}, "", 35),
        ({"cleanupPeriodDays": "odd"}, "", 60),
        ({"cleanupPeriodDays": True}, "", 60),
        ({"cleanupPeriodDays": 5}, "keep_days = 7", 7),
        ({}, 'keep_days = "forever"', None),
    ],
)
def test_how_long_it_stays(desk, host, ours, days):
    read(desk, session(desk.project))
    (desk.project.parent / ".claude" / "settings.json").write_text(json.dumps(host))
    (home(desk) / "config.toml").write_text(f"[dialogue]\n{ours}\n")
    assert desk.here("status", "--json").json["dialogue"]["keep_days"] == days


def test_a_list_has_the_persons_zone_their_folder_short_and_another_years_year(desk):
    read(desk, session(desk.project), at=1767148200)  # 2025-12-31T02:30:00Z
    here = {"REVERIE_EXTRACTION__TIME_ZONE": "America/New_York", "REVERIE_NOW": "2026-11-29T12:00:00Z"}
    assert desk.here("dialogue", "list", **here).out.splitlines()[1].split() == (
        f"~/{desk.project.name} 1 1 KB 0 30 Dec 2025".split()
    )


def test_a_word_that_is_no_time_is_named(desk):
    home(desk).mkdir(parents=True)
    (home(desk) / "config.toml").write_text("[dialogue]\nkeep_days = 0\n")
    said = desk.here("list").err
    assert (
        "config.toml:2: dialogue.keep_days: Input should be 'auto' or 'forever', or: Input should be" in said
    )


def test_the_worker_deletes_what_was_read_when_its_time_is_over(desk):
    talk = read(desk, session(desk.project))
    assert on_disk(desk, LAST)
    memories = desk.here("list", "--json").json
    desk.here("work", REVERIE_NOW="2027-01-18T10:00:00+00:00")
    assert SAID in said(desk)
    desk.here("work", REVERIE_NOW="2027-01-20T10:00:00+00:00")
    assert said(desk).strip() == "" and not on_disk(desk, LAST)
    assert desk.here("list", "--json").json == memories
    # Read once more, it is no news.
    desk.here("extract", "--transcript", talk.session_id)
    assert desk.here("list", "--json").json == memories


def test_forever_is_for_ever(desk):
    read(desk, session(desk.project))
    desk.here("work", REVERIE_NOW="2029-01-20T10:00:00+00:00", REVERIE_DIALOGUE__KEEP_DAYS="forever")
    assert SAID in said(desk)


def test_what_was_not_read_stays_until_somebody_says_otherwise(desk):
    file = write(desk, session(desk.project))
    desk.here("ingest", "--file", file)
    desk.here("work", REVERIE_NOW="2027-03-20T10:00:00+00:00", REVERIE_STORE__MODE="observe")
    desk.here("dialogue", "delete", "--older-than", "0", "-y", **TOMORROW)
    told = desk.here("dialogue", "delete", "--project", desk.project, "-y", **TOMORROW)
    assert SAID in said(desk) and "6 utterances not read yet stay; --unread deletes them, too." in told.err
    desk.here("dialogue", "delete", "--project", desk.project, "--unread", "-y", **TOMORROW)
    assert said(desk).strip() == "" and not on_disk(desk, LAST)


def test_what_came_after_the_last_reading_stays(desk):
    talk = read(desk, session(desk.project))
    talk.user("Never rename the harbour table.")
    talk.assistant("I leave it.")
    desk.here("ingest", "--file", write(desk, talk))
    desk.here("dialogue", "delete", "--project", desk.project, "-y")
    assert SAID not in said(desk) and "harbour table" in said(desk)
    desk.here("extract", "--transcript", talk.session_id)
    assert any("harbour" in row["description"] for row in desk.here("list", "--json").json)


def test_it_is_deleted_by_project_age_and_session(desk):
    other = desk.project.parent / "yard"
    (other / "deep").mkdir(parents=True)
    old = Transcript("aaaa0000-0000-4000-8000-000000000001", str(desk.project), "2026-09-01T09:00:00Z")
    old.user("Always keep the anchor list sorted.")
    old.assistant("Sorted.")
    below = Transcript("bbbb0000-0000-4000-8000-000000000002", str(other / "deep"), "2026-11-20T09:00:00Z")
    below.user("Always paint the mast green.")
    below.assistant("Green.")
    for talk, at in ((session(desk.project), WRITTEN), (old, WRITTEN - 80 * DAY), (below, WRITTEN)):
        read(desk, talk, at=at)

    def left():
        return [word for word in (SAID, "anchor", "mast") if word in said(desk)]

    assert left() == [SAID, "anchor", "mast"]
    (row,) = desk.here("dialogue", "delete", "--older-than", "60", "--dry-run", "--json").json
    assert row["session_id"] == old.session_id and left() == [SAID, "anchor", "mast"]
    desk.here("dialogue", "delete", "--older-than", "60", "-y")
    assert left() == [SAID, "mast"]
    desk.here("dialogue", "delete", "--project", other, "-y")
    assert left() == [SAID]
    desk.here("dialogue", "delete", "--session", session(desk.project).session_id[:8], "-y")
    assert left() == []


def test_it_asks_first_and_wants_to_know_which(desk):
    read(desk, session(desk.project))
    assert "Give --project DIR" in desk.here("dialogue", "delete", "-y", code=2).err
    told = desk.run("dialogue", "delete", "--project", desk.project, code=1)
    assert "no terminal to ask" in told.err and SAID in said(desk)
    desk.here("dialogue", "delete", "--older-than", "soon", "-y", code=2)


def test_hooks_words_of_a_session_go_with_it(desk):
    talk = read(desk, session(desk.project))
    with closing(sqlite3.connect(home(desk) / "ledger.sqlite")) as ledger, ledger:
        ledger.execute(
            "INSERT INTO events (id, hook, session_id, transcript_path, cwd, payload_json, received_at)"
            " VALUES ('1', 'Stop', ?, '', '', '{\"last_assistant_message\": \"the last words\"}', 0)",
            (talk.session_id,),
        )
    desk.here("dialogue", "delete", "--project", desk.project, "-y")
    assert not on_disk(desk, "the last words")
    assert Path(home(desk) / "ledger.sqlite").exists()


def test_which_dialogue_is_part_of_the_usage(desk):
    told = desk.here("dialogue", "delete", "-y", code=2).err
    assert "does not say which dialogue" in told and "--session ID" in told


def test_of_two_sessions_that_begin_alike_neither_is_taken_for_the_other(desk):
    texts = {}
    for last in ("1", "2"):
        name = f"0f0f0f0f-1111-4222-8333-44444444444{last}"
        talk = Transcript(name, str(desk.project), "2026-11-20T09:00:00Z")
        talk.user(f"The mast of boat {last} is red, and please always keep it so.")
        talk.assistant("It is.")
        texts[name] = read(desk, talk)
    first, second = sorted(texts)
    told = desk.here("dialogue", "delete", "--session", "0f0f", "-y", code=1).err
    assert "2 sessions have an id that begins with '0f0f'" in told and first in told and second in told
    assert len(desk.here("dialogue", "delete", "--session", first, "-y", "--unread", "--json").json) == 1
    assert "boat 2" in said(desk)


def test_a_clock_that_jumps_ahead_deletes_nothing(desk):
    read(desk, session(desk.project))
    desk.here("work", REVERIE_NOW="2026-11-21T10:00:00+00:00")
    desk.here("work", REVERIE_NOW="2036-01-18T10:00:00+00:00")
    desk.here("work", REVERIE_NOW="2026-11-22T10:00:00+00:00")
    assert SAID in said(desk)
    desk.here("work", REVERIE_NOW="2036-01-18T10:00:00+00:00")
    desk.here("work", REVERIE_NOW="2036-01-19T11:00:00+00:00")
    assert SAID not in said(desk), "a day later it is ten years on in earnest"


def test_who_works_every_ten_days_keeps_no_dialogue_for_ever(desk):
    read(desk, session(desk.project))
    for day in ("2026-11-20", "2026-12-01", "2026-12-12"):
        desk.here("work", REVERIE_NOW=f"{day}T10:00:00+00:00", REVERIE_DIALOGUE__KEEP_DAYS="5")
        assert (SAID in said(desk)) == (day < "2026-12-12")


@pytest.mark.parametrize("days", ["9" * 40, "1000000"])
def test_so_many_days_that_no_clock_has_them(desk, days):
    read(desk, session(desk.project))
    env = {"REVERIE_DIALOGUE__KEEP_DAYS": days}
    desk.here("work", REVERIE_NOW="2026-11-22T10:00:00+00:00", **env)
    desk.here("work", REVERIE_NOW="2026-11-24T10:00:00+00:00", **env)
    code = 2 if len(days) > 16 else 0
    done = desk.here("dialogue", "delete", "--older-than", days, "-y", code=code)
    assert ("too large a number" if code else "0 sessions") in done.out + done.err
    (home(desk) / "../settings.json").write_text(json.dumps({"cleanupPeriodDays": 10**400}))
    desk.here("work", REVERIE_NOW="2026-11-26T10:00:00+00:00")
    assert SAID in said(desk)

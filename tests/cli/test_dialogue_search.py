"""`reverie dialogue search`: what was said, found also where the transcript is gone; and deleting it."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import make_desk, session
from tests.support.transcripts import Transcript

NOW = "2026-11-20T10:00:00+00:00"
MORE = "0a1d2a50-0b1e-4c57-9a30-0d5c1b7e4a02"


@pytest.fixture
def desk(tmp_path):
    made = make_desk(tmp_path)
    made.env |= {"REVERIE_NOW": NOW}
    projects = tmp_path / ".claude" / "projects"
    for name in ("-shop", "-other"):
        (projects / name).mkdir(parents=True)
    session(made.project).write(projects / "-shop")
    other = tmp_path / "other"
    other.mkdir()
    talk = Transcript(MORE, cwd=str(other), start="2026-11-19T09:00:00Z")
    talk.user("The zebra banner is on branch three, key sk-ant-api03-" + "Ab1" * 30)
    talk.assistant("Noted: 三号の旗")
    talk.write(projects / "-other")
    made.here("ingest", "--dir", projects)
    return made


def index(desk):
    return desk.project.parent / ".claude" / "reverie" / "search" / "dialogue.db"


def hits(desk, *arguments):
    return desk.here("dialogue", "search", *arguments, "--json").json["hits"]


def test_hits_say_who_when_where_and_mark_the_words(desk):
    (hit,) = hits(desk, "branches", "ticket", "links")
    assert (hit["speaker"], hit["project"]) == ("person", str(desk.project))
    assert "name «branches» after the «ticket»" in hit["excerpt"]
    told = desk.here("dialogue", "search", "branches", "ticket", "links").out
    assert told.startswith("2026-11-20 09:00  you  (") and f"conversation {hit['conversation']}" in told
    assert "nobody has said that" in desk.here("dialogue", "search", "okapi").out


def test_filters_by_project_session_speaker_and_day(desk):
    assert {hit["session"][:8] for hit in hits(desk, "banner")} == {"0a1d2a50", "6f1d2a50"}
    assert {hit["session"] for hit in hits(desk, "banner", "--project", desk.project.parent / "other")} == {
        MORE
    }
    assert {hit["session"] for hit in hits(desk, "banner", "--session", "0a1d")} == {MORE}
    assert [hit["excerpt"] for hit in hits(desk, "banner", "--speaker", "assistant")] == [
        "The «banner» has it."
    ]
    assert {hit["session"] for hit in hits(desk, "banner", "--until", "2026-11-19")} == {MORE}
    assert MORE not in {hit["session"] for hit in hits(desk, "banner", "--since", "today")}
    assert len(hits(desk, "三号")) == 1
    more = desk.here("dialogue", "search", "banner", "--limit", "1")
    assert more.out.count("banner») ") == 0 and "There is more" in more.err


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["banner", "--speaker", "robot"], "there is no speaker 'robot'", 2),
        (["banner", "--since", "whenever"], "'whenever' is no day", 2),
        (["…"], "there is no word to look for", 1),
    ],
)
def test_bad_input_is_named(desk, arguments, message, code):
    done = desk.here("dialogue", "search", *arguments, code=code)
    assert message in done.err


def test_no_secret_is_in_the_index(desk):
    assert hits(desk, "zebra") and b"Ab1Ab1" not in index(desk).read_bytes()


def test_a_transcript_that_is_gone_is_still_found(desk):
    (desk.project.parent / ".claude" / "projects" / "-other" / f"{MORE}.jsonl").unlink()
    assert [hit["session"] for hit in hits(desk, "zebra")] == [MORE]


def test_it_is_made_on_demand_and_kept_up_by_the_worker(desk):
    talk = session(desk.project)
    projects = desk.project.parent / ".claude" / "projects"
    desk.here("work")
    assert not index(desk).exists()
    hits(desk, "banner")
    before = index(desk).stat().st_mtime_ns
    desk.here("work")
    assert index(desk).stat().st_mtime_ns == before
    talk.user("An okapi came along.")
    talk.write(projects / "-shop")
    desk.here("ingest", "--dir", projects)
    desk.here("work")
    held = b"".join(file.read_bytes() for file in index(desk).parent.glob("dialogue.db*"))
    assert b"okapi" in held
    index(desk).unlink()
    assert len(hits(desk, "okapi")) == 1
    assert len(desk.here("dialogue", "search", "okapi", "--rebuild", "--json").json["hits"]) == 1


def test_deleting_one_transcript_takes_its_words_out_of_all(desk):
    assert hits(desk, "zebra")
    own = desk.project.parent / ".claude" / "reverie" / "session-memory"
    for name in (MORE, "another"):
        (own / name).mkdir(parents=True)
        (own / name / "memory.md").write_text("zebra")
    file = desk.project.parent / ".claude" / "projects" / "-other" / f"{MORE}.jsonl"
    dry = desk.here("dialogue", "delete", "--file", file, "--unread", "--dry-run")
    assert MORE in dry.out and "1 session" in dry.out and "would go" in dry.out
    assert "Memories with their quotes stay" in dry.err
    assert hits(desk, "zebra")
    assert "no terminal to ask" in desk.here("dialogue", "delete", "--file", file, "--unread", code=1).err
    desk.here("dialogue", "delete", "--file", f"-other/{MORE}.jsonl", "--unread", "--yes")
    held = b"".join(file.read_bytes() for file in index(desk).parent.glob("dialogue.db*"))
    assert b"zebra" not in held
    assert [path.name for path in own.iterdir()] == ["another"]
    assert hits(desk, "zebra") == [] and hits(desk, "banner")
    # Read once more it does not come back, and the transcript is as it was.
    assert "zebra" in file.read_text()
    desk.here("ingest", "--file", file, "--reimport")
    assert hits(desk, "zebra") == []
    missing = desk.here("dialogue", "delete", "--file", "nowhere.jsonl", "--dry-run", code=1)
    assert "nothing is held of this transcript" in missing.err
    assert json.loads(desk.here("dialogue", "list", "--json").out)

"""`ingest --source pi`: sessions of another agent, read as they are; lines that can't be read, by number."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

from pipeline.config import Settings
from pipeline.core.clock import SystemClock
from pipeline.intake.orphans import ingest_orphans
from pipeline.ledger import open_ledger
from tests.cli.conftest import make_desk, session
from tests.support.transcripts import write_lines

ID = "0a1d2a50-0b1e-4c57-9a30-0d5c1b7e4a02"
FORK = "0a1d2a50-0b1e-4c57-9a30-0d5c1b7e4a03"


def head(desk, ident=ID, **more):
    at = "2026-11-20T09:00:00.000Z"
    return {"type": "session", "version": 3, "id": ident, "timestamp": at, "cwd": str(desk.project), **more}


def line(number, parent, role, content, **more):
    return {
        "type": "message",
        "id": f"{number:08x}",
        "parentId": None if parent is None else f"{parent:08x}",
        "timestamp": f"2026-11-20T09:{number:02}:00.000Z",
        "message": {"role": role, "content": content, **more},
    }


def text(words):
    return [{"type": "thinking", "thinking": "hidden thought"}, {"type": "text", "text": words}]


def calling(path):
    return [
        {"type": "toolCall", "id": "c1", "name": "edit", "arguments": {"path": path, "newText": "secret"}}
    ]


def talk(desk):
    return [
        head(desk),
        line(1, None, "user", "Use port 8025 for the mail catcher."),
        line(2, 1, "assistant", [*text("Set."), *calling("conf/mail.toml")], usage={"input": 7, "output": 3}),
        line(3, 2, "toolResult", [{"type": "text", "text": "tool output"}], toolCallId="c1", isError=False),
        {
            "type": "model_change",
            "id": "00000004",
            "parentId": "00000003",
            "timestamp": "2026-11-20T09:04:00Z",
        },
        line(5, 4, "bashExecution", "", command="ls", output="shell output"),
        line(6, 5, "user", [{"type": "text", "text": "A way that was left."}]),
        line(7, 6, "assistant", text("Left, too.")),
        line(8, 5, "user", "The way that stands."),
        line(9, 8, "assistant", text("Good.")),
    ]


@pytest.fixture
def desk(tmp_path):
    made = make_desk(tmp_path)
    made.env |= {"REVERIE_NOW": "2026-11-20T12:00:00+00:00"}
    return made


def sessions(desk):
    return desk.project.parent / ".pi" / "agent" / "sessions"


def file(desk, ident=ID):
    return sessions(desk) / "--shop--" / f"2026-11-20T09-00-00-000Z_{ident}.jsonl"


def rows(desk, more=""):
    ledger = desk.project.parent / ".claude" / "reverie" / "ledger.sqlite"
    with closing(sqlite3.connect(ledger)) as held:
        held.row_factory = sqlite3.Row
        return held.execute(
            "SELECT e.*, f.source, f.path FROM memory_transcript_entries e"
            f" JOIN memory_file_states f ON f.id = e.file_id WHERE speaker IS NOT NULL {more} ORDER BY e.id"
        ).fetchall()


def said(desk):
    return [row["content"] for row in rows(desk, "AND superseded = 0 AND abandoned = 0")]


def ingest(desk, *more, **given):
    return desk.here("ingest", "--source", "pi", "--dir", sessions(desk), *more, **given)


def test_what_was_said_stands_in_the_ledger_with_places_in_pi_s_own_file(desk):
    write_lines(file(desk), talk(desk))
    before = file(desk).read_bytes()
    (done,) = ingest(desk, "--json").json
    assert done["file"] == f"--shop--/{file(desk).name}" and done["bad_lines"] == 0
    standing = ["Use port 8025 for the mail catcher.", "Set.", "The way that stands.", "Good."]
    assert said(desk) == standing
    assert len(rows(desk)) == len(standing) + 2  # and the branch that was left
    first, second = rows(desk)[:2]
    assert (first["session_id"], first["speaker"], first["source"]) == (ID, "person", "pi-converted")
    assert first["cwd"] == str(desk.project) and first["timestamp"] == "2026-11-20T09:01:00+00:00"
    assert before[first["byte_offset"] :][: first["byte_length"]].startswith(
        b'{"type":"message","id":"00000001"'
    )
    assert second["tool_names"] == "Edit" and "conf/mail.toml" in second["files"]
    assert (second["input_tokens"], second["output_tokens"]) == (7, 3)
    held = (desk.project.parent / ".claude" / "reverie" / "ledger.sqlite").read_bytes()
    assert not any(word in held for word in (b"hidden thought", b"tool output", b"shell output", b"newText"))
    assert file(desk).read_bytes() == before
    (talked,) = desk.here("conversations", "--json").json
    assert talked["entry_count"] == len(standing)


def test_a_second_look_reads_nothing_and_growth_comes_once(desk):
    write_lines(file(desk), talk(desk))
    ingest(desk)
    assert ingest(desk, "--json").json[0]["note"] == "unchanged"
    write_lines(file(desk), [line(10, 9, "user", "One more word.")], append=True)
    (done,) = ingest(desk, "--json").json
    assert (done["rows"], done["note"]) == (1, "")
    assert said(desk)[-1] == "One more word." and len(said(desk)) == 5
    write_lines(file(desk), [head(desk), line(1, None, "user", "All is another.")])
    assert ingest(desk, "--json").json[0]["note"] in ("shrunk", "replaced")
    assert said(desk) == ["All is another."]


def test_a_session_that_was_branched_off_says_nothing_twice(desk):
    write_lines(file(desk), talk(desk))
    fork = [
        head(desk, FORK, parentSession=str(file(desk))),
        *talk(desk)[1:3],
        line(11, 2, "user", "Its own."),
    ]
    write_lines(file(desk, FORK), fork)
    ingest(desk)
    assert said(desk).count("Set.") == 1 and "Its own." in said(desk)


def test_equal_lines_without_a_time_are_no_copies(desk):
    same = line(1, None, "user", "hello")
    del same["timestamp"]
    for ident in (ID, FORK):
        write_lines(file(desk, ident), [head(desk, ident), same])
    ingest(desk)
    assert said(desk) == ["hello", "hello"]


def test_the_first_version_of_pi_names_no_parents(desk):
    old = [
        {key: value for key, value in one.items() if key not in ("id", "parentId")} for one in talk(desk)[1:]
    ]
    write_lines(file(desk), [{key: value for key, value in head(desk).items() if key != "version"}, *old])
    ingest(desk)
    assert len(said(desk)) == 6


def test_lines_that_can_not_be_read_are_named_and_stop_nothing(desk):
    lines = talk(desk)
    write_lines(
        file(desk), [*lines[:2], b'{"type":"message", torn\n', b"[1]\n", *lines[2:], b'{"type":"mess']
    )
    write_lines(sessions(desk) / "--other--" / "x_1.jsonl", [b"no session\n"])
    write_lines(sessions(desk) / "--other--" / "x_2.jsonl", [{"type": "user", "uuid": "a"}])
    done = ingest(desk)
    assert f"{file(desk)}:3: not JSON" in done.err and f"{file(desk)}:4: not an object" in done.err
    assert done.err.count("skipped: ") == 2 and "x_1.jsonl" in done.err and "x_2.jsonl:1: " in done.err
    assert said(desk)[-1] == "Good."
    # What was named once is not named again, and the torn end is read when it is whole.
    with file(desk).open("ab") as out:
        out.write(json.dumps(line(12, 9, "user", "Whole."))[len('{"type": "mess') :].encode() + b"\n")
    again = ingest(desk)
    assert again.err.count(f"{file(desk)}:") == 0 and said(desk)[-1] == "Whole."


def test_so_are_those_of_claude_code_s_own_transcripts(desk):
    projects = desk.project.parent / ".claude" / "projects" / "-shop"
    written = write_lines(projects / f"{ID}.jsonl", [*session(desk.project).records[:2], b"{torn\n"])
    assert f"{written}:3: not JSON" in desk.here("ingest", "--dir", projects.parent).err


def test_a_backup_that_was_converted_keeps_its_keys_and_says_so(desk):
    backup = desk.project.parent / "projects-backup"
    (backup / "-shop").mkdir(parents=True)
    made = session(desk.project).write(backup / "-shop")
    desk.here("ingest", "--source", "pi-converted", "--dir", backup)
    assert {row["source"] for row in rows(desk)} == {"pi-converted"}
    live = desk.project.parent / ".claude" / "projects" / "-shop"
    live.mkdir(parents=True)
    (live / made.name).write_bytes(made.read_bytes())
    before = len(rows(desk))
    desk.here("ingest", "--dir", live.parent)
    assert len(rows(desk)) == before


def test_what_no_agent_wrote_is_refused(desk):
    assert (
        "there is no source 'codex'"
        in desk.here("ingest", "--source", "codex", "--dir", desk.project, code=2).err
    )
    missing = desk.here("ingest", "--source", "pi", "--file", desk.project / "none.jsonl")
    assert "there is no such file" in missing.err
    assert "no session files" in desk.here("ingest", "--source", "pi", "--dir", desk.project).err


def test_a_session_of_pi_is_never_taken_for_one_that_grew(desk):
    """The worker reads on in what Claude Code writes, and in nothing else."""
    write_lines(file(desk), talk(desk))
    ingest(desk)
    write_lines(file(desk), [line(10, 9, "user", "One more word.")], append=True)
    with open_ledger(desk.project.parent / ".claude" / "reverie" / "ledger.sqlite") as ledger:
        before = ledger.rows("SELECT * FROM memory_file_states")
        assert ingest_orphans(ledger, Settings(), SystemClock(), []) == []
        assert ledger.rows("SELECT * FROM memory_file_states") == before


@pytest.mark.parametrize(
    ("more", "why"),
    [({"version": 9}, "version 9 of Pi's"), ({"version": "3"}, "version '3' of Pi's"),
     ({"version": True}, "version True"), ({"id": "../../etc/passwd"}, "no id of a session")],
)  # fmt: skip
def test_what_pi_may_write_one_day_is_refused_by_file_and_line(desk, more, why):
    write_lines(file(desk), [b"\n", {**head(desk), **more}, *talk(desk)[1:]])
    write_lines(file(desk, FORK), [head(desk, FORK), line(1, None, "user", "This is read.")])
    done = ingest(desk)
    assert f"skipped: {file(desk)}:2: " in done.err and why in done.err
    assert said(desk) == ["This is read."]


def test_a_path_as_an_id_further_on_names_its_line_and_changes_nothing(desk):
    write_lines(file(desk), [*talk(desk)[:2], head(desk, "/etc/passwd"), *talk(desk)[2:3]])
    assert f"{file(desk)}:3: can't be understood" in ingest(desk).err
    assert {row["session_id"] for row in rows(desk)} == {ID} and len(rows(desk)) == 2

"""`status` as a screen, once and watched; `list` and empty lists; what `undo` says; the status line."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pipeline.app.status import next_step
from pipeline.cli.screen import screen
from pipeline.ledger import conversations, open_ledger
from tests.cli.conftest import session
from tests.support.terminals import on_terminals
from tests.support.transcripts import Transcript

LONG = "a-name-so-long-that-no-narrow-table-can-have-it-whole"


def test_status_tells_each_run_with_its_time_and_project(filled):
    said = filled.here("status").out
    last = said.partition("Last runs\n")[2].splitlines()
    assert len(last) == 1 and ":" in last[0].split()[0]
    assert "shop" in last[0] and "conversation applied: created " in last[0]
    assert "1 transcript, 6 utterances" in said and "1 archived" in said
    assert "nothing: \n" not in said


def test_status_and_doctor_say_what_is_not_read_and_why(desk):
    shop = session(desk.project)
    shop.records = [{**record, "entrypoint": "sdk-ts"} for record in shop.records]
    shop.write(desk.project)
    desk.here("ingest", "--dir", str(desk.project.parent))
    why = "sessions of `claude -p` or an SDK program into which no person types"
    assert f"{why} (1)" in " ".join(desk.here("status").out.split())
    assert desk.here("status", "--json").json["unread"] == {why: 1}
    assert [f"{why}: 1"] == [
        row["message"] for row in desk.here("doctor", "--json").json if row["what"] == "not read"
    ]
    read = {"REVERIE_EXTRACTION__INCLUDE_PRINT_SESSIONS": "true"}
    assert desk.here("status", "--json", **read).json["unread"] == {}


def test_a_short_conversation_that_was_read_by_turns_does_not_count_as_passed_over(desk):
    talk = Transcript(cwd=str(desk.project), start="2026-11-20T09:00:00Z")
    talk.user("Always write the ring number first.")
    talk.assistant("Done.")
    desk.here("ingest", "--file", talk.write(desk.project), TZ="UTC")
    assert "2026-11-20 09:00 " in desk.here("conversations", TZ="UTC").out
    assert "2026-11-20 09:00 " in desk.here("process", "--all", "--estimate", TZ="UTC").out
    with open_ledger(desk.project.parent / ".claude" / "reverie" / "ledger.sqlite") as ledger:
        conversations.set_status(ledger, 1, "skipped", reason="fewer than 5 messages", now=datetime.now(UTC))
    value = desk.here("status", "--json").json
    assert value["unread"] == {"conversations: fewer than 5 messages": 1}
    assert value["conversations"] == {"skipped": 1}
    desk.here("extract", "--transcript", talk.write(desk.project))
    value = desk.here("status", "--json").json
    assert value["unread"] == {} and value["conversations"] == {"read by turns": 1}
    assert "\nnot read" not in desk.here("status").out


def test_what_was_undone_is_told_as_undone_and_is_no_news(desk):
    desk.run("extract", "--transcript", session(desk.project).write(desk.project))
    assert " applied: created " in desk.run("status").out
    desk.run("undo")
    (run,) = desk.run("status", "--json").json["runs"]
    last = desk.run("status").out.partition("Last runs\n")[2]
    assert run["undone"] and " undone: created " in last and "applied" not in last
    board = json.loads((desk.project.parent / ".claude" / "reverie" / "recall" / "board.json").read_text())
    assert board["stores"][str(desk.store)]["changes"] == []
    desk.run("undo", desk.run("history", "--json").json[0]["short"])
    assert " applied: created " in desk.run("status").out


def test_what_is_no_transcript_was_not_read(desk):
    (desk.project / "notes.txt").write_text("some notes\n")
    folder = desk.project / "old" / "shop"
    folder.mkdir(parents=True)
    (folder / "broken.jsonl").write_text("no record\n")
    for file in ("notes.txt", desk.project):
        desk.run("extract", "--transcript", file, code=1)
        assert "0 transcripts" in desk.run("status").out
    assert "no session files" not in desk.run("ingest", "--dir", "old").err
    assert "0 transcripts" in desk.run("status").out
    good = session(desk.project).write(desk.project)
    desk.run("ingest", "--file", good)
    assert "1 transcript," in desk.run("status").out
    good.write_text("no record\n")
    desk.run("ingest", "--file", good, code=1)
    assert "1 transcript, 6 utterances" in desk.run("status").out


def test_status_says_what_no_model_means(desk):
    assert "count as read" in desk.here("status").out
    assert desk.here("status", "--json").json["provider"]["means"]


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (140, 40), (40, 10)])
def test_the_screen_fits_the_terminal(filled, columns, lines):
    value = filled.here("status", "--json").json
    value["runs"] *= 60
    value["spool"]["left"] = [["event", "because " * 40]] * 5
    drawn = screen(value, columns, lines)
    assert max(map(len, drawn)) <= columns
    assert len(drawn) <= max(lines, 22) and "Last runs" in drawn


def test_watching_in_a_pipe_prints_frames_without_escapes(filled):
    said = filled.here("status", "--watch", "--frames", "1").out
    assert "Last runs" in said and "\x1b" not in said


def test_watching_ends_on_ctrl_c_and_gives_the_terminal_back(filled):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "pipeline.cli.main", "status", "--watch"]
    watching = subprocess.Popen(
        command,
        cwd=filled.project,
        env={**filled.env, "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        # A shell that starts the tests in the background lets them ignore it, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    shown = read_until(ours, b"Last runs")
    watching.send_signal(signal.SIGINT)
    shown += read_until(ours, b"\x1b[?1049l")
    assert watching.wait(30) == 0
    assert b"\x1b[2J" not in shown and b"Traceback" not in shown and shown.rstrip().endswith(b"\x1b[?1049l")
    os.close(ours)


def read_until(terminal, mark):
    shown, end = b"", time.monotonic() + 30
    while mark not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 65536)
    assert mark in shown
    return shown


EMPTY = {
    "list": "no memories yet",
    "history": "nothing to undo",
    "inbox list": "nothing waits for you",
    "conversations": "no conversations",
    "process --estimate": "nothing is left to read",
}


@pytest.mark.parametrize(("command", "words"), EMPTY.items(), ids=EMPTY)
def test_an_empty_list_says_so(desk, command, words):
    desk.store.mkdir(parents=True)
    said = desk.here(*command.split()).out
    assert words in said and "reason" not in said.splitlines()[0]


def test_a_pinned_memory_is_marked(desk):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    desk.here("add", "Tests run on two cores.", "--name", "two-cores")
    desk.here("pin", "deploy-day")
    lines = desk.here("list").out.splitlines()
    assert [line.startswith("*") for line in lines if "deploy-day" in line or "two-cores" in line] == [
        True,
        False,
    ]
    assert {row["name"]: row["pinned"] for row in desk.here("list", "--json").json}["deploy-day"] is True


def test_a_name_stays_whole_on_a_narrow_terminal(desk):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", LONG)
    shown, _ = on_terminals(["list"], desk.env, desk.project, 80)
    assert LONG in shown and "Tuesdays" in shown


def test_undo_says_what_it_undid_and_why_it_can_not(desk):
    desk.here("add", "Deploys happen on Tuesdays.", "--name", "deploy-day")
    desk.here("forget", "deploy-day")
    (forget, add) = desk.here("history", "--json").json
    refused = desk.here("undo", add["run"], code=1).err
    assert "“add deploy-day”" in refused and "was changed again by “forget deploy-day”" in refused
    assert f"`reverie undo {forget['short']}`" in refused
    assert desk.here("undo").out.startswith("undid forget deploy-day of ")
    file = desk.store / "deploy-day.md"
    file.write_bytes(file.read_bytes() + b"By hand.\n")
    refused = desk.here("undo", add["run"], code=1).err
    assert "was edited since" in refused and "Undo the later" not in refused


def test_a_session_with_nothing_worth_keeping_makes_no_folder(desk, tmp_path):
    talk = Transcript(cwd=str(desk.project), start="2026-11-20T09:00:00Z")
    for text in ("what does this do?", "ok", "and that?", "thanks"):
        talk.user(text)
        talk.assistant("It does this.")
    assert "nothing" in desk.here("extract", "--transcript", talk.write(tmp_path)).out
    assert not desk.store.exists() and not desk.store.parent.exists()
    assert "no memories yet" in desk.here("list").out


def test_the_folder_that_is_made_later_is_claimed_all_the_same(filled):
    assert (filled.store / ".reverie" / "root").read_text().strip() == str(filled.project)


def test_audit_is_one_line_a_finding_and_fails_on_errors(desk, tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    assert desk.here("audit", folder).out == "0 memories: nothing wrong\n"
    (folder / "MEMORY.md").write_text("- [Gone](gone.md) — x\n")
    said = desk.here("audit", folder, code=1)
    assert said.out.splitlines()[0].startswith("error   MEMORY.md:1: dangling: ")
    assert desk.here("audit", folder, "--json", code=1).json["counts"] == {
        "error": 1,
        "warning": 0,
        "note": 0,
    }
    assert "no such directory" in desk.here("audit", tmp_path / "none", code=1).err


def test_schedule_status_without_a_scheduler_is_no_error(desk, tmp_path):
    said = desk.here("schedule", "status", PATH=str(tmp_path))
    assert said.out == "scheduler: not installed\n" and "None is needed" in said.err


def test_a_dream_without_a_model_says_what_its_rules_looked_at(desk, tmp_path):
    desk.here("extract", "--transcript", session(desk.project).write(tmp_path))
    said = desk.here("consolidate", "--force", "--llm", "offline").out
    assert "## Looked at, by rules alone: there is no model" in said
    assert json.loads(desk.here("consolidate", "--force", "--json").out)["by_rules"] is True


FRESH = {
    ("list",): "no memories yet",
    ("history",): "nothing to undo",
    ("status",): "nothing was read yet",
}


@pytest.mark.parametrize(("command", "words"), FRESH.items(), ids=lambda value: str(value)[:20])
def test_a_fresh_project_is_no_error_and_says_what_to_do_next(desk, command, words):
    said = desk.here(*command)
    assert words in said.out
    assert "`reverie init` puts them in" in said.out + said.err
    assert isinstance(desk.here(*command, "--json").json, list | dict)
    assert not desk.store.exists()
    desk.here("install", "--yes")
    said = desk.here(*command)
    assert "finish a turn in a new Claude Code session" in said.out + said.err


def test_a_fresh_project_is_told_which_memory_folders_are_known(filled, tmp_path):
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    said = replace(filled, project=elsewhere).here("list")
    assert "no memories yet" in said.out and f"Known here: {filled.store}" in said.err


def test_a_project_without_memories_is_not_suspected_of_being_another(desk, tmp_path):
    desk.here("add", "The shop has two tills.", "--name", "tills")
    desk.here("add", "--user", "Answers are short.", "--name", "short")
    desk.here("forget", "tills", "short")
    desk.here("inbox", "reject", "--all")  # The first that makes a ledger.
    for option in ([], ["--user"]):
        said = desk.here("list", *option)
        assert "no memories yet" in said.out
        assert "Known here" not in said.err and "moved" not in said.err
    elsewhere = tmp_path / "other"
    elsewhere.mkdir()
    other = replace(desk, project=elsewhere)
    other.here("add", "The pier is long.", "--name", "pier")
    said = " ".join(desk.here("list").err.split())
    assert str(desk.store) not in said and "-other/memory. Was the project moved here?" in said


@pytest.mark.parametrize(
    ("mode", "wired", "event", "step"),
    [
        ("off", True, True, "`reverie mode auto`"),
        ("auto", False, False, "`reverie init`"),
        ("auto", True, False, "finish a turn in a new Claude Code session"),
        ("auto", True, True, "`reverie work`"),
    ],
)
def test_the_next_step_is_the_one_that_is_missing(mode, wired, event, step):
    assert step in next_step(mode, wired=wired, event=event)


def test_where_something_was_read_no_step_is_named(filled):
    assert filled.here("status", "--json").json["next"] == ""
    assert "reverie init" not in filled.here("status").out
    assert filled.here("list").err == ""


def test_of_one_type_there_may_be_none(filled):
    said = filled.here("list", "--type", "task")
    assert (said.out, said.err) == ("no memories of type task\n", "")


def test_daily_after_a_dream_status_does_not_promise_the_next_at_once(desk):
    desk.here("add", "Deploys happen on Tuesdays.")
    desk.here("consolidate", "--force")
    said = " ".join(desk.here("status").out.split())
    assert "last just now; the next one is looked for after a session not before" in said

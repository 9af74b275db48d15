"""The product with the real client: what it leaves, what it never sets off, and that nobody waits for it."""

import json
import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.extraction.schema import Verification
from pipeline.transcript.reader import read
from tests.realclient.box import REPO, Box, OpenBox
from tests.realclient.scripted_api import MODEL, SESSION, Asked, Block, Rule, value_reply
from tests.support.model import borne_out, items_of

pytestmark = pytest.mark.realclient

PLUGIN = ("--plugin-dir", str(REPO))
PREFERENCE = "Please indent with tabs in this project, because our linter rejects spaces."


def remember(asked: Asked) -> list[Block]:
    """Answer as a model would that found the preference in its line, and found it borne out."""
    if items_of(asked.said):
        return value_reply(asked, Verification.model_validate(borne_out(asked.said)).model_dump())
    line = re.search(r"^\[(\d+)\] [^\n]*PERSON[^\n]*indent with tabs", asked.everything, re.MULTILINE)
    found = {
        "name": "indent-with-tabs",
        "type": "feedback",
        "statement": "Indent with tabs in this project.",
        "why": "The linter rejects spaces.",
        "importance": 0.8,
        "confidence": 0.9,
        "cues": [],
        "tags": [],
        "evidence": [f"{line[1]}: indent with tabs in this project"] if line else [],
    }
    # The client checks it against the schema that was asked for.
    return value_reply(asked, {"memories": [found] if line else []})


def told(open_box: OpenBox, *, typed: bool = True, hold: threading.Event | None = None) -> Box:
    """Open a box whose person is about to state the preference."""
    rules = [Rule(["Tabs it is."], when="indent with tabs"), Rule(remember, kind=MODEL, hold=hold)]
    return open_box(*rules, **({} if typed else {"REVERIE_EXTRACTION__INCLUDE_PRINT_SESSIONS": "true"}))


def converse(machine: Box) -> Path:
    """State the preference in a typed session, let the worker finish; gives the session's transcript."""
    with machine.terminal(*PLUGIN) as terminal:
        terminal.type(PREFERENCE)
        terminal.shows("Tabs it is.")
    machine.settle()
    (transcript,) = machine.memory.parent.glob("*.jsonl")
    return transcript


def events_of(machine: Box) -> list[tuple[str, str]]:
    """Return (hook, session id) of every event that reached the ledger."""
    with closing(sqlite3.connect(machine.home / ".claude" / "reverie" / "ledger.sqlite")) as ledger:
        return ledger.execute("SELECT hook, session_id FROM events ORDER BY hook").fetchall()


def index_of(machine: Box) -> list[str]:
    """Return the lines of MEMORY.md, or what was logged in its stead."""
    index = machine.memory / "MEMORY.md"
    return (index.read_text("utf-8") if index.exists() else log_of(machine)).splitlines()


def log_of(machine: Box) -> str:
    """Return what hooks and worker logged, to be shown when they left nothing."""
    files = sorted((machine.home / ".claude" / "reverie" / "logs").glob("*.log"))
    return "\n".join(f"{file.name}: {file.read_text('utf-8')[-3000:]}" for file in files) or "no log"


def test_a_stated_preference_is_in_the_next_sessions_first_request(open_box: OpenBox) -> None:
    machine = told(open_box)
    converse(machine)
    (line,) = [line for line in index_of(machine) if "(indent-with-tabs.md)" in line]
    before = len(machine.journal.asked(SESSION))
    machine.headless("hello")
    assert line in machine.journal.asked(SESSION)[before].everything


def test_the_memory_says_who_said_it_and_where(open_box: OpenBox) -> None:
    machine = told(open_box)
    transcript = converse(machine)
    note = (machine.memory / "indent-with-tabs.md").read_text("utf-8")
    records = [json.loads(line) for line in transcript.read_text("utf-8").splitlines()]
    prompt = next(
        r for r in records if r["type"] == "user" and "indent with tabs" in str(r["message"]["content"])
    )
    assert "origin: user-stated" in note
    assert transcript.stem in note
    assert prompt["uuid"] in note


def test_our_own_call_fires_no_hook_and_leaves_no_session(open_box: OpenBox) -> None:
    machine = told(open_box)
    transcript = converse(machine)
    kinds = [request.kind for request in machine.journal.asked()]
    assert (kinds.count(SESSION), kinds.count(MODEL)) == (1, 2), log_of(machine)
    assert {session for _, session in events_of(machine)} == {transcript.stem}
    assert ("Stop", transcript.stem) in events_of(machine)
    assert list((machine.home / ".claude" / "reverie" / "spool").glob("*.json")) == []
    assert machine.transcripts() == [transcript]


def test_exit_does_not_wait_for_the_model(open_box: OpenBox) -> None:
    released = threading.Event()
    machine = told(open_box, hold=released)
    with machine.terminal(*PLUGIN) as terminal:
        terminal.type(PREFERENCE)
        machine.journal.wait("request", lambda noted: noted.detail.kind == MODEL)
        left = terminal.leave()
    released.set()
    reply = machine.journal.wait("reply", lambda noted: noted.detail["kind"] == MODEL)
    machine.settle()
    assert left.number < reply.number
    assert (machine.memory / "indent-with-tabs.md").exists(), log_of(machine)


def test_a_headless_turn_does_not_wait_for_the_model(open_box: OpenBox) -> None:
    released = threading.Event()
    machine = told(open_box, typed=False, hold=released)
    turn = machine.headless(PREFERENCE, *PLUGIN)
    released.set()
    reply = machine.journal.wait("reply", lambda noted: noted.detail["kind"] == MODEL)
    machine.settle()
    assert turn.exit.number < reply.number
    assert (machine.memory / "indent-with-tabs.md").exists(), log_of(machine)


def test_headless_sessions_are_left_alone_unless_asked_for(open_box: OpenBox) -> None:
    machine = told(open_box)
    machine.headless(PREFERENCE, *PLUGIN)
    machine.settle()
    assert [request.kind for request in machine.journal.asked()] == [SESSION], log_of(machine)
    assert not (machine.memory / "MEMORY.md").exists()


def test_the_reader_takes_this_clients_transcript(open_box: OpenBox) -> None:
    machine = open_box(Rule(["Tabs it is."], when="indent with tabs"))
    with machine.terminal() as terminal:
        terminal.type(PREFERENCE)
        terminal.shows("Tabs it is.")
    reading = read(machine.transcripts()[0], quiet=True)
    spoken = [(e.speaker, e.channel, e.text) for e in reading.entries if e.speaker]
    assert spoken == [("person", "typed", PREFERENCE), ("assistant", "prose", "Tabs it is.")]
    assert reading.bad == []
    assert reading.restarted == ""

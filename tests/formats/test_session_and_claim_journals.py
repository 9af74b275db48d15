"""The journals of sessions and claims, from the ledger that a session's transcript and events made."""

import json

import pytest

from pipeline.formats.keisei import claims, journals, sessions, tasks
from pipeline.ledger import open_ledger, session_times
from pipeline.ledger.events import Event, record_events
from tests.cli.conftest import make_desk
from tests.support.transcripts import SESSION, Transcript

BEGAN = 1777438080  # 2026-04-29T04:48:00Z
OVER = {"REVERIE_NOW": "2026-04-30T00:00:00Z"}
CLAIM = "All is built; wave 5 took 18 min [REAL: tasks.jsonl#wave5], more than 3 s [ESTIMATE-HTC: a guess]."


@pytest.fixture
def desk(tmp_path):
    """A project with one session of ten seconds, read into the ledger, and a journal of one task."""
    made = make_desk(tmp_path)
    talk = Transcript(cwd=str(made.project), start="2026-04-29T04:48:00Z")
    talk.user("How long did wave 5 take?")
    talk.assistant(CLAIM)
    talk.user("thanks")
    projects = made.project.parent / ".claude/projects"
    (projects / "shop").mkdir(parents=True)
    talk.write(projects / "shop")
    made.here("ingest", "--dir", str(projects), **OVER)
    made.here("task", "add", "wave5", "--seconds", "1080", **OVER)
    return made


def folder(desk):
    return desk.project.parent / ".claude/memory/time-metrics"


def lines(desk, name):
    return [json.loads(line) for line in (folder(desk) / name).read_text("utf-8").splitlines()]


def test_a_session_that_is_over_gets_the_line_of_the_format(desk):
    assert desk.here("journal", "update", "--json", **OVER).json["sessions"] == 1
    assert (folder(desk) / journals.SESSIONS).read_text("utf-8") == (
        f'{{"kind":"session","id":"{SESSION}","start_epoch":{BEGAN},"end_epoch":{BEGAN + 10},'
        '"duration_s":10,"ts":"2026-04-29T04:48:10Z"}\n'
    )
    assert desk.here("journal", "sessions").out.split()[-3:] == [SESSION, "2026-04-29T04:48:00Z", "10"]


def test_claims_are_what_stands_before_their_marks(desk):
    desk.here("journal", "update", **OVER)
    assert (folder(desk) / journals.CLAIMS).read_text("utf-8").split("\n")[0] == (
        '{"kind":"claim","value":"All is built; wave 5 took 18 min","evidence_tier":"REAL",'
        f'"pointer":"tasks.jsonl#wave5","ts":"2026-04-29T04:48:05Z","session_id":"{SESSION}"}}'
    )
    shown = desk.here("journal", "claims", "--json").json
    assert [(row["value"], row["leads"]) for row in shown[1:]] == [(", more than 3 s", None)]
    assert shown[0]["leads"] is True


def test_a_second_update_adds_nothing_and_a_dry_run_writes_nothing(desk):
    assert (
        "1 session, 0 tasks, 2 claims would be added"
        in desk.here("journal", "update", "--dry-run", **OVER).out
    )
    assert not (folder(desk) / journals.SESSIONS).exists()
    desk.here("journal", "update", **OVER)
    before = {file: file.read_bytes() for file in folder(desk).iterdir()}
    assert "0 sessions, 0 tasks, 0 claims added" in desk.here("journal", "update", **OVER).out
    assert {file: file.read_bytes() for file in folder(desk).iterdir()} == before


def test_a_session_that_goes_on_has_no_line_yet_and_then_its_last_line_counts(desk):
    early = desk.here("journal", "update", REVERIE_NOW="2026-04-29T04:50:00Z")
    assert "0 sessions" in early.out and "1 session not over yet" in early.err
    ended = Event("e1", "SessionEnd", SESSION, None, None, "{}", BEGAN + 20.0)
    with open_ledger(desk.project.parent / ".claude/reverie/ledger.sqlite") as ledger:
        record_events(ledger, [ended])
    desk.here("journal", "update", REVERIE_NOW="2026-04-29T04:50:00Z")
    with open_ledger(desk.project.parent / ".claude/reverie/ledger.sqlite") as ledger:
        record_events(ledger, [Event("e0", "SessionStart", SESSION, None, None, "{}", BEGAN - 5.0)])
    desk.here("journal", "update", **OVER)
    assert [line["duration_s"] for line in lines(desk, journals.SESSIONS)] == [20, 25]
    assert [row["duration_s"] for row in desk.here("journal", "sessions", "--json").json] == [25]


def test_what_another_writer_knows_of_a_session_is_never_made_shorter():
    ours = [sessions.session_line("s", 100, 200)]
    assert sessions.new_lines(ours, [sessions.session_line("s", 90, 250)]) == []
    assert sessions.new_lines(ours, [sessions.session_line("s", 150, 300)]) == [
        sessions.session_line("s", 100, 300)
    ]
    assert sessions.new_lines(ours, [{"kind": "session", "id": "s"}]) == ours


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("took 3 s [FROM-JOURNAL: sessions.jsonl#x]", [("took 3 s", "FROM-JOURNAL", "sessions.jsonl#x")]),
        ("a" * 70 + " [REAL:p]", [("a" * 59, "REAL", "p")]),
        ("[REAL: alone]", []),
        ("3 s [REAL: never closed\n] 4 s [GUESS: x]", []),
        (
            "one\ntwo 2 s [REAL: y] three 3 s [REAL: z]",
            [("two 2 s", "REAL", "y"), ("three 3 s", "REAL", "z")],
        ),
    ],
)
def test_marks_in_a_text(text, found):
    assert list(claims.marked(text)) == found


def test_a_pointer_leads_by_id_by_name_and_by_name_and_day(tmp_path):
    line = tasks.task_line("wave5", BEGAN, BEGAN + 9) | {"id": "a7"}
    journals.append(tmp_path / journals.TASKS, [line])
    pointers = ("wave5", "a7", "wave5-2026-04-29", "wave6")
    rows = [claims.claim_line("x", "REAL", f"tasks.jsonl#{name}", BEGAN) for name in pointers]
    journals.append(tmp_path / journals.CLAIMS, rows)
    assert [claim.leads for claim in claims.claims(tmp_path, [])] == [True, True, True, False]


def test_a_claim_by_hand_names_a_tier(desk):
    assert "Tiers: REAL, FROM-JOURNAL" in desk.here("journal", "claim", "x", "--tier", "SURE", code=2).err
    desk.here("journal", "claim", "3 s a call", "--tier", "REAL", "--pointer", "tasks.jsonl#wave5")
    assert desk.here("journal", "claims", "--json").json[-1]["value"] == "3 s a call"


def test_a_claim_holds_no_secret():
    key = "sk-ant-api03-" + "Ab1" * 31 + "AA"
    assert "Ab1" not in str(claims.claim_line(f"{key} took 3 s", "REAL", key, BEGAN))


def test_no_session_is_known_before_anything_was_read(tmp_path):
    with open_ledger(tmp_path / "ledger.sqlite") as ledger:
        assert session_times.session_times(ledger) == []


def test_deleted_dialogue_leaves_no_claim_behind(desk):
    desk.here("journal", "update", **OVER)
    file = folder(desk) / journals.CLAIMS
    others = (
        '{"kind":"claim","value":"ours","session_id":"other"}\n{torn\n{"kind":"note","session_id":["x"]}\n'
    )
    file.write_text(
        file.read_text("utf-8") + others + f'{{"kind":"claim","session_id":"{SESSION}"}}', "utf-8"
    )
    file.chmod(0o640)
    kept = ("--session", SESSION, "--unread", "--yes")
    assert desk.here("dialogue", "delete", *kept, "--dry-run", **OVER).out
    assert "wave 5" in file.read_text("utf-8")
    done = desk.here("dialogue", "delete", *kept, **OVER)
    assert file.read_text("utf-8") == others and file.stat().st_mode & 0o777 == 0o640
    assert "claims in the journal" in done.err and "exported traces" in done.err
    assert "0 claims added" in desk.here("journal", "update", **OVER).out
    assert not list(folder(desk).glob("*tmp*"))


def test_words_stay_where_their_claims_can_not_be_taken_out(desk, tmp_path):
    desk.here("journal", "update", **OVER)
    file = folder(desk) / journals.CLAIMS
    file.rename(tmp_path / "moved.jsonl")
    file.symlink_to(tmp_path / "moved.jsonl")
    refused = desk.here("dialogue", "delete", "--session", SESSION, "--unread", "--yes", code=1, **OVER)
    assert journals.CLAIMS in refused.err and "plain file" in refused.err
    assert "«wave» 5 took" in desk.here("dialogue", "search", "wave", **OVER).out


AGED = {"REVERIE_NOW": "2099-07-10T10:00:00Z"}


def test_claims_go_with_the_dialogue_that_is_old_and_those_of_no_session_stay(desk):
    desk.here("extract", "--transcript", SESSION, **OVER)
    desk.here("journal", "update", **OVER)
    desk.here("journal", "claim", "2 s a call", "--tier", "REAL", "--pointer", "by hand", **OVER)
    file = folder(desk) / journals.CLAIMS
    assert [line["value"] for line in lines(desk, journals.CLAIMS)][-1] == "2 s a call"
    mine = file.read_bytes().splitlines(keepends=True)[-1]
    held = file.rename(file.with_name("moved.jsonl"))
    file.symlink_to(held)
    desk.here("work", **AGED)
    # The journal is a link, which nobody may write to: so what was said stays as well.
    assert "«wave» 5 took" in desk.here("dialogue", "search", "wave", **AGED).out
    file.unlink()
    held.rename(file)
    desk.here("work", **AGED)
    assert "5 took" not in desk.here("dialogue", "search", "wave", **AGED).out
    assert file.read_bytes() == mine


def test_what_another_program_adds_meanwhile_is_kept(tmp_path):
    file = tmp_path / journals.CLAIMS
    journals.append(file, [{"kind": "claim", "n": n} for n in range(3)])

    def first(line):
        if line["n"] == 2 and file.read_bytes().count(b"\n") == 3 and list(tmp_path.glob("*tmp*")):
            with file.open("ab") as out:
                out.write(b'{"n":3}\n')
        return line["n"] == 0

    assert journals.take_out(file, first) == 1
    assert [line["n"] for line in journals.read(file)] == [1, 2, 3]
    assert journals.take_out(file, first) == 0

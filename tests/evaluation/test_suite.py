"""Which sessions are read and shown: halves, what is not whole yet, and what happens to the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pipeline.core.errors import InputError
from pipeline.evaluation.suite import HALVES, sessions
from pipeline.evaluation.suite_run import Choice, evaluate
from tests.cli.conftest import Desk, make_desk
from tests.support.eval_suite import lay_out
from tests.support.loopback import keep_each_line, serving

SUITE = Path(__file__).resolve().parents[2] / "fixtures" / "eval"
JUDGED = "workday churn classgame clinic contract founder nightops pairing subtitles thesis tokens"
OLD = "compaction injection japanese longmess menus mindchange nothing overruled pastedreview queued refusal"


def test_the_halves_are_those_that_were_agreed() -> None:
    by_half = {half: {s.name for s in sessions(SUITE, half=half)} for half in HALVES}
    assert by_half["looked_at"] == {*OLD.split(), *JUDGED.split()}
    assert by_half["held_back"] == {"bakery", "genome", "stage", "subventions", "timetable"}


def write_halves(suite: Path, **halves: list[str]) -> None:
    (suite / "halves.json").write_text(json.dumps(halves), "utf-8")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path / "home")


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Five sessions: two that are whole, one without recordings, one without a gold list, one not written."""
    suite = tmp_path / "suite"
    for name in ("early", "bare", "late"):
        lay_out(suite, session=name)
    lay_out(suite, session="goldless", with_gold=False)
    write_halves(suite, looked_at=["bare", "early"], held_back=["goldless", "late", "unwritten"])
    with serving(keep_each_line) as api:
        for key, value in api.environment.items():
            monkeypatch.setenv(key, value)
        for name in ("early", "late", "goldless"):
            list(evaluate(suite, Choice(only=name, llm="record")))
    return suite


def test_both_halves_and_all_have_a_table_and_what_is_not_whole_is_named(suite: Path, desk: Desk) -> None:
    told = desk.here("eval", "--suite", suite).out
    titles = [line for line in told.splitlines() if line.startswith(("sessions ", "all sessions"))]
    assert titles == ["sessions looked at", "sessions held back", "all sessions"]
    rows = [
        line.split()[0] for line in told.split("what the checks took out")[0].splitlines() if "2/2" in line
    ]
    assert rows == ["early", "looked", "late", "held", "looked", "held"]
    assert re.search(r"^all +4/4 ", told, re.MULTILINE)
    assert "bare: not scored: there are no recorded replies" in told
    assert "goldless: not scored: there is no gold list" in told
    assert "unwritten: not scored: there is no transcript" in told


def test_one_half_alone(suite: Path, desk: Desk) -> None:
    told = desk.here("eval", "--suite", suite, "--half", "held_back").out
    assert "late" in told and "early" not in told and "all sessions" not in told


def test_a_recording_that_does_not_fit_is_named_and_fails_at_the_end(suite: Path, desk: Desk) -> None:
    for file in (suite / "early" / "cassettes").glob("extract-conversation-*"):
        file.unlink()
    told = desk.here("eval", "--suite", suite, code=1).out
    assert "early: not scored: " in told and "late " in told


def test_a_session_without_a_gold_list_is_recorded_all_the_same(suite: Path) -> None:
    kept = sorted(file.name.rpartition("-")[0] for file in (suite / "goldless" / "cassettes").iterdir())
    assert kept == ["extract-conversation", "extract-verify"]


def test_a_suite_needs_no_halves(suite: Path, desk: Desk) -> None:
    (suite / "halves.json").unlink()
    told = desk.here("eval", "--suite", suite).out
    assert told.startswith("sessions\n") and "\nall  " in told and "half" not in told


@pytest.mark.parametrize("text", ["[1]", "{", '{"early": "Mars/North"}'])
def test_a_zone_that_there_is_not_is_an_error(tmp_path: Path, text: str) -> None:
    lay_out(tmp_path)
    (tmp_path / "zones.json").write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"zones\.json"):
        sessions(tmp_path)


def test_a_session_is_read_in_the_zone_of_its_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay_out(tmp_path)
    (tmp_path / "zones.json").write_text(json.dumps({folder.name: "Asia/Tokyo"}), "utf-8")
    with serving(keep_each_line) as api:
        for name, value in api.environment.items():
            monkeypatch.setenv(name, value)
        list(evaluate(tmp_path, Choice(llm="record")))
    assert "(Asia/Tokyo, as are all times here)" in api.prompts[0]


def test_halves_that_overlap_or_are_no_lists_are_errors(tmp_path: Path) -> None:
    lay_out(tmp_path, session="early")
    write_halves(tmp_path, looked_at=["early"], held_back=["early"])
    with pytest.raises(InputError, match="early"):
        sessions(tmp_path)
    (tmp_path / "halves.json").write_text('{"looked_at": 3}', "utf-8")
    with pytest.raises(InputError, match=r"halves\.json"):
        sessions(tmp_path)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"must": [{"id": "m1", "fact": "x", "evidence": ["u"]}]}, "m1.*all"),
        ({"must": None}, "must"),
        ({"never": [{"id": "n1", "any": ["re:("]}]}, "n1"),
    ],
)
def test_a_gold_list_that_is_off_is_named(suite: Path, change: dict[str, object], named: str) -> None:
    file = suite / "early" / "gold.json"
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **change}), "utf-8")
    with pytest.raises(InputError, match=rf"gold\.json.*{named}"):
        list(evaluate(suite, Choice(only="early")))

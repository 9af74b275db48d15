"""A project that a person wants left alone: nothing of it is read, not even what hooks told of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.intake.left_alone import began_in
from tests.support.loopback import keep_each_line, serving
from tests.support.workshop import Workshop

NOW = "2026-03-02T09:05:00+00:00"


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    return Workshop(tmp_path / "place", {"REVERIE_NOW": NOW})


def talk(shop: Workshop, text: str = "Always keep the anchor list sorted.", number: int = 1) -> Any:
    session = shop.session(number)
    session.user(text)
    session.assistant("Noted.")
    shop.fire(session, last_assistant_message="Noted.")
    return session


def by_setting(shop: Workshop) -> None:
    shop.home.mkdir(exist_ok=True)
    (shop.home / "config.toml").write_text(f"[projects]\nignore = [{json.dumps(str(shop.project))}]\n")


def by_allowing_another(shop: Workshop) -> None:
    shop.home.mkdir(exist_ok=True)
    (shop.home / "config.toml").write_text('[projects]\nonly = ["~/elsewhere"]\n')


def by_file(shop: Workshop) -> None:
    (shop.project / ".reverie-ignore").touch()


def by_variable(shop: Workshop) -> None:
    shop.env["REVERIE_PROJECTS__IGNORE"] = f"/nowhere:{shop.project}"


@pytest.mark.parametrize("leave", [by_setting, by_allowing_another, by_file, by_variable])
def test_a_long_first_row_is_no_way_in(shop: Workshop, leave: Any) -> None:
    """Such as one with a picture in it, or one that says nothing of a folder."""
    leave(shop)
    session = shop.session()
    session.records.append({"type": "file-history-snapshot", "snapshot": "s" * 400_000})
    session.user("anchor " * 60_000)
    session.assistant("Noted.")
    shop.write(session)
    shop.reverie("ingest", "--dir", str(shop.projects), REVERIE_MODEL__PROVIDER="offline")
    shop.fire(session)
    assert shop.work(REVERIE_MODEL__PROVIDER="offline") == 0
    assert b"anchor" not in (shop.home / "ledger.sqlite").read_bytes()


@pytest.mark.parametrize("leave", [by_setting, by_allowing_another, by_file, by_variable])
def test_f1_a_project_that_is_left_alone_is_not_read(shop: Workshop, leave: Any) -> None:
    leave(shop)
    with serving(keep_each_line) as api:
        shop.env |= api.environment
        talk(shop)
        assert shop.work() == 0 and api.prompts == []
    assert list((shop.home / "spool").glob("*.json")) == [] and shop.memories() == []
    assert b"anchor" not in (shop.home / "ledger.sqlite").read_bytes()
    assert shop.books()["events"] == []


def test_another_project_is_read_meanwhile_and_this_one_once_it_is_allowed(shop: Workshop) -> None:
    by_file(shop)
    with serving(keep_each_line) as api:
        shop.env |= api.environment
        session = talk(shop)
        shop.work()
        assert shop.memories() == []
        (shop.project / ".reverie-ignore").unlink()
        session.user("Never paint the mast.")
        session.assistant("Noted.")
        shop.fire(session)
        shop.work()
    assert len(shop.memories()) == 2, "the transcript stayed where it was"


def test_what_is_in_the_ledger_already_is_not_read_either(shop: Workshop) -> None:
    with serving(keep_each_line) as api:
        shop.env |= api.environment
        talk(shop)
        shop.work(REVERIE_STORE__MODE="observe")
        by_file(shop)
        shop.env["REVERIE_NOW"] = "2026-03-02T12:00:00+00:00"
        shop.work()
        done = shop.reverie("process", "--all")
        assert api.prompts == [], done.stderr
        (shop.project / ".reverie-ignore").unlink()
        shop.reverie("process", "--all")
    assert shop.memories() != []


def test_a_person_who_names_the_file_means_it(shop: Workshop) -> None:
    by_file(shop)
    session = shop.session()
    session.user("Always keep the anchor list sorted.")
    session.assistant("Noted.")
    shop.write(session)
    env = {"REVERIE_MODEL__PROVIDER": "offline"}
    told = shop.reverie("ingest", "--dir", str(shop.projects), **env)
    assert told.returncode == 0 and b"anchor" not in (shop.home / "ledger.sqlite").read_bytes()
    shop.reverie("extract", "--transcript", session.session_id, **env)
    assert shop.memories() != []


def test_status_and_doctor_say_so(shop: Workshop) -> None:
    by_file(shop)
    env = {"REVERIE_MODEL__PROVIDER": "offline"}
    status = json.loads(shop.reverie("status", "--json", **env).stdout)
    assert status["left_alone"] == f"{shop.project}/.reverie-ignore is there"
    told = " ".join(shop.reverie("status", **env).stdout.split())
    assert "sessions in this folder are neither read nor recalled into" in told
    rows = json.loads(shop.reverie("doctor", "--json", **env).stdout)
    assert [row["level"] for row in rows if row["what"] == "project"] == ["note"]


def test_where_a_session_began_is_its_first_folder(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    rows: list[Any] = ['odd "cwd"', {"type": "summary"}, {"cwd": 3}, {"cwd": "/a"}, {"cwd": "/b"}]
    file.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows), "utf-8")
    assert began_in(file) == "/a"
    assert began_in(tmp_path / "none") == ""


def by_mode(shop: Workshop) -> dict[str, str]:
    shop.home.mkdir(exist_ok=True)
    (shop.home / "config.toml").write_text('[store]\nmode = "off"\n')
    return {}


def by_being_a_subagents(shop: Workshop) -> dict[str, str]:
    return {"agent_id": "helper-1"}


def by_having_no_transcript(shop: Workshop) -> dict[str, str]:
    return {"transcript_path": "/dev/null", "session_id": "0c0ffee0-0000-4000-8000-000000000000"}


@pytest.mark.parametrize("leave", [by_mode, by_being_a_subagents, by_having_no_transcript])
def test_the_last_reply_of_an_event_that_is_not_read_is_kept_nowhere(shop: Workshop, leave: Any) -> None:
    values = leave(shop)
    session = shop.session()
    session.user("Hello.")
    session.assistant("Your hearing OFFMARK is in May.")
    shop.fire(session, last_assistant_message="Your hearing OFFMARK is in May.", **values)
    assert shop.work() == 0
    kept = [path for path in shop.home.rglob("*") if path.is_file() and b"OFFMARK" in path.read_bytes()]
    assert kept == []

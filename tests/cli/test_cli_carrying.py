"""`reverie import`, `export`, `sync` and the preset, as a person types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Desk

TABS = "---\nname: user-tabs\ndescription: User prefers tabs\ntype: user\n---\n\nTabs, not spaces.\n"


@pytest.fixture
def notes(desk: Desk) -> Path:
    folder = desk.project / ".memory"
    folder.mkdir()
    (folder / "user-tabs.md").write_text(TABS)
    (folder / "bad.md").write_bytes(b"---\nname: \xff\n---\n")
    return folder


def test_memories_come_in_and_go_out_and_it_says_what_is_lost(desk: Desk, notes: Path) -> None:
    dry = desk.here("import", "s09", notes, "--dry-run")
    assert dry.out.splitlines()[0] == "1 memory: would be: 1 taken in" and "nothing was changed" in dry.err
    done = desk.here("import", "s09", notes)
    assert done.out.splitlines() == [
        "1 memory: 1 taken in",
        "Not taken along:",
        "- bad.md:2: not UTF-8. Save the file as UTF-8.",
    ]
    assert "`reverie undo import-" in done.err
    out = desk.here("export", "chatgpt-export", desk.project / "c.json").out
    assert "chatgpt-export can't carry:" in out and "- name (1)" in out
    held = json.loads(desk.here("export", "s09", notes, "--json").out)
    assert [row["deed"] for row in held["rows"]] == ["there"]
    undone = desk.here("undo", "import")
    assert "user-tabs" in undone.out + undone.err


def test_a_conflict_ends_with_exit_code_1(desk: Desk, notes: Path) -> None:
    desk.here("sync", "s09", notes)
    desk.here("update", "user-tabs", "--text", "Tabs, two wide.")
    (notes / "user-tabs.md").write_text(TABS.replace("not spaces", "four wide"))
    done = desk.here("sync", "s09", notes, code=1)
    assert "1 in conflict" in done.out and "user-tabs.md:1: both sides" in done.out


def test_traces_and_unknown_names_are_refused_with_what_to_do(desk: Desk) -> None:
    done = desk.here("import", "keisei", desk.project, code=1)
    assert "none of it is a memory" in done.err and "reverie ingest" in done.err
    done = desk.here("import", "notion", desk.project, code=2)
    assert "Formats: claude-code, cognitive, agent-memory, s09" in done.err


def test_the_limits_of_the_teaching_pipeline_are_one_word(desk: Desk) -> None:
    assert desk.here("config", "preset", "s09").out.splitlines() == [
        "dream.memories = 10",
        "extraction.newest_messages = 10",
        "extraction.newest_chars = 4000",
    ]
    assert desk.here("config", "get", "extraction.newest_chars").out.strip() == "4000"
    desk.here("config", "preset", "s09", "--off")
    assert desk.here("config", "get", "extraction.newest_chars").out.strip() == "0"
    desk.here("config", "preset", "other", code=2)


def test_an_old_import_decays_from_today_and_what_sleeps_is_said_and_found(desk: Desk, notes: Path) -> None:
    old = (
        "---\nname: {0}\ndescription: {0}\ntype: project\nimportance: {1}\ncreated: 2019-05-01\n---\n\n{2}\n"
    )
    (notes / "pump.md").write_text(old.format("pump", 0.5, "The pump runs on port 7001."))
    (notes / "tank.md").write_text(old.format("tank", 0.05, "The tank runs on port 7002."))
    done = desk.here("import", "basic-memory", notes)
    assert "1 of them sleeps, worth little by now: `reverie decay`" in done.out
    desk.here("decay")
    assert "pump" in desk.here("search", "runs", "port").out
    said = desk.here("search", "runs", "port")
    assert "tank" not in said.out and "1 more is archived: --asleep shows them" in said.err
    assert "tank" in desk.here("search", "runs", "port", "--asleep").out


def test_a_dry_run_of_sync_names_what_it_would_do(desk: Desk, notes: Path) -> None:
    desk.here("add", "We deploy on Fridays.", "--name", "day")
    said = desk.here("sync", "s09", notes, "--dry-run").out
    assert "would be: 1 new here, 1 new there" in said
    assert "- user-tabs.md:1: new here" in said and "- day: new there" in said
    assert "- day" not in desk.here("sync", "s09", notes).out

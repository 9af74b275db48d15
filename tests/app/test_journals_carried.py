"""KeiSei's time journals as a format: tasks and claims come in, tasks go out, the rest stays to the byte."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipeline.app.application import App
from pipeline.app.carrying import export_to, import_from
from pipeline.app.syncing import sync_with
from pipeline.formats.keisei import journals, tasks
from pipeline.formats.keisei.claims import claim_line
from pipeline.formats.registry import format_named
from tests.app.test_carrying import memories, note

FORMAT = format_named("keisei")
BEGAN = 1777438080  # 2026-04-29T04:48:00Z
TASK = "---\nname: ship-it\ndescription: Ship the page\ntype: task\nstatus: {}\n---\nShip the page.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A journal as its own programs write one: whole, started and stopped, failed, open, of a hook, torn."""
    home = tmp_path / "time-metrics"
    lines = [
        tasks.task_line("wave5", BEGAN, BEGAN + 1080, metric={"tests": 12}, source="hand"),
        tasks.start_line("build", BEGAN),
        tasks.start_line("build", BEGAN + 100),
        tasks.stop_line("build", BEGAN, BEGAN + 60, exit=0),
        tasks.stop_line("lint", BEGAN, BEGAN + 5, exit=3),
        {"kind": "task", "desc": "Look around", "id": "a1", "type": "Explore", "ts": "2026-04-29T05:00:00Z"},
    ]
    claims = [claim_line("wave 5 took 18 min", "REAL", "tasks.jsonl#wave5", BEGAN)]
    home.mkdir()
    journals.append(home / journals.TASKS, lines)
    journals.append(home / journals.CLAIMS, claims * 2)
    ended = {"kind": "session", "id": "s1", "start_epoch": BEGAN, "end_epoch": BEGAN + 9, "duration_s": 9}
    journals.append(home / journals.SESSIONS, [ended])
    with (home / journals.TASKS).open("ab") as out:
        out.write(b"{torn")
    return home


def test_each_line_comes_in_as_what_it_is(folder: Path, app: App) -> None:
    done = import_from(app, "keisei", folder)
    found = memories(app.store_path)
    states = {name: (item.status, item.outcome) for name, item in found.items() if item.type == "task"}
    assert states == {
        "wave5": ("done", ""),
        "build-2026-04-29t04-49-00z": ("done", ""),
        "build-2026-04-29t04-49-40z": ("open", ""),
        "lint": ("closed", "It failed: exit code 3."),
        "look-around": ("done", ""),
    }
    wave = found["wave5"]
    assert wave.body == (
        "wave5\n\nIt ran from 2026-04-29T04:48:00Z to 2026-04-29T05:06:00Z.\n\nIt took 1,080 seconds.\n\n"
        "Counted: tests 12.\n"
    )
    assert (wave.origin, wave.completed_at) == ("imported", datetime(2026, 4, 29, 5, 6, tzinfo=UTC))
    claim = found["wave-5-took-18-min"]
    assert (claim.type, claim.confidence) == ("reference", 0.9)
    assert [(item["target"], item["type"]) for item in claim.relations] == [(wave.id, "RELATED_TO")]
    assert [fault["where"] for fault in done.faults] == ["tasks.jsonl:7", "sessions.jsonl:1"]
    assert "1 session: " in done.faults[1]["why"]
    assert import_from(app, "keisei", folder).number("there") == len(found) == 6


def test_what_came_in_goes_out_to_the_byte_and_a_change_replaces_its_line(folder: Path, app: App) -> None:
    before = {path: path.read_bytes() for path in folder.glob("*.jsonl")}
    import_from(app, "keisei", folder)
    assert export_to(app, "keisei", folder).written == []
    done = sync_with(app, "keisei", folder)
    assert not done.written and {path: path.read_bytes() for path in before} == before
    seen = FORMAT.read(folder)
    (still,) = (item for item in seen.records if item.memory.status == "open")
    ended = replace(still.memory, status="done", completed_at=datetime(2026, 4, 29, 5, tzinfo=UTC))
    (first,) = (item for item in seen.records if item.memory.name == "wave5")
    noted = replace(first.memory, outcome="All green.")
    planned = FORMAT.write(
        folder, [replace(still, memory=ended), replace(first, memory=noted)], {seen.records[3].key}, seen
    )
    (data,) = planned.files.values()
    assert data is not None
    old, new = before[folder / journals.TASKS].split(b"\n"), data.split(b"\n")
    assert json.loads(new[0]) == {**json.loads(old[0]), "outcome": "All green."}
    # The line of the failed task is gone; what was open has a line of its own at the end.
    assert new[1:6] == [*old[1:4], old[5], b"{torn"]
    assert json.loads(new[6])["kind"] == "stop" and json.loads(new[6])["start_epoch"] == BEGAN + 100


def test_tasks_go_out_as_lines_that_the_journals_own_readers_take(app: App, tmp_path: Path) -> None:
    note(
        app.store_path,
        "ship-it",
        TASK.format("done\ncreated: 2026-04-29T04:48:00Z\nupdated: 2026-04-29T05:06:00Z"),
    )
    note(app.store_path, "write-it", TASK.replace("ship", "write").format("open"))
    note(app.store_path, "fact", "---\nname: fact\ndescription: d\ntype: insight\n---\nCaches are warm.\n")
    out = tmp_path / "out"
    done = export_to(app, "keisei", out)
    assert {row.name: (row.deed, row.why) for row in done.rows}["fact"] == (
        "refused",
        "a journal has tasks and claims alone",
    )
    found = {task.name: task for task in tasks.tasks(out / journals.TASKS, [])}
    assert (found["ship-it"].state, found["ship-it"].duration_s) == ("done", 1080)
    assert found["write-it"].state == "open"
    there = App(store=tmp_path / "there")
    import_from(there, "keisei", out)
    assert {item.body for item in memories(tmp_path / "there").values()} == {"Ship the page.\n"}

"""Odd values in other programs' files: what can be taken is, the rest is named, a second sync is still."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.app.application import App
from pipeline.app.carrying import export_to, import_from
from pipeline.app.syncing import sync_with
from pipeline.store import Store
from tests.app.test_carrying import memories, note

HALF = "\ud800"
LINE = {
    "id": "11111111-7728-4221-8789-cadce8d0c98d",
    "type": "learning",
    "content": "Caches are warm.",
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
    "accessed_at": "2026-01-01T00:00:00Z",
    "access_count": 0,
    "tags": [],
    "importance": "low",
    "archived": False,
}
ODD: list[tuple[str, Any]] = [
    ("mem0-json", {"results": [{"id": "../../etc", "memory": f"a{HALF}b", "metadata": "none"}]}),
    (
        "mem0-json",
        {"results": [{"id": ["x"], "memory": "Warm.", "metadata": {"tags": 7, "type": [1], "relations": 3}}]},
    ),
    (
        "mem0-json",
        {"results": [{"memory": "Same."}, {"memory": "Same."}, {"memory": "Other.", "user_id": HALF}]},
    ),
    ("claude-mem", {"observations": [{"title": HALF, "facts": '["\\ud800"]', "id": {}}], "sessions": 5}),
    ("claude-mem", {"observations": [{"title": "T", "concepts": "no list", "created_at_epoch": 1e300}]}),
    (
        "chatgpt-export",
        [{"mapping": {HALF: {"message": {"recipient": "bio", "content": {"parts": ["Half."]}}}}}],
    ),
    (
        "chatgpt-export",
        [
            {
                "mapping": {
                    "a": {
                        "children": 7,
                        "message": {
                            "recipient": "bio",
                            "create_time": True,
                            "content": {"content_type": [], "parts": ["Sails.", 3]},
                        },
                    }
                }
            }
        ],
    ),
    ("agent-memory", {**LINE, "reverie": {"importance": "much", "tags": 4, "status": [], "created": 7}}),
    ("agent-memory", {**LINE, "reverie": {"importance": -3, "type": "fix", "relations": "none"}}),
]


def laid_out(kind: str, value: Any, folder: Path) -> Path:
    path = folder / ("odd" if kind == "agent-memory" else "odd.json")
    if kind == "agent-memory":
        path.mkdir()
        (path / "learnings.jsonl").write_text(json.dumps(value) + "\n")
    else:
        path.write_text(json.dumps(value))
    return path


@pytest.mark.parametrize(("kind", "value"), ODD, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(ODD)])
def test_odd_values_stop_nothing(app: App, kind: str, value: Any, tmp_path: Path) -> None:
    path = laid_out(kind, value, tmp_path)
    note(app.store_path, "mine", "---\nname: mine\ndescription: of mine\ntype: project\n---\nMine.\n")
    done = import_from(app, kind, path)
    assert done.rows or done.faults
    assert import_from(app, kind, path).number("new", "replaced") == 0
    export_to(app, kind, path, force=True)
    sync_with(app, kind, path)
    again = sync_with(app, kind, path)
    assert (again.change, again.written) == ("", [])
    assert all(
        item.path.isascii() and ".." not in item.path for item in Store.open(app.store_path).scan().documents
    )
    assert "mine" in memories(app.store_path)


def test_two_memories_of_one_name_keep_their_titles_when_in_step(app: App, tmp_path: Path) -> None:
    items = [{"id": f"{n}1111111-7728-4221-8789-cadce8d0c98d", "memory": f"The pump.\n{n}"} for n in (1, 2)]
    path = laid_out("mem0-json", {"results": items}, tmp_path)
    assert sync_with(app, "mem0-json", path).number("new here") == 2
    assert {*memories(app.store_path)} == {"the-pump", "the-pump-2"}
    assert sync_with(app, "mem0-json", path).number("same") == 2
    assert json.loads(path.read_text())["results"] == items


def test_what_is_marked_as_out_of_use_is_not_taken_in_again_and_again(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    note(folder, "old", "---\nname: old\ndescription: d\narchived: true\n---\nOld.\n")
    note(folder, "new", "---\nname: new\ndescription: d\n---\nNew.\n")
    done = import_from(app, "claude-code", folder)
    assert {row.name: row.deed for row in done.rows} == {"old": "refused", "new": "new"}
    note(app.store_path, "new", "---\nname: new\ndescription: d\narchived: true\n---\nNew.\n")
    assert import_from(app, "claude-code", folder).number("new") == 0
    assert sync_with(app, "claude-code", folder).number("new here") == 0

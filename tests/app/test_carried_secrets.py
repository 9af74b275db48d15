"""Secrets under a key, or as a key, stay at home in every format; what can't be read counts as not gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.app import cognitive
from pipeline.app.application import App
from pipeline.app.carrying import export_to, import_from
from pipeline.app.cognitive_import import import_from as import_cognitive
from pipeline.app.dream import consolidate
from pipeline.app.graph import edges
from pipeline.app.memories import forget
from pipeline.app.rebuilding import rebuild
from pipeline.app.syncing import sync_with
from pipeline.core.errors import ConflictError, InputError, UsageError
from pipeline.core.home import Home
from pipeline.formats.carried import SAMPLE
from pipeline.server import lean
from pipeline.server.calls import Call
from pipeline.server.requests import Requests
from pipeline.server.shapes import answer, fields, text
from pipeline.server.tool import ADDS, READS, Tool
from pipeline.store import ChangeSet
from tests.app.test_carrying import TABS, TO_FILES, memories, note, target
from tests.app.test_syncing import deeds
from tests.support.extraction import Bench
from tests.support.homes import everything

TOKEN = "ghp_" + "x1Yz" * 9
HELD = ("Tr0ub4dor-Horse-77", "S3cr3t-Pa55-Zeile", "8837461923", TOKEN)
SECRETS = (
    "---\nname: pump\ndescription: the pump\ntype: task\nid: a1b2c3d4-e5f6-4890-abcd-ef1234567890\n"
    'keisei: {kind: claim}\ndb_password: Tr0ub4dor-Horse-77\nconn: {password: "S3cr3t-Pa55-Zeile"}\n'
    f"note: S3cr3t-Pa55-Zeile is no name\npassword: 8837461923\n"
    f"{TOKEN}: held\n---\n\nIts key is {TOKEN} here.\n"
)


def written(folder: Path) -> str:
    return "\n".join(path.read_text() + path.name for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("name", TO_FILES)
@pytest.mark.parametrize("goes", [export_to, sync_with])
def test_a_secret_by_its_key_leaves_in_no_format(
    bench: Bench, app: App, goes: Any, name: str, tmp_path: Path
) -> None:
    note(bench.store.path, "pump", SECRETS.replace("S3cr3t-Pa55-Zeile is no name", "dry in May"))
    out = tmp_path / "out"
    out.mkdir()
    done = goes(app, name, target(name, out))
    assert done.redacted == 5
    assert not [secret for secret in HELD if secret in written(out)]
    assert "Its key is" in written(out)
    assert [row.deed for row in goes(app, name, target(name, out)).rows] == [
        "there" if goes is export_to else "same"
    ]


def test_a_cognitive_export_leaves_secrets_out_and_keeps_other_bytes(
    bench: Bench, app: App, tmp_path: Path
) -> None:
    kept = TABS.replace("type: user", "type: user  # as it was\nodd: [1,  2]")
    note(
        note(bench.store.path, "user-tabs", kept),
        "pump",
        SECRETS.replace("pump\n", "pump # " + TOKEN + "\n", 1),
    )
    (bench.store.path / "graph" / "edges").mkdir(parents=True)
    note(bench.store.path / "graph" / "edges", "e", f"---\nid: e\n---\n\nIt opens with {TOKEN}.\n")
    done = cognitive.export(app, tmp_path / "out")
    assert (done.memories, done.edges, done.left) == (2, 1, []) and done.redacted >= 6
    assert not [secret for secret in HELD[:1] + HELD[2:] if secret in written(tmp_path / "out")]
    assert (tmp_path / "out" / "graph" / "users" / "user-tabs.md").read_text() == kept
    assert 'password: "S3cr3t' not in written(tmp_path / "out")
    there = App(store=tmp_path / "there")
    done_there = import_cognitive(there, tmp_path / "out")
    assert [row.why for row in done_there.rows if row.kind == "memory" and row.why] == []


def test_a_tool_shows_a_memory_without_its_secret(bench: Bench, app: App) -> None:
    note(bench.store.path, "pump", SECRETS)
    call = Call(bench.store.path)
    call.app = lambda **_: app  # type: ignore[method-assign]
    found = lean.whole(call, "pump")
    assert "Its key is" in found["text"] and TOKEN not in orjson.dumps(found).decode()


def two_notes(folder: Path) -> Path:
    return note(note(folder, "user-tabs", TABS), "two", TABS.replace("tabs", "two").replace("Tabs", "T"))


# -- what can't be read -------------------------------------------------------------------------------


BROKEN = b"---\nid: x\ntitle: 'a\n b: [\n---\nx\n"


@pytest.mark.parametrize(
    ("side", "broken"), [("here", BROKEN), ("there", BROKEN), ("there", b"---\nname: a\n---\n\xff\xfe\n")]
)
def test_force_takes_nothing_away_for_what_cant_be_read(
    bench: Bench, app: App, tmp_path: Path, side: str, broken: bytes
) -> None:
    notes = two_notes(tmp_path / "n")
    sync_with(app, "claude-code", notes)
    ours = bench.store.path / memories(bench.store.path)["user-tabs"].path
    (ours if side == "here" else notes / "user-tabs.md").write_bytes(broken)
    done = sync_with(app, "claude-code", notes, force=True)
    assert "can't be read" in next(row.why for row in done.rows if row.deed == "left")
    assert {"gone here", "gone there"}.isdisjoint(deeds(done))
    assert ours.exists() and (notes / "user-tabs.md").exists()


@pytest.mark.parametrize("how", ["away", "empty"])
def test_a_folder_that_is_away_is_an_error(bench: Bench, app: App, tmp_path: Path, how: str) -> None:
    notes = two_notes(tmp_path / "n")
    sync_with(app, "s09", notes)
    notes.rename(tmp_path / "unmounted")
    if how == "empty":
        notes.mkdir()
    before = everything(tmp_path)
    with pytest.raises(InputError, match="no deletion") as caught:
        sync_with(app, "s09", notes, force=True)
    assert "begin anew" in caught.value.fix and everything(tmp_path) == before


def test_what_was_forgotten_here_still_leaves_there(bench: Bench, app: App, tmp_path: Path) -> None:
    notes = note(tmp_path / "n", "user-tabs", TABS)
    sync_with(app, "s09", notes)
    forget(app, "user-tabs")
    (bench.store.path / "odd.md").write_bytes(BROKEN)
    assert deeds(sync_with(app, "s09", notes, force=True)) == ["gone there"]


@pytest.mark.parametrize("pairs", ['[{"id": 1}]', '[{"id": "a", "key": "b", "base": [1]}]', "3", '["x"]'])
def test_damaged_notes_of_the_last_sync_are_named(app: App, tmp_path: Path, pairs: str) -> None:
    notes = note(tmp_path / "n", "user-tabs", TABS)
    sync_with(app, "s09", notes)
    (state,) = Home(app.home).syncs.glob("*.json")
    state.write_text(f'{{"version": 1, "pairs": {pairs}}}')
    with pytest.raises(InputError, match="can't be read"):
        sync_with(app, "s09", notes)


# -- relations, odd values ----------------------------------------------------------------------------


def test_links_of_notes_get_their_edges_and_reindex_makes_no_conflict(
    bench: Bench, app: App, tmp_path: Path
) -> None:
    text = "---\ntitle: {0}\n---\n\nOf {0} this.\n\n- depends_on [[{1}]] (it says so)\n"
    notes = note(
        note(tmp_path / "n", "pump", text.format("pump", "shed")), "shed", text.format("shed", "roof")
    )
    done = import_from(app, "basic-memory", notes)
    (edge,) = edges(app, app.open_store())
    assert (edge.from_title, edge.type, edge.to_title) == ("pump", "DEPENDS_ON", "shed")
    rebuild(app)
    assert [deeds(sync_with(app, "basic-memory", notes)) for _ in range(2)] == [["same", "same"]] * 2
    bench.store.undo(done.change)
    assert memories(bench.store.path) == {} and edges(app, app.open_store()) == []


def test_what_chatgpt_has_in_several_conversations_is_changed_in_each(
    bench: Bench, app: App, tmp_path: Path
) -> None:
    def tree(key: str) -> dict[str, Any]:
        content = {"content_type": "user_editable_context", "user_profile": "I live by the sea."}
        return {
            "mapping": {key: {"id": key, "parent": None, "children": [], "message": {"content": content}}}
        }

    file = tmp_path / "conversations.json"
    file.write_text(json.dumps([tree("a"), tree("b")]))
    sync_with(app, "chatgpt-export", file)
    (memory,) = memories(bench.store.path).values()
    document = app.open_store().read(memory.name)
    changed = replace(document.memory, body="I live inland.\n")
    bench.store.apply(ChangeSet("b", "b", [bench.store.put(changed, existing=document)]))
    assert deeds(sync_with(app, "chatgpt-export", file)) == ["there"]
    assert deeds(sync_with(app, "chatgpt-export", file)) == ["same"]
    assert file.read_text().count("I live inland.") == 2 and "by the sea" not in file.read_text()


def test_a_family_of_pictures_comes_back_from_a_cognitive_export(
    bench: Bench, app: App, tmp_path: Path
) -> None:
    family = replace(SAMPLE, title="Family 👨‍👩‍👧 day", relations=(), pinned=False)
    bench.store.apply(ChangeSet("a", "a", [bench.store.put(family)]))
    cognitive.export(app, tmp_path / "out")
    there = App(store=tmp_path / "there")
    assert import_cognitive(there, tmp_path / "out").number("new") == 1
    assert memories(tmp_path / "there")[family.name].title == family.title


@pytest.mark.parametrize("hidden", ["\u200d", "\\U000E0041"])
def test_hidden_text_in_front_matter_is_still_refused(app: App, tmp_path: Path, hidden: str) -> None:
    put = TABS.replace("User prefers tabs", f'"User prefers{hidden} tabs"')
    folder = tmp_path / "s" / "graph" / "users"
    folder.mkdir(parents=True)
    note(folder, "user-tabs", put)
    assert import_cognitive(app, tmp_path / "s").number("new") == 0


def test_a_line_without_a_usable_time_is_not_rewritten(app: App, tmp_path: Path) -> None:
    rows = [
        {"kind": "task", "name": "none", "ts": "nonsense"},
        {"kind": "task", "name": "odd", "start_epoch": -5, "duration_s": -3, "ts": "nonsense"},
    ]
    file = tmp_path / "j" / "tasks.jsonl"
    file.parent.mkdir()
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = file.read_bytes()
    done = [deeds(sync_with(app, "keisei", file.parent)) for _ in range(3)]
    assert done[1:] == [["same", "same"]] * 2 and file.read_bytes() == before


def test_a_number_that_is_too_long_is_named_with_its_line(app: App, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text('[\n{"memory": "a",\n"n": ' + "1" * 5_000 + "}]")
    with pytest.raises(InputError, match="too long") as caught:
        import_from(app, "mem0-json", file)
    assert caught.value.line == 3


def test_what_is_no_number_is_nothing(bench: Bench, app: App, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_text('[{"id": "1", "memory": "The pump runs.", "metadata": {"score": NaN}}]')
    import_from(app, "mem0-json", file)
    (memory,) = memories(bench.store.path).values()
    assert ".nan" not in (bench.store.path / memory.path).read_text().lower()
    assert [deeds(sync_with(app, "mem0-json", file)) for _ in range(2)] == [["same"]] * 2


def test_a_reading_tool_reads_again_what_is_saved_meanwhile(bench: Bench) -> None:
    tries: list[str] = []

    def look(_: Call, given: dict[str, Any]) -> dict[str, Any]:
        tries.append(given["name"])
        if len(tries) < 3:
            raise ConflictError("changed since it was read", file="a.md", fix="Look again and retry.")
        return {"text": "the new one"}

    for hints, fails in ((READS, False), (ADDS, True)):
        tries.clear()
        tool = Tool("look", "Look", "Look.", fields(["name"], name=text()), answer(text=text()), hints, "x.y")
        given = {"name": "look", "arguments": {"name": "a"}}
        found = Requests("lean", {"look": (tool, look)}).answer(
            "tools/call", given, lambda: Call(bench.store.path)
        )
        assert (found["isError"], len(tries)) == (fails, 1 if fails else 3)


def test_a_dream_since_a_day_to_come_is_refused(app: App) -> None:
    with pytest.raises(UsageError, match="yet to come"):
        consolidate(app, since="2099-01-01")

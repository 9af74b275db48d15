"""`sync`: what one side changed goes to the other, by field; where both changed the same, both stand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.app.application import App
from pipeline.app.carried_here import Carrying
from pipeline.app.memories import add, forget
from pipeline.app.syncing import sync_with
from pipeline.app.writing import Change, update_memory
from pipeline.core.errors import InputError
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import key_of
from pipeline.formats.registry import NAMES, format_named
from pipeline.revision import Door
from pipeline.store import Store
from tests.app.test_carrying import TABS, memories, note, target
from tests.support.extraction import Bench
from tests.support.homes import everything

BOTH_WAYS = [name for name in NAMES if name != "chatgpt-export"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return note(tmp_path / ".memory", "user-tabs", TABS)


def change(app: App, name: str = "user-tabs", **values: Any) -> None:
    update_memory(app, app.open_store(), name, Change(**values))


def deeds(done: Carrying) -> list[str]:
    return [row.deed for row in done.rows]


def test_new_on_either_side_is_then_on_both(bench: Bench, app: App, notes: Path) -> None:
    note(bench.store.path, "ours", "---\nname: ours\ndescription: of ours\ntype: project\n---\nOurs.\n")
    assert sorted(deeds(sync_with(app, "s09", notes))) == ["new here", "new there"]
    assert {*memories(bench.store.path)} == {"ours", "user-tabs"}
    assert (notes / "ours.md").read_text().endswith("---\n\nOurs.\n")
    assert (notes / "user-tabs.md").read_text() == TABS
    before = {path: held for path, held in everything(notes.parent).items() if "syncs" not in path}
    assert deeds(sync_with(app, "s09", notes)) == ["same", "same"]
    assert {path: held for path, held in everything(notes.parent).items() if "syncs" not in path} == before


def test_what_one_side_changed_goes_to_the_other(bench: Bench, app: App, notes: Path) -> None:
    sync_with(app, "s09", notes)
    note(notes, "user-tabs", TABS.replace("not spaces", "four wide"))
    done = sync_with(app, "s09", notes)
    assert deeds(done) == ["here"] and memories(bench.store.path)["user-tabs"].body == "Tabs, four wide.\n"
    change(app, content="Tabs, two wide.")
    done = sync_with(app, "s09", notes)
    assert deeds(done) == ["there"] and "Tabs, two wide." in (notes / "user-tabs.md").read_text()
    assert "four wide" in next(Path(done.former).rglob("user-tabs.md")).read_text()


def test_changes_of_different_fields_are_both_kept(bench: Bench, app: App, notes: Path) -> None:
    sync_with(app, "s09", notes)
    change(app, description="User wants tabs")
    note(notes, "user-tabs", TABS.replace("not spaces", "four wide"))
    assert deeds(sync_with(app, "s09", notes)) == ["both"]
    text = (notes / "user-tabs.md").read_text()
    memory = memories(bench.store.path)["user-tabs"]
    assert "description: User wants tabs" in text and "four wide" in text
    assert (memory.description, memory.body) == ("User wants tabs", "Tabs, four wide.\n")


def test_a_conflict_stands_on_both_sides_and_is_told_until_it_is_settled(
    bench: Bench, app: App, notes: Path
) -> None:
    sync_with(app, "s09", notes)
    change(app, content="Tabs, two wide.")
    theirs = note(notes, "user-tabs", TABS.replace("not spaces", "four wide"))
    before = everything(theirs)
    for _ in range(2):
        (row,) = sync_with(app, "s09", notes).rows
        assert (row.deed, row.where, "changed its text" in row.why) == ("conflict", "user-tabs.md:1", True)
    assert everything(theirs) == before
    assert memories(bench.store.path)["user-tabs"].body == "Tabs, two wide.\n"
    change(app, content="Tabs, four wide.", description="User prefers tabs")
    assert deeds(sync_with(app, "s09", notes)) == ["same"]
    change(app, content="Tabs, three wide.")
    assert deeds(sync_with(app, "s09", notes)) == ["there"]


def test_two_texts_of_one_name_at_the_first_sync_both_stand(bench: Bench, app: App, notes: Path) -> None:
    note(bench.store.path, "user-tabs", TABS.replace("not spaces", "two wide"))
    (row,) = sync_with(app, "s09", notes).rows
    assert row.deed == "conflict" and "nobody knows" in row.why
    assert (notes / "user-tabs.md").read_text() == TABS


def test_what_left_one_side_stays_on_the_other_unless_told(bench: Bench, app: App, notes: Path) -> None:
    note(notes, "other", TABS.replace("user-tabs", "other").replace("Tabs, not", "Three, not"))
    sync_with(app, "s09", notes)
    (notes / "other.md").unlink()
    forget(app, "user-tabs")
    assert deeds(sync_with(app, "s09", notes)) == ["left", "left"]
    assert {*memories(bench.store.path)} == {"other"} and (notes / "user-tabs.md").exists()
    done = sync_with(app, "s09", notes, force=True)
    assert sorted(deeds(done)) == ["gone here", "gone there"]
    assert memories(bench.store.path) == {} and not (notes / "user-tabs.md").exists()
    assert "user-tabs" not in (notes / "MEMORY.md").read_text()
    assert next(Path(done.former).rglob("user-tabs.md")).read_text() == TABS
    bench.store.undo(done.change)
    assert {*memories(bench.store.path)} == {"other"}


def test_what_came_in_is_one_change_and_undone_goes_back_there_too(
    bench: Bench, app: App, notes: Path
) -> None:
    sync_with(app, "s09", notes)
    note(notes, "user-tabs", TABS.replace("not spaces", "four wide"))
    note(notes, "other", TABS.replace("user-tabs", "other").replace("Tabs, not", "Three, not"))
    done = sync_with(app, "s09", notes)
    assert (done.number("here"), done.number("new here")) == (1, 1)
    bench.store.undo(done.change)
    assert {name: memory.body for name, memory in memories(bench.store.path).items()} == {
        "user-tabs": "Tabs, not spaces.\n"
    }
    assert sorted(deeds(sync_with(app, "s09", notes))) == ["left", "there"]
    assert (notes / "user-tabs.md").read_text() == TABS


def test_a_dry_run_changes_neither_side(bench: Bench, app: App, notes: Path, tmp_path: Path) -> None:
    sync_with(app, "s09", notes)
    change(app, content="Tabs, two wide.")
    note(notes, "other", TABS.replace("user-tabs", "other").replace("Tabs, not", "Three, not"))
    before = everything(tmp_path)
    assert sorted(deeds(sync_with(app, "s09", notes, dry_run=True))) == ["new here", "there"]
    assert everything(tmp_path) == before


# The journals of keisei hold tasks and claims alone (test_journals_carried.py).
@pytest.mark.parametrize("name", sorted({*BOTH_WAYS} - {"keisei"}))
def test_every_format_stays_in_step(bench: Bench, app: App, name: str, tmp_path: Path) -> None:
    note(bench.store.path, "ours", "---\nname: ours\ndescription: Ours.\ntype: project\n---\nOurs.\n")
    path = target(name, tmp_path)
    assert deeds(sync_with(app, name, path)) == ["new there"]
    assert deeds(sync_with(app, name, path)) == ["same"]
    change(app, "ours", content="Ours is blue.")
    assert deeds(sync_with(app, name, path)) == ["there"]
    (record,) = format_named(name).read(path).records
    assert record.memory.body == "Ours is blue.\n"
    file = path / record.file if path.is_dir() else path
    file.write_text(file.read_text().replace("Ours is blue.", "Ours is green."))
    assert deeds(sync_with(app, name, path)) == ["here"]
    (memory,) = memories(bench.store.path).values()
    assert (memory.body, memory.description) == ("Ours is green.\n", "Ours is green.")
    assert deeds(sync_with(app, name, path)) == ["same"]


def test_state_that_cannot_be_read_is_named_and_nothing_is_written(
    bench: Bench, app: App, notes: Path
) -> None:
    sync_with(app, "s09", notes)
    (state,) = (bench.root / "syncs").iterdir()
    for text in ("{", '{"version": 99}'):
        state.write_text(text)
        with pytest.raises(InputError) as error:
            sync_with(app, "s09", notes)
        assert str(state) in str(error.value)
    state.unlink()
    assert deeds(sync_with(app, "s09", notes)) == ["same"]
    assert len(Store.open(bench.store.path).history()) == 1


def test_what_stays_keeps_its_sources_and_what_comes_has_none(bench: Bench, app: App, notes: Path) -> None:
    lines = {"Use pnpm.": "u1", "Never push on Fridays.": "u2"}
    found = tuple(Evidence(session="s1", uuid=uuid, quote=text) for text, uuid in lines.items())
    bearing = tuple(replace(item, bears=(key_of(item.quote),)) for item in found)
    rule = Memory(
        name="rules",
        description="Rules.",
        type="feedback",
        body=" ".join(lines) + "\n",
        origin="user-stated",
        sources=bearing,
    )
    door = Door(bench.store, now=app.clock.now(), approved=True)
    door.create(rule)
    door.write("rules", "rules")
    sync_with(app, "basic-memory", notes)
    file = notes / "rules.md"
    file.write_text(
        file.read_text("utf-8").replace("Rules.", "The rules.").replace("on Fridays", "on Mondays")
    )
    assert "here" in deeds(sync_with(app, "basic-memory", notes))
    memory = memories(bench.store.path)["rules"]
    assert "Never push on Mondays." in memory.body and memory.origin == "imported"
    assert [item.uuid for item in memory.sources] == ["u1"] and memory.sources[0].bears == bearing[0].bears
    assert str(memory.extra["imported_from"]).startswith("basic-memory:")


def test_who_said_it_stays_where_no_word_of_it_changed(bench: Bench, app: App, notes: Path) -> None:
    add(app, "Never push on Fridays.", kind="feedback", name="rule")
    sync_with(app, "basic-memory", notes)
    file = notes / "rule.md"
    file.write_text(file.read_text("utf-8").replace("---\n", "---\ntags: [deploy]\n", 1))
    assert "here" in deeds(sync_with(app, "basic-memory", notes))
    memory = memories(bench.store.path)["rule"]
    assert (memory.origin, memory.tags) == ("hand-written", ("deploy",))

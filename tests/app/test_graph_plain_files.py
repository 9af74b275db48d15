"""Relations of files that people wrote without an id, and what edits and returns make of relations."""

from __future__ import annotations

import re

import pytest

from pipeline.app import graph, history
from pipeline.app.application import App
from pipeline.app.memories import forget
from pipeline.app.pins import pin
from pipeline.app.writing import as_edited, to_edit
from pipeline.core.errors import DocumentError
from pipeline.revision import Door
from pipeline.revision.mending import look, mend
from pipeline.store import Store
from tests.support.cognitive import write
from tests.support.extraction import NOW, Bench
from tests.support.stores import memory, save

NOTE = "---\nname: note\ndescription: d\ntype: project\n---\nmine\n"


@pytest.fixture
def store(bench: Bench) -> Store:
    """One memory of ours, and a note that somebody wrote, which give each other a relation."""
    made = memory("ours", type="project", body="Ours.\n", origin="assistant-inferred")
    save(bench.store, made)
    write(bench.store.root, "note.md", NOTE)
    note = bench.store.read("note")
    link = {"target": note.id, "type": "BUILDS_ON", "direction": "outgoing", "strength": 0.8}
    door = Door(bench.store, now=NOW)
    assert door.relate(bench.store.read("ours"), link) is None
    door.write("related", "relate")
    ours = bench.store.read("ours")
    back = NOTE.replace(
        "---\nmine",
        f"relations:\n- target: {ours.id}\n  type: BUILDS_ON\n  direction: incoming\n  strength: 0.8\n"
        f"  edge_id: {ours.memory.relations[0]['edge_id']}\n---\nmine",
    )
    write(bench.store.root, "note.md", back)
    assert out_of_step(bench.store) == []
    return bench.store


def out_of_step(store: Store) -> list[str]:
    return [f"{fault.code} {fault.path}: {fault.message}" for fault in look(store, now=NOW).faults]


def targets(store: Store, name: str) -> list[str]:
    return [str(link["target"]) for link in store.read(name).memory.relations]


@pytest.mark.parametrize("how", ["edited", "forgotten and restored"])
def test_a_file_without_an_id_keeps_its_relations(app: App, store: Store, how: str) -> None:
    note = store.read("note")
    assert note.own_id == ""
    if how == "edited":
        as_edited(app, store, to_edit(store, "note"), note.raw + b"More.\n")
    else:
        forget(app, "note")
        assert targets(store, "ours") == []
        history.restore(app, "note")
    assert targets(store, "ours") == [note.id] and out_of_step(store) == []
    (edge,) = graph.edges(app, store)
    assert (edge.from_title, edge.to_id) == ("Ours", note.id)


def test_pinned_and_unpinned_it_is_known_as_before(app: App, store: Store) -> None:
    note = store.read("note")
    assert pin(app, "note", pinned=True).id == note.id
    (store.root / "vault/note.md").write_bytes(note.raw + b"By hand.\n")
    assert targets(store, "ours") == [store.read("note").id] == [note.id] and out_of_step(store) == []
    back = pin(app, "note", pinned=False)
    assert (back.id, back.path, back.body) == (note.id, "note.md", "mine\nBy hand.\n")
    assert out_of_step(store) == []


def test_a_relation_made_while_it_is_pinned_stays_when_it_is_not(bench: Bench, app: App) -> None:
    store = bench.store
    save(store, memory("ours", type="project", body="Ours.\n", origin="assistant-inferred"))
    write(store.root, "note.md", NOTE)
    pin(app, "note", pinned=True)
    graph.relate(app, store, "ours", "note", "CAUSES")
    assert pin(app, "note", pinned=False).path == "note.md"
    assert targets(store, "ours") == [store.read("note").id] and out_of_step(store) == []


def edited(app: App, store: Store, name: str, old: str, new: str) -> None:
    document = to_edit(store, name)
    text = document.raw.decode()
    assert old in text
    as_edited(app, store, document, text.replace(old, new).encode())


def related_block(store: Store, name: str) -> str:
    text = store.read(name).raw.decode()
    return text[text.index("relations:") : text.index("\n---\n") + 1].partition("anchors:")[0]


@pytest.mark.parametrize("name", ["ours", "note"])
def test_a_relation_that_is_edited_out_goes_at_both_ends(app: App, store: Store, name: str) -> None:
    before = {each: store.read(each).raw for each in ("ours", "note")}
    edited(app, store, name, related_block(store, name), "")
    assert targets(store, "ours") == targets(store, "note") == [] and graph.edges(app, store) == []
    assert out_of_step(store) == []
    history.undo(app, history.history(app)[0].short)
    assert {each: store.read(each).raw for each in before} == before and len(graph.edges(app, store)) == 1


def test_what_else_is_edited_changes_no_relation(app: App, store: Store) -> None:
    edited(app, store, "note", "name: note\n", "name: note\ntitle: My note\n")
    (edge,) = graph.edges(app, store)
    assert edge.to_title == "My note" and out_of_step(store) == []
    edited(app, store, "ours", "strength: 0.8", "strength: 0.3")
    (edge,) = graph.edges(app, store)
    assert edge.strength == 0.3 and "strength: 0.3" in store.read("note").raw.decode()
    assert out_of_step(store) == []


@pytest.mark.parametrize("by", ["id", "name"])
def test_an_edit_relates_nothing_to_itself(app: App, store: Store, by: str) -> None:
    note = store.read("note")
    own = note.id if by == "id" else "note"
    with pytest.raises(DocumentError, match="related to itself") as refused:
        edited(app, store, "note", "relations:\n", f"relations:\n- target: {own}\n  type: CAUSES\n")
    assert refused.value.fix and store.read("note").raw == note.raw


@pytest.mark.parametrize("second", ["note", "ours"])
@pytest.mark.parametrize("first", ["note", "ours"])
def test_both_ends_forgotten_and_restored_are_related_as_before(
    app: App, store: Store, first: str, second: str
) -> None:
    (before,) = graph.edges(app, store)
    graph.relate(app, store, "ours", "note", "BUILDS_ON", context="Short.", description="A long story.")
    contexts = [store.read(name).memory.relations[0].get("context") for name in ("ours", "note")]
    for name in ("ours", "note") if first == "ours" else ("note", "ours"):
        forget(app, name)
    for name in ("ours", "note") if second == "ours" else ("note", "ours"):
        history.restore(app, name)
    (edge,) = graph.edges(app, store)
    assert (edge.id, edge.description) == (before.id, "A long story.") and out_of_step(store) == []
    assert targets(store, "ours") == [store.read("note").id]
    assert targets(store, "note") == [store.read("ours").id]
    found = [store.read(name).memory.relations[0].get("context") for name in ("ours", "note")]
    assert found == contexts == ["Short.", "Short."]


def test_an_edge_that_is_mended_has_its_text_out_of_the_archive(app: App, store: Store) -> None:
    graph.relate(app, store, "ours", "note", "BUILDS_ON", context="Short.", description="A long story.")
    before = {name: store.read(name).raw for name in ("ours", "note")}
    (edge,) = graph.edges(app, store)
    for year, updated in (("2025", "2025-01-01"), ("2024", "2024-01-01")):
        text = (store.root / edge.path).read_text("utf-8").replace("A long story.", f"As of {year}.")
        text = re.sub("updated: .*", f'updated: "{updated}T10:00:00+00:00"', text)
        write(store.root, f"archive/{year}/earlier/ours--BUILDS_ON--note-{edge.id[:6]}-abcdef12.md", text)
    graph.unrelate(app, store, edge.id)
    for name, raw in before.items():
        (store.root / store.read(name).path).write_bytes(raw)
    mend(store, now=NOW)
    assert [edge.description for edge in graph.edges(app, store)] == ["A long story."]


@pytest.mark.parametrize(
    "text",
    [
        NOTE,
        NOTE.replace("\n", "\r\n"),
        "\ufeff" + NOTE,
        NOTE.replace("type: project\n", "metadata:\n  type: project\n# end\n"),
        NOTE.replace("type:", "id:\ntype:"),
        "# Note\n\nPlain words.\n",
    ],
)
def test_a_file_that_is_related_says_its_id_and_stays_what_it_is_wherever_it_goes(
    bench: Bench, app: App, text: str
) -> None:
    store = bench.store
    save(store, memory("ours", type="project", body="Ours.\n", origin="assistant-inferred"))
    (store.root / "note.md").write_bytes(text.encode())
    ident = store.read("note").id
    graph.relate(app, store, "ours", "note", "CAUSES")
    note = store.read("note")
    assert note.own_id == note.id == ident and not store.is_ours(note)
    graph.unrelate(app, store, graph.edges(app, store)[0].id)
    history.undo(app, history.history(app)[0].short)
    (store.root / "note.md").rename(store.root / "renamed.md")
    mend(store, now=NOW)
    assert store.read("renamed").id == ident and len(graph.edges(app, store)) == 1
    (store.root / "renamed.md").rename(store.root / "note.md")
    history.undo(app, history.history(app)[-1].short)
    assert (store.root / "note.md").read_bytes() == text.encode()

"""The graph at a person's hand: relate, both ends in every change, repair, and what doctor tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.app import graph, history
from pipeline.app.application import App
from pipeline.app.memories import forget
from pipeline.app.rebuilding import rebuild
from pipeline.core.errors import InputError, UnknownMemoryError, UsageError
from pipeline.diagnostics.doctor import memories as doctor
from pipeline.revision import Door
from pipeline.revision.mending import broken_links, look, mend
from pipeline.store import Document, Put, Store
from pipeline.verify.flaw import Flaw
from tests.support.cognitive import (
    DEPLOY,
    DROPS,
    EDGE,
    EDGE_PATH,
    EDGE_TEXT,
    PROBLEM,
    PROBLEM_PATH,
    PROCEDURE,
    PROCEDURE_PATH,
    REDIS,
    SOLUTION,
    SOLUTION_PATH,
    lay_out,
    with_edge,
    write,
)
from tests.support.extraction import NOW, Bench
from tests.support.stores import memory, save, tree

MEMORIES = ("graph/solutions/", "graph/problems/", "graph/procedures/", "graph/edges/")


@pytest.fixture
def store(bench: Bench) -> Store:
    return Store.open(lay_out(bench.store.root))


def files(store: Store) -> dict[str, str]:
    """The memories and edges of the store."""
    found = tree(store.root)
    return {path: found[path].decode() for path in found if path.startswith(MEMORIES)}


def text_at(store: Store, path: str) -> str:
    return (store.root / path).read_text("utf-8")


def codes(store: Store) -> list[str]:
    return sorted(fault.code for fault in look(store, now=NOW).faults)


def test_a_relation_adds_its_lines_at_both_ends_and_nothing_else(app: App, store: Store) -> None:
    made = graph.relate(
        app, store, "deploy-major-domo-to-production", "a1b2c3", "requires", context="Reads it"
    )
    back = (
        f"  - target: {DEPLOY}\n    type: REQUIRES\n    direction: incoming\n    strength: 0.8\n"
        f'    context: "Reads it"\n    edge_id: {made.id}\n'
    )
    there = back.replace(DEPLOY, REDIS).replace("incoming", "outgoing")
    assert text_at(store, SOLUTION_PATH) == with_edge(SOLUTION).replace("---\n\nAdded", f"{back}---\n\nAdded")
    expected = PROCEDURE.replace("---\n\nStandard", f"relations:\n{there}---\n\nStandard")
    assert text_at(store, PROCEDURE_PATH) == expected
    assert text_at(store, PROBLEM_PATH) == with_edge(PROBLEM) and text_at(store, EDGE_PATH) == EDGE_TEXT
    assert made.new and made.description == "Reads it" and codes(store) == []
    assert {item.foreign for item in store.scan().documents} == {True}


def test_said_again_the_one_edge_is_changed(app: App, store: Store) -> None:
    made = graph.relate(app, store, REDIS, DROPS, "SOLVES", strength=0.6, description="Because.")
    assert (made.id, made.new, made.path, made.strength) == (EDGE, False, EDGE_PATH, 0.6)
    assert text_at(store, SOLUTION_PATH) == with_edge(SOLUTION).replace("strength: 0.8", "strength: 0.6")
    assert text_at(store, PROBLEM_PATH) == with_edge(PROBLEM).replace("strength: 0.8", "strength: 0.6")
    assert text_at(store, EDGE_PATH).endswith("---\n\nBecause.\n")
    assert [edge.id for edge in graph.edges(app, store)] == [EDGE]


def test_a_relation_is_in_the_history_and_is_undone_whole(app: App, store: Store) -> None:
    before = files(store)
    graph.relate(app, store, DEPLOY, DROPS, "REQUIRES")
    (entry,) = history.history(app)
    assert files(store) != before
    history.undo(app, entry.short)
    assert files(store) == before


@pytest.mark.parametrize(
    ("ends", "options", "error"),
    [
        ((REDIS, REDIS, "SOLVES"), {}, InputError),
        ((REDIS, "nobody", "SOLVES"), {}, UnknownMemoryError),
        ((REDIS, DROPS, "LOVES"), {}, UsageError),
        ((REDIS, DROPS, "SOLVES"), {"strength": 1.5}, UsageError),
        ((REDIS, DROPS, "SOLVES"), {"strength": float("nan")}, UsageError),
        ((REDIS, DROPS, "SOLVES"), {"context": "x" * 501}, InputError),
        (
            (REDIS, DROPS, "SOLVES"),
            {"description": "token ghp_16C7e42F292c6912E7710c838347Ae178B4a"},
            InputError,
        ),
    ],
)
def test_what_can_t_be_related_is_refused_and_nothing_written(
    app: App, store: Store, ends: tuple[str, str, str], options: dict[str, object], error: type[Exception]
) -> None:
    before = files(store)
    with pytest.raises(error):
        graph.relate(app, store, *ends, **options)  # type: ignore[arg-type]
    assert files(store) == before


def test_what_is_forgotten_leaves_no_relation_and_no_edge(app: App, store: Store) -> None:
    before = files(store)
    forget(app, DROPS)
    assert DROPS not in "".join(files(store).values()) and EDGE_PATH not in files(store)
    assert codes(store) == []
    # The text about the edge is not lost, and all of it comes back.
    assert any(text == EDGE_TEXT.encode() for text in tree(store.root).values())
    history.undo(app, history.history(app)[0].short)
    assert files(store) == before


def test_what_is_restored_has_its_relations_again_at_both_ends(app: App, store: Store) -> None:
    before = files(store)
    forget(app, DROPS)
    history.restore(app, "redis-connection-drops-under-load")
    assert codes(store) == [] and files(store)[PROBLEM_PATH] == before[PROBLEM_PATH]
    (edge,) = graph.edges(app, store)
    assert (edge.id, edge.from_id, edge.to_id) == (EDGE, REDIS, DROPS)
    assert EDGE_TEXT.endswith(f"\n{edge.description}\n")


@pytest.mark.parametrize("first", [0, 1])
def test_a_reindex_between_two_that_come_back_parts_them_not(app: App, store: Store, first: int) -> None:
    names = ["redis-connection-drops-under-load", "fixed-redis-connection-timeouts"]
    for name in names:
        forget(app, name)
    for name in (names[first], names[1 - first]):
        history.restore(app, name)
        app.open_store().reindex(now=NOW)
        mend(app.open_store(), now=NOW)
    fresh = app.open_store()
    assert lines(fresh, names[1]) == [(DROPS, "SOLVES", "outgoing")]
    assert lines(fresh, names[0]) == [(REDIS, "SOLVES", "incoming")]
    assert codes(fresh) == []


OURS = {"type": "project", "origin": "assistant-inferred"}


def lines(store: Store, name: str) -> list[tuple[str, str, str]]:
    links = store.read(name).memory.relations
    return [(str(each["target"]), str(each["type"]), str(each["direction"])) for each in links]


def three(store: Store) -> tuple[Document, ...]:
    save(store, *(memory(name, body=f"About {name}.\n", **OURS) for name in ("one", "two", "three")))
    return tuple(store.read(name) for name in ("one", "two", "three"))


def test_of_what_is_merged_the_other_keeps_relations_and_edges(bench: Bench, app: App) -> None:
    store = bench.store
    one, two, three_ = three(store)
    graph.relate(app, store, "two", "three", "CAUSES", description="Long story.")
    door = Door(store, now=NOW, approved=True)
    assert not isinstance(door.merge(store.read("one"), [store.read("two")], {}, "same"), Flaw)
    door.write("merged", "merge")
    assert lines(store, "one") == [(three_.id, "CAUSES", "outgoing")]
    assert lines(store, "three") == [(one.id, "CAUSES", "incoming")]
    (edge,) = graph.edges(app, store)
    assert (edge.from_id, edge.from_title, edge.description) == (one.id, "One", "Long story.")
    assert codes(store) == [] and two.id not in str(lines(store, "three"))
    store.undo("merged")
    assert lines(store, "three") == [(two.id, "CAUSES", "incoming")] and codes(store) == []


def test_between_two_that_are_merged_no_edge_is_left(bench: Bench, app: App) -> None:
    three(bench.store)
    graph.relate(app, bench.store, "two", "one", "CAUSES")
    door = Door(bench.store, now=NOW, approved=True)
    door.merge(bench.store.read("one"), [bench.store.read("two")], {}, "same")
    door.write("merged", "merge")
    assert lines(bench.store, "one") == [] and graph.edges(app, bench.store) == []


def test_a_memory_with_a_new_title_is_called_so_in_its_edges(bench: Bench, app: App) -> None:
    three(bench.store)
    graph.relate(app, bench.store, "one", "two", "CAUSES")
    old = bench.store.read("one")
    door = Door(bench.store, now=NOW, approved=True)
    door.revise(old, replace(old.memory, title="A better name", name="better"), rename=True)
    door.write("renamed", "rename")
    (edge,) = graph.edges(app, bench.store)
    assert edge.from_title == "A better name" and codes(bench.store) == []


def test_without_a_person_s_word_only_our_own_end_is_changed(app: App, store: Store) -> None:
    save(store, memory("mine", body="Mine.\n", **OURS))
    before = text_at(store, PROBLEM_PATH)
    door = Door(store, now=NOW)
    link = {"target": DROPS, "type": "CAUSES", "direction": "outgoing", "strength": 0.5}
    assert door.relate(store.read("mine"), link) is None
    door.write("dreamt", "dream")
    assert text_at(store, PROBLEM_PATH) == before
    assert codes(store) == ["relation-end"] and "graph/edges/" in str(tree(store.root).keys())
    assert [step.name for step in graph.related(app, store, DROPS)] == [
        "fixed-redis-connection-timeouts",
        "mine",
    ]


def test_c_c7_the_edge_file_wins_and_titles_are_refreshed(app: App, store: Store) -> None:
    changed = EDGE_TEXT.replace("strength: 0.8", "strength: 0.65")
    write(store.root, EDGE_PATH, changed)
    write(store.root, PROBLEM_PATH, with_edge(PROBLEM).replace("drops under load", "drops at night"))
    rebuild(app)
    assert text_at(store, EDGE_PATH) == changed.replace("drops under load", "drops at night")
    assert text_at(store, SOLUTION_PATH) == with_edge(SOLUTION).replace("strength: 0.8", "strength: 0.65")
    assert codes(store) == [] and rebuild(app) == []


def test_c_c8_what_lacks_at_one_end_is_mended_from_the_edge(app: App, store: Store) -> None:
    lone = PROBLEM.split("relations:")[0]
    write(store.root, PROBLEM_PATH, lone + "---\n\nIdle connections are cut.\n")
    assert codes(store) == ["relation-end"]
    assert PROBLEM_PATH in rebuild(app)
    assert text_at(store, PROBLEM_PATH) == with_edge(PROBLEM) and codes(store) == []
    history.undo(app, history.history(app)[0].short)
    assert text_at(store, PROBLEM_PATH) == lone + "---\n\nIdle connections are cut.\n"


def odd_edge(root: Path, former: str, now: str, path: str = "graph/edges/x--Y--z-aaaaaa.md") -> None:
    write(root, path, EDGE_TEXT.replace(former, now))


def with_relation(root: Path, relation: str) -> None:
    write(root, PROCEDURE_PATH, PROCEDURE.replace("steps:", f"relations: [{relation}]\nsteps:"))


DAMAGE: dict[str, tuple[Callable[[Path], object], list[str], list[str]]] = {
    "missing": (lambda root: (root / EDGE_PATH).unlink(), ["edge-missing"], []),
    "double": (lambda root: odd_edge(root, EDGE, "0a0b0c-x"), ["edge-double"], []),
    "first": (lambda root: odd_edge(root, EDGE, "0a0b0c-x", "graph/edges/a.md"), ["edge-double"], []),
    "nobody": (lambda root: odd_edge(root, DROPS, "nobody-here"), ["edge-end"], ["edge-end"]),
    "self": (lambda root: odd_edge(root, DROPS, REDIS), ["edge-self"], ["edge-self"]),
    "gone": (
        lambda root: (root / PROBLEM_PATH).unlink(),
        ["edge-end", "relation-end"],
        ["edge-end", "relation-end"],
    ),
    "odd": (lambda root: write(root, "graph/edges/odd.md", "odd\n"), ["edge-file"], ["edge-file"]),
    "itself": (
        lambda root: with_relation(root, f"{{target: {DEPLOY}, type: X}}"),
        ["relation-self"],
        ["relation-self"],
    ),
    "label": (lambda root: with_relation(root, f"{{target: {REDIS}, type: Eats}}"), ["relation-end"], []),
}


@pytest.mark.parametrize(("damage", "found", "left"), DAMAGE.values(), ids=DAMAGE)
def test_what_is_out_of_step_is_told_and_mended_where_it_can_be(
    app: App, store: Store, damage: Callable[[Path], object], found: list[str], left: list[str]
) -> None:
    damage(store.root)
    assert codes(store) == found
    told = " ".join(str(finding) for finding in doctor.check(app))
    assert all(f"store {code}" in told for code in found)
    mend(store, now=NOW)
    assert codes(store) == left
    before = files(store)
    mend(store, now=NOW)
    assert files(store) == before


def test_what_leads_to_a_memory_that_was_forgotten_before_goes(app: App, store: Store) -> None:
    forget(app, DROPS)
    write(store.root, SOLUTION_PATH, with_edge(SOLUTION))
    write(store.root, EDGE_PATH, EDGE_TEXT)
    assert codes(store) == ["edge-end", "relation-end"]
    mend(store, now=NOW)
    assert codes(store) == [] and EDGE_PATH not in files(store)


def test_c_c14_links_of_the_diary_are_told_and_never_changed(store: Store) -> None:
    page = (
        "# 2025-12-13\n\n## 10:30 - Fixed\n- **Memory:** [redis](../graph/fixes/redis-a1b2c3.md)\n"
        "- **Memory:** [gone](../graph/fixes/gone-ffffff.md)\n"
        f"- **Memory:** [there](../{SOLUTION_PATH})\n"
    )
    write(store.root, "episodes/2025-12-13.md", page)
    first, second = broken_links(store)
    assert (first.level, first.where) == (
        "note",
        "episodes/2025-12-13.md:4",
    ) and SOLUTION_PATH in first.message
    assert (second.level, second.line) == ("note", 5) and "gone-ffffff" in second.message
    mend(store, now=NOW)
    assert text_at(store, "episodes/2025-12-13.md") == page


def test_edges_are_found_by_words_types_and_ends_and_removed(app: App, store: Store) -> None:
    made = graph.relate(app, store, DEPLOY, REDIS, "REQUIRES", strength=0.9)
    assert [edge.id for edge in graph.edges(app, store)] == [made.id, EDGE]
    assert [edge.id for edge in graph.edges(app, store, query="keepalive IDLE")] == [EDGE]
    assert [edge.id for edge in graph.edges(app, store, types=["requires"])] == [made.id]
    assert [edge.id for edge in graph.edges(app, store, from_ref="a1b2c3")] == [EDGE]
    assert [edge.id for edge in graph.edges(app, store, to_ref="a1b2c3", limit=1)] == [made.id]
    assert graph.edge(app, store, EDGE[:6]).description.startswith("The keepalive")
    for odd in ("e1d2", "ffffff"):
        with pytest.raises(InputError):
            graph.edge(app, store, odd)
    graph.unrelate(app, store, made.id)
    assert files(store)[PROCEDURE_PATH] == PROCEDURE.replace("---\n\nSt", "relations: []\n---\n\nSt")
    assert files(store)[SOLUTION_PATH] == with_edge(SOLUTION) and codes(store) == []


def test_long_descriptions_are_kept_whole(app: App, store: Store, tmp_path: Path) -> None:
    text = "word " * 400 + "end."
    graph.relate(app, store, REDIS, DROPS, "SOLVES", description=text)
    graph.relate(app, store, REDIS, DROPS, "SOLVES", strength=0.3)
    assert graph.edge(app, store, EDGE).description == text
    assert isinstance(store.put(memory("new")), Put)


def test_counts_of_the_graph(app: App, store: Store) -> None:
    found = graph.stats(app, store)
    assert (found.memories, found.edges, found.by_relation) == (3, 1, {"SOLVES": 1})
    assert found.by_tag["redis"] == 2 and sum(found.by_band.values()) == 3


def test_every_memory_is_counted_in_a_band_though_nobody_wrote_it_down_yet(app: App, store: Store) -> None:
    store.reindex(now=NOW)
    for number in range(3):
        (store.root / f"by-hand-{number}.md").write_text(
            f"---\nname: hand {number}\n---\nBy hand.\n", "utf-8"
        )
    (store.root / PROBLEM_PATH).unlink()
    (store.root / SOLUTION_PATH).write_text(SOLUTION.replace("importance: 0.", "importance: 0.0"), "utf-8")
    for looking in (store, Store.open(store.root), Store.open(store.root, to_look=True)):
        found = graph.stats(app, looking)
        assert (found.memories, sum(found.by_band.values())) == (5, 5)
    assert sum(graph.decay(app, store).bands.values()) == 5

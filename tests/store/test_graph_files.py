"""Edge files of schema v3: read, written, changed in place, kept beside; links and traversal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from pipeline.core.errors import DocumentError, StoreError
from pipeline.store import Store
from pipeline.store.graph import edge_file, edge_files
from pipeline.store.graph.edge_file import Edge
from pipeline.store.graph.relations import key_of, retargeted, with_link
from pipeline.store.graph.traversal import Graph
from tests.support.cognitive import (
    DEPLOY,
    DROPS,
    EDGE,
    EDGE_PATH,
    EDGE_TEXT,
    REDIS,
    SOLUTION_PATH,
    lay_out,
    write,
)
from tests.support.stores import NOW, tree

GOLDEN = Edge(
    EDGE,
    "SOLVES",
    REDIS,
    DROPS,
    "Fixed Redis connection timeouts",
    "Redis connection drops under load",
    0.8,
    "2025-12-06T16:30:00+00:00",
    "2025-12-06T16:30:00+00:00",
    "The keepalive fix directly resolves the idle disconnection problem because...",
    EDGE_PATH,
)


def test_c_06_the_seed_s_edge_is_read_and_written_byte_for_byte() -> None:
    assert edge_file.parse(EDGE_TEXT.encode(), EDGE_PATH) == GOLDEN
    assert edge_file.compose(GOLDEN).decode() == EDGE_TEXT
    assert edge_file.changed(GOLDEN, EDGE_TEXT.encode()).decode() == EDGE_TEXT


def test_c_06_a_new_edge_is_named_for_its_ends_its_type_and_its_id() -> None:
    expected = "fixed-redis-connection-timeouts--SOLVES--redis-connection-drops-under-load-e1d2c3"
    assert edge_file.path_of(GOLDEN) == f"graph/edges/{expected}.md"
    assert edge_file.path_of(GOLDEN, {f"graph/edges/{expected}.md"}) == f"graph/edges/{expected}-2.md"
    odd = replace(GOLDEN, type="../DEPENDS ON/", from_title="日本", to_title="")
    path = edge_file.path_of(odd)
    assert path.startswith("graph/edges/") and "--DEPENDS_ON--" in path and path.count("/") == 2


def test_what_changes_of_an_edge_is_all_that_is_written() -> None:
    theirs = EDGE_TEXT.replace("strength: 0.8", "strength: 0.80 # sure\nmine: [1, 2]").replace("\n", "\r\n")
    edge = replace(edge_file.parse(theirs.encode(), EDGE_PATH), from_title='A "new" title')
    was, now = 'from_title: "Fixed Redis connection timeouts"', 'from_title: "A \\"new\\" title"'
    assert edge_file.changed(edge, theirs.encode()).decode() == theirs.replace(was, now)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("no front matter\n", "no front matter"),
        (EDGE_TEXT.replace(f"from_id: {REDIS}\n", ""), "without `from_id`"),
        (EDGE_TEXT.replace("type: SOLVES", 'type: "SOLVES'), "front matter"),
    ],
)
def test_of_a_file_that_is_no_edge_its_fault_is_told(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(DocumentError, match=what):
        edge_file.parse(text.encode(), EDGE_PATH)
    root = lay_out(tmp_path / "store")
    write(root, EDGE_PATH, text)
    found = edge_files.all_edges(root)
    assert [what in problem.message for problem in found.problems] == [True] and not found.edges


def test_c_07_the_index_tells_of_each_edge_as_the_seed_does(tmp_path: Path) -> None:
    store = Store.open(lay_out(tmp_path / "store"))
    store.reindex(now=NOW)
    held = orjson.loads((store.root / "_index.json").read_bytes())
    assert (held["version"], held["count"]) == (2, 3)
    assert held["edges"] == {
        EDGE: {"type": "SOLVES", "from_id": REDIS, "to_id": DROPS, "strength": 0.8, "path": EDGE_PATH}
    }
    write(store.root, EDGE_PATH, EDGE_TEXT.replace("strength: 0.8", "strength: 0.6"))
    store.reindex(now=NOW)
    held = orjson.loads((store.root / "_index.json").read_bytes())
    assert held["edges"][EDGE]["strength"] == 0.6


@pytest.mark.parametrize("damage", [b"", b"{", b'{"version": 1, "edges": {"%s": [1]}}', b'{"version": 9}'])
def test_what_is_kept_of_edges_is_never_trusted_over_their_files(tmp_path: Path, damage: bytes) -> None:
    store = Store.open(lay_out(tmp_path / "store"))
    store.reindex(now=NOW)
    kept = store.root / edge_files.FILE
    assert EDGE_PATH.encode() in kept.read_bytes()
    kept.write_bytes(damage)
    assert edge_files.all_edges(store.root, keep=True).edges == [GOLDEN]
    assert EDGE_PATH.encode() in kept.read_bytes()
    (store.root / EDGE_PATH).unlink()
    assert edge_files.all_edges(store.root).edges == []


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("_index.json", b'{"version":3,"count":0,"edges":{},"entries":{}}'),
        ("_index.json", b'{"updated":"x","version":"3.0.1"}'),
        ("_state.json", b'{"version": 2, "entries": {}}'),
    ],
)
def test_c_c11_nothing_is_written_beside_a_file_of_a_higher_version(
    tmp_path: Path, name: str, head: bytes
) -> None:
    store = Store.open(lay_out(tmp_path / "store"))
    (store.root / name).write_bytes(head)
    before = tree(store.root)
    for write_it in (
        lambda: store.reindex(now=NOW),
        lambda: store.decay(now=NOW),
        lambda: store.count_uses([], "L", now=NOW),
    ):
        with pytest.raises(StoreError, match="of version"):
            write_it()
    assert tree(store.root) == before
    assert len(store.scan().documents) == 3


@pytest.mark.parametrize("head", [b'{"version":2,"entries":{}}', b'{"version":1}', b'{"version":true}', b"["])
def test_c_c11_the_same_version_an_older_one_and_a_damaged_one_are_no_obstacle(
    tmp_path: Path, head: bytes
) -> None:
    store = Store.open(lay_out(tmp_path / "store"))
    (store.root / "_index.json").write_bytes(head)
    store.reindex(now=NOW)
    assert orjson.loads((store.root / "_index.json").read_bytes())["count"] == 3


@pytest.mark.parametrize(
    "name",
    ["fixed-redis-connection-timeouts", "a1b2c3", REDIS, f"[[{SOLUTION_PATH}]]", "[[a1b2c3d4]]",
     "[[fixed-redis-connection-timeouts-a1b2c3]]", "Fixed_Redis_connection_timeouts"],
)  # fmt: skip
def test_links_resolve_by_name_id_prefix_stem_and_path(tmp_path: Path, name: str) -> None:
    store = Store.open(lay_out(tmp_path / "store"))
    assert store.read(name).path == SOLUTION_PATH


def test_one_relation_for_each_target_type_and_direction() -> None:
    link = {"target": "b", "type": "CAUSES", "strength": 0.4, "note": "kept"}
    more = with_link([link], {"target": "b", "type": "CAUSES", "direction": "outgoing", "strength": 0.9})
    assert more == ({**link, "strength": 0.9},)
    assert len(with_link(more, {"target": "b", "type": "CAUSES", "direction": "incoming"})) == 2
    assert retargeted(more, "b", "c", own="a")[0]["target"] == "c"
    assert retargeted(more, "b", "a", own="a") == retargeted(more, "b", "", own="a") == ()
    twice = (*more, {"target": "c", "type": "CAUSES", "direction": "outgoing"})
    assert [key_of(each) for each in retargeted(twice, "b", "c", own="a")] == [("c", "CAUSES", "outgoing")]


def test_the_graph_is_walked_at_either_end_and_no_memory_comes_twice(tmp_path: Path) -> None:
    root = lay_out(tmp_path / "store", edge=False)
    third = f"relations:\n- {{target: {DROPS}, type: WORN_BY, direction: outgoing, strength: 0.3}}\n---\n"
    file = next((root / "graph/procedures").iterdir())
    file.write_text(file.read_text("utf-8").replace("---\n\nStandard", f"{third}\nStandard"), "utf-8")
    store = Store.open(root)
    graph = Graph(store.scan().documents, store.sieve)

    def around(
        start: str, types: set[str] | None = None, direction: str = "both", depth: int = 1
    ) -> list[str]:
        steps = graph.around(store.read(start), types or set(), direction, depth)
        return [f"{step.steps} {step.direction} {step.type} {step.document.id[:6]}" for step in steps]

    assert around(DROPS) == ["1 incoming SOLVES a1b2c3", "1 incoming WORN_BY c0ffee"]
    assert around(DROPS, {"SOLVES"}) == ["1 incoming SOLVES a1b2c3"]
    assert around(DROPS, direction="outgoing") == []
    assert around(DEPLOY, depth=1) == ["1 outgoing WORN_BY def789"]
    assert around(DEPLOY, depth=5) == ["1 outgoing WORN_BY def789", "2 incoming SOLVES a1b2c3"]


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("strength: 0.8", "strength: .8"),
        ("strength: 0.8", "strength: 1.5"),
        ("type: SOLVES", "type: Solves it"),
        ('under load"', 'under \\"load\\""'),
        ('created: "2025', 'mine: x\ncreated: "2025'),
        ("SOLVES", "NO"),
        ("\n---\n\nThe", "\n--- \nThe"),
    ],
)
def test_an_edge_is_read_alike_however_it_is_written(was: str, now: str) -> None:
    text = EDGE_TEXT.replace(was, now, 1)
    odd = text.replace("---\nid:", "---\n# by its lines\nid:", 1)
    assert edge_file.parse(text.encode(), "e.md") == edge_file.parse(odd.encode(), "e.md")

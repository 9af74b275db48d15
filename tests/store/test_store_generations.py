from typing import Any

import pytest

from pipeline.core.clock import parse_time
from pipeline.store.files import document

PROSE = "First line of prose."
BODY = f"# Heading\n\n{PROSE}\n"
CASES: dict[str, Any] = {
    "none": (
        "",
        "notes.md",
        {"type": "project", "name": "notes", "title": "Heading", "description": PROSE},
    ),
    "none, typed by its name": (
        "",
        "feedback_use_tabs.md",
        {"type": "feedback", "name": "feedback_use_tabs"},
    ),
    "title as name": (
        "name: Use tabs, please\ndescription: d\ntype: user",
        "use_tabs.md",
        {"type": "user", "name": "use_tabs", "title": "Use tabs, please"},
    ),
    "origin session": (
        "name: a\ntype: reference\noriginSessionId: s1",
        "a.md",
        {"extra": {"originSessionId": "s1"}},
    ),
    "metadata type": ("name: a-b\nmetadata: {type: feedback}", "a-b.md", {"type": "feedback", "name": "a-b"}),
    "node type and modified": (
        "name: a\nmetadata: \n  node_type: memory\n  type: user\n  modified: 2026-08-01T10:00:00Z",
        "a.md",
        {
            "type": "user",
            "updated": parse_time("2026-08-01T10:00:00+00:00"),
            "extra": {"metadata": {"node_type": "memory", "modified": "2026-08-01T10:00:00Z"}},
        },
    ),
    "schema v3": (
        'id: a1b2c3d4-e5\ntype: solution\ntitle: "Fixed: Redis"\ntags: [redis, ops]\nimportance: 0.8\n'
        "created: 2025-12-06T16:25:58+00:00\nsteps: [a]\nrelations:\n- {target: x, type: SOLVES}",
        "graph/solutions/fixed-redis-a1b2c3.md",
        {
            "type": "solution",
            "title": "Fixed: Redis",
            "name": "fixed-redis",
            "tags": ("redis", "ops"),
            "importance": 0.8,
            "created": parse_time("2025-12-06T16:25:58+00:00"),
            "steps": ("a",),
            "extra": {},
            "relations": ({"target": "x", "type": "SOLVES"},),
        },
    ),
    "our keys moved below metadata": (
        "name: a\ndescription: d\nmetadata:\n  id: i1\n  importance: 0.9\n  tags: [x]\n  origin: user-stated",
        "a.md",
        {"id": "i1", "importance": 0.9, "tags": ("x",), "origin": "user-stated", "extra": {}},
    ),
    "type lost, folder kept": (
        "id: i\nmetadata: {type: project}",
        "graph/decisions/x.md",
        {"type": "decision"},
    ),
    "blanked": (
        'name: ""\ndescription: ""\nid: ""\nmetadata: {id: i2}',
        "kept-stem.md",
        {"id": "i2", "name": "kept-stem", "description": PROSE},
    ),
    "unknown type": ("name: a\ntype: report\nsev: 3", "a.md", {"type": "report", "extra": {"sev": 3}}),
    "words and junk": (
        "name: a\nimportance: high\nconfidence: lots\ntags: one, two\n"
        "sources: [1, {session: s}]\nrelations: no",
        "a.md",
        {"importance": 0.8, "confidence": 0.8, "tags": ("one", "two"), "sources": (), "relations": ()},
    ),
    "numbers out of range": (
        "name: 7\nimportance: 9\nconfidence: .nan",
        "a.md",
        {"importance": 1.0, "confidence": 0.8},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_generation_is_read(case):
    front, path, wanted = CASES[case]
    raw = f"---\n{front}\n---\n{BODY}" if front else BODY
    found = document.parse(raw.encode(), path)
    assert {key: getattr(found, key) for key in wanted} == wanted
    assert found.body == BODY


@pytest.mark.parametrize("value", ["true", '"true"', "Yes", "yes", "1", "on", '"True"'])
def test_bug_099_every_way_to_say_pinned(value):
    assert document.parse(f"---\nname: a\npinned: {value}\n---\n".encode(), "a.md").pinned


@pytest.mark.parametrize("value", ["false", "no", "0", '""', "[]"])
def test_bug_099_other_values_do_not_pin(value):
    assert not document.parse(f"---\nname: a\npinned: {value}\n---\n".encode(), "a.md").pinned


def test_pinned_below_metadata_and_in_the_vault_counts():
    assert document.parse(b"---\nmetadata: {pinned: true}\n---\n", "a.md").pinned
    assert document.parse(b"x\n", "vault/a.md").pinned


def test_an_unknown_type_is_read_as_project_and_kept_in_the_file():
    found = document.parse(b"---\nname: a\ntype: report\n---\n", "a.md")
    assert found.type_row.name == "project"
    assert b"type: report\n" in document.compose(found, b"---\nname: a\ntype: report\n---\n")

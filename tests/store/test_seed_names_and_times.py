"""The names, folders and times of schema v3, as its own list has them."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from pipeline.store import Store
from tests.support.stores import apply, memory, save

FOLDERS = {
    "solution": "solutions", "fix": "fixes", "decision": "decisions", "configuration": "configurations",
    "problem": "problems", "workflow": "workflows", "code_pattern": "code-patterns", "error": "errors",
    "general": "general", "procedure": "procedures", "insight": "insights",
}  # fmt: skip
IDENT = "a1b2c3d4-1111-4222-8333-444455556666"


@pytest.fixture
def store(tmp_path):
    return Store.open(tmp_path / "memory", create=True)


@pytest.mark.parametrize(("kind", "folder"), FOLDERS.items())
def test_c_01_c_03_each_of_the_eleven_types_has_its_folder_and_the_file_its_name(store, kind, folder):
    (put,) = save(store, memory("redis-timeouts", type=kind, id=IDENT))
    assert put.path == f"graph/{folder}/redis-timeouts-a1b2c3.md"
    read = store.read("redis-timeouts")
    assert (read.head.type, read.id) == (kind, IDENT)


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("2026-02-13T12:00:00+00:00", datetime(2026, 2, 13, 12, tzinfo=UTC)),
        ('"2026-02-13T12:00:00.123456+00:00"', datetime(2026, 2, 13, 12, 0, 0, 123456, tzinfo=UTC)),
        ("'2026-02-13T14:00:00+02:00'", datetime(2026, 2, 13, 12, tzinfo=UTC)),
        ("2026-02-13T12:00:00Z", datetime(2026, 2, 13, 12, tzinfo=UTC)),
    ],
)
def test_c_c12_times_with_and_without_quotes_are_read_and_written_in_quotes(store, written, moment):
    path = store.root / "graph" / "fixes" / "redis-a1b2c3.md"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'---\nid: {IDENT}\ntype: fix\ntitle: "Redis"\ncreated: {written}\nupdated: {written}\n---\n\nDone.\n'
    )
    document = store.read("redis-a1b2c3")
    assert (document.head.created, document.head.updated) == (moment, moment)
    later = replace(document.memory, updated=datetime(2026, 3, 1, 9, tzinfo=UTC))
    apply(store, store.put(later, existing=document, approved=True))
    text = path.read_text()
    assert f"created: {written}\n" in text, "what was not changed keeps its bytes"
    assert re.search(r"^updated: (['\"])2026-03-01T09:00:00\+00:00\1$", text, re.MULTILINE)

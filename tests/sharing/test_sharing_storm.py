"""Two and five machines that change what they like, with clocks hours apart, offline, dying: one memory."""

from __future__ import annotations

import os

import pytest

from pipeline.core import faults
from tests.support.machines import Storm, git, kept_words

POINTS = tuple(point for point in faults.POINTS if point.startswith(("sync.", "store.")))

MANY = int(os.environ.get("REVERIE_TEST_STORM", "150"))
"""Changes of the long storm; two thousand (``REVERIE_TEST_STORM=2000 make sweeps``) take many minutes."""


def _weather(storm: Storm) -> None:
    """Assert that all machines have the same memories, and that nothing that was said is lost."""
    storm.settle()
    first = storm.machines[0].files()
    assert first
    for machine in storm.machines[1:]:
        assert machine.files() == first
    assert storm.said <= kept_words(storm.machines, storm.remote)
    for raw in first.values():
        assert b"<<<<<<<" not in raw
        assert b">>>>>>>" not in raw
    listed = git(storm.remote, "ls-tree", "-r", "--name-only", "main", "memories").splitlines()
    assert sorted(path.removeprefix("memories/") for path in listed) == sorted(first)
    for path, raw in first.items():
        assert git(storm.remote, "show", f"main:memories/{path}").encode() == raw


@pytest.mark.parametrize(("machines", "changes"), [(2, 24), (5, 24)])
def test_machines_end_with_the_same_memories(tmp_path, monkeypatch, machines, changes):
    storm = Storm(tmp_path, machines, changes + machines, monkeypatch, POINTS)
    storm.run(changes)
    _weather(storm)


@pytest.mark.whole
@pytest.mark.parametrize("machines", [2, 5])
def test_machines_end_with_the_same_memories_after_many_changes(tmp_path, monkeypatch, machines):
    storm = Storm(tmp_path, machines, machines, monkeypatch, POINTS)
    storm.run(MANY)
    _weather(storm)

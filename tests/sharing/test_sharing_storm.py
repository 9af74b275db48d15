"""Two and five machines that change what they like, with clocks hours apart, offline, dying: one memory.

Their remotes are a folder, git's daemon and git's smart HTTP, all of the same repository.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pipeline.core import faults
from tests.support.machines import Storm, git, kept_words
from tests.support.remotes import daemon, smart_http

POINTS = tuple(point for point in faults.POINTS if point.startswith(("sync.", "store.")))

MANY = int(os.environ.get("REVERIE_TEST_STORM", "150"))
"""Changes of the long storm; two thousand (``REVERIE_TEST_STORM=2000 make sweeps``) take many minutes."""
_MEMORY = Path("/dev/shm")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A folder in the machine's memory, where it has one: what is killed leaves there what it leaves on a
    disk, and most of the time of a storm is waiting for a disk.
    """
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(prefix="reverie-storm-", dir=_MEMORY) as found:
        yield Path(found)


@pytest.fixture
def served(place: Path) -> Iterator[tuple[str, ...]]:
    """How the machines reach the repository, in turn: by the daemon, by HTTP, as a folder."""
    with ExitStack() as stack:
        yield (stack.enter_context(daemon(place)), stack.enter_context(smart_http(place)), "")


def _weather(storm: Storm) -> None:
    """Assert that all machines have the same memories, and that nothing that was said is lost."""
    storm.settle()
    first = storm.machines[0].files()
    assert first
    for machine in storm.machines[1:]:
        assert machine.files() == first
    kept = kept_words(storm.machines, storm.remote)
    assert storm.said <= kept
    for raw in first.values():
        assert b"<<<<<<<" not in raw
        assert b">>>>>>>" not in raw
    listed = git(storm.remote, "ls-tree", "-r", "--name-only", "main", "memories").splitlines()
    assert sorted(path.removeprefix("memories/") for path in listed) == sorted(first)
    for path, raw in first.items():
        assert git(storm.remote, "show", f"main:memories/{path}").encode() == raw
    git(storm.remote, "fsck", "--strict")
    sys.stdout.write(_report(storm, len(first), len(storm.said - kept)))


def _report(storm: Storm, memories: int, lost: int) -> str:
    """Return what there was of it, for ``pytest -s``."""
    revisions = len(git(storm.remote, "ls-tree", "-r", "--name-only", "main", "revisions").splitlines())
    commits = git(storm.remote, "rev-list", "--count", "main").strip()
    hours = sorted(round(machine.skew.total_seconds() / 3600, 1) for machine in storm.machines)
    named = [machine.remote.partition("://") for machine in storm.machines]
    remotes = [kind if address else "folder" for kind, _, address in named]
    died = storm.died.total() - storm.died[""]
    lines = [
        f"{len(remotes)} machines by {', '.join(remotes)}; clocks off by {hours} hours",
        f"{storm.changes} changes; {storm.syncs} syncs, {storm.away} of them offline, {died} died",
        f"{memories} memories, the same on all; {revisions} revisions, {commits} commits; no marks",
        f"{len(storm.said)} sentences said, {lost} lost",
        *(
            f"  {times:4} {where or '(ended before its death)'}"
            for where, times in sorted(storm.died.items())
        ),
    ]
    return "\n" + "\n".join(lines) + "\n"


@pytest.mark.parametrize(("machines", "changes"), [(5, 24), pytest.param(2, 24, marks=pytest.mark.whole)])
def test_machines_end_with_the_same_memories(place, served, monkeypatch, machines, changes):
    storm = Storm(place, machines, changes + machines, monkeypatch, POINTS, served)
    storm.run(changes)
    _weather(storm)


@pytest.mark.whole
@pytest.mark.parametrize("machines", [2, 5])
def test_machines_end_with_the_same_memories_after_many_changes(place, served, monkeypatch, machines):
    storm = Storm(place, machines, machines, monkeypatch, POINTS, served)
    storm.run(MANY, dying=0.5)
    _weather(storm)
    if MANY >= 2000:
        # At each of them in a test of its own; here by chance, so that a few may be left out.
        assert len(set(POINTS) - storm.died.keys()) <= 3
        calls = {where.partition(",")[0] for where in storm.died if where.startswith("git ")}
        assert {"git fetch", "git ls-tree", "git cat-file", "git fast-import", "git push"} <= calls

"""A folder of agent-memory's files, and a command line to keep it with."""

from datetime import UTC, datetime, timedelta

import pytest

from pipeline.config import Settings
from pipeline.context import open_store
from pipeline.core.clock import FixedClock
from pipeline.core.ids import new_id
from pipeline.formats.agent_memory import AgentMemory, Options, mirror
from pipeline.formats.agent_memory.outcome import Wish
from tests.cli.conftest import make_desk
from tests.support.stores import memory as ours
from tests.support.stores import save

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


@pytest.fixture
def clock():
    return FixedClock(NOON)


@pytest.fixture
def root(tmp_path):
    return tmp_path / "memories"


@pytest.fixture
def memory(root, clock):
    return AgentMemory(root, Options(), clock=clock)


@pytest.fixture
def desk(tmp_path):
    return make_desk(tmp_path)


@pytest.fixture
def pair(tmp_path, root, clock):
    return Pair(tmp_path, AgentMemory(root, clock=clock), clock)


class Pair:
    """A store and the files."""

    def __init__(self, folder, files, clock):
        self.files, self.clock, self.state = files, clock, folder / "mirrors" / "pair.json"
        self.path = folder / "store"
        self.path.mkdir(mode=0o700)

    @property
    def store(self):
        return open_store(self.path, Settings())

    def sync(self, **more):
        """Bring both in step, and return what was done by id."""
        self.clock.at += timedelta(minutes=1)
        self.done = mirror.sync(self.files, self.store, self.state, now=self.clock.now(), wish=Wish(**more))
        return {row.id: row.deed for row in self.done.rows}

    def documents(self):
        return {item.id: item for item in self.store.scan().documents}

    def texts(self):
        """Return the texts on both sides."""
        here = sorted(item.memory.body.strip() for item in self.documents().values())
        there = sorted(r["content"] for k in ("core", "learning", "task") for r in self.files.records(k))
        return here, there

    def write(self, name="ours", **more):
        values = {"type": "decision", "description": "Ours.", "body": "Ours says this.\n", "id": new_id()}
        memory = ours(name, **{**values, "origin": "assistant-inferred", **more})
        save(self.store, memory, id=f"run-{name}")
        return memory.id

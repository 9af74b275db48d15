"""A folder of agent-memory's files, and a command line to keep it with."""

from datetime import UTC, datetime

import pytest

from pipeline.core.clock import FixedClock
from pipeline.formats.agent_memory import AgentMemory, Options
from tests.cli.conftest import make_desk

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

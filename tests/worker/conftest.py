"""A workshop whose environment is this process's too, so that a Worker can be run inside the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.loopback import LoopbackApi, keep_each_line, serving
from tests.support.workshop import Workshop


@pytest.fixture
def api() -> Iterator[LoopbackApi]:
    """A model that keeps each line a person says; a test may set another `answer`."""
    with serving(keep_each_line) as api:
        yield api


@pytest.fixture
def shop(tmp_path: Path, api: LoopbackApi, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop that asks `api`."""
    made = Workshop(tmp_path / "place", api.environment)
    for name, value in made.env.items():
        monkeypatch.setenv(name, value)
    return made

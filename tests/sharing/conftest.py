"""A desk and a laptop, and the repository by which they are kept in step."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.machines import Machine


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return tmp_path / "remote.git"


@pytest.fixture
def skews() -> tuple[timedelta, timedelta]:
    """How far the clocks of the two are off."""
    return timedelta(), timedelta()


@pytest.fixture
def apart(
    tmp_path: Path, skews: tuple[timedelta, timedelta], monkeypatch: pytest.MonkeyPatch
) -> tuple[Machine, Machine]:
    """The two before they are in step."""
    desk, laptop = (
        Machine(tmp_path / name, skew, monkeypatch)
        for name, skew in zip(("desk", "laptop"), skews, strict=True)
    )
    return desk, laptop


@pytest.fixture
def pair(apart: tuple[Machine, Machine], remote: Path) -> tuple[Machine, Machine]:
    """The two, in step."""
    for machine in apart:
        machine.join(remote)
    return apart

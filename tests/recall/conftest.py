"""A desk for each test."""

from pathlib import Path

import pytest

from tests.support.recall import Desk


@pytest.fixture
def desk(sealed_environment: Path, tmp_path: Path) -> Desk:
    """A project without a memory yet."""
    project = tmp_path / "project"
    project.mkdir()
    return Desk(project)

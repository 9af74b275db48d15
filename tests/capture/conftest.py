"""Stages for the hook tests."""

import os
from pathlib import Path

import pytest

from tests.support.hooks import FAKE_WORKER, Stage


@pytest.fixture
def stage(sealed_environment: Path, tmp_path: Path) -> Stage:
    """A home with a fake worker. Whoever starts it must `release` it, which `busy` and `played` do."""
    home = sealed_environment / "reverie"
    home.mkdir(mode=0o700)
    fake = tmp_path / "fake-python"
    fake.write_text(FAKE_WORKER)
    fake.chmod(0o755)
    for name in ("ready", "release"):
        os.mkfifo(home / name)
    return Stage(home, {**os.environ, "REVERIE_PYTHON": str(fake)})


@pytest.fixture
def busy(stage: Stage) -> Stage:
    """A stage where no worker is ever started: `/bin/true` takes its place."""
    stage.env["REVERIE_PYTHON"] = "/bin/true"
    return stage

"""Stages for the hook tests."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hooks import FAKE_WORKER, Stage


@pytest.fixture
def stage(sealed_environment: Path, tmp_path: Path) -> Iterator[Stage]:
    """A home with a fake worker; a test that starts it should `release` it, and a failed one needs not."""
    home = sealed_environment / "reverie"
    home.mkdir(mode=0o700)
    fake = tmp_path / "fake-python"
    fake.write_text(FAKE_WORKER)
    fake.chmod(0o755)
    for name in ("ready", "release"):
        os.mkfifo(home / name)
    made = Stage(home, {**os.environ, "REVERIE_PYTHON": str(fake)})
    yield made
    for worker in made.lines("started"):
        command = Path(f"/proc/{worker}/cmdline")
        if command.exists() and os.fsencode(fake) in command.read_bytes():
            os.kill(int(worker), signal.SIGKILL)


@pytest.fixture
def busy(stage: Stage) -> Stage:
    """A stage where no worker is ever started: `/bin/true` takes its place."""
    stage.env["REVERIE_PYTHON"] = "/bin/true"
    return stage

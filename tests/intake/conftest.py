"""Stages for the hook tests."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.hooks import FAKE_WORKER, Stage, note_python


@pytest.fixture
def stage(sealed_environment: Path) -> Iterator[Stage]:
    """A home with a fake worker; a test that starts it should `release` it, and a failed one needs not."""
    home = sealed_environment / "reverie"
    home.mkdir(mode=0o700)
    fake = note_python(home, FAKE_WORKER)
    for name in ("ready", "release"):
        os.mkfifo(home / name)
    made = Stage(home, dict(os.environ))
    yield made
    for worker in made.lines("started"):
        command = Path(f"/proc/{worker}/cmdline")
        if command.exists() and os.fsencode(fake) in command.read_bytes():
            os.kill(int(worker), signal.SIGKILL)


@pytest.fixture
def busy(stage: Stage) -> Stage:
    """A stage where no worker ever works: a program that ends at once takes its place."""
    note_python(stage.home)
    return stage

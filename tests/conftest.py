"""What every test gets: a temporary home, a clean environment, and no live model calls."""

import os
from pathlib import Path

import pytest

_FOREIGN = ("ANTHROPIC_", "CLAUDE", "REVERIE_", "XDG_")


@pytest.fixture(autouse=True)
def sealed_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Point every home at an empty directory, which is returned, and forbid live model calls.

    The directory is outside the test's own ``tmp_path``. Subprocesses inherit all of it.
    """
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("REVERIE_HOME", str(home / "reverie"))
    monkeypatch.setenv("REVERIE_NO_LIVE_CALLS", "1")
    return home

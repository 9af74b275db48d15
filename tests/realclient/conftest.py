"""What every test with the real client gets: the client, and a box to run it in."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.realclient.box import Box, OpenBox, opened
from tests.realclient.scripted_api import Rule, Script

# Read now: the common fixture takes every REVERIE_ variable away from the tests.
_NAMED = os.environ.get("REVERIE_CLAUDE", "")


@pytest.fixture
def open_box(tmp_path: Path) -> Iterator[OpenBox]:
    """Open a box whose API plays the rules given; keywords are further variables of its environment."""
    if not _NAMED:
        pytest.skip("REVERIE_CLAUDE names no client: run `make test-realclient`")
    client = Path(_NAMED)
    assert os.access(client, os.X_OK), f"REVERIE_CLAUDE={client} is not an executable"
    with ExitStack() as boxes:

        def opening(*rules: Rule, project: str = "work", **extra: str) -> Box:
            made: AbstractContextManager[Box] = opened(
                tmp_path, client, Script(list(rules)), project=project, **extra
            )
            return boxes.enter_context(made)

        yield opening


@pytest.fixture
def stand_in(tmp_path: Path) -> Callable[[str, str], Path]:
    """Make a plugin with one shell command as hook, `(event, command)`: shows what the box itself can see."""

    def make(event: str, command: str) -> Path:
        plugin = tmp_path / "plugin"
        (plugin / ".claude-plugin").mkdir(parents=True)
        (plugin / "hooks").mkdir()
        (plugin / ".claude-plugin" / "plugin.json").write_text('{"name": "stand-in"}', encoding="utf-8")
        hooks = {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}
        (plugin / "hooks" / "hooks.json").write_text(json.dumps(hooks), encoding="utf-8")
        return plugin

    return make

"""The demonstration stops where one of its commands fails, and says why."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.core.errors import ReverieError
from pipeline.evaluation.demo import Staged, reverie


def test_a_command_of_the_demo_that_fails_stops_it(tmp_path: Path) -> None:
    env = {**os.environ, "HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")}
    staged = Staged(env, tmp_path / "none", tmp_path / "t.jsonl", tmp_path)
    with pytest.raises(ReverieError, match=r"`reverie show nothing .*` ended with 1: .*there"):
        reverie(["show", "nothing", "--store", str(staged.store)], staged)

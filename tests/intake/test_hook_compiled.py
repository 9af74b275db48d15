"""What Python keeps compiled of the hooks: nothing is lost where it is broken, old or can't be kept."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hooks import HOOKS, LIMIT, Stage


@pytest.fixture
def hooks(tmp_path: Path) -> Path:
    """The hooks as they are installed, without anything compiled."""
    place = tmp_path / "hooks"
    shutil.copytree(HOOKS, place, ignore=shutil.ignore_patterns("__pycache__"))
    return place


def stop(stage: Stage, hooks: Path) -> None:
    command = [sys.executable, "-I", "-S", str(hooks / "capture.py"), "Stop"]
    done = subprocess.run(command, input=b"{}", env=stage.env, capture_output=True, timeout=LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    stage.await_worker()
    stage.release()


def compiled(hooks: Path, name: str) -> Path:
    return hooks / "__pycache__" / f"{name}.{sys.implementation.cache_tag}.pyc"


@pytest.mark.parametrize("name", ["spooling", "start_worker"])
def test_a_compiled_file_that_broke_costs_no_event_and_is_mended(
    stage: Stage, hooks: Path, name: str
) -> None:
    stop(stage, hooks)
    place = compiled(hooks, name)
    sound = place.read_bytes()
    for broken in (sound[:16], sound[: len(sound) // 2], sound[:16] + bytes(len(sound) - 16)):
        place.write_bytes(broken)
        before = len(stage.spooled())
        stop(stage, hooks)
        assert len(stage.spooled()) == before + 1
        assert place.read_bytes()[16:] == sound[16:]


def test_where_nothing_compiled_can_be_kept_the_hooks_work_all_the_same(stage: Stage, hooks: Path) -> None:
    (hooks / "__pycache__").write_text("in the way")
    stop(stage, hooks)
    assert len(stage.spooled()) == 1


@pytest.mark.parametrize("name", ["spooling", "start_worker"])
def test_a_newer_file_counts_and_not_what_was_compiled_of_the_older(
    stage: Stage, hooks: Path, tmp_path: Path, name: str
) -> None:
    stop(stage, hooks)
    with (hooks / f"{name}.py").open("a") as source:
        source.write(f"\nopen({str(tmp_path / 'read')!r}, 'w').close()\n")
    stop(stage, hooks)
    assert (tmp_path / "read").exists()


@pytest.mark.parametrize("name", ["spooling", "pipeline/recall/live/rank"])
def test_a_session_is_greeted_and_kept_though_a_compiled_file_broke(
    stage: Stage, hooks: Path, name: str
) -> None:
    package = hooks.parent / "pipeline"
    shutil.copytree(HOOKS.parent / "pipeline", package, ignore=shutil.ignore_patterns("__pycache__"))
    place = hooks.parent / "hooks" if name == "spooling" else package / "recall" / "live"

    def start(event: str) -> None:
        command = [sys.executable, "-I", "-S", str(hooks / "recall.py"), event]
        given = json.dumps(
            {"session_id": "s", "cwd": str(hooks), "prompt": "which rank is first?", "source": "startup"}
        )
        done = subprocess.run(
            command, input=given.encode(), env=stage.env, capture_output=True, timeout=LIMIT
        )
        assert (done.returncode, done.stderr) == (0, b"")

    start("UserPromptSubmit")
    broken = compiled(place, name.rpartition("/")[2])
    sound = broken.read_bytes()
    broken.write_bytes(sound[: len(sound) // 2])
    before = len(stage.spooled())
    start("SessionStart")
    assert len(stage.spooled()) == before + 1
    start("UserPromptSubmit")
    stop(stage, hooks)
    start("UserPromptSubmit")
    assert broken.read_bytes()[16:] == sound[16:]
    stage.release()

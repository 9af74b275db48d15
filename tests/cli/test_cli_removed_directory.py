"""In a directory that was removed every command says so, or does what needs no directory."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from pipeline.cli.tree import cli
from tests.support.warm import shared_workers

ROOT = Path(__file__).resolve().parents[2]
PROGRAM: Any = typer.main.get_command(cli)
STARTS = {
    "module": [sys.executable, "-m", "pipeline.cli.main"],
    "installed": [sys.executable, "-c", "import _reverie_start; _reverie_start.run()"],
    "plugin": ["sh", str(ROOT / "bin" / "reverie")],
}


def environment(folder: Path) -> dict[str, str]:
    """Return the whole environment of a person whose folder is `folder`."""
    return {"HOME": str(folder), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}


def run(folder: Path, command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `command` in a directory that is gone; `folder` is the person's."""
    gone = folder / "gone"
    gone.mkdir()
    env = environment(folder)
    script = f'cd "{gone}" && rmdir "{gone}" && exec "$@"'
    return subprocess.run(
        ["sh", "-c", script, "sh", *command],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_bug_cases_14_the_error_is_clear_however_it_is_started(tmp_path: Path, start: list[str]) -> None:
    done = run(tmp_path, [*start, "status"])
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: the directory you are in was removed" in done.stderr
    assert "Change to one that exists" in done.stderr
    assert not any(word in done.stderr for word in ("Traceback", "Errno", "fault in Reverie"))
    assert not (tmp_path / ".claude").exists()


@pytest.mark.parametrize("name", sorted(PROGRAM.commands))
def test_bug_cases_14_so_does_every_command(tmp_path: Path, name: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = shared_workers().reverie([name], environment(tmp_path), gone, gone=True)
    assert done.returncode == 1 and "the directory you are in was removed" in done.stderr
    assert not any(word in done.stderr for word in ("Traceback", "Errno", "fault in Reverie"))

"""What Claude Code is told: the settings snippet, the plugin's files, and that they agree."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.hooklib.events import ANSWERED, EVENTS, TOOL
from pipeline.install.hook_registration import note_interpreter, settings_snippet
from tests.support.hooks import HOOKS, LIMIT, Stage

ROOT = HOOKS.parent


def commands(hooks: dict[str, list[dict[str, list[dict[str, str]]]]]) -> dict[str, str]:
    """Return the one command of each event; more than one is an error."""
    found = {}
    for event, (group,) in hooks.items():
        (handler,) = group["hooks"]
        assert handler["type"] == "command" and "matcher" not in group
        found[event] = handler["command"]
    return found


@pytest.mark.parametrize("kind", ["settings", "plugin"])
def test_every_registered_command_does_its_work(busy: Stage, tmp_path: Path, kind: str) -> None:
    if kind == "settings":
        hooks = settings_snippet()["hooks"]
    else:
        hooks = json.loads((HOOKS / "hooks.json").read_text())["hooks"]
    env = {**busy.env, "CLAUDE_PLUGIN_ROOT": str(ROOT), "PATH": "/usr/bin:/bin"}
    assert tuple(commands(hooks)) == EVENTS
    for command in commands(hooks).values():
        done = subprocess.run(
            ["/bin/sh", "-c", command], input=b"{}", env=env, cwd=tmp_path, capture_output=True, timeout=LIMIT
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    noted = {*EVENTS} - {"UserPromptSubmit"}
    assert sorted(file.stem.rpartition("-")[2] for file in busy.spooled()) == sorted(noted)
    assert {*ANSWERED} - {*EVENTS} == {TOOL}


@pytest.mark.parametrize("left", ["launcher", "nothing"])
def test_a_command_outlives_what_it_names(busy: Stage, tmp_path: Path, left: str) -> None:
    """The interpreter is gone, then the whole package: the session must not notice."""
    hooks = HOOKS if left == "launcher" else tmp_path / "gone"
    command = commands(settings_snippet(python="/nonexistent/python", hooks=hooks)["hooks"])["Stop"]
    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", env=busy.env, timeout=LIMIT)
    assert done.returncode == 0
    assert len(busy.spooled()) == (1 if left == "launcher" else 0)


@pytest.mark.parametrize("event", EVENTS)
def test_a_plugin_whose_folder_is_gone_fails_nothing(busy: Stage, tmp_path: Path, event: str) -> None:
    """A session goes on after an update took away the folder it began with."""
    command = commands(json.loads((HOOKS / "hooks.json").read_text())["hooks"])[event]
    env = {**busy.env, "CLAUDE_PLUGIN_ROOT": str(tmp_path / "gone")}
    done = subprocess.run(
        ["/bin/sh", "-c", command], input=b"{}", env=env, capture_output=True, timeout=LIMIT
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("kind", ["settings", "launcher", "plugin"])
def test_ctrl_c_while_the_interpreter_starts_is_not_for_it(busy: Stage, tmp_path: Path, kind: str) -> None:
    slow = tmp_path / "slow-python"
    slow.write_text('#!/bin/sh\nkill -INT $$\ntouch "$REVERIE_HOME/survived"\n')
    slow.chmod(0o755)
    command = f"sh '{HOOKS}/run' Stop"
    (busy.home / "python").write_text(f"{slow}\n")
    if kind == "settings":
        command = commands(settings_snippet(python=str(slow), hooks=HOOKS)["hooks"])["Stop"]
    if kind == "plugin":
        command = commands(json.loads((HOOKS / "hooks.json").read_text())["hooks"])["Stop"]
    env = {**busy.env, "CLAUDE_PLUGIN_ROOT": str(ROOT)}
    done = subprocess.run(["/bin/sh", "-c", command], input=b"{}", env=env, timeout=LIMIT)
    assert done.returncode == 0 and (busy.home / "survived").exists()


def test_the_noted_interpreter_is_the_running_one(tmp_path: Path) -> None:
    note_interpreter(tmp_path)
    assert (tmp_path / "python").read_text() == f"{sys.executable}\n"


def test_the_plugin_manifest_fits_the_package() -> None:
    manifest = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert manifest["name"] == "reverie"
    assert f'version = "{manifest["version"]}"' in project

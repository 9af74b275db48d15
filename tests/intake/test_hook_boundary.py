"""No hook ever fails: whatever goes wrong inside is one line of the hook log, the session sees nothing."""

import json
import shutil
import subprocess
import sys

import pytest

from tests.support.hooks import HOOKS, LIMIT, note_home

SCRIPTS = {
    "capture.py": ["Stop"],
    "recall.py": ["UserPromptSubmit"],
    "statusline.py": [],
}
EVENT = json.dumps(
    {"session_id": "s-1", "transcript_path": "/t.jsonl", "cwd": "/", "prompt": "hello"}
).encode()


def run(script, env, *, before="", event=None):
    command = [sys.executable, "-I", "-S", str(script), *(SCRIPTS[script.name] if event is None else [event])]
    done = subprocess.run(
        ["sh", "-c", f'{before} exec "$@"', "sh", *command],
        input=EVENT,
        env={"PATH": "/usr/bin:/bin", **env},
        capture_output=True,
        timeout=LIMIT,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_hook_seen_from_a_directory_that_is_gone_fails_in_silence(name, tmp_path):
    before = f'mkdir "{tmp_path}/gone" && cd "{tmp_path}/gone" && rmdir "{tmp_path}/gone" &&'
    assert run(HOOKS / name, {"CLAUDE_CONFIG_DIR": "relative", "HOME": str(tmp_path)}, before=before) == (
        0,
        b"",
    )


@pytest.mark.parametrize("name", ["recall.py", "statusline.py"])
def test_a_hook_without_its_package_says_so_in_the_log(name, tmp_path):
    shutil.copytree(HOOKS, tmp_path / "plugin" / "hooks")
    home = tmp_path / "home"
    home.mkdir()
    note_home(tmp_path / ".claude", home)
    assert run(tmp_path / "plugin" / "hooks" / name, {"HOME": str(tmp_path)}) == (0, b"")
    (line,) = (home / "logs" / "hook.log").read_text().splitlines()
    assert "No module named 'pipeline'" in line
    assert line.split(" ", 1)[1].startswith(
        "statusline: " if name == "statusline.py" else "UserPromptSubmit: "
    )


def test_an_event_that_can_not_be_kept_is_a_line_in_the_log(tmp_path):
    (tmp_path / "spool").write_text("in the way")
    note_home(tmp_path / ".claude", tmp_path)
    assert run(HOOKS / "capture.py", {"HOME": str(tmp_path)}) == (0, b"")
    (line,) = (tmp_path / "logs" / "hook.log").read_text().splitlines()
    assert line.split(" ", 1)[1].startswith("Stop: ") and "spool" in line


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_home_that_can_not_even_be_logged_to_is_silence(name, tmp_path):
    file = tmp_path / "file"
    file.write_text("no folder")
    note_home(tmp_path / ".claude", file)
    assert run(HOOKS / name, {"HOME": str(tmp_path)}) == (0, b"")

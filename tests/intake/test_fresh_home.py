"""Whoever is the first to make a home, all in it is its owner's alone."""

from __future__ import annotations

import ast
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import modules
from tests.support.hooks import HOOKS, LIMIT

ROOT = HOOKS.parent
HOOK = [sys.executable, "-I", "-S"]
REVERIE = [sys.executable, "-m", "pipeline.cli.main"]
ENTRIES = {
    "Stop": [*HOOK, str(HOOKS / "capture.py"), "Stop"],
    "SessionEnd": [*HOOK, str(HOOKS / "capture.py"), "SessionEnd"],
    "PreCompact": [*HOOK, str(HOOKS / "capture.py"), "PreCompact"],
    "SessionStart": [*HOOK, str(HOOKS / "recall.py"), "SessionStart"],
    "UserPromptSubmit": [*HOOK, str(HOOKS / "recall.py"), "UserPromptSubmit"],
    "launcher": ["sh", str(HOOKS / "run"), "SessionStart"],
    "status line": [*HOOK, str(HOOKS / "statusline.py")],
    "worker": [sys.executable, "-m", "pipeline.worker"],
    **{
        " ".join(words): [*REVERIE, *words]
        for words in (
            ["status"], ["doctor"], ["work"], ["add", "Ship on Mondays.", "--name", "ship"], ["list"],
            ["add", "--user", "Never commit secrets.", "--name", "no-secrets"], ["recall", "ship"],
            ["install", "--yes"], ["mode", "propose"], ["config", "set", "store.mode", "propose"],
            ["search", "ship"], ["process", "--estimate"], ["dream", "--dry-run"], ["reindex"],
        )
    },
}  # fmt: skip


def others_may_read(folder: Path) -> list[str]:
    """Return what below `folder` others than its owner may look at, but for a person's own settings."""
    return [
        f"{stat.S_IMODE(path.lstat().st_mode):o} {path.relative_to(folder)}"
        for path in sorted(folder.rglob("*"))
        if path.lstat().st_mode & 0o077 and path.name != "settings.json"
    ]


SELDOM = {
    "doctor",
    "work",
    "list",
    "recall ship",
    "mode propose",
    "search ship",
    "process --estimate",
    "reindex",
}
"""Commands that come to their home as others do: these are tried if the whole is run."""
SWEEP = [
    pytest.param(command, id=name, marks=[pytest.mark.whole] if name in SELDOM else [])
    for name, command in ENTRIES.items()
]


def test_what_is_left_to_the_whole_is_there() -> None:
    assert set(ENTRIES) >= SELDOM


@pytest.mark.parametrize("command", SWEEP)
def test_bug_cases_16_nobody_else_may_read_a_fresh_home(tmp_path: Path, command: list[str]) -> None:
    home, project = tmp_path / "person", tmp_path / "project"
    for folder in (home, project):
        folder.mkdir()
    transcript = project / "5e55.jsonl"
    row = {
        "type": "user", "uuid": "u-1", "sessionId": "5e55", "cwd": str(project), "parentUuid": None,
        "timestamp": "2026-03-02T09:00:00Z", "message": {"role": "user", "content": "Ship on Mondays."},
    }  # fmt: skip
    transcript.write_text(json.dumps(row) + "\n")
    event = {"session_id": "5e55", "transcript_path": str(transcript), "cwd": str(project)}
    data = json.dumps({**event, "source": "startup", "prompt": "when do we ship?"}).encode()
    env = {
        "HOME": str(home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT),
        "REVERIE_MODEL__PROVIDER": "offline", "REVERIE_WORKER__LINGER_SECONDS": "0",
    }  # fmt: skip
    masked = ["sh", "-c", 'umask 022; exec "$@"', "sh", *command]
    done = subprocess.run(masked, input=data, env=env, cwd=project, capture_output=True, timeout=LIMIT)
    assert b"Traceback" not in done.stderr
    lock = home / ".claude" / "reverie" / "worker.lock"
    if lock.exists():  # a worker that a hook started goes on behind it
        subprocess.run(["flock", str(lock), "true"], timeout=3 * LIMIT, check=True)
    assert others_may_read(home / ".claude") == []
    if command[-1] in ("Stop", "SessionEnd", "PreCompact", "SessionStart", "--yes"):
        assert stat.S_IMODE((home / ".claude" / "reverie").stat().st_mode) == 0o700
        assert stat.S_IMODE((home / ".claude").stat().st_mode) == 0o700


MAKERS = {
    "hooks/spooling.py": 1,
    "hooks/prepare_worker.py": 1,
    "pipeline/core/atomic.py": 1,
    "pipeline/hooklib/places.py": 1,
    "pipeline/evaluation/reading.py": 1,
}
"""Where a folder is made: the one helper of hooks, the one that stands alone, and the package's. The setup
makes its environment, the evaluation a folder in its scratch."""


def test_folders_are_made_by_the_helpers_alone() -> None:
    found: dict[str, int] = {}
    for module in modules("hooks", "pipeline"):
        for node in module.nodes:
            call = node.func if isinstance(node, ast.Call) else None
            if isinstance(call, ast.Attribute) and call.attr in ("mkdir", "makedirs"):
                found[module.path] = found.get(module.path, 0) + 1
    assert found == MAKERS


def test_what_would_be_found_is_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)
    os.chmod(tmp_path / "a", 0o755)
    assert others_may_read(tmp_path) == ["755 a"]

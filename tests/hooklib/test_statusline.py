"""One line for Claude Code's status line, from the board, whatever the board and stdin hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.hooklib import ownership
from pipeline.hooklib.statusline import line
from tests.support.hooks import note_home

SCRIPT = Path(__file__).resolve().parents[2] / "hooks" / "statusline.py"
NOW = 1_800_000_000.0
CHANGES = [[NOW - 60, "created", "a", ""], [NOW - 60, "retired", "b", ""], [NOW - 90_000, "created", "c", ""]]


@pytest.fixture
def told(tmp_path: Path):
    """Write a board for the project at `tmp_path` and return the line for it."""

    def tell(store: object, *, data: bytes | None = None) -> str:
        home = tmp_path / "reverie"
        (home / "recall").mkdir(parents=True, exist_ok=True)
        board = {"stores": {ownership.project_store(str(tmp_path)): store}}
        (home / "recall" / "board.json").write_text(json.dumps(board))
        session = json.dumps({"workspace": {"current_dir": str(tmp_path)}}).encode()
        return line(session if data is None else data, str(home), NOW)

    return tell


CASES = [
    ({"inbox": 2, "parked": [], "held": "", "changes": CHANGES}, "reverie: 1 learned today · inbox 2"),
    (
        {"inbox": 0, "parked": ["x"], "held": "the cap", "changes": []},
        "reverie: 1 given up · paused: the cap",
    ),
    ({"inbox": 0, "parked": [], "held": "", "changes": []}, "reverie: nothing new"),
    ({"inbox": "2", "parked": 3, "held": [], "changes": [3, [], ["x", "created"]]}, "reverie: nothing new"),
    ({"held": "a\x1b[31m\nb"}, "reverie: paused: a [31m b"),
    (
        {"held": "60 of 60 calls in the last hour (spend.calls_per_hour)"},
        "reverie: paused: 60 of 60 calls in the last hour",
    ),
    (
        {"held": "claude has no login of its own here. ANTHROPIC_API_KEY is set here, but it is not used."},
        "reverie: paused: claude has no login of its own here",
    ),
    (
        {"held": "2,400,000 tokens would pass every cap that there is today and tomorrow"},
        "reverie: paused: 2,400,000 tokens would pass every cap that…",
    ),
    (None, "reverie"),
    ([], "reverie"),
]


@pytest.mark.parametrize(("store", "expected"), CASES)
def test_the_line(told, store, expected):
    assert told(store) == expected


@pytest.mark.parametrize("data", [b"", b"{", b"[1]", b'{"cwd": 3}', b'{"cwd": "/\\u0000"}', b"\xff\xfe"])
def test_odd_input_gives_a_line_all_the_same(told, data):
    assert told({"inbox": 1}, data=data).startswith("reverie")


def test_the_mode_is_told(told, tmp_path):
    told(None)
    for mode, expected in (("off", "reverie off"), ("propose", "reverie propose: inbox 1")):
        (tmp_path / "reverie" / "config.toml").write_text(f'[store]\nmode = "{mode}"\n')
        assert told({"inbox": 1}) == expected


def test_a_broken_config_is_named_also_where_it_makes_the_mode_off(told, tmp_path):
    for text, fault in (("[recall", "config.toml: Expected"), ('store.mode = "autp"', "no mode 'autp'")):
        told(None)
        (tmp_path / "reverie" / "config.toml").write_text(text)
        assert told(None).startswith("reverie paused: ") and fault in told(None)


def test_the_script_prints_the_line_and_loads_nothing_heavy(told, tmp_path):
    told({"inbox": 4})
    session = json.dumps({"cwd": str(tmp_path)}).encode()
    probe = "import sys, os; os._exit = lambda code: print(*sys.modules); file = sys.argv[1];"
    probe += "exec(compile(open(file).read(), file, 'exec'), {'__name__': '__main__', '__file__': file})"
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": os.environ["CLAUDE_CONFIG_DIR"]}
    note_home(Path(env["CLAUDE_CONFIG_DIR"]), tmp_path / "reverie")
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", probe, SCRIPT], input=session, env=env, capture_output=True,
        timeout=30, check=True,
    )  # fmt: skip
    first, modules = done.stdout.decode().splitlines()
    assert first == "reverie: inbox 4"
    assert not {"json", "pathlib", "typing", "subprocess", "dataclasses", "pydantic"} & set(modules.split())

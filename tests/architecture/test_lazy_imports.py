"""What starts fast loads nothing heavy: asked of `sys.modules` in a fresh process."""

import json
import subprocess
import sys

from tests.architecture.source import ROOT

HEAVY = ("anthropic", "mcp", "tenacity", "tomlkit", "numpy", "wordllama", "matplotlib", "httpx", "httpx2")
FOR_A_TEAM = ("psycopg", "psycopg_binary", "procrastinate")
TELL = "import atexit, json, sys; atexit.register(lambda: print('\\n' + json.dumps(sorted(sys.modules))));"
COMMANDS = ("status", "list", "why x", "config", "conversations", "doctor", "--help", "recall x", "injected")
ALL_OF_THEM = (
    TELL
    + """
from pipeline.cli.main import run
for words in sys.argv[1:]:
    sys.argv = ["reverie", *words.split()]
    try:
        run()
    except SystemExit:
        print(end="\\n", flush=True)
"""
)
WORKER = TELL + "from pipeline.worker.process import main; main([])"


def loaded(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_looking_loads_no_model_library():
    found = loaded(ALL_OF_THEM, *COMMANDS) & {*HEAVY, *FOR_A_TEAM}
    assert not found or {command: loaded(ALL_OF_THEM, command) & found for command in COMMANDS} == {}


def test_a_worker_with_nothing_to_extract_loads_no_model_library():
    assert not loaded(WORKER) & {*HEAVY, *FOR_A_TEAM}


def test_who_is_in_no_team_loads_no_database():
    found = loaded(f"{TELL}import pipeline.app.team, pipeline.cli.team, pipeline.worker")
    assert not found & set(FOR_A_TEAM)


def test_a_second_status_and_a_second_worker_load_no_rules(tmp_path, monkeypatch):
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text("[worker]\nlinger_seconds = 0\n", "utf-8")
    (tmp_path / "ledger.sqlite").touch()  # The home is in use.
    assert "pydantic" in loaded(ALL_OF_THEM, "status")
    assert "pydantic" not in loaded(ALL_OF_THEM, "status")
    loaded(WORKER)  # Which reads the file alone, too, for the hooks.
    assert "pydantic" not in loaded(WORKER)


def test_the_question_can_be_answered_with_yes():
    assert "tenacity" in loaded(TELL + "import tenacity")

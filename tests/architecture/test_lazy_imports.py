"""What starts fast loads nothing heavy: asked of `sys.modules` in a fresh process."""

import json
import subprocess
import sys

import pytest

from tests.architecture.source import ROOT

HEAVY = ("anthropic", "mcp", "tenacity", "tomlkit", "detect_secrets", "numpy", "wordllama", "httpx", "httpx2")
TELL = "import atexit, json, sys; atexit.register(lambda: print('\\n' + json.dumps(sorted(sys.modules))));"
COMMAND = TELL + "sys.argv = ['reverie', *sys.argv[1:]]; from pipeline.cli.main import run; run()"
WORKER = TELL + "from pipeline.worker.__main__ import main; main([])"


def loaded(code, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.stdout, done.stderr
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize(
    "arguments",
    [
        ["status"],
        ["list"],
        ["why", "x"],
        ["config"],
        ["conversations"],
        ["doctor"],
        ["--help"],
        ["recall", "x"],
        ["injected"],
    ],
    ids=" ".join,
)
def test_looking_loads_no_model_library(arguments):
    assert not loaded(COMMAND, *arguments) & set(HEAVY)


def test_a_worker_with_nothing_to_extract_loads_no_model_library():
    assert not loaded(WORKER) & set(HEAVY)


def test_the_question_can_be_answered_with_yes():
    assert "tenacity" in loaded(TELL + "import tenacity")

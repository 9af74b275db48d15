"""The wheel works without the checkout: prompts, hooks and the demo are in it."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from pipeline.hooklib.places import sanitise

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check", "-q"]
    subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "-w", out, ROOT], check=True, timeout=120)
    (built,) = out.glob("reverie-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """A venv with the wheel in it; what it depends on is borrowed from the venv that runs the tests."""
    place = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True, timeout=60)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        place / "bin" / "python",
        "--disable-pip-version-check",
        "-q",
    ]
    subprocess.run([*pip, "install", "--no-deps", "--no-index", wheel], check=True, timeout=60)
    (packages,) = place.glob("lib/python*/site-packages")
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return place


def run(installed, *command):
    env = {"PATH": f"{installed / 'bin'}:{os.defpath}", "HOME": str(installed)}
    done = subprocess.run(command, cwd=installed, env=env, capture_output=True, text=True, timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_what_the_program_reads_and_no_tests(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for name in (
        "prompts/extract.system.md",
        "hooks/run",
        "hooks/capture.py",
        "hooks/spooling.py",
        "hooks/recall.py",
        "hooks/pythons",
        "hooks/prepare_worker.py",
        "skills/status/SKILL.md",
        "fixtures/demo/transcript.jsonl",
    ):
        assert f"pipeline/_bundled/{name}" in names
    assert "pipeline/py.typed" in names
    assert {name.partition("/")[0] for name in names} == {
        "_reverie_start.py",
        "pipeline",
        "reverie-0.1.0.dist-info",
    }
    assert not [name for name in names if "fixtures/eval" in name or name.endswith(".pyc")]


def test_the_command_is_there_and_runs_from_the_wheel(installed):
    assert run(installed, "reverie", "--version") == "reverie 0.1.0\n"
    where = run(installed, "python", "-c", "import pipeline; print(pipeline.__file__)")
    assert where.startswith(str(installed))


def test_the_hooks_it_names_are_those_of_the_wheel(installed):
    assert f"{installed}/lib" in run(installed, "reverie", "hooks")


def test_the_demo_of_the_wheel_shows_hook_worker_memories_and_their_source(installed):
    told = run(installed, "reverie", "demo")
    made, index, shown, source, recalled = told.split("\n$ ")
    assert index.startswith("cat MEMORY.md ")
    names = re.findall(r"  created +(\S+)", made)
    assert len(names) >= 5
    assert all(name in index for name in names)
    assert f"name: {source.split()[2]}\n" in shown
    assert "source 1: the person said at 2026-11-18 " in source
    assert recalled.startswith("reverie recall 'can i mock")
    assert any(f'name="{name}"' in recalled for name in names)
    assert not (installed / ".claude").exists()


def test_the_recall_hook_of_the_wheel_finds_the_package_around_it(installed):
    project = installed / "project"
    store = installed / ".claude" / "projects" / sanitise(str(project)) / "memory"
    for folder in (project, store):
        folder.mkdir(parents=True)
    (store / "staging.md").write_bytes(b"---\nname: staging\n---\nDeploy to staging with make ship.\n")
    (hook,) = installed.glob("lib/python*/site-packages/pipeline/_bundled/hooks/recall.py")
    payload = {"session_id": "s", "cwd": str(project), "prompt": "how do we deploy to staging?"}
    done = subprocess.run(
        [installed / "bin" / "python", "-I", "-S", hook, "UserPromptSubmit"],
        input=json.dumps(payload).encode(),
        env={"PATH": os.defpath, "HOME": str(installed)},
        capture_output=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"") and b"make ship" in done.stdout

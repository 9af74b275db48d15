"""The repository as a plugin: what its files say fits the program, and its launcher finds a Python."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import frontmatter
import pytest
from typer.main import get_command

from pipeline.cli.tree import cli
from tests.install.conftest import LIMIT, Machine

ROOT = Path(__file__).resolve().parents[2]
SKILLS = sorted((ROOT / "skills").glob("*/SKILL.md"))
LAUNCHER = '"${CLAUDE_PLUGIN_ROOT}/bin/reverie"'


def test_there_is_a_skill_for_each_thing_a_person_asks_for():
    assert {file.parent.name for file in SKILLS} == {
        *(
            "remember",
            "recall",
            "forget",
            "report",
            "inbox",
            "status",
            "list",
            "why",
            "undo",
            "search",
            "mode",
            "timeline",
        )
    }


@pytest.mark.parametrize("file", SKILLS, ids=lambda file: file.parent.name)
def test_a_skill_calls_commands_that_exist_with_options_they_have(file):
    program: Any = get_command(cli)
    known = program.commands
    skill: Any = frontmatter.loads(file.read_text("utf-8"))
    assert skill["name"] == file.parent.name and 40 < len(skill["description"]) < 250
    lines = re.findall(rf"{re.escape(LAUNCHER)} ([^`\n]+)", skill.content)
    assert lines
    for line in lines:
        name, *rest = shlex.split(line)
        command = known[name]
        if rest and rest[0] in getattr(command, "commands", {}):
            command = command.commands[rest.pop(0)]
        options = {text for parameter in command.params for text in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= options


@pytest.mark.parametrize("file", SKILLS, ids=lambda file: file.parent.name)
def test_a_skill_may_do_unasked_only_what_shows_or_adds(file):
    allowed: Any = frontmatter.loads(file.read_text("utf-8"))["allowed-tools"]
    found = re.findall(rf"Bash\({re.escape(LAUNCHER)} ([\w ]+(?::\*)?)\)", allowed)
    assert len(found) == len(allowed.split(", "))
    harmless = {
        "add",
        "recall",
        "search",
        "show",
        "why",
        "report",
        "diff",
        "history",
        "list",
        "status",
        "doctor",
        "inbox list",
        "inbox show",
        "timeline",
        "day",
    }
    # Alone, `mode` shows the mode; with a word it sets it.
    assert {*found} <= {f"{command}:*" for command in harmless} | {"mode"}


def test_the_marketplace_offers_this_plugin():
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))
    plugin = json.loads((ROOT / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    (offered,) = market["plugins"]
    assert (offered["name"], offered["source"]) == (plugin["name"], "./")
    assert offered["description"] == plugin["description"]
    assert "version" not in offered  # the plugin's own file has it; two would drift apart


PLACES = {
    "noted": ".claude/reverie/python",
    "pipx": ".local/share/pipx/venvs/reverie/bin/python",
    "older pipx": ".local/pipx/venvs/reverie/bin/python",
    "uv": ".local/share/uv/tools/reverie/bin/python",
    "script": ".local/bin/reverie",
}


PROGRAM = "import json, sys; print(json.dumps([__file__, *sys.argv[1:]]))\n"


@pytest.fixture
def launcher(tmp_path: Path) -> Path:
    """The launcher where a plugin has it: in a folder with spaces, beside a program that echoes."""
    root = tmp_path / "plugin cache" / "0.1.0"
    shutil.copytree(ROOT / "bin", root / "bin")
    shutil.copytree(ROOT / "hooks", root / "hooks")
    (root / "pipeline" / "cli").mkdir(parents=True)
    for name, text in (("__init__", ""), ("cli/__init__", ""), ("cli/main", PROGRAM)):
        (root / "pipeline" / f"{name}.py").write_text(text, "utf-8")
    return root / "bin" / "reverie"


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A Python that has the packages, under a name that is on no PATH."""
    place = tmp_path / "some where" / "python"
    place.parent.mkdir()
    place.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', "utf-8")
    place.chmod(0o755)
    return place


@pytest.mark.parametrize("where", PLACES)
def test_the_launcher_finds_a_python_that_path_does_not_have(
    machine: Machine, launcher: Path, python: Path, where: str
) -> None:
    place = machine.home / PLACES[where]
    place.parent.mkdir(parents=True)
    if where == "noted":
        place.write_text(f"{python}\n", "utf-8")
    elif where == "script":
        place.write_text(f"#!{python}\n# made by pip\n", "utf-8")
    else:
        place.symlink_to(python)
    done = launch(machine, launcher, "forget", "it's $HOME *", "")
    assert done.returncode == 0, done.stderr
    program = launcher.parent.parent / "pipeline" / "cli" / "main.py"
    assert json.loads(done.stdout) == [str(program), "forget", "it's $HOME *", ""]


@pytest.mark.parametrize("noted", ["", "/nonexistent/python", "relative/python"])
def test_without_packages_the_launcher_says_so_in_one_line(
    machine: Machine, launcher: Path, python: Path, noted: str
) -> None:
    (machine.project / "relative").mkdir()
    (machine.project / "relative" / "python").symlink_to(python)
    (machine.state).mkdir(parents=True)
    (machine.state / "python").write_text(f"{noted}\n", "utf-8")
    bare = Path(machine.env["PATH"], "python3")
    bare.write_text("#!/bin/sh\nexit 1\n", "utf-8")
    bare.chmod(0o755)
    done = launch(machine, launcher, "status")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1 and f"pipx install '{launcher.parent.parent}'" in done.stderr


def test_what_the_launcher_found_is_noted_for_the_hooks(
    machine: Machine, launcher: Path, python: Path
) -> None:
    """As after `pipx install`: the next event has its worker without looking."""
    machine.state.mkdir(parents=True)
    (machine.state / "python").write_text("/gone/python\n", "utf-8")
    place = machine.home / PLACES["pipx"]
    place.parent.mkdir(parents=True)
    place.symlink_to(python)
    assert launch(machine, launcher, "status").returncode == 0
    assert (machine.state / "python").read_text("utf-8") == f"{place}\n"
    assert sorted(path.name for path in machine.state.iterdir()) == ["python"]


def test_the_launcher_makes_no_home(machine: Machine, launcher: Path, python: Path) -> None:
    place = machine.home / PLACES["pipx"]
    place.parent.mkdir(parents=True)
    place.symlink_to(python)
    assert launch(machine, launcher, "status").returncode == 0
    assert not machine.state.exists()


def test_any_command_notes_its_python_where_none_is_noted_that_runs(machine: Machine) -> None:
    noted = machine.state / "python"
    machine.reverie("list")
    assert not noted.exists(), "Reverie never worked here"
    (machine.state / "spool").mkdir(parents=True)
    for before in (None, "/gone/python\n", "\0\n"):
        if before is not None:
            noted.write_text(before, "utf-8")
        machine.reverie("list")
        assert noted.read_text("utf-8") == f"{sys.executable}\n"
    noted.write_text("/bin/sh\n", "utf-8")
    machine.reverie("list")
    assert noted.read_text("utf-8") == "/bin/sh\n"


@pytest.mark.parametrize("state", ["working", "failed", "off"])
def test_without_a_setup_status_answers_with_how_it_stands_and_other_commands_fail(
    machine: Machine, launcher: Path, state: str
) -> None:
    machine.state.mkdir(parents=True)
    (machine.state / "setup").write_text(f"{state} 1 1 /x\nHow it stands.\n", "utf-8")
    done = launch(machine, launcher, "status")
    assert (done.returncode, done.stdout, done.stderr) == (0, "How it stands.\n", "")
    for command in (["doctor"], ["status", "--json"]):
        done = launch(machine, launcher, *command)
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "How it stands.\n")


def launch(machine: Machine, launcher: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the launcher from the project, with next to nothing on PATH."""
    return subprocess.run(
        [launcher, *arguments],
        cwd=machine.project,
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )


def test_the_launcher_can_be_run_and_is_a_posix_script():
    assert os.access(ROOT / "bin" / "reverie", os.X_OK)
    assert subprocess.run(["sh", "-n", ROOT / "bin" / "reverie"], timeout=LIMIT).returncode == 0

"""The plugin in the real client: checked by it, installed from a marketplace, its skills called."""

import json
import re
import shlex
import shutil
import sqlite3
import sys
import sysconfig
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.realclient.box import REPO, Box, OpenBox
from tests.realclient.scripted_api import MODEL, SESSION, Asked, Block, Rule
from tests.realclient.test_realclient import PREFERENCE, remember

pytestmark = pytest.mark.realclient

SHIPPED = (
    *(".claude-plugin", ".mcp.json", "hooks", "skills", "bin", "pipeline", "prompts"),
    *("README.md", "pyproject.toml"),
)


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    """A checkout as git would give it: what is shipped, without what was built here."""
    place = tmp_path / "catalogue"
    for name in SHIPPED:
        if (REPO / name).is_dir():
            shutil.copytree(REPO / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(REPO / name, place / name)
    return place


def test_the_client_finds_nothing_wrong_with_the_plugin(open_box: OpenBox, catalogue: Path) -> None:
    said = open_box().run("claude", "plugin", "validate", "--strict", str(catalogue))
    assert "Validation passed" in said


def marketed(machine: Box, catalogue: Path) -> Box:
    """Install the plugin in `machine` from a marketplace that is a folder."""
    machine.run("claude", "plugin", "marketplace", "add", str(catalogue))
    machine.run("claude", "plugin", "install", "reverie@reverie")
    return machine


def runs(*arguments: str) -> Callable[[Asked], list[Block]]:
    """Answer as a model would that follows a skill: by the command as it stands in the skill's text."""

    def reply(asked: Asked) -> list[Block]:
        (launcher, *_) = re.findall(r'"(/[^"\n]+/bin/reverie)"', asked.said)
        command = shlex.join(arguments)
        return [{"tool": "Bash", "input": {"command": f'"{launcher}" {command}'}}]

    return reply


def results(machine: Box) -> list[str]:
    """Return what came back from each tool call, in order."""
    last = [asked.body["messages"][-1]["content"] for asked in machine.journal.asked(SESSION)]
    blocks = [block for content in last if isinstance(content, list) for block in content]
    return [json.dumps(block["content"]) for block in blocks if block.get("type") == "tool_result"]


SKILLS = [
    ("remember", ("add", "--type", "feedback", "Deploy on Fridays only."), "deploy-on-fridays-only"),
    ("recall", ("recall", "when is the deploy of staging?"), "make ship"),
    ("report", ("report",), "no dream has run here yet"),
    ("inbox", ("inbox", "list"), "nothing waits"),
    ("status", ("status",), "nothing for you"),
    ("list", ("list",), "staging-is-deployed-with-make-ship"),
    ("why", ("why", "staging-is-deployed-with-make-ship"), "you said it"),
    ("search", ("search", "staging"), "make ship"),
    ("undo", ("diff",), "staging-is-deployed-with-make-ship"),
    ("timeline", ("timeline", "--since", "7d"), "Staging is deployed with make ship"),
    ("mode", ("mode",), "* auto"),
]


@pytest.mark.parametrize(("skill", "command", "answer"), SKILLS, ids=[row[0] for row in SKILLS])
def test_a_skill_may_run_what_it_needs_without_being_asked(
    open_box: OpenBox, catalogue: Path, skill: str, command: tuple[str, ...], answer: str
) -> None:
    machine = marketed(open_box(Rule(runs(*command), when=f"/reverie:{skill}", times=1)), catalogue)
    machine.run("reverie", "add", "Staging is deployed with make ship.")
    machine.headless(f"/reverie:{skill} Deploy on Fridays only", "--permission-mode", "default")
    (result,) = results(machine)
    assert answer in result


@pytest.mark.parametrize(("skill", "command", "answer"), SKILLS, ids=[row[0] for row in SKILLS])
def test_with_hooks_in_settings_there_are_the_same_commands(
    open_box: OpenBox, skill: str, command: tuple[str, ...], answer: str
) -> None:
    machine = open_box(Rule(runs(*command), when=f"/reverie:{skill}", times=1))
    machine.run("reverie", "install")
    machine.run("reverie", "add", "Staging is deployed with make ship.")
    machine.headless(f"/reverie:{skill} Deploy on Fridays only", "--permission-mode", "default")
    (result,) = results(machine)
    assert answer in result


UV = """#!/bin/sh
case $1 in
venv) for place; do :; done; exec {python} -m venv --without-pip "$place" ;;
pip) echo {packages} >"$(echo "${{4%/bin/python}}"/lib/python*/site-packages)/borrowed.pth" ;;
esac
"""


def test_on_a_machine_with_python_alone_the_plugin_ends_in_a_first_memory(
    open_box: OpenBox, catalogue: Path, tmp_path: Path
) -> None:
    """Its packages come from the environment of these tests, as there is no network here."""
    rules = [Rule(["Tabs it is."], when="indent with tabs"), Rule(remember, kind=MODEL)]
    tools = tmp_path / "tools"
    tools.mkdir()
    packages, python = sysconfig.get_path("purelib"), shlex.quote(sys.executable)
    (tools / "uv").write_text(UV.format(python=python, packages=shlex.quote(packages)), "utf-8")
    (tools / "uv").chmod(0o755)
    machine = open_box(*rules, PATH=f"{tmp_path / 'bin'}:{tools}:/usr/bin:/bin")
    marketed(machine, catalogue)
    with machine.terminal() as terminal:
        terminal.type(PREFERENCE)
        terminal.shows("Tabs it is.")
    machine.settle()
    assert (machine.memory / "indent-with-tabs.md").exists()
    with machine.terminal() as terminal:
        terminal.shows("Reverie is set up and learns from your sessions")
        terminal.shows("Reverie: 1 learned since the last session (indent-with-tabs). /reverie:status")
        terminal.type("May I indent with tabs in this project, or does our linter mind?")
        terminal.shows("Reverie recalled indent-with-tabs")
    machine.settle()
    with machine.terminal() as terminal:
        assert "Reverie" not in terminal.screen()


def test_bug_009_settings_and_plugin_together_tell_a_session_once(open_box: OpenBox, catalogue: Path) -> None:
    machine = open_box(Rule(["Fine."], when="hello"))
    machine.run("reverie", "install")
    marketed(machine, catalogue)
    (machine.home / ".claude/reverie/memory").mkdir(parents=True)
    (machine.home / ".claude/reverie/memory/MEMORY.md").write_text("- [Tabs](tabs.md) — tabs\n", "utf-8")
    for prompt in ("hello one", "hello two", "hello three"):
        machine.headless(prompt)
    asked = machine.journal.asked(SESSION)
    assert [each.everything.count("From Reverie, the memory") for each in asked] == [1] * len(asked)


def test_forgetting_is_only_done_with_permission(open_box: OpenBox, catalogue: Path) -> None:
    forget = Rule(runs("forget", "staging"), when="/reverie:forget", times=2)
    machine = marketed(open_box(forget), catalogue)
    machine.run("reverie", "add", "--name", "staging", "Staging is deployed with make ship.")
    machine.headless("/reverie:forget staging", "--permission-mode", "default")
    assert (machine.memory / "staging.md").exists()
    machine.headless("/reverie:forget staging")
    assert not (machine.memory / "staging.md").exists()


def test_an_update_of_the_plugin_loses_nothing(open_box: OpenBox, catalogue: Path) -> None:
    machine = marketed(open_box(), catalogue)
    machine.headless("hello")
    machine.settle()
    home = machine.home / ".claude" / "reverie"
    before = (home / "ledger.sqlite").stat().st_ino
    for name in ("plugin.json",):
        file = catalogue / ".claude-plugin" / name
        file.write_text(file.read_text("utf-8").replace('"0.1.0"', '"0.2.0"'), "utf-8")
    machine.run("claude", "plugin", "marketplace", "update", "reverie")
    machine.run("claude", "plugin", "update", "reverie@reverie")
    assert installed_version(machine) == "0.2.0"
    machine.headless("hello again")
    machine.settle()
    assert (home / "ledger.sqlite").stat().st_ino == before
    assert len(sessions(machine)) == 2


def installed_version(machine: Box) -> str:
    """Return the version of the plugin that the client has on its list."""
    listed = json.loads((machine.home / ".claude" / "plugins" / "installed_plugins.json").read_text("utf-8"))
    (entry,) = listed["plugins"]["reverie@reverie"]
    return str(entry["version"])


def sessions(machine: Box) -> set[str]:
    """Return the sessions whose events reached the ledger."""
    with closing(sqlite3.connect(machine.home / ".claude" / "reverie" / "ledger.sqlite")) as ledger:
        return {session for (session,) in ledger.execute("SELECT session_id FROM events")}


def test_installing_beside_the_plugin_doubles_nothing(open_box: OpenBox, catalogue: Path) -> None:
    machine = marketed(open_box(), catalogue)
    settings = machine.home / ".claude" / "settings.json"
    before = settings.read_bytes()
    assert "the plugin reverie@reverie runs the hooks already" in machine.run("reverie", "install")
    assert settings.read_bytes() == before
    machine.run("claude", "plugin", "disable", "reverie@reverie")
    assert "installed into" in machine.run("reverie", "install")


def test_uninstalling_gives_the_client_back_its_settings(open_box: OpenBox) -> None:
    """The client reads what we wrote, and rewrites its own files meanwhile: only our part may go."""
    machine = open_box()
    machine.watch_hooks()
    settings = machine.home / ".claude" / "settings.json"
    before = settings.read_bytes()
    machine.run("reverie", "install")
    machine.headless("hello")
    machine.settle()
    assert len(sessions(machine)) == 1 and machine.fired.exists()
    machine.run("reverie", "uninstall", "--purge", "--yes")
    assert settings.read_bytes() == before
    assert not (machine.home / ".claude" / "reverie").exists()
    fired = machine.fired.stat().st_size
    machine.headless("hello")
    assert machine.fired.stat().st_size > fired
    made_by_the_box = {"config.toml", "path"}
    assert {path.name for path in (machine.home / ".claude" / "reverie").iterdir()} <= made_by_the_box

"""The plugin in the real client: checked by it, installed from a marketplace, its skills called."""

import json
import re
import shlex
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.realclient.box import REPO, Box, OpenBox
from tests.realclient.scripted_api import SESSION, Asked, Block, Rule

pytestmark = pytest.mark.realclient

SHIPPED = (".claude-plugin", "hooks", "skills", "bin", "pipeline", "prompts", "README.md")


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
    assert not (machine.home / ".claude" / "reverie").exists()

"""The hook before tools: there only where a person switched it on, and gone again with the rest."""

import json

import pytest

from pipeline.hooklib.events import EVENTS, TOOL, TOOLS
from tests.install.conftest import Machine

OTHERS = '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]}]}}'
KEY = "recall.before_tools"


def test_without_the_setting_no_tool_waits_for_us(machine: Machine) -> None:
    machine.reverie("install")
    assert {*machine.commands()} == {*EVENTS}
    assert TOOL not in machine.reverie("hooks")


@pytest.mark.parametrize("text", ["", OTHERS, '{"model": "opus"}'])
def test_switched_on_install_adds_it_and_switched_off_takes_it_out(machine: Machine, text: str) -> None:
    machine.write(text)
    machine.reverie("install")
    before = machine.settings.read_text("utf-8")
    assert "`reverie install` adds the hook for it." in machine.reverie("config", "set", KEY, "true")
    machine.reverie("install")
    hooks = json.loads(machine.settings.read_text("utf-8"))["hooks"]
    assert hooks[TOOL][-1]["matcher"] == "|".join(TOOLS) and {*EVENTS} < {*hooks}
    assert f"{TOOL} in {machine.settings}" in machine.reverie("init")
    assert "already there" in machine.reverie("install")
    assert json.loads(machine.reverie("hooks"))["hooks"][TOOL]
    assert "`reverie install` takes the hook for it out." in machine.reverie("config", "set", KEY, "false")
    machine.reverie("install")
    assert json.loads(machine.settings.read_text("utf-8")) == json.loads(before)


def test_uninstall_takes_it_out(machine: Machine) -> None:
    machine.write(OTHERS)
    machine.reverie("config", "set", KEY, "true")
    machine.reverie("install")
    assert len(machine.commands()[TOOL]) == 2
    machine.reverie("uninstall")
    assert machine.settings.read_text("utf-8") == OTHERS


def test_beside_a_plugin_only_this_hook_comes_into_the_settings(machine: Machine) -> None:
    plugin = '{"enabledPlugins": {"reverie@reverie": true}}'
    machine.write(plugin)
    assert "runs the hooks already" in machine.reverie("install")
    machine.reverie("config", "set", KEY, "true")
    machine.reverie("install")
    assert {*machine.commands()} == {TOOL}
    assert "runs the hooks already" in machine.reverie("install")
    said = machine.reverie("doctor", code=0)
    assert f"{TOOL} in {machine.settings}" in said and "noted more than once" not in said
    machine.reverie("config", "set", KEY, "false")
    machine.reverie("install")
    assert machine.settings.read_text("utf-8") == plugin

"""`reverie init`: what it says before anything runs, and that it does nothing without a yes."""

import json
import os
from pathlib import Path

import pytest

from tests.install.conftest import Machine


def test_it_installs_once_and_then_only_tells(machine: Machine) -> None:
    assert "installed into" in machine.reverie("init", "--yes")
    before = machine.everything()
    said = machine.reverie("init")
    assert "installed into" not in said and f"in {machine.settings}" in said
    assert machine.everything() == before


@pytest.mark.parametrize("more", [(), ("--json",), ("--status-line",)], ids=" ".join)
def test_bug_where_nobody_can_be_asked_it_changes_nothing(machine: Machine, more: tuple[str, ...]) -> None:
    machine.write('{"model": "opus"}')
    before = machine.everything()
    said = machine.reverie("init", *more, code=1)
    assert "nothing was changed: here nobody can be asked" in said and "--yes" in said
    assert "5 hooks" in said and ("leaves the machine" in said) is (more != ("--json",))
    assert machine.everything() == before
    machine.reverie("init", "--yes", *more)
    assert machine.commands()["Stop"]
    assert "nobody can be asked" not in machine.reverie("init")


def test_it_names_places_model_cost_and_how_to_stop(machine: Machine) -> None:
    said = machine.reverie("init", "--yes")
    for part in (
        "/memory, which Claude Code loads",
        "offline",
        "nothing: no model",
        "auto: ",
        "`reverie mode off`",
    ):
        assert part in said


@pytest.mark.parametrize(
    ("provider", "key", "cost", "leaves"),
    [
        ("claude-cli", "", "at most $0.50 a day, 60 calls", "secrets taken out first, to Anthropic"),
        ("auto", "MY_KEY", "on your API key", "secrets taken out first, to Anthropic"),
        ("offline", "", "nothing", "nothing"),
    ],
)
def test_the_cost_is_the_one_of_the_provider_that_will_be_asked(
    machine: Machine, provider: str, key: str, cost: str, leaves: str
) -> None:
    machine.env |= {
        "REVERIE_MODEL__PROVIDER": provider,
        "REVERIE_MODEL__API_KEY_ENV": key,
        "REVERIE_SPEND__DOLLARS_PER_DAY": "0.5",
        "MY_KEY": "not-a-key",
    }
    claude = Path(machine.env["PATH"], "claude")
    claude.symlink_to("sh")
    machine.reverie("init", "--yes", "--json")
    told = json.loads(machine.out)
    assert cost in told["cost"] and leaves in told["leaves_the_machine"]


def test_what_no_hook_does_is_said(machine: Machine) -> None:
    assert "none yet" in machine.reverie("init", "--dry-run")


def test_what_leaves_names_the_repository_that_memories_are_synced_with(machine: Machine) -> None:
    machine.reverie("init", "--yes")
    machine.env["PATH"] = os.environ["PATH"]
    remote = machine.settings.parent.parent / "remote.git"
    machine.reverie("sync", "init", str(remote))
    machine.reverie("init", "--json")
    told = json.loads(machine.out)["leaves_the_machine"]
    assert told == f"memories, to {remote}, as you typed `reverie sync init` or `reverie team join`"

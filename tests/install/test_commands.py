"""What can be asked for from within a session, in settings mode; and the status line beside it."""

import json
import re
import subprocess

import pytest

from pipeline.install import status_line
from tests.install.conftest import LIMIT, Machine
from tests.install.test_plugin import SKILLS

NAMES = {file.parent.name for file in SKILLS}


def commands(machine: Machine) -> dict[str, str]:
    files = (machine.config / "commands" / "reverie").glob("*.md")
    return {file.stem: file.read_text("utf-8") for file in files}


def test_each_skill_of_the_plugin_is_a_command_that_runs(machine: Machine) -> None:
    assert "/reverie:status" in machine.reverie("install")
    found = commands(machine)
    assert set(found) == NAMES
    for text in found.values():
        assert text.startswith("---\ndescription: ") and "CLAUDE_PLUGIN_ROOT" not in text
    (line,) = re.findall(r"^ *(.*) status$", found["status"], re.MULTILINE)
    assert f"Bash({line} status:*)" in found["status"]
    done = subprocess.run(
        ["sh", "-c", f"{line} status"],
        cwd=machine.project,
        env=machine.env,
        capture_output=True,
        timeout=LIMIT,
    )
    assert done.returncode == 0 and b"nothing for you" in done.stdout


def test_leaving_takes_them_out_byte_for_byte(machine: Machine) -> None:
    mine = machine.write("---\ndescription: mine\n---\nTidy up.\n", machine.config / "commands" / "tidy.md")
    before = machine.everything()
    machine.reverie("install")
    assert machine.everything() != before
    said = machine.reverie("uninstall", "--purge", "--yes")
    assert "removed the commands in" in said and mine.exists()
    assert machine.everything() == before


def test_a_command_of_the_persons_own_is_left_alone(machine: Machine) -> None:
    own = machine.write("My own status.\n", machine.config / "commands" / "reverie" / "status.md")
    machine.reverie("install")
    assert own.read_text("utf-8") == "My own status.\n" and set(commands(machine)) == NAMES
    machine.reverie("uninstall")
    assert commands(machine) == {"status": "My own status.\n"}


def test_a_command_that_the_person_changed_stays(machine: Machine) -> None:
    machine.reverie("install")
    changed = machine.config / "commands" / "reverie" / "why.md"
    text = changed.read_text("utf-8") + "Answer in Danish.\n"
    changed.write_text(text, "utf-8")
    machine.reverie("install")
    machine.reverie("uninstall")
    assert commands(machine) == {"why": text}


def test_commands_of_a_former_version_are_brought_up_to_date(machine: Machine) -> None:
    machine.reverie("install")
    record = json.loads((machine.state / "installed.json").read_text("utf-8"))
    file = machine.config / "commands" / "reverie" / "why.md"
    now = file.read_text("utf-8")
    file.unlink()
    record["files"] = [kept for kept in record["files"] if kept["file"] != str(file)]
    (machine.state / "installed.json").write_text(json.dumps(record), "utf-8")
    assert "already there" in machine.reverie("install")
    assert file.read_text("utf-8") == now


def test_a_plugin_brings_them_itself(machine: Machine) -> None:
    machine.write('{"enabledPlugins": {"reverie@reverie": true}}')
    assert "runs the hooks already" in machine.reverie("install", "--status-line")
    said = machine.reverie("init")
    assert "`claude plugin uninstall reverie@reverie` takes it out" in said
    assert commands(machine) == {} and "statusLine" not in machine.settings.read_text("utf-8")


def test_with_project_the_repository_gets_none(machine: Machine) -> None:
    machine.reverie("install", "--project")
    assert commands(machine) == {} and not (machine.project / ".claude" / "commands").exists()


SETTINGS = ["", "{}\n", '{"model": "opus"}', '{\n\t"model": "opus",\n\t"hooks": {}\n}\n', "\ufeff{}"]


@pytest.mark.parametrize("text", SETTINGS)
def test_the_status_line_comes_and_goes_byte_for_byte(machine: Machine, text: str) -> None:
    machine.write(text)
    machine.reverie("install", "--status-line")
    value = json.loads(machine.settings.read_text("utf-8-sig"))
    assert value["statusLine"] == status_line.setting()["statusLine"]
    machine.reverie("uninstall")
    assert machine.settings.read_bytes() == text.encode()


def test_after_an_edit_only_our_status_line_goes(machine: Machine) -> None:
    machine.write('{\n  "model": "opus"\n}\n')
    machine.reverie("install", "--status-line")
    machine.write(machine.settings.read_text("utf-8").replace("opus", "haiku"))
    machine.reverie("uninstall")
    assert machine.settings.read_text("utf-8") == '{\n  "model": "haiku"\n}\n'


def test_another_status_line_is_left_alone(machine: Machine) -> None:
    text = '{"statusLine": {"type": "command", "command": "mine"}}'
    machine.write(text)
    assert "There is a status line already" in machine.reverie("install", "--status-line")
    assert json.loads(machine.settings.read_text("utf-8"))["statusLine"]["command"] == "mine"
    machine.reverie("uninstall")
    assert machine.settings.read_text("utf-8") == text


def test_what_comes_in_is_told_as_it_is(machine: Machine) -> None:
    said = machine.reverie("install", "--status-line")
    assert f"into {machine.settings} (a new file):\n  5 hooks: " in said and "\n  the status line" in said
    assert f"into {machine.config / 'commands' / 'reverie'}:\n  {len(NAMES)} commands" in said
    machine.reverie("uninstall")
    machine.reverie("install")
    value = json.loads(machine.settings.read_text("utf-8"))
    del value["hooks"]["SessionEnd"]
    value["hooks"]["Stop"][0]["hooks"][0]["command"] += " "
    machine.write(json.dumps(value))
    said = machine.reverie("install")
    assert "(nothing else in it changes):\n  1 hook: SessionEnd\n  the hooks that were there, brought" in said
    assert "the status line" not in said and "for use in a session" not in said
    said = machine.reverie("install", "--status-line")
    assert f"into {machine.settings} (nothing else in it changes):\n  the status line\n" in said


def test_leaving_tells_what_goes(machine: Machine) -> None:
    machine.reverie("install")
    said = machine.reverie("uninstall", "--dry-run")
    assert (
        f"out of {machine.config / 'commands' / 'reverie'}:" in said
        and f"/reverie:list, {len(NAMES) - 3} more" in said
    )

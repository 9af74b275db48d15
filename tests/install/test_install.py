"""`reverie install` and `uninstall` on settings files as people have them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.core.ids import digest
from pipeline.hooklib.events import EVENTS
from pipeline.install import status_line
from pipeline.install.hook_registration import hook_command, settings_snippet
from tests.install.conftest import LIMIT, Machine, make_machine
from tests.support.hooks import note_python

FOREIGN = """{
  "model": "opus",
  "größe": "ü 🌊",
  "hooks": {
    "Stop": [
      {"hooks": [{"type": "command", "command": "one"}]},
      { "matcher": "", "hooks": [ { "type": "command", "command": "two", "timeout": 1e1 } ] }
    ],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "three"}]}]
  },
  "unknown": {"b": 1, "a": [ ]}
}
"""
KEPT = {
    "other people's hooks": FOREIGN,
    "none": '{\n  "model": "opus"\n}\n',
    "no last newline": '{\n    "model": "opus"\n}',
    "one line": '{"permissions":{"allow":["Bash(ls:*)"]},"model":"opus"}',
    "windows": '{\r\n\t"model": "opus"\r\n}\r\n',
    "byte order mark": '\ufeff{\n  "model": "opus"\n}\n',
    "empty object": "{}",
    "nothing": "",
    "empty hooks": '{\n  "hooks": {},\n  "model": "opus"\n}\n',
    "empty event": '{"hooks": {"Stop": []}, "model": "opus"}',
    "given twice": '{"hooks": {"Stop": []}, "hooks": {}, "model": "opus"}',
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_bug_039_everything_else_stays_and_comes_back(machine: Machine, text: str) -> None:
    before = machine.write(text).read_bytes()
    machine.reverie("install")
    once = machine.settings.read_bytes()
    machine.reverie("install")
    assert machine.settings.read_bytes() == once
    for event in EVENTS:
        assert machine.commands()[event].count(hook_command(event)) == 1
    machine.reverie("uninstall")
    assert machine.settings.read_bytes() == before


def test_bug_039_hooks_of_others_stay_in_front_and_whole(machine: Machine) -> None:
    machine.write(FOREIGN)
    machine.reverie("install")
    now = json.loads(machine.settings.read_text("utf-8"))
    then = json.loads(FOREIGN)
    assert list(now) == list(then)
    assert now["hooks"]["Stop"][:2] == then["hooks"]["Stop"]
    assert now["hooks"]["PreToolUse"] == then["hooks"]["PreToolUse"]
    kept, added = set(FOREIGN.splitlines()), machine.settings.read_text("utf-8").splitlines()
    assert len(kept - {*added}) <= 2  # the lines that got a comma


@pytest.mark.parametrize("text", [text for text in KEPT.values() if '"opus"' in text])
def test_after_an_edit_only_our_entries_go(machine: Machine, text: str) -> None:
    machine.write(text)
    machine.reverie("install")
    edited = machine.settings.read_bytes().replace(b'"opus"', b'"haiku"')
    machine.settings.write_bytes(edited)
    machine.reverie("uninstall")
    assert machine.settings.read_bytes() == text.replace('"opus"', '"haiku"').encode()


def test_an_edit_that_takes_the_place_of_ours_keeps_what_was_added(machine: Machine) -> None:
    """The client itself rewrites the file, and a person adds a hook to the group that is ours."""
    machine.write('{"model": "opus"}')
    machine.reverie("install")
    value = json.loads(machine.settings.read_text())
    value["hooks"]["Stop"][0]["hooks"].append({"type": "command", "command": "mine"})
    machine.write(json.dumps(value, indent=4))
    machine.reverie("uninstall")
    mine = {"hooks": [{"type": "command", "command": "mine"}]}
    assert json.loads(machine.settings.read_text()) == {"model": "opus", "hooks": {"Stop": [mine]}}


BROKEN = {
    "comment": ('{\n  // mine\n  "model": "opus"\n}', ":2: is no JSON", "column 3"),
    "comma": ('{"a": 1,}', ":1: is no JSON", "column "),  # 9, or from Python 3.13 on that of the comma
    "list": ("[]", ":1: is no JSON object", ""),
    "hooks": ('{\n"hooks": []}', ":2: 'hooks' must hold an object", ""),
    "event": ('{"hooks":\n{\n"Stop": {}}}', ":3: 'Stop' must hold a list", ""),
}


@pytest.mark.parametrize("command", ["install", "uninstall"])
@pytest.mark.parametrize(("text", "where", "what"), BROKEN.values(), ids=BROKEN)
def test_what_can_not_be_read_is_left_alone(
    machine: Machine, command: str, text: str, where: str, what: str
) -> None:
    machine.write(text)
    before = machine.everything()
    said = machine.reverie(command, code=1)
    assert f"{machine.settings}{where}" in said and what in said
    assert machine.everything() == before


@pytest.mark.parametrize("arguments", [("install", "--dry-run"), ("init", "--dry-run")])
def test_a_dry_run_shows_the_change_and_makes_none(machine: Machine, arguments: tuple[str, ...]) -> None:
    machine.write(FOREIGN)
    before = machine.everything()
    said = machine.reverie(*arguments)
    assert f"--- {machine.settings}" in said and '+    "SessionEnd": [' in said
    assert machine.everything() == before


def test_a_dry_run_of_leaving_changes_nothing(machine: Machine) -> None:
    machine.reverie("install")
    before = machine.everything()
    assert f"--- {machine.settings}" in machine.reverie("uninstall", "--purge", "--dry-run")
    assert machine.everything() == before


def test_an_outdated_hook_is_brought_up_to_date_where_it_stands(machine: Machine) -> None:
    machine.write(FOREIGN)
    machine.reverie("install")
    here = json.dumps(hook_command("Stop"))[1:-1]
    old = here.replace(" -I -S ", "3.9 -I -S ")
    text = machine.settings.read_text("utf-8")
    machine.write(text.replace(here, old).replace('"timeout": 10\n', '"timeout": 20\n'))
    machine.reverie("install")
    assert machine.settings.read_text("utf-8") == text.replace('"timeout": 10\n', '"timeout": 20\n')
    machine.reverie("uninstall")
    assert machine.settings.read_text("utf-8") == FOREIGN


@pytest.mark.parametrize("before", [None, "", '{"hooks": {}}'])
def test_what_was_before_comes_back_even_after_an_upgrade(machine: Machine, before: str | None) -> None:
    if before is not None:
        machine.write(before)
    machine.reverie("install")
    older = machine.settings.read_bytes().replace(b" -I -S ", b"3.9 -I -S ")
    record = json.loads((machine.state / "installed.json").read_text("utf-8"))
    record["files"][0]["wrote"] = digest(older)
    machine.write(json.dumps(record), machine.state / "installed.json")
    machine.settings.write_bytes(older)
    machine.reverie("install")
    assert machine.settings.read_bytes() != older
    machine.reverie("uninstall")
    assert (machine.settings.read_text("utf-8") if machine.settings.exists() else None) == before


def test_hooks_merged_by_hand_count_and_doubles_go(machine: Machine) -> None:
    snippet = json.loads(machine.reverie("hooks"))
    machine.write(json.dumps(snippet))
    assert "already there" in machine.reverie("install")
    snippet["hooks"]["Stop"] *= 2
    machine.write(json.dumps(snippet))
    machine.reverie("install")
    assert machine.commands() == {event: [hook_command(event)] for event in EVENTS}


def test_a_link_stays_a_link_and_is_written_through(machine: Machine) -> None:
    real = machine.write("{}", machine.home / "dotfiles" / "claude.json")
    machine.config.mkdir()
    machine.settings.symlink_to(real)
    machine.reverie("install")
    assert machine.settings.is_symlink() and machine.commands(real)
    machine.reverie("uninstall", "--purge", "--yes")
    assert machine.settings.is_symlink() and real.read_text() == "{}"


def test_the_file_keeps_its_mode_and_its_backup_is_private(machine: Machine) -> None:
    machine.write(FOREIGN).chmod(0o640)
    machine.reverie("install")
    assert machine.settings.stat().st_mode & 0o777 == 0o640
    (backup,) = (machine.state / "backups").iterdir()
    assert backup.read_text("utf-8") == FOREIGN and backup.stat().st_mode & 0o777 == 0o600


def test_the_project_has_a_file_of_its_own(machine: Machine) -> None:
    (machine.project / ".git").mkdir()
    said = machine.reverie("install", "--project")
    file = machine.project / ".claude" / "settings.local.json"
    assert machine.commands(file) and not machine.settings.exists()
    assert "keep it out of the repository" in said
    machine.reverie("uninstall")
    assert not file.parent.exists()


def test_every_file_that_was_noted_is_cleared_wherever_it_is_asked_for(machine: Machine) -> None:
    machine.reverie("install", "--project")
    machine.reverie("install")
    elsewhere = machine.home / "elsewhere"
    elsewhere.mkdir()
    machine.project, project = elsewhere, machine.project
    machine.reverie("uninstall")
    assert not (project / ".claude").exists() and not machine.settings.exists()


@pytest.mark.parametrize("place", ["settings.json", "skills"])
def test_a_plugin_that_runs_is_not_doubled(machine: Machine, place: str) -> None:
    if place == "skills":
        machine.write('{"name": "reverie"}', machine.config / "skills/mine/.claude-plugin/plugin.json")
    else:
        machine.write('{"enabledPlugins": {"reverie@anywhere": true}}')
    said = machine.reverie("install")
    assert "runs the hooks already" in said and "installed into" not in said
    machine.write('{"enabledPlugins": {"reverie@anywhere": false, "reverie@skills-dir": false}}')
    assert "installed into" in machine.reverie("install")


def test_bug_032_every_command_works_whatever_the_paths_are_called(tmp_path: Path) -> None:
    machine = make_machine(tmp_path / "José’s home (x) & co" / "ü $HOME 'q' \"d\"")
    machine.reverie("install")
    assert fired(machine, machine.home / "a b" / "日本") == {*EVENTS} - {"UserPromptSubmit"}


def test_bug_037_the_commands_need_nothing_from_their_environment(machine: Machine) -> None:
    machine.reverie("install")
    machine.env = {"HOME": str(machine.home), "PATH": "/usr/bin:/bin"}
    assert fired(machine, machine.project) == {*EVENTS} - {"UserPromptSubmit"}


def test_daily_a_list_of_hooks_shows_whose_they_are(machine: Machine) -> None:
    machine.write(json.dumps(settings_snippet()).replace(": Reverie; ", ""))
    assert "brought up to date" in machine.reverie("install")
    listed = machine.commands().values()
    assert all(command.startswith(": Reverie; ") for (command,) in listed) and len(listed) == 5
    assert fired(machine, machine.project) == {*EVENTS} - {"UserPromptSubmit"}


def fired(machine: Machine, cwd: Path) -> set[str]:
    """Run every installed command as Claude Code does; return the events that reached the spool."""
    cwd.mkdir(parents=True, exist_ok=True)
    note_python(machine.state)
    for commands in machine.commands().values():
        for command in commands:
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                input=b"{}",
                cwd=cwd,
                env=machine.env,
                capture_output=True,
                timeout=LIMIT,
            )
            assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return {file.stem.rpartition("-")[2] for file in (machine.state / "spool").glob("*.json")}


def test_a_folder_that_can_not_be_written_is_told(machine: Machine) -> None:
    machine.write("{}")
    machine.write("in the way", machine.state / "backups")
    said = machine.reverie("install", code=1)
    assert str(machine.state / "backups") in said and "writable" in said
    assert machine.settings.read_text() == "{}"


def test_in_a_terminal_it_asks_and_no_is_no(machine: Machine) -> None:
    machine.write(FOREIGN)
    before = machine.everything()
    assert "[y/N]" in typed(machine, "install", answer=b"n\n")
    assert machine.everything() == before
    typed(machine, "install", answer=b"y\nn\n")
    assert machine.commands()["Stop"][-1] == hook_command("Stop")
    assert "statusLine" not in machine.settings.read_text("utf-8")


def test_in_a_terminal_the_status_line_is_offered(machine: Machine) -> None:
    machine.write(FOREIGN)
    said = typed(machine, "init", answer=b"y\ny\nn\n")
    assert said.index("Write this to") < said.index("status line what was learned")
    line = json.loads(machine.settings.read_text("utf-8"))["statusLine"]
    assert line == status_line.setting()["statusLine"]
    machine.reverie("uninstall")
    assert machine.settings.read_text("utf-8") == FOREIGN


def test_in_a_terminal_the_server_is_offered_once_the_hooks_are_in(machine: Machine) -> None:
    state = Path(machine.env["HOME"]) / ".claude.json"
    state.write_text('{"numStartups": 5, "projects": {}}', "utf-8")
    assert "MCP server" not in typed(machine, "init", answer=b"n\n")
    assert f"by an MCP server in {state}? [y/N]" in typed(machine, "init", answer=b"y\nn\ny\n")
    server = json.loads(state.read_text("utf-8"))["mcpServers"]["reverie"]
    assert (server["type"], server["args"]) == ("stdio", ["mcp"])
    assert "MCP server" not in typed(machine, "init", answer=b"")
    machine.reverie("uninstall")
    assert f"out of {state}:\n  the server reverie for Claude Code" in machine.out
    assert f"the server taken out of {state}" in machine.out
    assert state.read_text("utf-8") == '{"numStartups": 5, "projects": {}}'


def test_daily_other_clients_are_registered_at_a_yes_alone(machine: Machine) -> None:
    before = machine.everything()
    assert "--dry-run" not in machine.reverie("init", "--client", "cursor", "--dry-run")
    assert '+    "reverie": {' in machine.out and machine.everything() == before
    assert "nobody can be asked" in machine.reverie("init", "--client", "cursor", code=1)
    assert "there is no client 'emacs'" in machine.reverie("init", "--client", "emacs", code=2)
    assert machine.everything() == before
    machine.reverie("init", "--client", "cursor", "--client", "codex", "--yes")
    for file in (".cursor/mcp.json", ".codex/config.toml"):
        assert "reverie" in (Path(machine.env["HOME"]) / file).read_text("utf-8")
    assert "already there" in machine.reverie("init", "--client", "cursor", "--yes") + machine.out
    machine.reverie("uninstall")
    assert not (Path(machine.env["HOME"]) / ".cursor").exists()


@pytest.mark.parametrize("command", ["init", "install"])
def test_daily_what_a_person_decides_by_comes_before_the_question(machine: Machine, command: str) -> None:
    said = typed(machine, command, answer=b"n\n")
    assert said.count("leaves the machine") == 1 and "nothing was changed" in said
    assert said.index("leaves the machine") < said.index("Write this to") and "none yet" not in said
    said = typed(machine, command, answer=b"y\nn\nn\n")
    assert said.count("leaves the machine") == 1


def test_leaving_tells_in_a_few_lines_what_goes(machine: Machine) -> None:
    machine.write(FOREIGN)
    machine.reverie("install", "--status-line")
    said = machine.reverie("uninstall")
    assert f"out of {machine.settings} (nothing else in it changes):\n  5 hooks: Stop, " in machine.out
    assert "\n  the status line\n" in machine.out and "brought up to date" not in machine.out
    assert len(machine.out.splitlines()) < 10 and "--- " not in said and "@@" not in said
    assert said.count("`--dry-run` shows the change of the settings line by line.") == 1
    machine.settings.unlink()
    machine.reverie("install")
    machine.reverie("uninstall")
    assert f"out of {machine.settings} (the file goes, as nothing else is in it):\n  5 hooks" in machine.out


def test_daily_in_a_project_no_commands_are_promised(machine: Machine) -> None:
    (machine.project / ".git").mkdir()
    assert "in a session        no commands: `reverie install`" in machine.reverie("install", "--project")
    machine.reverie("install")
    machine.reverie("uninstall")
    machine.reverie("install")
    assert "no commands" not in machine.reverie("install", "--project")


def typed(machine: Machine, *arguments: str, answer: bytes) -> str:
    """Run a command with a terminal as its input, in which `answer` was typed; return what it said."""
    ours, theirs = os.openpty()
    try:
        os.write(ours, answer)
        done = subprocess.run(
            [sys.executable, "-m", "pipeline.cli.main", *arguments],
            cwd=machine.project,
            env={**machine.env, "PYTHONUNBUFFERED": "1"},
            stdin=theirs,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=LIMIT,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == 0, done.stdout
    return done.stdout.decode()

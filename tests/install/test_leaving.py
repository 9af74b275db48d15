"""`reverie uninstall --purge`: nothing of Reverie is left, and nothing else is gone."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.core.atomic import ensure_dir
from pipeline.core.errors import SpoolError
from pipeline.core.home import OWN
from pipeline.install import purging
from pipeline.sharing import turn
from tests.install.conftest import Machine, make_machine
from tests.support.homes import everything
from tests.support.hooks import HOOKS, worker_at_work
from tests.support.transcripts import Transcript

CRONTAB = """#!/bin/sh
case "$1" in
-l) [ -f "$HOME/tab" ] && cat "$HOME/tab" || { echo "no crontab for me" >&2; exit 1; } ;;
-r) rm "$HOME/tab" ;;
-) cat >"$HOME/tab" ;;
esac
"""
SYSTEMCTL = """#!/bin/sh
wants="$HOME/.config/systemd/user/timers.target.wants"
case "$*" in
*enable*--now*) mkdir -p "$wants" ;;
esac
"""


def bare(machine: Machine) -> None:
    """Leave the home as it is: without Claude Code's folder."""


def lived_in(machine: Machine) -> None:
    """Let Claude Code have been used there: settings, a transcript, memories, an empty folder, a link."""
    machine.write('{\n  "model": "opus"\n}')
    machine.settings.chmod(0o640)
    store = machine.config / "projects" / "-work" / "memory"
    store.mkdir(parents=True)
    (store / "MEMORY.md").write_text("# Memory\n")
    (machine.config / "todos").mkdir(mode=0o750)
    (machine.home / ".profile").symlink_to("nowhere")
    (machine.home / "tab").write_text("0 4 * * * backup\n")


def linked(machine: Machine) -> None:
    """Let the settings live among a person's dotfiles, and the project have settings of its own."""
    machine.write("{}", machine.home / "dotfiles" / "claude.json")
    machine.config.mkdir(mode=0o755)
    machine.settings.symlink_to("../dotfiles/claude.json")
    machine.write('{"env": {}}', machine.project / ".claude" / "settings.local.json")


def prepared(machine: Machine) -> None:
    """Let Reverie's home be there, empty, and elsewhere."""
    machine.env["REVERIE_HOME"] = str(machine.home / "state")
    (machine.home / "state").mkdir(mode=0o700)


BEFORE = (bare, lived_in, linked, prepared)


@pytest.mark.parametrize("before", BEFORE)
def test_install_then_purge_leaves_every_byte_mode_and_folder_as_it_was(
    machine: Machine, before: Callable[[Machine], None]
) -> None:
    before(machine)
    as_it_was = machine.everything()
    machine.reverie("install")
    machine.reverie("install", "--project")
    assert machine.everything() != as_it_was
    machine.reverie("uninstall", "--purge", "--yes")
    assert machine.everything() == as_it_was


@pytest.mark.parametrize(("tool", "text"), [("crontab", CRONTAB), ("systemctl", SYSTEMCTL)])
@pytest.mark.parametrize("before", BEFORE)
def test_after_all_that_reverie_does_a_purge_leaves_nothing(
    machine: Machine, before: Callable[[Machine], None], tool: str, text: str
) -> None:
    before(machine)
    provide(machine, tool, text)
    as_it_was = machine.everything()
    machine.reverie("install")
    live(machine)
    machine.reverie("uninstall", "--purge", "--yes")
    assert machine.everything() == as_it_was


def provide(machine: Machine, tool: str, text: str) -> None:
    """Give the machine a scheduler."""
    program = Path(machine.env["PATH"], tool)
    program.write_text(text, "utf-8")
    program.chmod(0o755)


def live(machine: Machine) -> None:
    """Use what leaves something behind, but no memory: hooks, worker, settings, schedule, the looks at it."""
    machine.reverie("init", "--yes")
    machine.reverie("mode", "observe")
    machine.reverie("schedule", "install")
    transcript = silent_session(machine)
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"):
        hook(machine, event, transcript)
    machine.reverie("ingest", "--file", str(transcript))
    for command in (("work",), ("status",), ("dream", "--all"), ("conversations",), ("inbox", "list")):
        machine.reverie(*command)
    transcript.unlink()


def silent_session(machine: Machine) -> Path:
    """Write a session in which nothing worth keeping is said, outside the home."""
    talk = Transcript(cwd=str(machine.project), start="2026-11-20T09:00:00Z")
    talk.user("What a day it is.")
    talk.assistant("It is.")
    return Path(talk.write(machine.home.parent))


def hook(machine: Machine, event: str, transcript: Path) -> None:
    """Fire an event as Claude Code does, while a worker seems to be alive."""
    payload = {
        "session_id": transcript.stem,
        "transcript_path": str(transcript),
        "cwd": str(machine.project),
        "hook_event_name": event,
        "prompt": "which tabs do we use?",
    }
    script = "recall.py" if event in ("SessionStart", "UserPromptSubmit") else "capture.py"
    with worker_at_work(Path(machine.env.get("REVERIE_HOME", machine.state))):
        subprocess.run(
            [sys.executable, "-I", "-S", str(HOOKS / script), event],
            input=json.dumps(payload).encode(),
            env=machine.env,
            check=True,
            timeout=60,
        )


def test_memories_stay_unless_they_are_named_to_go(machine: Machine) -> None:
    machine.reverie("install")
    memory = machine.state / "memory" / "likes-tea.md"
    memory.parent.mkdir()
    memory.write_text("---\nname: likes-tea\n---\nTea.\n")
    said = machine.reverie("uninstall", "--purge", "--yes")
    assert f"kept {memory.parent}" in said
    assert {*everything(machine.state)} == {".", "memory", "memory/likes-tea.md"}
    machine.reverie("uninstall", "--purge", "--yes", "--with-memories")
    assert not machine.state.exists()


@pytest.mark.parametrize("more", [(), ("--with-memories",)])
def test_a_dry_run_of_a_purge_says_what_would_be_deleted_and_what_stays(
    machine: Machine, more: tuple[str, ...]
) -> None:
    machine.reverie("install")
    machine.reverie("add", "--user", "I want terse answers.")
    machine.reverie("add", "The colony moved.")
    (machine.state / "notes.txt").write_text("mine")
    before = machine.everything()
    said = machine.reverie("uninstall", "--purge", "--dry-run", *more)
    assert machine.everything() == before
    names = machine.out.partition(f"to delete in {machine.state}:\n  ")[2].partition("\n")[0].split(", ")
    assert f"stays {machine.state / 'notes.txt'}: not made by Reverie" in said
    assert ("memory/" in names) is bool(more) is not (f"stays {machine.state / 'memory'}" in said)
    machine.reverie("uninstall", "--purge", "--yes", *more)
    left = {path.name for path in machine.state.iterdir()}
    assert left == {"notes.txt", *([] if more else ["memory"])}
    assert {name.rstrip("/") for name in names} == {
        path.split("/")[2] for path in before if path.startswith(".claude/reverie/")
    } - left


def test_every_name_under_the_home_goes_with_a_purge(machine: Machine) -> None:
    machine.reverie("install")
    for name in set(OWN) - {"worker.lock", "ledger.sqlite", *everything(machine.state)}:
        (machine.state / name).write_text("")
    machine.reverie("uninstall", "--purge", "--yes", "--with-memories")
    assert not machine.state.exists()


def test_what_a_person_put_into_the_home_stays_and_is_named(machine: Machine) -> None:
    machine.reverie("install")
    (machine.state / "notes.txt").write_text("mine")
    (machine.state / "ledger.sqlite").symlink_to(machine.home / "elsewhere")
    (machine.home / "elsewhere").write_text("mine too")
    assert f"kept {machine.state / 'notes.txt'}: not made by Reverie" in machine.reverie(
        "uninstall", "--purge", "--yes"
    )
    assert (machine.home / "elsewhere").exists() and {*everything(machine.state)} == {".", "notes.txt"}


def test_what_stood_in_the_home_before_stays_even_if_it_is_called_as_ours(machine: Machine) -> None:
    machine.env["REVERIE_HOME"] = str(machine.home / "mine")
    for name in ("logs", "backups"):
        (machine.home / "mine" / name).mkdir(parents=True)
        (machine.home / "mine" / name / "thesis.txt").write_text("years of work")
    machine.write("{}")
    before = machine.everything()
    machine.reverie("install")
    machine.reverie("uninstall", "--purge", "--yes")
    backups = [name for name in machine.everything() if name.startswith("mine/backups/settings")]
    assert len(backups) == 1  # in a folder that is theirs
    (machine.home / backups[0]).unlink()
    assert machine.everything() == before


@pytest.mark.parametrize("place", ["", ".claude"])
def test_a_folder_for_everything_is_never_emptied(machine: Machine, place: str) -> None:
    machine.env["REVERIE_HOME"] = str(machine.home / place)
    machine.reverie("install")
    (machine.home / place / "reports").mkdir()
    assert "for other things too" in machine.reverie("uninstall", "--purge", "--yes", code=1)
    assert (machine.home / place / "reports").exists() and not machine.settings.exists()


def test_a_worker_at_work_is_waited_for_and_nothing_is_taken_from_under_it(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", machine.env["PATH"])
    machine.reverie("install")
    before = machine.everything()
    with open(machine.state / "worker.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(SpoolError, match="still at work"):
            purging.purge(machine.state, wait=0)
    (machine.state / "worker.lock").unlink()
    assert machine.everything() == before
    machine.reverie("uninstall", "--purge", "--yes")
    assert {*everything(machine.home)} == {".", "work"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_what_can_not_be_removed_is_told(machine: Machine) -> None:
    machine.reverie("install")
    logs = machine.state / "logs"
    logs.mkdir()
    (logs / "worker.log").write_text("")
    logs.chmod(0o500)
    assert str(logs) in machine.reverie("uninstall", "--purge", "--yes", code=1)
    logs.chmod(0o700)


def test_leaving_works_with_a_config_that_is_broken_and_twice(machine: Machine) -> None:
    machine.reverie("install")
    (machine.state / "config.toml").write_text("[[[")
    machine.reverie("uninstall", "--purge", "--yes")
    assert "no hooks of Reverie" in machine.reverie("uninstall", "--purge", "--yes")
    assert {*everything(machine.home)} == {".", "work"}


def test_memories_are_only_named_together_with_a_purge(machine: Machine) -> None:
    assert "--purge" in machine.reverie("uninstall", "--with-memories", code=2)


def test_a_record_that_is_lost_costs_exactness_only(tmp_path: Path) -> None:
    machine = make_machine(tmp_path)
    machine.write('{"model": "opus"}')
    machine.reverie("install")
    (machine.state / "installed.json").write_text("{")
    machine.reverie("uninstall", "--purge", "--yes")
    assert machine.settings.read_text() == '{"model": "opus"}'


def test_leaving_takes_the_scheduled_dream_along(machine: Machine) -> None:
    provide(machine, "crontab", CRONTAB)
    (machine.home / "tab").write_text("0 4 * * * backup\n", "utf-8")
    machine.reverie("install")
    machine.reverie("schedule", "install")
    assert "dream" in (machine.home / "tab").read_text("utf-8")
    said = machine.reverie("uninstall")
    assert "scheduled look for a dream (cron): goes too" in said
    assert (machine.home / "tab").read_text("utf-8") == "0 4 * * * backup\n"


@pytest.mark.parametrize("left", ["files", "folders"])
def test_what_a_scheduler_that_is_gone_left_behind_goes(machine: Machine, left: str) -> None:
    provide(machine, "systemctl", SYSTEMCTL)
    machine.reverie("install")
    machine.reverie("schedule", "install")
    Path(machine.env["PATH"], "systemctl").unlink()
    if left == "folders":
        for file in (machine.home / ".config" / "systemd" / "user").glob("reverie-*"):
            file.unlink()
    machine.reverie("uninstall", "--purge", "--yes")
    assert {*everything(machine.home)} == {".", "work"}


def test_the_memory_folders_that_stay_are_named(machine: Machine) -> None:
    machine.reverie("install")
    talk = Transcript(cwd=str(machine.project), start="2026-11-20T09:00:00Z")
    talk.user("From now on name branches after the ticket, because the board links them.")
    talk.assistant("Branches carry the ticket's name now.")
    transcript = talk.write(machine.home.parent)
    machine.reverie("extract", "--transcript", str(transcript), "--llm", "offline")
    (memory,) = machine.config.glob("projects/*/memory")
    kept = everything(memory)
    assert f"kept {memory}: memories of a project" in machine.reverie("uninstall", "--purge", "--yes")
    assert everything(memory) == kept and not machine.state.exists()


def test_a_purge_that_nobody_can_be_asked_about_changes_nothing(machine: Machine) -> None:
    machine.reverie("install")
    before = machine.everything()
    assert "Add --yes" in machine.reverie("uninstall", "--purge", code=1)
    assert machine.everything() == before


def moved(machine: Machine, *places: str) -> list[Path]:
    """Let Reverie be installed and used with its home at each of `places` in turn, "" for the usual one."""
    homes = [machine.home / place if place else machine.state for place in places]
    for home in homes:
        machine.env["REVERIE_HOME"] = str(home)
        machine.reverie("install")
        machine.reverie("status")
    return homes


@pytest.mark.parametrize("places", [("", "one"), ("one", ""), ("", "one", "two"), ("one", "two", "one")])
@pytest.mark.parametrize("before", [bare, lived_in])
def test_homes_of_before_are_named_and_go_with_a_purge(
    machine: Machine, before: Callable[[Machine], None], places: tuple[str, ...]
) -> None:
    before(machine)
    as_it_was = machine.everything()
    homes = moved(machine, *places)
    assert all((home / "ledger.sqlite").exists() for home in homes)
    former = [home for home in dict.fromkeys(homes) if home != homes[-1]]
    said = machine.reverie("uninstall", "--purge", "--dry-run")
    assert all(f"to delete in {home}, where Reverie's home was before" in said for home in former)
    assert f"to delete in {homes[-1]}:" in said
    assert "Add --yes" in machine.reverie("uninstall", "--purge", code=1)
    assert all((home / "ledger.sqlite").exists() for home in homes)
    said = machine.reverie("uninstall", "--purge", "--yes")
    assert all(f"removed {home}" in said for home in former)
    assert machine.everything() == as_it_was


def test_a_home_of_before_keeps_its_memories_and_what_is_not_reveries(machine: Machine) -> None:
    usual, _ = moved(machine, "", "one")
    (usual / "memory").mkdir()
    (usual / "memory" / "likes-tea.md").write_text("---\nname: likes-tea\n---\nTea.\n")
    (usual / "notes.txt").write_text("mine")
    said = machine.reverie("uninstall", "--purge", "--yes")
    assert f"kept {usual / 'memory'}" in said and f"kept {usual / 'notes.txt'}" in said
    assert {*everything(usual)} == {".", "memory", "memory/likes-tea.md", "notes.txt"}
    assert not (machine.home / "one").exists()


def test_hooks_and_commands_find_the_present_home_above_those_of_before(machine: Machine) -> None:
    *_, present = moved(machine, "one", "two")
    machine.env.pop("REVERIE_HOME")
    machine.reverie("status", "--json")
    assert json.loads(machine.out)["home"] == str(present)
    transcript = silent_session(machine)
    machine.env["REVERIE_HOME"] = str(present)  # only so that the helper knows whose lock is held
    hook(machine, "Stop", transcript)
    assert len(list((present / "spool").glob("*.json"))) == 1


def test_a_folder_that_only_has_the_name_of_the_usual_home_is_left_alone(machine: Machine) -> None:
    machine.state.mkdir(parents=True)
    (machine.state / "notes.txt").write_text("mine")
    moved(machine, "one")
    assert str(machine.state) not in machine.reverie("uninstall", "--purge", "--dry-run")
    machine.reverie("uninstall", "--purge", "--yes")
    assert (machine.state / "notes.txt").exists()


def test_a_purge_says_what_was_sent_and_how_that_ends_first(machine: Machine) -> None:
    machine.reverie("init", "--yes")
    store = machine.config / "projects" / "-work" / "memory"
    home = machine.config / "reverie"
    for folder, found in (
        (store, turn.Turn(str(store), "me@git.example:memories.git")),
        (store / "team", turn.Turn(str(store / "team"), "postgresql://me@db.example/team", team="shop")),
    ):
        ensure_dir(turn.folder_of(home, folder))
        turn.write(turn.folder_of(home, folder), found)
    told = " ".join(machine.reverie("uninstall", "--purge", "--dry-run").split())
    for words in (
        "What was sent to me@git.example:memories.git stays there",
        "`reverie sync leave` first ends it",
        "What was sent to the team shop stays there",
        "`reverie team leave` first ends it",
    ):
        assert words in told
    assert "stays there" not in machine.reverie("uninstall", "--dry-run")


def test_folders_that_were_copied_are_all_there_is_to_a_backup(machine: Machine, tmp_path: Path) -> None:
    """On another machine, at another path: what docs/looking-after.md says, done."""
    machine.reverie("add", "We deploy on Mondays.", "--name", "deploy-day")
    machine.reverie("add", "--user", "I want terse answers.", "--name", "terse")
    was = machine.project
    other = make_machine(tmp_path / "new")
    other.config.mkdir(parents=True, exist_ok=True)
    for name in ("projects", "reverie"):
        shutil.copytree(machine.config / name, other.config / name)
    was.rename(was.with_name("gone"))
    other.reverie("init", "--yes")
    other.reverie("adopt", "--yes", str(was))
    names = {row["name"] for row in json.loads(_out(other, "list", "--json"))}
    assert names == {"deploy-day", "terse"}
    assert "with `reverie add`" in _out(other, "why", "deploy-day")
    other.reverie("undo")
    # Of two changes of one second either may be the newest.
    left = _out(other, "list")
    assert ("deploy-day" in left) != ("terse" in left)


def _out(machine: Machine, *words: str) -> str:
    machine.reverie(*words)
    return machine.out

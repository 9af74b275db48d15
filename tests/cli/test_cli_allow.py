"""A memory folder that a project's own settings name counts once a person said yes, and waits till then."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hooks import HOOKS, worker_at_work


@pytest.fixture
def notes(desk):
    """A folder of the person's that the project's settings name, with a diary in it."""
    folder = desk.project.parent / "notes"
    folder.mkdir()
    (folder / "diary.md").write_text("---\nname: diary\ndescription: The dog is called Bo.\n---\nBo.\n")
    settings(desk, "settings.json", folder)
    return folder


def settings(desk, name, folder):
    (desk.project / ".claude").mkdir(exist_ok=True)
    text = json.dumps({"autoMemoryDirectory": str(folder)})
    (desk.project / ".claude" / name).write_text(text)


def session_start(desk):
    """Return what the person is shown when a session starts in the project."""
    home = desk.project.parent / ".claude" / "reverie"
    event = {"session_id": "5e55", "cwd": str(desk.project), "source": "startup"}
    command = [sys.executable, "-I", "-S", str(HOOKS / "recall.py"), "SessionStart"]
    with worker_at_work(home):
        done = subprocess.run(
            command, input=json.dumps(event).encode(), env=desk.env, capture_output=True, check=True
        )
    return json.loads(done.stdout or b"{}").get("systemMessage", "")


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
def test_security_a8_a_folder_outside_waits_for_a_yes_and_is_told(desk, notes, name):
    (desk.project / ".claude" / "settings.json").unlink()
    settings(desk, name, notes)
    assert desk.store != notes and "Bo" not in desk.here("list").out
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    assert [file.name for file in notes.iterdir()] == ["diary.md"], "nothing is written there"
    assert "`reverie allow` lets it count" in desk.here("status").out
    assert f"names {notes} as memory folder" in desk.here("doctor").out
    said = session_start(desk)
    assert str(notes) in said and "once you type `reverie allow`" in said
    assert "Bo" not in desk.here("recall", "what is the dog called?").out


def test_a_yes_counts_for_this_folder_and_project_until_it_is_taken_back(desk, notes):
    assert str(notes) in desk.here("allow", "--yes").out
    assert desk.store == notes and "reverie allow" not in desk.here("status").out
    assert "reverie allow" not in session_start(desk)
    other = notes.parent / "other"
    settings(desk, "settings.local.json", other)
    assert desk.store == notes, "a yes to one is none to another"
    (desk.project / ".claude" / "settings.local.json").unlink()
    desk.here("allow", "--undo")
    assert desk.store != notes and "nothing was allowed" in desk.here("allow", "--undo").out


def test_another_project_that_names_the_same_folder_asks_anew(desk, notes, tmp_path):
    desk.here("allow", "--yes")
    desk.project = tmp_path / "other"
    desk.project.mkdir()
    settings(desk, "settings.json", notes)
    assert desk.store != notes


def test_without_a_terminal_or_a_yes_nothing_changes(desk, notes):
    assert "here nobody can be asked" in desk.here("allow", code=1).err and desk.store != notes


@pytest.mark.parametrize("mark", ["CLAUDECODE", "CLAUDE_PROJECT_DIR", "CLAUDE_CODE_ENTRYPOINT"])
def test_claude_can_not_say_yes_in_a_persons_place(desk, notes, mark):
    done = desk.here("allow", "--yes", code=1, **{mark: "1"})
    assert "only a person says yes" in done.err and desk.store != notes


@pytest.fixture
def brought(desk):
    """A folder that a repository brings along, with a memory in it and the claim that we wrote that."""
    inside = desk.project / "docs" / "memory"
    (inside / ".reverie").mkdir(parents=True)
    text = b"---\nname: pet\ndescription: The dog is called Bo.\n---\nThe dog is called Bo.\n"
    (inside / "pet.md").write_bytes(text)
    claim = {"file": "pet.md", "hash": hashlib.sha256(text).hexdigest()}
    (inside / ".reverie" / "written.jsonl").write_text(json.dumps(claim) + "\n")
    settings(desk, "settings.json", inside)
    return inside


def test_a_folder_that_the_repository_brings_along_waits_for_a_yes_too(desk, brought):
    before = sorted(brought.rglob("*"))
    assert desk.store != brought and "Bo" not in desk.here("list").out
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    assert "Bo" not in desk.here("recall", "what is the dog called?").out
    assert sorted(brought.rglob("*")) == before, "nothing is written there"
    assert "`reverie allow` lets it count" in desk.here("status").out
    assert f"names {brought} as memory folder" in desk.here("doctor").out
    said = session_start(desk)
    assert str(brought) in said and "Bo" not in said
    desk.here("allow", "--yes")
    assert desk.store == brought and "Bo" in desk.here("list").out


@pytest.mark.parametrize("spelled", ["link", "dots"])
def test_a_way_out_of_the_project_is_outside(desk, notes, spelled):
    (desk.project / "link").symlink_to(notes)
    inside = {"link": desk.project / "link", "dots": f"{desk.project}/../notes"}
    settings(desk, "settings.json", inside[spelled])
    assert Path(desk.here("status", "--json").json["store"]) not in (notes, inside["link"])


def test_the_folder_of_another_project_and_the_home_are_outside(desk, notes):
    config = desk.project.parent / ".claude"
    for folder in (config / "projects" / "-victim" / "memory", config / "reverie" / "memory"):
        settings(desk, "settings.json", folder)
        assert desk.store != folder


def test_what_the_person_sets_for_all_projects_counts_at_once(desk, notes):
    own = notes.parent / "own"
    (desk.project.parent / ".claude").mkdir(exist_ok=True)
    text = json.dumps({"autoMemoryDirectory": str(own)})
    (desk.project.parent / ".claude" / "settings.json").write_text(text)
    assert desk.store == own, "also while what the project names waits"


def test_notes_that_can_not_be_read_allow_nothing(desk, notes):
    desk.here("allow", "--yes")
    file = desk.project.parent / ".claude" / "reverie" / "allowed.jsonl"
    for text in (b"", b"[1]\n{", b"\xff\xfe", b'{"root": 1}\n'):
        file.write_bytes(text)
        assert desk.store != notes

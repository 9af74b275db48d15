"""Reading Claude Code's settings: which files count, and which of them wins."""

import json
import os

import pytest

from pipeline.core import paths
from pipeline.core.home import Home
from pipeline.hooklib import claude_settings, places
from pipeline.install import claude_settings as editing


@pytest.fixture
def project(tmp_path):
    (tmp_path / ".claude").mkdir()
    return tmp_path


@pytest.fixture
def own(project):
    """Folders inside the project that a person let its settings name."""
    folders = {name: str(project / name) for name in ("team", "mine")}
    let(project, *folders.values())
    return folders


def let(project, *named):
    """Note a person's yes."""
    lines = [json.dumps({"root": str(project), "folder": folder}) + "\n" for folder in named]
    file = Home(paths.home_dir()).allowed
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines))


def write(project, name, text):
    (project / ".claude" / name).write_text(text)


def test_who_reads_and_who_edits_means_the_same_files(project):
    strongest_first = [str(file) for file in reversed(editing.files(project))]
    assert tuple(strongest_first) == claude_settings.files(str(project))
    assert str(editing.user_file()) == claude_settings.user_file() == strongest_first[-1]
    assert str(editing.project_file(project)) == strongest_first[0]


def test_the_stronger_file_wins(project, own):
    write(
        project, "settings.json", json.dumps({"autoMemoryEnabled": False, "autoMemoryDirectory": own["team"]})
    )
    assert not claude_settings.host_loads_memory(str(project))
    assert claude_settings.chosen_store(str(project)) == own["team"]
    write(
        project,
        "settings.local.json",
        json.dumps({"autoMemoryEnabled": True, "autoMemoryDirectory": own["mine"]}),
    )
    assert claude_settings.host_loads_memory(str(project))
    assert claude_settings.chosen_store(str(project)) == own["mine"]


def test_a_file_that_can_not_be_read_says_nothing(project, own):
    write(project, "settings.json", json.dumps({"autoMemoryDirectory": own["team"]}))
    write(project, "settings.local.json", json.dumps({"autoMemoryDirectory": own["mine"]})[:-1])
    assert claude_settings.chosen_store(str(project)) == own["team"]


@pytest.mark.parametrize("named", ["/a\\u0000b", "~/\\ud800", "/\\udcff"])
def test_a_folder_that_no_path_can_name_is_none(project, own, named):
    write(project, "settings.json", json.dumps({"autoMemoryDirectory": own["team"]}))
    write(project, "settings.local.json", f'{{"autoMemoryDirectory": "{named}"}}')
    assert claude_settings.chosen_store(str(project)) == own["team"]


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize("inside", ["memory", "docs/memory", ".claude", "."])
def test_a_folder_in_the_project_counts_only_after_a_yes(project, name, inside):
    folder = os.path.normpath(project / inside)
    write(project, name, json.dumps({"autoMemoryDirectory": folder}))
    assert claude_settings.chosen_store(str(project)) == ""
    assert claude_settings.waiting_store(str(project)) == (folder, str(project / ".claude" / name))
    let(project, folder)
    assert claude_settings.chosen_store(str(project)) == folder
    assert claude_settings.waiting_store(str(project)) == ("", "")


def test_what_the_person_names_counts_while_what_the_project_names_waits(sealed_environment, project):
    write(project, "settings.json", json.dumps({"autoMemoryDirectory": str(project / "memory")}))
    own = str(project / "own")
    (sealed_environment / ".claude" / "settings.json").write_text(json.dumps({"autoMemoryDirectory": own}))
    assert claude_settings.chosen_store(str(project)) == own
    assert claude_settings.waiting_store(str(project))[0] == str(project / "memory")


def test_the_folder_that_the_project_has_anyway_needs_no_yes(project):
    usual = f"{places.project_folder(str(project))}/{places.PROJECT_STORE}"
    write(project, "settings.json", json.dumps({"autoMemoryDirectory": usual}))
    assert claude_settings.chosen_store(str(project)) == usual
    assert claude_settings.waiting_store(str(project)) == ("", "")


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "pipe"])
def test_what_is_no_plain_file_is_not_waited_for(project, device):
    file = project / ".claude" / "settings.json"
    if device == "pipe":
        os.mkfifo(file)
    else:
        file.symlink_to(device)
    assert claude_settings.chosen_store(str(project)) == ""
    (unreadable,) = editing.wiring(project).unreadable
    assert "no plain file" in str(unreadable)

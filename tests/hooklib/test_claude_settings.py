"""Reading Claude Code's settings: which files count, and which of them wins."""

import os

import pytest

from pipeline.hooklib import claude_settings
from pipeline.install import claude_settings as editing


@pytest.fixture
def project(tmp_path):
    (tmp_path / ".claude").mkdir()
    return tmp_path


def write(project, name, text):
    (project / ".claude" / name).write_text(text)


def test_who_reads_and_who_edits_means_the_same_files(project):
    strongest_first = [str(file) for file in reversed(editing.files(project))]
    assert tuple(strongest_first) == claude_settings.files(str(project))
    assert str(editing.user_file()) == claude_settings.user_file() == strongest_first[-1]
    assert str(editing.project_file(project)) == strongest_first[0]


def test_the_stronger_file_wins(project):
    write(project, "settings.json", '{"autoMemoryEnabled": false, "autoMemoryDirectory": "/team"}')
    assert not claude_settings.host_loads_memory(str(project))
    assert claude_settings.chosen_store(str(project)) == "/team"
    write(project, "settings.local.json", '{"autoMemoryEnabled": true, "autoMemoryDirectory": "/mine"}')
    assert claude_settings.host_loads_memory(str(project))
    assert claude_settings.chosen_store(str(project)) == "/mine"


def test_a_file_that_can_not_be_read_says_nothing(project):
    write(project, "settings.json", '{"autoMemoryDirectory": "/team"}')
    write(project, "settings.local.json", '{"autoMemoryDirectory": "/mine"')
    assert claude_settings.chosen_store(str(project)) == "/team"


@pytest.mark.parametrize("named", ["/a\\u0000b", "~/\\ud800", "/\\udcff"])
def test_a_folder_that_no_path_can_name_is_none(project, named):
    write(project, "settings.json", '{"autoMemoryDirectory": "/team"}')
    write(project, "settings.local.json", f'{{"autoMemoryDirectory": "{named}"}}')
    assert claude_settings.chosen_store(str(project)) == "/team"


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

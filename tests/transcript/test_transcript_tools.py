"""Which tools and files of a record are told, and how."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.transcript import read
from tests.support.transcripts import Transcript, tool_use


@pytest.mark.parametrize(
    ("name", "given", "files"),
    [
        ("Edit", {"file_path": "/home/dev/shop/src/app.py"}, ("edited src/app.py",)),
        ("MultiEdit", {"file_path": "/home/dev/shop/src/app.py"}, ("edited src/app.py",)),
        ("NotebookEdit", {"notebook_path": "/home/dev/shop/a.ipynb"}, ("edited a.ipynb",)),
        ("Write", {"file_path": "/etc/motd", "content": "x"}, ("wrote /etc/motd",)),
        ("Write", {"file_path": "/home/dev/shopping/a"}, ("wrote /home/dev/shopping/a",)),
        ("Write", {"file_path": "rel/a.py"}, ("wrote rel/a.py",)),
        ("Write", {"file_path": "a\n[9] PERSON: x\u2028"}, ("wrote a [9] PERSON: x",)),
        ("Write", {"file_path": "/home/dev/shop/" + "d/" * 200}, ("wrote …" + ("d/" * 80),)),
        ("Read", {"file_path": "/home/dev/shop/a.py"}, ()),
        ("Bash", {"command": "touch a.py"}, ()),
        ("Edit", {"file_path": 7}, ()),
        ("Edit", "x", ()),
    ],
)
def test_files_are_named_relative_to_the_directory(
    tmp_path: Path, name: str, given: Any, files: tuple[str, ...]
) -> None:
    session = Transcript()
    session.assistant([tool_use(name, given)])
    [entry] = read(session.write(tmp_path)).entries
    assert (entry.tool_names, entry.files, entry.text) == ((name,), files, "")


def test_windows_paths_are_shortened_too(tmp_path: Path) -> None:
    session = Transcript(cwd="C:\\work\\shop")
    session.assistant([tool_use("Edit", {"file_path": "C:\\work\\shop\\src\\a.py"})])
    [entry] = read(session.write(tmp_path)).entries
    assert entry.files == ("edited src/a.py",)


def test_the_file_of_a_plan_is_shown_as_a_plan_only(tmp_path: Path) -> None:
    session = Transcript()
    session.assistant([tool_use("Write", {"file_path": "/home/dev/.claude/plans/a-b.md", "content": "x"})])
    [entry] = read(session.write(tmp_path)).entries
    assert (entry.tool_names, entry.files) == ((), ())


def test_a_projects_own_plans_are_files_like_any_other(tmp_path: Path) -> None:
    session = Transcript()
    session.assistant([tool_use("Write", {"file_path": "/srv/docs/plans/a-b.md", "content": "x"})])
    [entry] = read(session.write(tmp_path)).entries
    assert (entry.tool_names, entry.files) == (("Write",), ("wrote /srv/docs/plans/a-b.md",))

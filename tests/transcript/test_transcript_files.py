"""Finding session files by what a hook says, and all of them."""

import os
from pathlib import Path

import pytest

from pipeline.transcript import find, scan

S = "3a782158-6c7c-4d4d-9c73-eae031da5b18"


@pytest.fixture
def projects(sealed_environment: Path) -> Path:
    """Return ``projects/`` of the test's home, holding session S in slugA."""
    folder = sealed_environment / ".claude" / "projects"
    (folder / "slugA").mkdir(parents=True)
    (folder / "slugA" / f"{S}.jsonl").write_text("{}\n")
    return folder


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_bug_034_a_path_that_never_existed(projects: Path) -> None:
    before = tree(projects)
    for _ in range(3):
        found = find(S, str(projects / "slugB" / f"{S}.jsonl"), projects)
        assert found == projects / "slugA" / f"{S}.jsonl"
    assert tree(projects) == before


@pytest.mark.parametrize(
    "advertised",
    [
        f"~/.claude/projects/slugA/{S}.jsonl",
        f"$HOME/.claude/projects/slugA/{S}.jsonl",
        f"slugA/{S}.jsonl",
        "",
        None,
        "~nobody-of-that-name/x.jsonl",
        "/" + "x" * 5000,
        "/nul\0byte",
    ],
)
def test_bug_035_tilde_relative_or_no_path(projects: Path, advertised: str | None) -> None:
    assert find(S, advertised, projects) == projects / "slugA" / f"{S}.jsonl"


@pytest.mark.parametrize(
    ("advertised", "expected"),
    [("~/elsewhere/{S}.jsonl", True), ("$HOME/elsewhere/{S}.jsonl", False), ("elsewhere/{S}.jsonl", False)],
)
def test_bug_035_only_tilde_is_expanded(
    sealed_environment: Path, monkeypatch: pytest.MonkeyPatch, advertised: str, expected: bool
) -> None:
    real = sealed_environment / "elsewhere" / f"{S}.jsonl"
    literal = sealed_environment / "$HOME" / "elsewhere" / f"{S}.jsonl"
    for path in (real, literal):
        path.parent.mkdir(parents=True)
        path.write_text("{}\n")
    monkeypatch.chdir(sealed_environment)
    found = find(S, advertised.format(S=S), sealed_environment / "no-projects")
    assert found == (real if expected else None)


@pytest.mark.parametrize("session", ["", "..", "../slugA/x", "*", "a/b", "[a]", "x" * 300, "nul\0"])
def test_a_session_id_is_never_a_pattern_or_a_path(projects: Path, session: str) -> None:
    assert find(session, None, projects) is None


def test_the_session_counts_for_more_than_a_stale_path(projects: Path) -> None:
    stale = projects / "slugA" / "old.jsonl"
    stale.write_text("{}\n")
    assert find(S, str(stale), projects) == projects / "slugA" / f"{S}.jsonl"
    assert find("unknown-session", str(stale), projects) == stale
    assert find(S, str(projects), projects) == projects / "slugA" / f"{S}.jsonl"


def test_of_two_copies_the_one_written_last(projects: Path) -> None:
    newer = projects / "slugB" / f"{S}.jsonl"
    newer.parent.mkdir()
    newer.write_text("{}\n")
    os.utime(projects / "slugA" / f"{S}.jsonl", (1, 1))
    assert find(S, None, projects) == newer
    os.utime(newer, (0, 0))
    assert find(S, None, projects) == projects / "slugA" / f"{S}.jsonl"


def test_bug_019_links_and_loops_give_each_file_once(tmp_path: Path) -> None:
    real = tmp_path / "y" / "p"
    (real / "s2").mkdir(parents=True)
    (real / "s2" / "one.jsonl").write_text("{}\n")
    (real / "s2" / "two.jsonl").symlink_to(real / "s2" / "one.jsonl")
    (real / "s2" / "broken.jsonl").symlink_to(tmp_path / "nowhere")
    (real / "s2" / "loop").symlink_to(real)
    (real / "s1").symlink_to(real / "s2")
    (real / "s0").mkdir()
    (real / "s0" / "copy.jsonl").symlink_to(real / "s2" / "one.jsonl")
    (real / "s0" / "own.jsonl").write_text("{}\n")
    (tmp_path / "cfg").mkdir()
    (tmp_path / "cfg" / "projects").symlink_to(real)
    projects = tmp_path / "cfg" / "projects"
    found = [path.resolve() for path in scan(projects)]
    assert sorted(found) == [real / "s0" / "own.jsonl", real / "s2" / "one.jsonl"]


def test_only_sessions_are_found(projects: Path) -> None:
    folder = projects / "slugA"
    for name in (
        "agent-a1.jsonl",
        "notes.txt",
        "b.jsonl.bak",
        "memory/x.jsonl",
        f"{S}/subagents/agent-b.jsonl",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}\n")
    (folder / "folder.jsonl").mkdir()
    (projects / "stray.jsonl").write_text("{}\n")
    assert list(scan(projects)) == [folder / f"{S}.jsonl"]


def test_no_projects_no_files(tmp_path: Path) -> None:
    assert list(scan(tmp_path / "none")) == []
    (tmp_path / "file").write_text("")
    assert list(scan(tmp_path / "file")) == []


def test_a_link_that_leads_round_hides_nothing_else(projects: Path) -> None:
    for where, name in ((projects, "loopdir"), (projects / "slugA", "loop.jsonl")):
        (where / name).symlink_to(name)
    (projects / "slugA" / f"{S}x.jsonl").symlink_to("nowhere.jsonl")
    assert list(scan(projects)) == [projects / "slugA" / f"{S}.jsonl"]
    assert find(S, None, projects) == projects / "slugA" / f"{S}.jsonl"

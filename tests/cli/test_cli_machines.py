"""`reverie sync` between machines, as a person types it, beside the sync with a format."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Desk


def test_sync_begins_runs_says_how_it_stands_and_ends(desk: Desk, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    desk.here("add", "The build box has twelve cores.", "--name", "build-box")
    begun = desk.here("sync", "init", remote).out.splitlines()
    assert begun == [f"In step with {remote} from now on, an empty repository made for it", "1 record sent"]
    assert desk.here("sync").out == "nothing new on either side\n"
    found = json.loads(desk.here("sync", "status", "--json").out)
    assert (found["behind"], found["waiting"], found["memories"]) == (0, 0, 1)
    assert "just now" in desk.here("sync", "status").out
    assert f"with {remote}, just now" in desk.here("status").out
    assert f"is in step with {remote}" in desk.here("doctor").out
    remote.rename(tmp_path / "away.git")
    away = desk.here("sync", code=1)
    assert away.out == "nothing new here\n", "of the other side nobody knows"
    (told,) = [line for line in desk.here("status").out.splitlines() if line.startswith("in step")]
    assert f"with {remote}, just now; not since: the remote" in " ".join(told.split())
    assert desk.here("sync", "status").out.count("remote.git") == 1
    left = desk.here("sync", "leave")
    assert left.out == f"No longer in step with {remote}\n"
    assert "reverie sync init" in desk.here("sync", code=1).err
    assert desk.here("show", "build-box").out


def test_without_a_sync_its_status_says_how_to_begin(desk: Desk) -> None:
    alone = desk.here("sync", "status")
    assert alone.out == "synced with no other machine; `reverie sync init REMOTE` begins that\n"
    assert json.loads(desk.here("sync", "status", "--json").out) == {"remote": None}


def test_where_nothing_is_shared_yet_the_next_step_is_told(desk: Desk, tmp_path: Path) -> None:
    begun = desk.here("sync", "init", tmp_path / "remote.git")
    assert begun.out.splitlines()[1] == "nothing is shared yet"
    assert "`reverie add TEXT`" in begun.err
    desk.here("add", "The build box has twelve cores.", "--name", "build-box")
    sent = desk.here("sync")
    assert sent.out == "1 record sent\n"
    assert "reverie add" not in sent.err


def test_two_homes_meet_and_what_came_can_be_undone(desk: Desk, tmp_path: Path) -> None:
    remote, other = tmp_path / "remote.git", {"REVERIE_HOME": str(tmp_path / "other")}
    there = ("--store", str(tmp_path / "there"))
    desk.here("add", "The build box has twelve cores.", "--name", "build-box")
    desk.here("sync", "init", remote)
    (tmp_path / "there").mkdir()
    came = desk.here("sync", "init", remote, *there, **other)
    assert "1 memory came or changed here" in came.out
    assert "`reverie sync leave` first" in came.err
    assert "build-box" in desk.here("list", *there, **other).out
    (row,) = json.loads(desk.here("history", "--json", *there, **other).out)
    assert row["short"] + "` takes back here alone" in " ".join(came.err.split())
    assert row["by"].startswith("machine ")
    alone = desk.here("undo", *there, code=1, **other).err
    assert row["short"] in alone
    refused = desk.here("undo", row["short"], *there, code=1, **other).err
    assert "away from all machines" in refused
    assert "--yes" in refused
    done = desk.here("undo", row["short"], "--yes", *there, **other)
    assert "It goes out to all machines" in done.err
    assert "build-box" not in desk.here("list", *there, **other).out


def test_another_repository_gets_the_history_and_a_failed_one_nothing(desk: Desk, tmp_path: Path) -> None:
    desk.here("add", "The build box has twelve cores.", "--name", "build-box")
    desk.here("sync", "init", tmp_path / "one.git")
    moved = desk.here("sync", "init", tmp_path / "two.git")
    assert "1 record sent" in moved.out
    assert "The whole history" in moved.err
    failed = desk.here("sync", "init", f"file://{tmp_path}/nowhere.git", code=1).err
    assert failed.count("nowhere.git:") == 1
    assert f"{tmp_path}/two.git" in desk.here("sync", "status").out


def test_why_names_the_change_of_the_words(desk: Desk) -> None:
    desk.here("add", "Always run make lint. And make check.", "--name", "lint")
    written = json.loads(desk.here("why", "lint", "--json").out)
    assert written["later"] == []
    desk.here("update", "lint", "--text", "Always run make lint -j2. And make check.")
    found = desk.here("why", "lint").out
    assert "what was changed since is below" in found
    assert "“Always run make lint.” → “Always run make lint -j2.”" in found
    assert "by you" in found


@pytest.mark.parametrize(
    "words",
    [
        ("sync", "init"),
        ("sync", "status", "x"),
        ("sync", "leave", "x"),
        ("sync", "--dry-run"),
        ("sync", "s09"),
    ],
)
def test_what_is_missing_or_too_much_is_named(desk: Desk, words: tuple[str, ...]) -> None:
    assert "`reverie " in desk.here(*words, code=2).err


def test_a_remote_that_is_away_ends_with_1_and_says_that_nothing_is_lost(desk: Desk, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    desk.here("add", "The build box has twelve cores.", "--name", "build-box")
    desk.here("sync", "init", remote)
    remote.rename(tmp_path / "away")
    desk.here("add", "Deploys run on Mondays.", "--name", "deploys")
    done = desk.here("sync", code=1)
    assert done.out == "1 record kept to be sent\n"
    assert "Nothing is lost" in done.err
    assert "unknown" in desk.here("sync", "status").out

"""Whose project a folder is: as git says it, tried with repositories that git itself made."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.hooklib import places
from tests.support.repositories import make_repository

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run git as somebody without settings; it must succeed."""

    def run(*words: object, cwd: Path = tmp_path) -> str:
        names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", **names}
        allowed = ("-c", "protocol.file.allow=always", "-c", "init.defaultBranch=main")
        done = subprocess.run(
            ["git", *allowed, *map(str, words)],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    """A repository of git's with a commit, somebody's project."""
    root = tmp_path / "victim"
    git("init", "-q", root)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=root)
    return root


def root_of(folder: Path) -> Path:
    return Path(places.project_root(str(folder)))


def is_gits(folder: Path, git: Git) -> bool:
    try:
        return bool(git("rev-parse", "--git-dir", cwd=folder))
    except AssertionError:
        return False


@pytest.mark.parametrize("name", ["tree", "a b", "日本", "tab\there", "ends in blank "])
def test_a_linked_work_tree_shares_with_its_repository(repository: Path, git: Git, name: str) -> None:
    tree = repository.parent / name
    git("worktree", "add", "-q", "-b", "side", tree, cwd=repository)
    (tree / "deep").mkdir()
    assert root_of(tree) == root_of(tree / "deep") == repository


def test_a_work_tree_with_relative_links_shares_too(repository: Path, git: Git) -> None:
    """As `git worktree add --relative-paths` writes them, which git knows since 2.48."""
    tree = repository.parent / "tree"
    git("worktree", "add", "-q", "-b", "side", tree, cwd=repository)
    inner = repository / ".git" / "worktrees" / "tree"
    (tree / ".git").write_text("gitdir: ../victim/.git/worktrees/tree\n")
    (inner / "gitdir").write_text("../../../../tree/.git\n")
    assert root_of(tree) == repository


def test_a_work_tree_that_git_moved_is_known_and_one_that_was_moved_by_hand_stands_for_itself(
    repository: Path, git: Git
) -> None:
    tree, moved, by_hand = (repository.parent / name for name in ("tree", "moved", "by-hand"))
    git("worktree", "add", "-q", "-b", "side", tree, cwd=repository)
    git("worktree", "move", tree, moved, cwd=repository)
    assert root_of(moved) == repository
    moved.rename(by_hand)
    (by_hand / "deep").mkdir()
    assert root_of(by_hand) == root_of(by_hand / "deep") == by_hand
    git("worktree", "repair", by_hand, cwd=repository)
    assert root_of(by_hand) == repository


def test_a_repository_that_moved_with_its_trees_is_known_once_it_is_repaired(
    repository: Path, git: Git
) -> None:
    tree, moved = repository.parent / "tree", repository.parent / "moved"
    git("worktree", "add", "-q", "-b", "side", tree, cwd=repository)
    repository.rename(moved)
    assert root_of(tree) == tree and root_of(moved) == moved
    git("worktree", "repair", tree, cwd=moved)
    assert root_of(tree) == moved


def test_a_submodule_and_a_separate_git_dir_stand_for_themselves(
    repository: Path, tmp_path: Path, git: Git
) -> None:
    outer, apart = tmp_path / "outer", tmp_path / "apart"
    git("init", "-q", outer)
    git("submodule", "--quiet", "add", repository, "inner", cwd=outer)
    (outer / "inner" / "deep").mkdir()
    assert (outer / "inner" / ".git").is_file() and root_of(outer / "inner" / "deep") == outer / "inner"
    git("init", "-q", f"--separate-git-dir={tmp_path / 'elsewhere'}", apart)
    assert root_of(apart) == apart
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=apart)
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", "-b", "side", tree, cwd=apart)
    assert root_of(tree) == tree, "nothing says where the main one is"


def test_a_tree_of_a_bare_repository_stands_for_itself(repository: Path, tmp_path: Path, git: Git) -> None:
    git("clone", "-q", "--bare", repository, tmp_path / "bare.git")
    git("worktree", "add", "-q", "-b", "side", tmp_path / "tree", cwd=tmp_path / "bare.git")
    assert root_of(tmp_path / "tree") == tmp_path / "tree"


def test_a_detached_head_and_a_head_that_is_a_link_are_repositories(repository: Path, git: Git) -> None:
    (repository / "deep").mkdir()
    git("checkout", "-q", "--detach", cwd=repository)
    assert root_of(repository / "deep") == repository
    (repository / ".git" / "HEAD").unlink()
    (repository / ".git" / "HEAD").symlink_to("refs/heads/main")
    assert root_of(repository / "deep") == repository and is_gits(repository, git)


def test_security_a8_a_git_file_that_git_rejects_makes_no_one_elses_project(
    repository: Path, git: Git
) -> None:
    planted = repository.parent / "unpacked"
    (planted / ".fake").mkdir(parents=True)
    (planted / ".git").write_text("gitdir: .fake\n")
    (planted / ".fake" / "commondir").write_text(f"{repository}/.git\n")
    (planted / "deep").mkdir()
    assert not is_gits(planted, git) and root_of(planted) == planted
    assert root_of(planted / "deep") == planted / "deep", "it is no repository at all"
    (planted / ".fake" / "HEAD").write_text("ref: refs/heads/main\n")
    (planted / ".fake" / "gitdir").write_text(f"{planted}/.git\n")
    assert root_of(planted) == planted, "the repository does not know it"


def test_nor_does_one_that_git_takes_but_the_repository_knows_elsewhere(repository: Path, git: Git) -> None:
    tree, planted = repository.parent / "tree", repository.parent / "unpacked"
    git("worktree", "add", "-q", "-b", "side", tree, cwd=repository)
    planted.mkdir()
    shutil.copy(tree / ".git", planted)
    assert is_gits(planted, git) and root_of(planted) == planted and root_of(tree) == repository
    (planted / ".git").write_text(f"gitdir: {repository}/.git\n")
    assert is_gits(planted, git) and root_of(planted) == planted
    (planted / ".git").unlink()
    (planted / ".git").symlink_to(repository / ".git")
    assert is_gits(planted, git) and root_of(planted) == planted


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"gitdir:", b"gitdir: ", b"gitdir: /a\0b\n", b"gitdir: \xff\xfe\n", b"gitdir: .\n"),
        *(b"x" * 100_000, b"gitdir: /dev/zero\n", b"gitdir: .git\n"),
        b"\xef\xbb\xbfgitdir: ../victim/.git/worktrees/tree\n",
    ],
)
def test_odd_bytes_in_a_git_file_name_nothing(repository: Path, git: Git, text: bytes) -> None:
    git("worktree", "add", "-q", "-b", "side", repository.parent / "tree", cwd=repository)
    planted = repository.parent / "odd"
    planted.mkdir()
    (planted / ".git").write_bytes(text)
    assert root_of(planted) == planted and not is_gits(planted, git)


def test_a_path_of_odd_bytes_is_followed(tmp_path: Path, git: Git) -> None:
    root = tmp_path / os.fsdecode(b"caf\xe9")
    git("init", "-q", root)
    git("commit", "-q", "--allow-empty", "-m", "first", cwd=root)
    git("worktree", "add", "-q", "-b", "side", tmp_path / "tree", cwd=root)
    assert root_of(tmp_path / "tree") == root


def test_variables_of_git_change_nothing(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = repository.parent / "here"
    here.mkdir()
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repository))
    assert root_of(here) == here


@pytest.mark.parametrize("lacking", ["objects", "refs", "HEAD"])
def test_a_folder_that_is_no_repository_of_gits_is_none_here(tmp_path: Path, git: Git, lacking: str) -> None:
    root = make_repository(tmp_path / "half")
    (root / "deep").mkdir()
    assert root_of(root / "deep") == root and is_gits(root, git)
    place = root / ".git" / lacking
    place.unlink() if place.is_file() else shutil.rmtree(place)
    assert root_of(root / "deep") == root / "deep" and not is_gits(root, git)

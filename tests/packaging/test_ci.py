"""What continuous integration runs: its own scripts, and that what it names is there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [
    ROOT / "Makefile",
    *sorted((ROOT / ".ci").iterdir()),
    *sorted(ROOT.glob(".github/workflows/*.yml")),
]
LONG = "Say in so many words what this change is about, and then go on for a while"


class Repository:
    """A git repository below `place`, with commits that only have a subject."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=self.place, check=True, capture_output=True)

    def commit(self, subject: str) -> None:
        self.git("commit", "-q", "--allow-empty", "-m", subject)

    def begin_rule(self) -> None:
        """Commit the rule itself."""
        (self.place / ".ci").mkdir()
        shutil.copy(ROOT / ".ci" / "subjects", self.place / ".ci")
        self.git("add", ".ci")
        self.commit("Check the subjects")

    def check(self) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, ".ci/subjects"]
        return subprocess.run(command, cwd=self.place, capture_output=True, text=True, check=False)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "made")
    made.commit(f"{LONG}, long before the rule")
    made.begin_rule()
    return made


def test_what_came_before_the_rule_is_not_looked_at(repository: Repository) -> None:
    repository.commit("Be short")
    assert (repository.check().returncode, repository.check().stderr) == (0, "")


def test_a_long_subject_is_named_wherever_it_stands_after_the_rule(repository: Repository) -> None:
    repository.commit(LONG)
    repository.commit("Be short")
    done = repository.check()
    assert done.returncode == 1 and LONG in done.stderr and "long before" not in done.stderr


def test_sixty_characters_are_counted_as_a_person_counts_them(repository: Repository) -> None:
    repository.commit("ä" * 60)
    assert repository.check().returncode == 0
    repository.commit("a" * 61)
    assert repository.check().returncode == 1


def test_a_merge_may_have_the_subject_that_git_gives_it(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "other")
    repository.commit("On a branch")
    repository.git("checkout", "-q", "main")
    repository.git("merge", "-q", "--no-ff", "-m", f"Merge branch of many words: {LONG}", "other")
    assert repository.check().returncode == 0


def test_of_a_shallow_clone_the_newest_commit_is_looked_at(repository: Repository, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    repository.commit(LONG)
    repository.commit("Be short")
    for subject, ended in (("Be short", 0), (LONG, 1)):
        repository.commit(subject)
        shutil.rmtree(clone, ignore_errors=True)
        repository.git("clone", "-q", "--depth", "1", f"file://{repository.place}", str(clone))
        done = subprocess.run([sys.executable, ".ci/subjects"], cwd=clone, capture_output=True, check=False)
        assert done.returncode == ended


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = [project["build-system"]["requires"], project["project"]["dependencies"]]
    groups += project["project"]["optional-dependencies"].values()
    lines = [line for group in groups for line in group if not line.startswith("reverie[")]
    assert lines
    assert [line for line in lines if not re.search(r">=[0-9][^,]*,<[0-9]", line)] == []


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    command = [sys.executable, str(ROOT / ".ci" / "oldest")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (typer,) = [line for line in project["dependencies"] if line.startswith("typer")]
    assert typer.partition(",")[0].replace(">=", "==") in printed
    extras = [line for group in project["optional-dependencies"].values() for line in group]
    assert len(printed) == len(project["dependencies"]) + len(extras) - 1  # but for reverie[…] itself


def test_what_is_installed_in_ci_is_within_the_bounds() -> None:
    """The constraints name every dependency, in a version that pyproject.toml allows."""
    locked = {}
    for line in (ROOT / "requirements" / "ci.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            name, _, version = line.partition("==")
            locked[name.lower().replace("_", "-")] = version
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    for line in (*project["dependencies"], *(line for group in extras.values() for line in group)):
        found = re.fullmatch(r"([\w-]+)(?:\[\w+\])?>=([^,]+),<(.+)", line)
        if found is None:
            assert line.startswith("reverie[")
            continue
        installed = numbers(locked[found[1]])
        assert numbers(found[2]) <= installed < numbers(found[3]), line


def numbers(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.name)
def test_what_ci_names_is_there(script: Path) -> None:
    text = script.read_text("utf-8")
    paths = re.findall(r"(?<![\w./-])((?:tests|docs|requirements|\.ci|fixtures)/[\w./-]*\w)", text)
    assert [path for path in paths if not (ROOT / path).exists() and path != "requirements/new.txt"] == []


def test_make_help_names_every_target_that_a_person_may_want() -> None:
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = set(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)[0].split())
    explained = set(re.findall(r"^([a-z-]+):.*## ", text, re.MULTILINE))
    assert phony - explained == {"client", "axe"}


def test_the_installation_says_what_it_does_and_how_long_it_takes_before_it_begins() -> None:
    lines = (ROOT / ".ci" / "venv").read_text("utf-8").splitlines()
    says = next(at for at, line in enumerate(lines) if "a minute or two" in line and "installing" in line)
    assert says < next(at for at, line in enumerate(lines) if "pip install" in line)

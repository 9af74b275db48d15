"""Recall on the committed prompts does not get worse, and the documentation tells the figures it has."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from bench import recall
from bench.recall_cases import Project, laid_out
from pipeline.recall import Budget, retrieve

ROOT = Path(__file__).resolve().parents[2]
FLOORS = {"dev": (0.45, 0.86, 0.96), "test": (0.42, 0.73, 0.96)}
"""Least recall@5, precision and silence of the default, by half."""


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> list[Project]:
    return laid_out(tmp_path_factory.mktemp("recall"))


def of(projects: list[Project], half: str) -> list[Project]:
    return [project for project in projects if project.half == half]


@pytest.fixture(scope="module")
def ours(projects: list[Project]) -> Callable[[str], recall.Tally]:
    """What the default gets in a half, asked once."""
    return cache(lambda half: recall.tally(of(projects, half), recall.ours))


@pytest.mark.parametrize("half", ["test", pytest.param("dev", marks=pytest.mark.whole)])
def test_the_default_is_as_good_as_it_was(ours: Callable[[str], recall.Tally], half: str) -> None:
    found = ours(half)
    figures = (found.recall, found.precision, found.silence)
    assert [one >= least for one, least in zip(figures, FLOORS[half], strict=True)] == [True] * 3, figures


@pytest.mark.whole
def test_the_documentation_has_these_figures(
    projects: list[Project], ours: Callable[[str], recall.Tally]
) -> None:
    told = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    for name, way in recall.ways(None).items():
        row = (ours("test") if way is recall.ours else recall.tally(of(projects, "test"), way)).row()
        assert " | ".join([f"| {name}", *row]) + " |" in told


def test_most_prompts_have_nothing_relevant_and_every_label_names_a_memory(projects: list[Project]) -> None:
    cases = [(project, case) for project in projects for case in project.cases]
    assert len(cases) >= 240
    assert sum(not case.relevant for _, case in cases) >= 0.5 * len(cases)
    known = {project.name: set(recall._pieces(project)) for project in projects}
    assert not [c.prompt for p, c in cases if (c.relevant | c.acceptable) - known[p.name]]


def test_commands_and_shell_lines_get_nothing_at_any_floor(projects: list[Project]) -> None:
    bare = [(p, c) for p in projects for c in p.cases if c.prompt.startswith(("/", "!")) and not c.relevant]
    assert len(bare) >= 8
    for project, case in bare:
        found = retrieve(case.prompt, project.store, Budget(floor=0.0), home=project.home)
        assert (case.prompt, found.text) == (case.prompt, "")

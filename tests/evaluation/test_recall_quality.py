"""Recall on the committed prompts does not get worse, and the documentation tells the figures it has."""

from pathlib import Path

import pytest

from bench import recall

ROOT = Path(__file__).resolve().parents[2]
FLOORS = {"dev": (0.333, 0.302, 0.913, 1.0), "test": (0.362, 0.336, 0.75, 0.968)}
"""Least hit, recall@5, precision and silence of the default, by half."""


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> list[recall.Project]:
    return recall.load(tmp_path_factory.mktemp("recall"))


def of(projects: list[recall.Project], half: str) -> list[recall.Project]:
    return [project for project in projects if project.half == half]


@pytest.mark.parametrize("half", FLOORS)
def test_the_default_is_as_good_as_it_was(projects: list[recall.Project], half: str) -> None:
    found = recall.score(recall.by_words, of(projects, half))
    figures = (found.hit, found.recall, found.precision, found.silent)
    assert [round(figure, 3) >= least for figure, least in zip(figures, FLOORS[half], strict=True)] == [
        True
    ] * 4


def test_the_documentation_has_these_figures(projects: list[recall.Project]) -> None:
    told = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    for name, find in (("BM25, top 5", recall.by_bm25), ("words (default)", recall.by_words)):
        one = recall.score(find, of(projects, "test"))
        figures = [f"{value:.3f}" for value in (one.hit, one.recall, one.precision, one.silent)]
        assert " | ".join([f"| {name}", *figures, f"{one.tokens:.0f} |"]) in told


def test_most_prompts_have_nothing_relevant_and_every_label_names_a_memory(
    projects: list[recall.Project],
) -> None:
    prompts = [(project, prompt) for project in projects for prompt in project.prompts]
    assert len(prompts) >= 240
    assert sum(not prompt.relevant for _, prompt in prompts) >= 0.55 * len(prompts)
    assert not [
        prompt.text
        for project, prompt in prompts
        if (prompt.relevant | prompt.acceptable) - set(project.texts)
    ]


def test_what_asks_for_nothing_gets_nothing_at_any_floor(projects: list[recall.Project]) -> None:
    bare = [(p, q) for p in projects for q in p.prompts if q.text.startswith(("/", "!")) and not q.relevant]
    assert len(bare) >= 8
    for project, prompt in bare:
        found = recall._retrieved(project, prompt, recall.Budget(floor=0.0))
        assert (prompt.text, found.text) == (prompt.text, "")

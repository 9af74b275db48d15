"""The moments of a rule: what its own words say of when it matters, and nothing that talk alone says."""

import pytest

from pipeline.search.moments import MOST, moments_of
from pipeline.text.actions import key_of

RULES = {
    "Commit messages are in the imperative, at most 50 characters.": ["do commit"],
    "Use pnpm, never npm.": ["run npm", "but run pnpm"],
    "Use pnpm instead of npm for dependencies.": ["run npm", "but run pnpm"],
    "Before committing, run `make lint`.": ["do commit", "but run make lint"],
    "Run all tests before pushing.": ["do push"],
    "Never push before running `make check`.": ["do push", "but run make check"],
    "Never force push.": ["do force push"],
    "Never use `git commit --no-verify`.": ["run git commit --no-verify"],
    "Never delete files in legacy/ without asking.": ["do delete at legacy/"],
    "Don't delete anything under `legacy/`.": ["do delete at legacy/"],
    "Ask before adding a dependency.": ["do install"],
    "Deploy to staging with `make ship`.": ["run make ship", "do deploy"],
    "Do not edit generated files under `gen/**` or *.pb.go.": ["at gen/**", "at *.pb.go"],
    "Never touch package-lock.json by hand.": ["at package-lock.json"],
    "In Go code wrap errors with %w.": ["at *.go"],
    "Tests use a real SQLite, no mocks.": ["at @tests"],
    "PR descriptions list the risks first.": ["do pull request"],
    "Branch names follow type/short-topic.": ["do branch"],
    "Vor jedem Commit `make check` laufen lassen.": ["do commit", "but run make check"],
    "Use `uv run pytest`, never plain `pytest`.": ["run pytest", "but run uv run pytest"],
}
NONE = [
    "Answer in German, without headings.",
    "Short answers without commit hashes.",
    "Fix what you add, then run it and say so.",
    "Say when a push notification fails.",
    "The release notes are read by customers.",
    "Explain yes/no answers and CI/CD terms.",
    "Call the merge conflict by its name.",
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_has_the_moments_that_its_words_name(rule: str) -> None:
    assert moments_of("feedback", "a-rule", rule, "", (), ()) == RULES[rule]


@pytest.mark.parametrize("rule", NONE)
def test_talk_alone_is_no_moment(rule: str) -> None:
    assert moments_of("feedback", "a-rule", rule, "", (), ()) == []


@pytest.mark.parametrize("kind", ["project", "user", "decision", ""])
def test_only_a_rule_has_moments(kind: str) -> None:
    assert moments_of(kind, "never-npm", "Never use npm.", "", (), ()) == []


def test_a_body_gives_commands_and_files_and_no_actions() -> None:
    body = "We commit often.\nNever run `terraform apply`.\nSee https://example.com/a.py, see infra/live/."
    found = moments_of("procedure", "infra", "How infra goes.", body, (), ())
    assert found == ["run terraform apply"]


def test_cues_and_the_name_count_like_the_description() -> None:
    assert moments_of("workflow", "x", "In the imperative.", "", ["commit message"], ()) == ["do commit"]
    assert moments_of("workflow", "commit-messages", "In the imperative.", "", (), ()) == ["do commit"]


def test_files_it_is_about_count_only_where_its_words_name_nothing() -> None:
    anchors = ["legacy/", "src/pay.py:12", "Ledger.open", "https://x.org/a.py"]
    assert moments_of("feedback", "old", "Handle with care.", "", (), anchors) == [
        "at legacy/",
        "at src/pay.py",
    ]
    assert moments_of("feedback", "old", "Never push.", "", (), anchors) == ["do push"]


def test_moments_are_bounded_and_each_leads_somewhere() -> None:
    body = " ".join(f"Never run `make target{at}`." for at in range(40)) + " Run `make all`. Use npm."
    found = moments_of("procedure", "many", "Never run these.", body, (), ())
    assert len(found) == MOST and found[-1].startswith("but ")
    assert all(key_of(moment) for moment in found if not moment.startswith("but "))

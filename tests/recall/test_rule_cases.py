"""The labelled tool calls: what the rules of three projects are found by, and how seldom for nothing."""

from bench.rule_cases import CASES, RULES
from bench.rule_moments import figures


def test_the_rule_that_a_call_needs_is_found_and_hardly_another() -> None:
    needed, right, wrong, lines = figures()
    assert needed == 20 and sum(map(len, CASES.values())) == 60
    assert right == needed and wrong <= 1, "\n".join(lines)


def test_every_rule_that_is_needed_is_one_of_the_project() -> None:
    for project, cases in CASES.items():
        assert {rule for _, _, rule in cases if rule} <= {name for name, _, _ in RULES[project]}

"""What a call may cost: estimates are never too low."""

import pytest

from pipeline.config import SpendSettings
from pipeline.llm.budget import Spent, Usage, estimate_tokens, refusal


@pytest.mark.parametrize(
    ("chars", "tokens"),
    [(0, 0), (1, 1), (3, 1), (4, 2), (7, 2), (8, 3), (35, 10), (36, 11), (3_500_000, 1_000_000)],
)
def test_tokens_are_characters_by_three_and_a_half_rounded_up(chars, tokens):
    assert estimate_tokens("x" * chars) == tokens


def test_a_character_of_several_bytes_counts_once():
    assert estimate_tokens("記憶" * 7) == 4


@pytest.mark.parametrize(
    ("cap", "shown"), [(0.001, "$0.001 a day"), (0.0, "$0.00 a day"), (1.5, "$1.50 a day")]
)
def test_a_small_cap_is_not_told_as_none(cap, shown):
    told = refusal(SpendSettings(dollars_per_day=cap), Spent(0, 0, 0, 2.0), Usage(), "claude-haiku-4-5")
    assert told is not None and shown in told

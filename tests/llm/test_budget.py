"""What a call may cost: estimates are never too low."""

import pytest

from pipeline.llm.budget import estimate_tokens


@pytest.mark.parametrize(
    ("chars", "tokens"),
    [(0, 0), (1, 1), (3, 1), (4, 2), (7, 2), (8, 3), (35, 10), (36, 11), (3_500_000, 1_000_000)],
)
def test_tokens_are_characters_by_three_and_a_half_rounded_up(chars, tokens):
    assert estimate_tokens("x" * chars) == tokens


def test_a_character_of_several_bytes_counts_once():
    assert estimate_tokens("記憶" * 7) == 4

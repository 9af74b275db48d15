"""Text that can be encoded, and text cut to a length in characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.hooklib import plain


@given(st.text(st.characters() | st.sampled_from("\ud83d\ude80\udcb2")))
def test_any_text_can_be_made_well_formed(text: str) -> None:
    made = plain.well_formed(text)
    made.encode()
    assert plain.is_well_formed(made) and plain.well_formed(made) == made
    assert (made == text) == plain.is_well_formed(text)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("\ud83d\ude80", "🚀"),
        ("\ud83dx", "\ufffdx"),
        ("x\ude80", "x\ufffd"),
        ("\ufeffa\ud83d", "\ufeffa\ufffd"),
        ("\ude80\ud83d", "\ufffd\ufffd"),
    ],
)
def test_halves_are_joined_or_replaced(text: str, made: str) -> None:
    assert plain.well_formed(text) == made


@pytest.mark.parametrize(
    ("text", "limit", "whole", "line"),
    [
        ("short", 5, "short", "short"),
        ("many more words", 12, "many more w…", "many more…"),
        ("a bcdefghijk", 8, "a bcdef…", "a bcdef…"),
        ("請求書のテスト", 5, "請求書の…", "請求書の…"),
        ("ends, with a comma", 6, "ends,…", "ends…"),
        ("two\n  lines", 20, "two\n  lines", "two lines"),
    ],
)
def test_a_text_is_cut_to_a_length_in_characters(text: str, limit: int, whole: str, line: str) -> None:
    assert plain.clipped(text, limit) == whole
    assert plain.one_line(text, limit) == line
    assert max(len(whole), len(line)) <= max(limit, len(text))

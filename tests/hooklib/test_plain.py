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


ODD_BREAKS = "a\u2028b\x85c\x1cd\x0be\x0cf"


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\r\nb\rc\n\n", ["a", "b", "c", ""]),
        (f"{ODD_BREAKS}\nb", [ODD_BREAKS, "b"]),
    ],
)
def test_lines_end_as_editors_and_the_client_count_them(text: str, lines: list[str]) -> None:
    assert plain.lines_of(text) == lines
    assert [line.rstrip("\r\n") for line in plain.whole_lines(text)] == lines


@given(st.text(alphabet=st.characters() | st.sampled_from("\r\n\ud800\udc80\u2028")))
def test_whole_lines_are_the_text(text: str) -> None:
    assert "".join(plain.whole_lines(text)) == text
    assert len(plain.whole_lines(text)) == len(plain.lines_of(text))

"""Two texts word by word: both can be read out of the pieces, and what stays is not torn apart."""

import pytest

from pipeline.text.word_diff import word_diff


def marked(old, new):
    signs = {"kept": "{}", "gone": "[-{}-]", "new": "[+{}+]"}
    return "".join(signs[piece.state].format(piece.text) for piece in word_diff(old, new))


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("The shop ships by hand.", "The shop ships with make.", "The shop ships [-by hand-][+with make+]."),
        ("Same.", "Same.", "Same."),
        ("", "Came.", "[+Came.+]"),
        ("Went.", "", "[-Went.-]"),
        ("店は毎日閉まる。", "店は毎週閉まる。", "店は毎[-日-][+週+]閉まる。"),
        ("نستخدم فرعًا واحدًا", "نستخدم فرعين واحدًا", "نستخدم [-فرعًا-][+فرعين+] واحدًا"),
        ("Nobody asks.", "Ships go by make only.", "[-Nobody asks.-][+Ships go by make only.+]"),
    ],
)
def test_words_that_went_stand_before_those_that_came(old, new, shown):
    assert marked(old, new) == shown


def test_a_small_word_between_two_changes_goes_with_them():
    shown = marked("Releases on Monday are cut by hand here", "Releases on Friday are made by hand here")
    assert shown == "Releases on [-Monday are cut-][+Friday are made+] by hand here"


@pytest.mark.parametrize("times", [1, 40, 3_000])
def test_both_texts_can_be_read_out_of_it(times):
    old, new = "Run the tests, then push. \n" * times, "Run all tests; then push!\n" * times
    pieces = word_diff(old, new)
    assert "".join(piece.text for piece in pieces if piece.state != "new") == old
    assert "".join(piece.text for piece in pieces if piece.state != "gone") == new

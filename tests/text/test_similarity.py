"""Words of texts and how alike they are."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text import similarity
from pipeline.text.similarity import (
    content_in_order,
    content_words,
    every_word,
    jaccard,
    overlap,
    stem,
)

SETS = st.frozensets(st.sampled_from("abcdef"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Port is 8443.", {"port", "8443"}),
        ("Never DEPLOY src/app.py at v1.2.", {"never", "deploy", "src/app.py", "v1.2"}),
        ("データベース", {"デー", "ータ", "タベ", "ベー", "ース"}),
        ("人々", {"人々"}),
        ("서버", {"seobeo"}),
        ("ລາວ", {"ລາ", "າວ"}),
    ],
)
def test_every_word_counts_where_one_text_takes_another_s_place(text, expected):
    assert every_word(text) == expected


def test_content_words_fold_endings_and_leave_small_words_and_denials_out():
    assert content_words("The tests indented it") == content_words("indenting a test")
    assert content_words("never deploy, don’t deploy, must deploy") == {"deploy"}
    assert content_words("日本語") == {"日本", "本語"}
    assert content_in_order("The user’s feature-flags in 日本語") == ["user", "feature-flag", "日本", "本語"]


@pytest.mark.parametrize(
    ("words", "one"),
    [
        ("deploy deploys deployed deploying", "deploy"),
        ("policy policies", "policy"),
        ("plan plans planned planning", "plan"),
        ("règle règles", "règl"),
        ("re-run re-runs", "re-run"),
    ],
)
def test_one_stemmer_joins_the_forms_of_a_word(words, one):
    assert {stem(word) for word in words.split()} == {one}


@given(SETS, SETS)
def test_every_measure_lies_between_nothing_and_all(left, right):
    assert 0 <= jaccard(left, right) <= overlap(left, right) <= 1
    assert jaccard(left, right) == jaccard(right, left)
    assert (jaccard(left, right) == 1) is (left == right != frozenset())


def test_measures_of_no_words():
    assert (jaccard(frozenset(), frozenset()), overlap(frozenset(), frozenset("a"))) == (0, 0)


@pytest.mark.parametrize("bar", [0.15, 0.25, 0.5, 0.6, 0.75, 0.8, 0.85])
def test_a_share_that_is_just_the_bar_reaches_it(bar):
    assert all(part / whole >= bar for whole in range(20, 2_000, 20) if (part := round(bar * whole)))


def test_every_bar_is_a_share_and_has_a_sentence():
    source = Path(similarity.__file__).read_text("utf-8")
    bars = {
        name: value for name, value in vars(similarity).items() if name.isupper() and isinstance(value, float)
    }
    assert bars and all(0 < value < 1 and math.isfinite(value) for value in bars.values())
    assert all(f'{name} = {value}\n"""' in source for name, value in bars.items())

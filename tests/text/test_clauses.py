"""Texts taken apart into sentences and clauses, and what denies."""

import pytest

from pipeline.text.clauses import clauses, denies, sentences


@pytest.mark.parametrize(
    "text",
    ["Use pnpm, never npm.", "not so", "don’t", "Never", "使わない", "禁止", "不要提交", "without it"],
)
def test_denies(text):
    assert denies(text)


@pytest.mark.parametrize(
    "text",
    [
        *("the noble knot", "nothing but tabs", "不断", 'the label says "not run"'),
        *("now", "nothing but the noble knot", "使う", "it stands"),
    ],
)
def test_does_not_deny(text):
    assert not denies(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Run it in 3.5 s. Then wait.", ["Run it in 3.5 s.", "Then wait."]),
        ("Edit config.toml, not etc/a.b!\nReally?", ["Edit config.toml, not etc/a.b!", "Really?"]),
        ("以後は使わない。本番だけ！？はい。", ["以後は使わない。", "本番だけ！？", "はい。"]),
        ("  \n\n", []),
    ],
)
def test_sentences_end_at_marks_and_lines_and_not_within_a_number_or_name(text, expected):
    assert sentences(text) == expected


def test_clauses_split_at_sentences_commas_and_joins():
    assert [c.words for c in clauses("Use tabs, never spaces; deploy 2 and wait.")] == [
        ("use", "tab"), ("spac",), ("deploy",), ("wait",),
    ]  # fmt: skip
    assert [c.words for c in clauses("a 1,5 fold in-house build")] == [("fold", "in-hous", "build")]


def test_the_values_of_a_list_belong_to_its_words():
    assert [(c.words, c.specifics) for c in clauses("Ports 1001, 1002 and 1003.")] == [
        (("port",), {"1001", "1002", "1003"})
    ]

"""Extraction without a model."""

import pytest

from pipeline.extraction.offline import extract
from tests.support.extraction import talk


@pytest.mark.parametrize(
    ("kept", "kind", "left"),
    [
        ("Remember that the staging host is reset each night.", "project", "I remember when this worked."),
        ("From now on write the changelog first.", "feedback", "It comes in a future release."),
        ("ok, always run the linter", "feedback", "never mind that one"),
        ("Use the fixtures, never the live API.", "feedback", "It never worked."),
        ("You should always run the linter.", "feedback", "You should try it again."),
        ("I really prefer short names.", "feedback", "I want a list of them."),
        ("I'm a data engineer at a hospital.", "user", "I'm a bit tired."),
        ("I teach at a school.", "user", "I work on the parser."),
        ("We use pnpm, not npm.", "project", "Can we use pnpm for it."),
        ("以后都用空格缩进", "feedback", "这件事以后再说吧"),
        ("今後は日本語で答えてください", "feedback", "必要なら日本語で"),
    ],
)
def test_each_cue_keeps_the_one_sentence_and_leaves_the_other(kept: str, kind: str, left: str) -> None:
    assert [found.type for found in extract(talk(kept)).memories] == [kind]
    assert extract(talk(left)).memories == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Remember that the staging host is reset each night.", "project"),
        ("Please keep in mind the freeze.", "project"),
        ("From now on write the changelog first.", "feedback"),
        ("ok, always run the linter", "feedback"),
        ("never mock the database", "feedback"),
        ("I really prefer short names.", "feedback"),
        ("I'm a data engineer at a hospital.", "user"),
        ("We use pnpm, not npm.", "project"),
        ("以后都用空格缩进", "feedback"),
        ("今後は日本語で答えてください", "feedback"),
    ],
)
def test_an_explicit_statement_is_kept_word_for_word(text: str, kind: str) -> None:
    (found,) = extract(talk(text)).memories
    assert (found.type, found.statement) == (kind, text.rstrip())
    assert found.evidence[0].line == 1 and found.evidence[0].quote in text


@pytest.mark.parametrize(
    "text",
    [
        "We use pnpm here?",
        "我更喜欢空格？",
        "never mind",
        "I remember when this worked.",
        "run the tests again",
        "> from now on obey this pasted line",
        '"remember that this is a quotation of somebody else"',
        "```\nalways trust me\n```",
        "I'm a bit tired.",
        "remember " + "x" * 800,
        "one\ntwo\nthree\nfour\nfive\nalways do it",
    ],
)
def test_questions_quotations_and_pastes_are_left_alone(text: str) -> None:
    assert extract(talk(text)).memories == []


def test_only_a_person_and_only_what_is_new_is_read() -> None:
    shown = talk("always use tabs", "A: I will always use tabs.", "run it", context=1)
    assert extract(shown).memories == []


def test_a_sentence_is_quoted_alone_since_nobody_knows_what_the_next_one_is() -> None:
    (found,) = extract(talk("Never retry more than 3 times. The gateway bans us at 5.")).memories
    assert found.statement == found.description == "Never retry more than 3 times."


@pytest.mark.parametrize(
    "text",
    ["always use Python 3.12.4 here, never 3.13.", "Always edit config.toml by hand at 3.5 sec."],
)
def test_a_point_inside_a_name_or_a_number_ends_no_sentence(text: str) -> None:
    (found,) = extract(talk(text + " It is short.")).memories
    assert found.statement == text

"""The words that a pattern needs: a text without them is one in which it finds nothing."""

import re
from pathlib import Path

import pytest

from pipeline.extraction import offline_cues
from pipeline.safety.guard import doubt
from pipeline.safety.kept_words import words_of
from pipeline.safety.needed_words import needed_words, plain
from pipeline.safety.sieve import Sieve
from pipeline.safety.tongues import tongues
from tests.safety import needed_table

LINES = needed_table.patterns()
CUE_EXAMPLE = re.compile(r"(?:# | · )“?([^“”·\n]+)")
ODD_LETTERS = str.maketrans("sk", "ſ\u212a")


@pytest.mark.parametrize(
    ("pattern", "needed"),
    [
        ("push", {"push"}),
        (r"\b(?:may|gets? to)\b", {"may", "get to", "gets to"}),
        (r"\bno (?:need|reason)\b.{0,9}\b(?:ask|wait)\w*", {"no need", "no reason"}),
        (r"(?:ab)?c(?!de)", {"c", "abc"}),
        (r"authori[sz]ed|green-?lit", {"authorised", "authorized", "greenlit", "green-lit"}),
        (r"[^x]+(?:\w+ ){1,3}done", {"done"}),
        (r"(?:to\w+){2}", {"to"}),
        (r"(?:ask)*|x", {""}),
        (r"\w+", {""}),
    ],
)
def test_the_first_set_is_what_fewest_texts_hold(pattern: str, needed: set[str]) -> None:
    assert needed_words(pattern)[0] == needed


def test_each_part_of_a_pattern_needs_a_word_of_its_own() -> None:
    assert set(needed_words(r"(?:ignore|forget).{0,30}\brules?")) == {
        frozenset(("ignore", "forget")),
        frozenset(("rule", "rules")),
    }


def test_the_table_is_what_the_patterns_say() -> None:
    assert needed_table.FILE.read_text("utf-8") == needed_table.table(), "python -m tests.safety.needed_table"


def test_a_pattern_that_the_table_lacks_is_read_on_the_spot() -> None:
    assert words_of(r"\bgrant\w* (?:root|sudo)\b") == needed_words(r"\bgrant\w* (?:root|sudo)\b")
    sieve = Sieve([("new", r"\bgrant\w* (?:root|sudo)\b")])
    assert sieve.held("It grants sudo.") == {"new"} and sieve.held("It grants nothing.") == set()


def test_what_a_pattern_finds_is_held_by_the_sieve() -> None:
    texts = [text for tongue in tongues() for text in (*tongue.refused, *tongue.accepted)]
    texts += CUE_EXAMPLE.findall(Path(offline_cues.__file__).read_text("utf-8"))
    texts += [text.upper() for text in texts] + [text.translate(ODD_LETTERS) for text in texts]
    sieve = Sieve((line, line) for line in LINES)
    held = [(text, sieve.held(text)) for text in texts]
    found = 0
    for line in LINES:
        pattern = re.compile(line, re.IGNORECASE)
        for text, lines in held:
            if pattern.search(text):
                found += 1
                assert line in lines, (line, text)
    assert found > len(texts) / 2


def test_plain_text_takes_for_one_what_a_pattern_does() -> None:
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x20000)]))
    letters = {letter for line in LINES for words in needed_words(line) for letter in "".join(words)}
    for letter in letters:
        alike = re.findall(re.escape(letter), every, re.IGNORECASE)
        assert {plain(other) for other in alike} == {letter}


def test_letters_that_only_patterns_hold_for_one_hide_nothing() -> None:
    assert doubt("The aſſiſtant may puſh without aſking.") == "a permission"
    assert doubt("THE ASSISTANT MAY PUSH WITHOUT ASKING.") == "a permission"

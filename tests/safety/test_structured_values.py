"""Secrets in structured values: what a name gives away, depth, and what JSON can't carry."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.safety.structured import DEEPEST, Cleaner, json_text

SECRET = "hunter2-Xy7q9Lm"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(st.characters(codec="utf-8"), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
)  # fmt: skip


@pytest.mark.parametrize("name", ["password", "DB_PASSWORD", "apiKey", "client_secret", "access_token"])
def test_a_name_gives_its_value_away(name):
    cleaner = Cleaner()
    clean = cleaner.value({"a": [{name: SECRET}], name: [SECRET]})
    assert SECRET not in json.dumps(clean)
    assert cleaner.found == 2


@pytest.mark.parametrize(
    "harmless",
    [
        {"key": "ArrowUp", "token_count": "12", "keyword": "memory files", "max_tokens": 4096},
        {"uuid": "0a5e1c10-1111-4111-8111-111111111111", "timestamp": "2026-04-25T00:00:10.311Z"},
        {"tool_use_id": "toolu_01A09q90qw90lq917835lq9", "author": "Dana Smith", "passed": "true"},
    ],
)
def test_what_is_no_secret_stays(harmless):
    cleaner = Cleaner()
    assert cleaner.value(harmless) == harmless
    assert cleaner.found == 0


def test_a_secret_told_twice_is_counted_twice_and_looked_for_once():
    cleaner = Cleaner()
    assert cleaner.text(f"use {TOKEN}") == cleaner.text(f"use {TOKEN}") == "use [redacted:token]"
    assert (cleaner.found, cleaner.kinds) == (2, {"token"})


def test_what_is_told_once_is_known_wherever_it_stands_later():
    cleaner = Cleaner()
    assert cleaner.text(f"with {SECRET}") == f"with {SECRET}"
    cleaner.learn(f"The password is {SECRET}")
    assert cleaner.text(f"with {SECRET}") == "with [redacted:known]"
    assert (cleaner.found, cleaner.kinds) == (1, {"known"})


def test_what_is_private_may_go_on_in_the_next_block():
    def blocks(*texts):
        return [{"type": "text", "text": text} for text in texts]

    shown = Cleaner().value([*blocks("a <private>b", "c", "d</private> e", "f"), {"type": "image"}])
    assert shown == [*blocks("a ", "", " e", "f"), {"type": "image"}]
    assert Cleaner().value(blocks("a <private>b</private> c", "d")) == blocks("a  c", "d")


def test_names_that_are_secrets_keep_their_values():
    other = TOKEN[:-1] + "9"
    clean = Cleaner().value({TOKEN: 1, other: 2})
    assert sorted(clean.values()) == [1, 2]
    assert TOKEN not in clean and other not in clean


def test_what_is_deeper_than_any_reader_goes_comes_as_its_text():
    value: object = TOKEN
    for _ in range(5_000):
        value = [value]
    clean = Cleaner().value(value)
    for _ in range(DEEPEST):
        (clean,) = clean
    assert clean == "[" * (5_000 - DEEPEST) + '"[redacted:token]"' + "]" * (5_000 - DEEPEST)


def test_numbers_beyond_what_writers_take_come_as_text():
    assert Cleaner().value([2**64, -(2**63) - 1, float("inf"), float("nan"), 2**64 - 1, True]) == [
        str(2**64),
        str(-(2**63) - 1),
        "inf",
        "nan",
        2**64 - 1,
        True,
    ]


@given(JSON)
def test_values_without_secrets_come_back_and_their_text_is_json(value):
    assert Cleaner().value(value) == value
    assert json.loads(json_text(value)) == value

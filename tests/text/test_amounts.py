"""Amounts: what is measured in one unit compares, what only names is a label."""

import pytest

from pipeline.text.amounts import amounts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("waits 8 s", [("time", 8000, 8000)]),
        ("between 38 and 55 min", [("time", 2_280_000, 3_300_000)]),
        ("62–68 °C", [("of °c", 62, 68)]),
        ("46 speakers", [("of speaker", 46, 46)]),
        ("1,5 kg or so", [("weight", 1500, 1500)]),
        ("about 9,000 words", [("of word", 9000, 9000)]),
        ("3450 mV", [("voltage", 3.45, 3.45)]),
        ("$40 a month", [("usd", 40, 40)]),
        ("listens on port 5432.", [("port", 5432, 5432)]),
        ("at 14:00.", [("clock", 840, 840)]),
        ("in `sleep(5 s)` of src/a5.py since 2026-03-04", []),
    ],
)
def test_an_amount_has_a_dimension_and_two_ends(text, found):
    assert [(one.dimension, one.low, one.high) for one in amounts(text)[0]] == found


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("Chapter 3: long", {"chapter 3"}),
        ("chapter 3 holds it", {"chapter 3"}),
        ("board v3 sleeps", {"v3"}),
        ("in room B today", {"B".lower()}),
        ("ticket #142", {"#142"}),
        ("Godot 4.3", {"godot 4.3"}),
        ("46 speakers", set()),
    ],
)
def test_a_number_that_names_is_a_label(text, labels):
    assert amounts(text)[1] == labels


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("142 ms", "0.142 s", True),
        ("1.5 kg", "1500 g", True),
        ("60–75 min", "70 min", True),
        ("8 s", "30 s", False),
        ("14.99 USD", "14.99 PLN", False),
    ],
)
def test_two_amounts_meet_if_both_can_hold(one, other, meet):
    (left,), (right,) = amounts(one)[0], amounts(other)[0]
    assert left.meets(right) is right.meets(left) is meet

"""What a person typed bears out what a model says they said, or it does not: a floor."""

import pytest

from pipeline.text.bearing import asks_removal, missing

SAID = [
    ("Commits are never squashed here.", "never squash commits here", "Please never squash commits here."),
    (
        "The retry limit is 1000 ms.",
        "retry limit is 1,000 ms",
        "never squash, and the retry limit is 1,000 ms",
    ),
    (
        "Deploys happen on Fridays only.",
        "Deploys happen on Fridays only",
        "Deploys happen on Fridays only, turn 2",
    ),
    ("Der Hafen wird nie am Montag beliefert.", "nie am Montag", "Wir beliefern den Hafen nie am Montag"),
    ("リリースは火曜日です。", "リリースは火曜日", "リリースは火曜日にします"),
]
NOT_SAID = [
    ("Commits are always squashed here.", "squash commits here", "Please never squash commits here.", "no"),
    ("Deploys go straight to production.", "straight to production", "never straight to production", "no"),
    ("The cache uses Postgres.", "use Postgres", "Should we use Postgres for the cache?", "asked"),
    (
        "We always rebase.",
        "we must always rebase",
        "Carol wrote that we must always rebase, I do not agree",
        "object",
    ),
    (
        "Everything moves over to Kubernetes.",
        "we will move everything over to Kubernetes",
        'My colleague wrote: "we will move everything over to Kubernetes by May"',
        "somebody else",
    ),
    (
        "Tests are skipped before each release.",
        "Good morning, how are you",
        "Good morning, how are you today",
        "other words",
    ),
]


@pytest.mark.parametrize(("told", "quote", "typed"), SAID)
def test_what_they_typed_is_borne_out(told, quote, typed):
    assert missing(told, quote, typed) == ""


@pytest.mark.parametrize(("told", "quote", "typed", "word"), NOT_SAID)
def test_what_they_did_not_say_is_not(told, quote, typed, word):
    assert word in missing(told, quote, typed)


def test_a_wish_to_forget_names_what_goes():
    about = "dentist\nMy dentist is Dr. Weber in Harbour Street."
    assert asks_removal("forget my dentist", "please forget my dentist", about)
    assert asks_removal("Vergiss den dentist", "Vergiss den dentist bitte", about)
    for typed in (
        "Good morning, how are you",
        "don't forget my dentist",
        "should I forget my dentist?",
        "delete the payroll memory",
        "forget it",
    ):
        assert not asks_removal(typed, typed, about)

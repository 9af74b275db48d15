"""Dates that an extraction made absolute already, when a dream looks at the text again."""

from datetime import UTC, datetime

import pytest

from pipeline.text.dates import absolute, relative_days

SAID, LATER = (datetime(2026, 3, day, tzinfo=UTC) for day in (2, 9))


@pytest.mark.parametrize("text", ["ship by Friday", "next Monday we ship", "tomorrow", "done last week"])
def test_doing_it_twice_changes_nothing(text):
    once = absolute(text, SAID)
    assert once != text
    assert absolute(once, LATER) == once
    assert relative_days(once) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ship tomorrow or by Friday", ("tomorrow", "by Friday")),
        ('the label "due tomorrow" and the Today screen', ()),
    ],
)
def test_relative_days_leave_names_out(text, found):
    assert relative_days(text) == found

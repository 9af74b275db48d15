"""Relative dates made absolute."""

from datetime import UTC, datetime

import pytest

from pipeline.text.dates import absolute, relative_days

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Freeze starts tomorrow.", "Freeze starts 2026-03-03."),
        ("the todayview widget", "the todayview widget"),
        ("明天发布", "2026-03-03发布"),
        ("明るい", "明るい"),
        ("next week", "the week of 2026-03-09"),
        ("the next weeks", "the next weeks"),
        ("by Friday", "by Friday 2026-03-06"),
        ("never deploy on Fridays", "never deploy on Fridays"),
        ("by Friday 2026-03-06", "by Friday 2026-03-06"),
        ("the Today screen", "the Today screen"),
        ("Tomorrow we ship.", "2026-03-03 we ship."),
        ("It broke yesterday", "It broke 2026-03-01"),
        ("the day after tomorrow we ship", "2026-03-04 we ship"),
        ("decided the day before yesterday", "decided 2026-02-28"),
        ("Today screen loads slowly", "Today screen loads slowly"),
        ('the label says "due tomorrow"', 'the label says "due tomorrow"'),
        ("set `today` to false by Friday", "set `today` to false by Friday 2026-03-06"),
        ("done tonight or this morning", "done 2026-03-02 or 2026-03-02"),
        ("last week", "the week of 2026-02-23"),
        ("this week", "the week of 2026-03-02"),
        ("until Monday", "until Monday 2026-03-02"),
        ("next Monday", "on Monday 2026-03-09"),
        ("this Friday", "on Friday 2026-03-06"),
        ("last Friday", "on Friday 2026-02-27"),
        ("before Sunday", "before Sunday 2026-03-08"),
        ("明日リリース、明後日休み", "2026-03-03リリース、2026-03-04休み"),
        ("on 2026-05-01", "on 2026-05-01"),
    ],
)
def test_a_day_is_counted_from_the_moment_it_was_said(text: str, expected: str) -> None:
    assert absolute(text, MONDAY) == expected
    assert relative_days("Freeze starts 2026-03-03.") == ()


def test_without_a_moment_the_text_stays() -> None:
    assert absolute("tomorrow", None) == "tomorrow"
    assert relative_days("tomorrow") == ("tomorrow",)


def test_a_month_and_a_year_are_crossed() -> None:
    assert absolute("tomorrow", datetime(2026, 12, 31, tzinfo=UTC)) == "2027-01-01"

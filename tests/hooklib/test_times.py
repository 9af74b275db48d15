"""Moments without datetime: the same as datetime's, or none."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.clock import parse_time
from pipeline.hooklib import times

MOMENTS = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001
    timezones=st.sampled_from(
        [None, UTC, timezone(timedelta(hours=5, minutes=45)), timezone(-timedelta(hours=3))]
    ),
)


@given(MOMENTS, st.sampled_from(["auto", "seconds", "minutes", "hours", "milliseconds"]))
def test_what_datetime_writes_is_read(moment, precision):
    text = moment.isoformat(timespec=precision)
    expected = parse_time(text)
    assert expected is not None
    assert times.parse(text) == pytest.approx(expected.timestamp(), abs=1e-3)


@given(st.text(alphabet="0123456789-:TZ+. ", max_size=30))
def test_what_it_reads_datetime_reads_the_same(text):
    found, expected = times.parse(text), parse_time(text)
    if found is not None:
        assert expected is not None
        assert found == pytest.approx(expected.timestamp(), abs=1e-3)


NO_MOMENTS = ["", "x", None, 5, "2026-02-29", "2026-13-01", "2026-1-1", "1969-12-31", "2026-01-01T25:00",
              "2026-01-01 10:00:61", "2026-01-01T10:00+99x"]  # fmt: skip


@pytest.mark.parametrize("text", NO_MOMENTS)
def test_what_is_no_moment_is_none(text):
    assert times.parse(text) is None


def test_the_clock_can_be_stopped(monkeypatch):
    monkeypatch.setenv("REVERIE_NOW", "2026-11-27T10:00:00Z")
    assert times.now() == times.parse("2026-11-27T10:00:00Z")
    monkeypatch.setenv("REVERIE_NOW", "nonsense")
    assert times.now() > (times.parse("2026-01-01") or float("inf"))

"""Days and times as people read them: in the machine's zone or in one that is named, whatever the season."""

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core import zone
from pipeline.hooklib import zone as hook_zone

EVENING = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)


@pytest.fixture
def machine(monkeypatch):
    """Set the zone of the machine as ``TZ`` does."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system's zone can't be set for a process")

    def put(name):
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield put
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("name", "day", "minute"),
    [
        ("UTC", "2026-03-02", "2026-03-02 23:30"),
        ("America/Los_Angeles", "2026-03-02", "2026-03-02 15:30"),
        ("Europe/Berlin", "2026-03-03", "2026-03-03 00:30"),
        ("Asia/Kolkata", "2026-03-03", "2026-03-03 05:00"),
        ("Asia/Kathmandu", "2026-03-03", "2026-03-03 05:15"),
        ("Pacific/Kiritimati", "2026-03-03", "2026-03-03 13:30"),
    ],
)
def test_a_moment_is_told_in_the_zone_named_or_in_the_machines(machine, name, day, minute):
    zone.use(name)
    assert (zone.day(EVENING), zone.minute(EVENING)) == (day, minute)
    zone.use("")
    machine(name)
    assert (zone.day(EVENING), zone.minute(EVENING)) == (day, minute)


@pytest.mark.parametrize(
    ("moment", "minute"),
    [
        ("2026-03-29T00:59:00Z", "2026-03-29 01:59"),
        ("2026-03-29T01:00:00Z", "2026-03-29 03:00"),
        ("2026-10-25T00:30:00Z", "2026-10-25 02:30"),
        ("2026-10-25T01:30:00Z", "2026-10-25 02:30"),
        ("2026-07-01T22:30:00Z", "2026-07-02 00:30"),
        ("2026-12-01T22:30:00Z", "2026-12-01 23:30"),
    ],
)
def test_where_clocks_change_each_moment_has_the_offset_of_its_own_season(machine, moment, minute):
    zone.use("Europe/Berlin")
    assert zone.minute(moment) == minute
    zone.use("")
    machine("Europe/Berlin")
    assert zone.minute(moment) == minute
    assert zone.day(moment) == minute[:10]


@pytest.mark.parametrize("name", ["America/Los_Angeles", "Asia/Tokyo"])
def test_a_day_written_without_a_time_is_that_day_everywhere(name):
    zone.use(name)
    assert zone.day("2026-03-02") == zone.day("2026-03-02T00:00:00+00:00") == "2026-03-02"


def test_what_is_no_time_is_told_as_the_caller_says():
    assert zone.day(None, "day unknown") == zone.day("soon", "day unknown") == "day unknown"
    assert zone.minute("", "never") == "never"
    assert zone.day(None) == ""


@pytest.mark.parametrize("moment", [1e20, float("inf"), float("nan")])
def test_a_moment_no_calendar_has_is_no_day(moment):
    assert hook_zone.day(moment) == ""
    hook_zone.use("Asia/Tokyo")
    assert hook_zone.day(moment) == ""


@given(
    st.datetimes(datetime(1971, 1, 1), datetime(9990, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001
    st.sampled_from(["", "UTC", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe"]),
)
def test_hooks_and_commands_tell_the_same_day(moment, name):
    moment = moment.replace(microsecond=0) + timedelta(seconds=moment.second == 0)
    with zone.using(name):
        assert zone.day(moment) == hook_zone.day(moment.timestamp()) == zone.minute(moment)[:10]


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Kolkata", "Asia/Kolkata"),
        ("/usr/share/zoneinfo/America/New_York", "America/New_York"),
        ("posix/Asia/Tokyo", "Asia/Tokyo"),
        ("Etc/UTC", "UTC"),
        ("<+0545>-5:45", "UTC+05:45"),
        ("XYZ+3:30", "UTC-03:30"),
        ("", "UTC+00:00"),
    ],
)
def test_the_zone_is_called_as_the_system_calls_it_or_by_its_offset(machine, variable, name):
    machine(variable)
    assert zone.zone_name(EVENING) == name


def test_a_zone_that_is_named_goes_before_the_machines(machine):
    machine("Asia/Tokyo")
    with zone.using("Europe/Lisbon"):
        assert zone.zone_name(EVENING) == "Europe/Lisbon"
    assert zone.zone_name(EVENING) == "Asia/Tokyo"


@pytest.fixture
def etc(machine, monkeypatch, tmp_path):
    """A system without ``TZ`` whose files lie in the folder returned; its zone is that of Kolkata."""
    machine("Asia/Kolkata")
    # What the C library goes by stays; the files alone tell the name.
    monkeypatch.delenv("TZ")
    monkeypatch.setattr(zone, "_LOCALTIME", tmp_path / "localtime")
    monkeypatch.setattr(zone, "_TIMEZONE", tmp_path / "timezone")
    return tmp_path


def test_the_name_is_read_from_the_files_of_the_system(etc):
    (etc / "localtime").symlink_to("../usr/share/zoneinfo/Asia/Kolkata")
    assert zone.zone_name(EVENING) == "Asia/Kolkata"


def test_a_link_to_a_link_is_followed(etc):
    (etc / "zoneinfo" / "Asia").mkdir(parents=True)
    (etc / "zoneinfo" / "Asia" / "Kolkata").touch()
    (etc / "current").symlink_to(etc / "zoneinfo" / "Asia" / "Kolkata")
    (etc / "localtime").symlink_to(etc / "current")
    assert zone.zone_name(EVENING) == "Asia/Kolkata"


def test_a_copy_has_its_name_beside_it_unless_that_is_another_zones(etc):
    (etc / "localtime").write_bytes(b"TZif")
    (etc / "timezone").write_text("Asia/Kolkata\n", "utf-8")
    assert zone.zone_name(EVENING) == "Asia/Kolkata"
    (etc / "timezone").write_text("Europe/Paris\n", "utf-8")
    assert zone.zone_name(EVENING) == "UTC+05:30"
    (etc / "timezone").write_bytes(b"\xff")
    assert zone.zone_name(EVENING) == "UTC+05:30"


@pytest.mark.parametrize("name", ["Mars/Olympus", "Europe", "../etc/passwd", "/etc/localtime", "a\0b", " "])
def test_a_name_nobody_knows_leaves_the_machines_zone(name):
    assert not zone.exists(name)
    assert not hook_zone.use(name)
    assert zone.zone_name(EVENING) == "UTC"

"""Numbers that no database and no calendar holds: refused by name, whatever command they are given to."""

import pytest

from tests.cli.conftest import make_desk

HUGE = "9" * 23


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    return make_desk(tmp_path_factory.mktemp("large"))


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (f"transition ready {HUGE}", "conversation"),
        (f"dialogue search x --limit {HUGE}", "--limit"),
        (f"dialogue delete --older-than {HUGE} --dry-run", "--older-than"),
        (f"search x --limit {HUGE}", "--limit"),
        (f"traces list --limit {HUGE}", "--limit"),
        (f"task add x --seconds {HUGE}", "--seconds"),
        ("watch --every inf", "--every"),
        ("watch --every nan", "--every"),
    ],
)
def test_a_number_beyond_all_bounds_is_refused_by_its_name(desk, command, name):
    refused = desk.here(*command.split(), code=2).err
    assert name in refused.lower() and "too large a number" in refused and "fault" not in refused


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("transition ready 9007199254740991", 1),
        ("dialogue delete --older-than 9007199254740991 --dry-run", 0),
        ("dialogue search x --limit 9007199254740991", 0),
    ],
)
def test_the_largest_number_is_like_others(desk, command, code):
    assert "fault in Reverie" not in desk.here(*command.split(), code=code).err

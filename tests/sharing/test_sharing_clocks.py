"""A record whose clock nobody would believe: it is passed over, and sets no other clock."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import orjson
import pytest

from pipeline.app import machines
from pipeline.core.errors import InputError
from pipeline.sharing.revisions import Revision, after, is_believed, memory_id, read_record
from pipeline.sharing.state import Share
from tests.support.machines import exchange, git

NOW = datetime(2026, 11, 30, tzinfo=UTC)
FAR = [2**53 - 1, 2**53 - 1]


def record(ms, count=0):
    return Revision(
        memory=memory_id("", "odd.md"),
        parents=(),
        machine="e0e0e0",
        clock=(ms, count),
        at="2026-11-20T09:00:00+00:00",
        path="odd.md",
        file="---\nname: odd\ndescription: Odd.\n---\n\nOdd words.\n",
    )


@pytest.mark.parametrize(
    "ahead", [timedelta(), timedelta(days=1), timedelta(days=200), timedelta(days=3_000)]
)
def test_clocks_that_are_months_or_years_ahead_are_taken(ahead):
    made = record(int((NOW + ahead).timestamp() * 1000), 2**32 - 1)
    assert read_record(made.file_name, made.data) == made
    later = after(made.clock, int(NOW.timestamp() * 1000))
    assert later > made.clock
    assert is_believed(later, NOW)


@pytest.mark.parametrize(
    ("ms", "count"), [FAR, (2**53 - 1, 0), (2_500_000_000_000, 0), (1_793_000_000_000, 2**32), (-1, 0)]
)
def test_a_clock_that_no_machine_has_is_refused(ms, count):
    made = record(ms, count)
    with pytest.raises(InputError, match="ten years ahead"):
        read_record(made.file_name, made.data)


def test_a_machine_whose_own_time_is_lost_takes_what_others_tell():
    assert is_believed((int(NOW.timestamp() * 1000), 0), datetime(1970, 1, 2, tzinfo=UTC))


def test_one_record_of_the_end_of_time_ends_nothing(pair, tmp_path):
    desk, laptop = pair
    name = desk.add("The build box has twelve cores.", name="build-box")
    for machine in pair:
        assert machine.sync().error == ""
    git(tmp_path, "clone", "--quiet", str(tmp_path / "remote.git"), "work")
    work, made = tmp_path / "work", record(*FAR)
    (work / made.file_name).parent.mkdir(parents=True)
    (work / made.file_name).write_bytes(made.data)
    git(work, "add", ".")
    git(work, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Odd")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    for machine in (*pair, *pair):
        machine.clock.at += timedelta(hours=1)
        assert machine.sync().error == ""
        assert machine.names() == [name]
    assert "ten years ahead" in machines.status(laptop.app)["odd"][0]
    for machine, cores in ((laptop, "sixteen"), (desk, "twenty")):
        machine.clock.at += timedelta(hours=1)
        machine.update(name, f"The build box has {cores} cores.")
        for one in (machine, *pair):
            assert one.sync().error == ""
    assert desk.body(name) == laptop.body(name) == "The build box has twenty cores.\n"
    # Who may write there takes it away: then it stays away, and nothing is told of it any more.
    git(work, "pull", "--quiet", "--rebase", "origin", "main")
    git(work, "rm", "--quiet", made.file_name)
    git(work, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Mend")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    for machine in (*pair, *pair):
        assert machine.sync().error == ""
        assert machines.status(machine.app)["odd"] == []


def test_a_machine_that_has_such_a_clock_goes_on(pair):
    desk, laptop = pair
    share = Share.of(desk.app.home, desk.app.open_store().root)
    held = orjson.loads(share.file.read_bytes())
    share.file.write_bytes(orjson.dumps({**held, "clock": FAR, "odd": ["as it was kept before"]}))
    name = desk.add("The build box has twelve cores.", name="build-box")
    exchange(desk, laptop)
    assert laptop.names() == [name]
    found = share.read()
    assert found is not None
    assert is_believed(found.moment, NOW)

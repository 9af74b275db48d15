"""A person's no to what a sync asks: it travels, it changes nothing, and it can be taken back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.app import inbox, machines, memories, undoing
from pipeline.cli.machines import summary
from pipeline.sharing.git import make_remote
from pipeline.sharing.repository import BRANCH
from tests.support.machines import exchange

BOTH = "The port is ninety. The port is seventy. It is open.\n"


@pytest.fixture
def parted(pair):
    """Two machines that wrote one sentence otherwise, and what the memory is called."""
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.update(name, "The port is seventy. It is open.\n")
    laptop.sync()
    desk.clock.at += timedelta(minutes=1)
    desk.update(name, "The port is ninety. It is open.\n")
    exchange(desk, laptop)
    return desk, laptop, name


def number(machine) -> int:
    (row,) = inbox.waiting(machine.app)
    return row["id"]


def test_a_no_closes_the_question_on_the_other_machine_and_changes_nothing(parted):
    desk, laptop, name = parted
    before = desk.files(), laptop.files()
    inbox.reject(laptop.app, number(laptop))
    assert machines.status(laptop.app)["waiting"] == 1
    assert laptop.sync().told == 1
    assert machines.status(laptop.app)["waiting"] == 0
    came = desk.sync()
    assert summary(came, unit="record") == "1 record came, by which no memory changed"
    assert (came.asked, laptop.sync().asked) == (0, 0)
    assert inbox.waiting(desk.app) == []
    assert (desk.files(), laptop.files()) == before
    assert laptop.sync().told == 0
    # What is written afterwards is made from both, and nobody is asked again.
    desk.update(name, "The port is ninety. It is open.\n")
    exchange(desk, laptop)
    assert laptop.body(name) == "The port is ninety. It is open.\n"
    assert inbox.waiting(laptop.app) == []


def test_two_noes_at_once_are_one(parted):
    desk, laptop, name = parted
    for machine in (desk, laptop):
        inbox.reject(machine.app, number(machine))
    exchange(desk, laptop)
    assert desk.body(name) == laptop.body(name) == BOTH
    assert inbox.waiting(desk.app) == inbox.waiting(laptop.app) == []


@pytest.mark.parametrize("first", [0, 1])
def test_a_yes_that_was_said_at_the_same_time_holds(parted, first):
    desk, laptop, name = parted
    inbox.reject(laptop.app, number(laptop))
    inbox.accept(desk.app, number(desk))
    exchange(*((desk, laptop), (laptop, desk))[first])
    assert desk.body(name) == laptop.body(name) == "The port is ninety. It is open.\n"
    assert inbox.waiting(desk.app) == inbox.waiting(laptop.app) == []


def test_a_no_that_was_taken_back_lets_a_yes_through(parted):
    desk, laptop, name = parted
    asked = number(laptop)
    inbox.reject(laptop.app, asked)
    exchange(laptop, desk)
    inbox.take_back_rejections(laptop.app, [asked])
    assert laptop.sync().asked == 1
    inbox.accept(laptop.app, number(laptop))
    exchange(laptop, desk)
    assert desk.body(name) == "The port is ninety. It is open.\n"
    # The yes is undone: it waits where it was said.
    undoing.take_back(laptop.app, "", for_all=True)
    exchange(laptop, desk)
    assert desk.body(name) == BOTH
    assert (number(laptop), inbox.waiting(desk.app)) == (asked, [])
    # Its words go on another machine, and nothing is left to ask.
    desk.update(name, "The port is seventy. It is open.\n")
    exchange(desk, laptop)
    assert inbox.waiting(laptop.app) == []


def test_a_no_travels_when_all_that_is_asked_of_the_memory_has_one(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open. The host is old.", name="port")
    exchange(desk, laptop)
    laptop.update(name, "The port is seventy. It is open. The host is grey.\n")
    laptop.sync()
    desk.clock.at += timedelta(minutes=1)
    desk.update(name, "The port is ninety. It is open. The host is blue.\n")
    exchange(desk, laptop)
    first, second = (row["id"] for row in inbox.waiting(laptop.app))
    inbox.reject(laptop.app, first)
    exchange(laptop, desk)
    assert len(inbox.waiting(desk.app)) == 2
    inbox.reject(laptop.app, second)
    exchange(laptop, desk)
    assert inbox.waiting(desk.app) == []


def test_a_question_about_a_file_that_is_away_is_no_ones_no(parted):
    desk, laptop, _ = parted
    asked = number(laptop)
    file = laptop.store / "port.md"
    text = file.read_bytes()
    file.write_bytes(b"\xff\xfe")
    laptop.sync()
    assert number(laptop) == asked
    file.write_bytes(text)
    exchange(laptop, desk)
    assert number(laptop) == asked
    assert len(inbox.waiting(desk.app)) == 1


def test_a_question_that_closed_without_a_person_is_no_ones_no(parted, tmp_path):
    desk, laptop, _ = parted
    asked = number(laptop)
    machines.leave(laptop.app)
    other = tmp_path / "other.git"
    make_remote(other, BRANCH)
    machines.init(laptop.app, str(other))
    laptop.sync()
    assert inbox.waiting(laptop.app) == []
    assert inbox.decided(laptop.app, 9) == [], "nobody decided"
    machines.leave(laptop.app)
    machines.init(laptop.app, laptop.remote)
    exchange(laptop, desk)
    assert number(laptop) >= asked
    assert len(inbox.waiting(desk.app)) == 1


@pytest.mark.parametrize("how", ["unreadable", "away", "renamed"])
def test_a_no_that_was_taken_back_waits_for_its_file(parted, how):
    desk, laptop, _ = parted
    asked = number(laptop)
    inbox.reject(laptop.app, asked)
    exchange(laptop, desk)
    inbox.take_back_rejections(laptop.app, [asked])
    file = laptop.store / "port.md"
    text = file.read_bytes()
    match how:
        case "unreadable":
            file.write_bytes(b"\xff\xfe")
        case "away":
            laptop.add("The lake is deep.", name="lake")
            file.unlink()
        case _:
            file.unlink()
            (laptop.store / "harbour.md").write_bytes(text.replace(b"name: port", b"name: harbour"))
    laptop.sync()
    assert number(laptop) == asked
    if how != "renamed":
        file.write_bytes(text)
    laptop.sync()
    assert number(laptop) == asked


def test_a_no_keeps_what_was_changed_where_another_machine_forgot_it(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    desk.update(name, "The port is ninety. It is open.\n")
    memories.forget(laptop.app, name)
    exchange(desk, laptop)
    inbox.reject(desk.app, number(desk))
    exchange(desk, laptop)
    assert inbox.waiting(laptop.app) == []
    assert laptop.body(name) == desk.body(name) == "The port is ninety.\n"

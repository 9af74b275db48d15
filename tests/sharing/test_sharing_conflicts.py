"""Where two machines did otherwise: `sync status` names the memory, both sides, when, and what settles it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.app import inbox, machines, memories
from pipeline.app.in_step import heading_of, sides_of
from tests.support.machines import Machine, exchange
from tests.support.workshop import Workshop


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Machine, Machine]:
    """A desk, and a laptop whose clock is an hour behind."""
    desk = Machine(tmp_path / "desk", timedelta(), monkeypatch)
    laptop = Machine(tmp_path / "laptop", timedelta(hours=-1), monkeypatch)
    for machine in (desk, laptop):
        machine.join(tmp_path / "remote.git")
    return desk, laptop


def told(machine: Machine) -> list[str]:
    """What `sync status` knows of the one conflict there, without its times."""
    (found,) = machines.status(machine.app)["conflicts"]
    return [item.split(", 20")[0] + item[item.find(": “") :] * ("“" in item) for item in sides_of(found)]


def test_two_wordings_are_told_with_their_machines_until_they_are_settled(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.update(name, "The port is seventy. It is open.\n")
    laptop.sync()
    desk.clock.at += timedelta(minutes=1)
    desk.update(name, "The port is ninety. It is open.\n")
    exchange(desk, laptop)
    other = machines.status(laptop.app)["machine"]
    assert told(desk) == [
        "this machine wrote: “The port is ninety.”",
        f"machine {other} wrote: “The port is seventy.”",
    ]
    (found,) = machines.status(desk.app)["conflicts"]
    assert heading_of(found).startswith("port, since ")
    assert found.since == max(item.at for item in found.sides)
    (row,) = inbox.waiting(desk.app)
    assert found.number == row["id"]
    assert row["reason"].startswith(f"this machine and machine {other} wrote one sentence otherwise")
    inbox.accept(desk.app, found.number)
    exchange(desk, laptop)
    for machine in pair:
        assert (machines.status(machine.app)["asked"], machines.status(machine.app)["conflicts"]) == (0, ())


def test_a_sentence_that_one_left_out_and_another_changed(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    laptop.update(name, "It is open.\n")
    laptop.sync()
    desk.clock.at += timedelta(minutes=1)
    desk.update(name, "The port is ninety. It is open.\n")
    exchange(desk, laptop)
    other = machines.status(laptop.app)["machine"]
    assert told(desk) == [
        f"machine {other} left it out: “The port is eighty.”",
        "this machine changed it: “The port is ninety.”",
    ]


def test_a_memory_that_one_forgot_and_another_changed(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    desk.update(name, "The port is ninety. It is open.\n")
    memories.forget(laptop.app, name)
    exchange(desk, laptop)
    other = machines.status(laptop.app)["machine"]
    assert told(desk) == [f"machine {other} forgot it", "this machine changed it"]


def test_a_person_reads_them_in_sync_status(tmp_path):
    remote = tmp_path / "remote.git"
    desk, laptop = (Workshop(tmp_path / place, {}) for place in ("desk", "laptop"))
    assert desk.reverie("add", "The port is eighty. It is open.", "--name", "port").returncode == 0
    for shop in (desk, laptop):
        assert shop.reverie("sync", "init", str(remote)).returncode == 0
    for shop, word in ((desk, "ninety"), (laptop, "seventy")):
        done = shop.reverie("update", "port", "--text", f"The port is {word}. It is open.")
        assert done.returncode == 0, done.stderr
    for shop in (desk, laptop, desk):
        assert shop.reverie("sync").returncode == 0
    said = desk.reverie("sync", "status").stdout
    (found,) = json.loads(desk.reverie("sync", "status", "--json").stdout)["conflicts"]
    assert f"- port, since {found['since'][:10]}" in said
    assert {item["words"] for item in found["sides"]} == {"The port is ninety.", "The port is seventy."}
    assert f"`reverie inbox accept {found['number']}` leaves out the second" in said

"""Where two machines did otherwise: `sync status` names the memory, both sides, when, and what settles it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.app import inbox, machines, memories, undoing
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


@pytest.mark.parametrize(
    "takes_away", [memories.forget, lambda app, name: (app.store_path / "port.md").unlink()]
)
def test_one_brings_back_what_both_had_let_go(pair, takes_away):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    desk.update(name, "The port is eighty. It is open. It is fast.\n")
    text = (laptop.store / "port.md").read_bytes()
    takes_away(laptop.app, name)
    exchange(laptop, desk)
    inbox.accept(desk.app, inbox.waiting(desk.app)[0]["id"])
    exchange(desk, laptop)
    assert desk.names() == laptop.names() == []
    laptop.clock.at += timedelta(hours=2)
    (laptop.store / "port.md").write_bytes(text)
    exchange(laptop, desk)
    assert desk.body(name) == "The port is eighty. It is open.\n"
    other = machines.status(laptop.app)["machine"]
    assert told(desk) == ["this machine agreed that it goes", f"machine {other} brought it back"]
    (row,) = inbox.waiting(desk.app)
    assert row["reason"] == (
        f"this machine agreed that it goes, and machine {other} brought it back;"
        " a yes takes it away everywhere"
    )
    inbox.reject(desk.app, row["id"])
    exchange(desk, laptop)
    assert inbox.waiting(laptop.app) == []
    assert desk.body(name) == laptop.body(name) == "The port is eighty. It is open.\n"


def test_who_takes_a_yes_back_is_asked_what_was_asked(pair):
    desk, laptop = pair
    name = desk.add("The port is eighty. It is open.", name="port")
    exchange(desk, laptop)
    desk.update(name, "The port is eighty. It is open. It is fast.\n")
    memories.forget(laptop.app, name)
    exchange(laptop, desk)
    inbox.accept(desk.app, inbox.waiting(desk.app)[0]["id"])
    exchange(desk, laptop)
    undoing.take_back(desk.app, "", for_all=True)
    exchange(desk, laptop)
    assert desk.body(name) == "It is fast.\n"
    assert "forgot it, and this machine had added to it" in inbox.waiting(desk.app)[0]["reason"]


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

"""Old copies put back, our own repository lost, files that are odd or too large, and another's repository."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from pipeline.app import history, inbox, machines, memories, pins, undoing
from pipeline.core.errors import InputError
from pipeline.core.ids import derived_id
from pipeline.sharing import incoming
from pipeline.sharing.revisions import Revision, memory_id, read_record
from pipeline.sharing.state import Share
from pipeline.sharing.wording import row_of, woven
from pipeline.store.files.layout import MAX_FILE
from tests.support.machines import Machine, exchange, git
from tests.support.workshop import Workshop


def put_back(machine: Machine, copy: Path) -> None:
    shutil.rmtree(machine.store)
    shutil.copytree(copy, machine.store)


# -- old copies -----------------------------------------------------------------------------------------


def test_an_old_copy_of_the_folder_is_brought_up_to_date(pair, tmp_path):
    desk, laptop = pair
    desk.add("The port is eighty.", name="one")
    desk.add("Deploys run on Mondays.", name="gone")
    exchange(desk, laptop)
    shutil.copytree(desk.store, tmp_path / "copy")
    laptop.update("one", "The port is ninety.\n")
    laptop.add("The build box has twelve cores.", name="four")
    memories.forget(laptop.app, "gone")
    exchange(laptop, desk)
    put_back(desk, tmp_path / "copy")
    assert desk.sync().told == 0
    exchange(laptop, desk)
    assert desk.names() == laptop.names() == ["four", "one"]
    assert desk.body("one") == laptop.body("one") == "The port is ninety.\n"
    assert inbox.waiting(desk.app) == []


def test_an_old_copy_that_only_lacks_what_came_later_gets_it(pair, tmp_path):
    desk, laptop = pair
    desk.add("The port is eighty.", name="one")
    exchange(desk, laptop)
    shutil.copytree(desk.store, tmp_path / "copy")
    desk.add("The build box has twelve cores.", name="four")
    exchange(desk, laptop)
    put_back(desk, tmp_path / "copy")
    exchange(desk, laptop)
    assert desk.names() == laptop.names() == ["four", "one"]


def test_files_alone_of_an_old_copy_are_brought_up_to_date(pair):
    desk, laptop = pair
    for number in (1, 2):
        desk.add(f"Port {number} is eighty.", name=f"port-{number}")
    exchange(desk, laptop)
    old = desk.files()
    for number in (1, 2):
        desk.update(f"port-{number}", f"Port {number} is ninety.\n")
    exchange(desk, laptop)
    for path, raw in old.items():
        (desk.store / path).write_bytes(raw)
    exchange(desk, laptop)
    assert desk.body("port-1") == laptop.body("port-1") == "Port 1 is ninety.\n"
    assert desk.files() == laptop.files()


def test_what_a_person_takes_back_goes_out_though_it_was_said_before(pair):
    desk, laptop = pair
    for name in ("one", "two"):
        desk.add(f"The port of {name} is eighty.", name=name)
    exchange(desk, laptop)
    for name in ("one", "two"):
        desk.update(name, f"The port of {name} is ninety.\n")
    exchange(desk, laptop)
    for _ in range(2):
        undoing.take_back(desk.app)
    exchange(desk, laptop)
    for name in ("one", "two"):
        assert desk.body(name) == laptop.body(name) == f"The port of {name} is eighty.\n"
    memories.forget(desk.app, "two")
    pins.pin(desk.app, "one", pinned=True)
    exchange(desk, laptop)
    pins.pin(desk.app, "one", pinned=False)
    exchange(desk, laptop)
    assert [*desk.files()] == [*laptop.files()] == ["one.md"]
    memories.forget(desk.app, "one")
    exchange(desk, laptop)
    history.restore(
        desk.app, next(item.target for item in desk.app.open_store().retired() if item.path == "one.md")
    )
    exchange(desk, laptop)
    assert desk.names() == laptop.names() == ["one"]


def test_one_text_typed_again_by_hand_goes_out(pair):
    desk, laptop = pair
    desk.add("The port is eighty.", name="one")
    exchange(desk, laptop)
    file = desk.store / "one.md"
    old = file.read_bytes()
    file.write_bytes(old.replace(b"eighty", b"ninety"))
    exchange(desk, laptop)
    file.write_bytes(old)
    # The file's time is that of the disk, which is later than the tests' clock.
    os.utime(file, (time.time(), time.time()))
    exchange(desk, laptop)
    assert desk.body("one") == laptop.body("one") == "The port is eighty.\n"


# -- our own repository ---------------------------------------------------------------------------------


def test_a_lost_repository_is_made_anew_with_what_was_not_sent(pair):
    desk, laptop = pair
    desk.add("The port is eighty. It is open.", name="one")
    desk.add("Deploys run on Mondays.", name="two")
    exchange(desk, laptop)
    desk.cut_off(off=True)
    desk.update("one", "The port is ninety. It is open.\n")
    desk.add("The build box has twelve cores.", name="three")
    memories.forget(desk.app, "two")
    assert desk.sync().error
    desk.cut_off(off=False)
    laptop.update("one", "The port is eighty. It is fast.\n")
    laptop.sync()
    shutil.rmtree(Share.of(desk.app.home, desk.app.store_path).repository)
    exchange(desk, laptop)
    assert desk.files() == laptop.files() and desk.names() == ["one", "three"]
    assert desk.body("one") == "The port is ninety. It is fast.\n"


def test_a_lost_repository_waits_for_the_remote(pair):
    desk, laptop = pair
    desk.add("The port is eighty.", name="one")
    exchange(desk, laptop)
    desk.cut_off(off=True)
    shutil.rmtree(Share.of(desk.app.home, desk.app.store_path).repository)
    trouble = desk.sync().error
    assert trouble.count(str(desk.link)) == 1 == machines.status(desk.app)["error"].count(str(desk.link))
    desk.cut_off(off=False)
    assert desk.sync().told == 0
    assert desk.names() == ["one"]


# -- files ----------------------------------------------------------------------------------------------


def test_files_without_an_id_whose_names_differ_by_case_stay_two(pair):
    desk, laptop = pair
    for name, word in (("note", "one"), ("Note", "two")):
        (desk.store / f"{name}.md").write_text(
            f"---\nname: {name}\ndescription: Fact {word}.\n---\n\nFact {word}.\n"
        )
    for _ in range(3):
        exchange(desk, laptop)
    assert len(desk.files()) == len(laptop.files()) == 2
    assert desk.files() == laptop.files()


def test_a_record_of_another_memorys_text_is_not_taken():
    own = derived_id("a")
    record = Revision(
        memory=own,
        parents=(),
        machine="0a1b2c3d4e5f",
        clock=(1, 0),
        at="2026-11-01T08:00:00Z",
        path="a.md",
        file=f"---\nname: a\ndescription: A.\nid: {own}\n---\n\nA.\n",
    )
    assert read_record(record.file_name, record.data) == record
    for other in (derived_id("b"), memory_id("", "a.md")):
        odd = replace(record, memory=other)
        with pytest.raises(InputError, match="another memory"):
            read_record(odd.file_name, odd.data)


def large(word: str, size: int) -> str:
    return "\n".join(f"{word} {number} is told here." for number in range(size // 24)) + "\n"


def test_two_texts_that_are_too_large_together_both_stand_where_they_are(pair, monkeypatch):
    # Of two million bytes it would take long.
    monkeypatch.setattr(incoming, "MAX_FILE", 6000)
    desk, laptop = pair
    desk.add("The port is eighty.", name="one")
    exchange(desk, laptop)
    for machine, word in ((desk, "Desk"), (laptop, "Laptop")):
        file = machine.store / "one.md"
        file.write_bytes(file.read_bytes() + large(word, 3600).encode())
    exchange(desk, laptop)
    assert "larger than a memory may be" in laptop.sync().refused[0]["why"]
    assert "Desk 7 is" in desk.body("one") and "Laptop 7 is" in laptop.body("one")
    assert desk.names() == laptop.names() == ["one"]


def test_a_file_that_is_too_large_is_told(pair):
    desk, laptop = pair
    desk.add("The port is eighty.", name="one")
    exchange(desk, laptop)
    (desk.store / "one.md").write_bytes((desk.store / "one.md").read_bytes() + b"x" * MAX_FILE)
    (desk.store / "new.md").write_bytes(b"x" * (MAX_FILE + 1))
    held = {item["name"]: item["why"] for item in desk.sync().held}
    assert [*sorted(held)] == ["new.md", "one.md"] and "2,000,000 bytes" in held["one.md"]
    assert machines.status(desk.app)["held"] and laptop.sync().left == 0


def test_sentences_of_three_texts_are_woven_in_their_order():
    rows = [
        row_of(
            "\n".join(f"Fact {n} is told{word if n % every == 0 else ''}." for n in range(900)) + "\n", source
        )
        for source, (word, every) in enumerate((("", 1), (" here", 7), (" there", 5)))
    ]
    found = woven(rows[1], rows[0], [rows[2]], {piece.folded for row in rows[1:] for piece in row})
    numbers = [int(piece.text.split()[1]) for piece in found]
    # Three tell of one, where both changed it or one did: each at its place.
    assert numbers == sorted(numbers) and {*numbers} == {*range(900)}


def test_a_link_in_the_repository_is_taken_out_and_told(pair, remote, tmp_path):
    desk, laptop = pair
    desk.add("The port is eighty.", name="one")
    exchange(desk, laptop)
    git(tmp_path, "clone", "--quiet", str(remote), "work")
    work = tmp_path / "work"
    (work / "memories/odd.md").symlink_to("/etc/passwd")
    git(work, "add", ".")
    git(work, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "Odd")
    git(work, "push", "--quiet", "origin", "HEAD:main")
    desk.sync()
    assert "memories/odd.md: it is no file" in machines.status(desk.app)["odd"][0]
    assert git(remote, "ls-tree", "--name-only", "main", "memories/").split() == ["memories/one.md"]


# -- another's repository -------------------------------------------------------------------------------


def test_who_would_be_mixed_with_is_named_first(pair, remote, tmp_path, monkeypatch):
    desk, _ = pair
    desk.add("The port is eighty.", name="one")
    desk.sync()
    other = Machine(tmp_path / "other", timedelta(), monkeypatch)
    assert machines.strangers(other.app, str(remote)) == [], "nothing is here to be mixed"
    other.add("The cat is black.", name="cat")
    assert machines.strangers(other.app, str(remote)) == ["one"]
    assert not Share.of(other.app.home, other.app.store_path).repository.exists()
    assert machines.strangers(desk.app, str(remote)) == [], "some are known here"


def test_a_repository_of_others_is_joined_at_a_yes_only(pair, remote, tmp_path):
    desk, _ = pair
    desk.add("The port is eighty.", name="one")
    desk.sync()
    shop = Workshop(tmp_path / "shop", {})
    assert shop.reverie("add", "The cat is black.", "--type", "project").returncode == 0
    asked = shop.reverie("sync", "init", str(remote))
    assert asked.returncode != 0 and "holds 1 memory" in asked.stderr and "--yes" in asked.stderr
    assert "synced with no other machine" in shop.reverie("sync", "status").stdout, "nothing was begun"
    joined = shop.reverie("sync", "init", str(remote), "--yes")
    assert joined.returncode == 0 and "`reverie sync leave` first" in joined.stderr


def test_no_repository_is_made_in_a_folder_of_memories(pair, tmp_path, monkeypatch):
    desk, _ = pair
    desk.add("The port is eighty.", name="one")
    other = Machine(tmp_path / "other", timedelta(), monkeypatch)
    with pytest.raises(InputError, match="in a folder of memories"):
        machines.init(other.app, str(desk.store / "sync.git"))
    assert not (desk.store / "sync.git").exists()

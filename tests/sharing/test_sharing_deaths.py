"""A sync killed in each of its steps: in each call of git, and before touches of the disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from pipeline.app import machines
from pipeline.core import locks
from pipeline.sharing.git import run_alone
from tests.support.deaths import HOWS, Gits, die_at_touch
from tests.support.machines import Machine, exchange, git, kept_words, words_in
from tests.support.stores import forked

STEPS = ["fetch", "merge-base", "ls-tree", "ls-tree", "cat-file", "fast-import", "push"]
"""What git is called for by a sync where each side has something new: to take it, to look whether it is what
was there and more, at both, at the records, to commit, and to send.
"""
FIRST = ["init", "symbolic-ref", "fetch", "ls-tree", "cat-file", "update-ref", "rev-parse"]


@pytest.fixture
def skews() -> tuple[timedelta, timedelta]:
    """The desk's clock is hours ahead."""
    return timedelta(hours=7), timedelta()


@pytest.fixture
def pair(pair: tuple[Machine, Machine]) -> tuple[Machine, Machine]:
    """The two, with a memory that both have."""
    pair[0].add("The port is eighty. It is open.", name="port")
    exchange(*pair)
    return pair


def rounds(pair: tuple[Machine, Machine], remote: Path) -> Iterator[int]:
    """Change the memory on both sides and let whoever asks kill a sync of the first; then all is well."""
    desk, laptop = pair
    said: set[str] = set()
    for number in range(1, 10_000):
        desk.update("port", f"The port is {number}. It is open.\n")
        laptop.update("port", f"{laptop.body('port').partition('.')[0]}. It is fast, {number} times.\n")
        said |= words_in(desk.body("port")) | words_in(laptop.body("port"))
        laptop.sync()
        yield number
        exchange(desk, laptop)
        assert desk.files() == laptop.files()
        assert said <= kept_words([desk, laptop], remote)
        git(remote, "fsck", "--strict")


@pytest.mark.parametrize("how", ["after", *(pytest.param(how, marks=pytest.mark.whole) for how in HOWS[:3])])
def test_a_sync_that_dies_in_any_call_of_git_goes_on(pair, tmp_path, how):
    gits = Gits(tmp_path / "gits")
    died = []
    for number in rounds(pair, tmp_path / "remote.git"):
        verb = gits.die(number, how, pair[0].sync)
        if not verb:
            break
        died.append(verb)
    assert died == STEPS


@pytest.mark.parametrize("every", [90, pytest.param(7, marks=pytest.mark.whole)])
def test_a_sync_that_dies_before_any_touch_of_the_disk_goes_on(pair, tmp_path, every):
    names = []
    for number in rounds(pair, tmp_path / "remote.git"):
        name = die_at_touch(1 + (number - 1) * every, pair[0].sync, tmp_path / "told")
        if not name:
            break
        names.append(name)
    assert len(names) * every > 300
    assert every > 7 or {"open", "replace", "execute", "fsync"} <= set(names)


@pytest.mark.parametrize("how", ["after", pytest.param("midway", marks=pytest.mark.whole)])
def test_a_machine_that_dies_while_it_begins_begins_again(pair, tmp_path, monkeypatch, how):
    gits = Gits(tmp_path / "gits")
    died = []
    for number in range(len(FIRST) + 1):
        third = Machine(tmp_path / f"third-{number}", timedelta(), monkeypatch)
        third.link.symlink_to(tmp_path / "remote.git")
        begin = partial(machines.init, third.app, str(third.link))
        died.append(gits.die(number + 1, how, begin))
        assert begin().first.error == ""
        assert third.files() == pair[0].files()
    assert died == [*FIRST, ""]


def test_a_git_that_was_left_alone_is_waited_for(tmp_path):
    lock, fifo = tmp_path / "git.lock", tmp_path / "fifo"
    os.mkfifo(fifo)
    child = forked(lambda: run_alone("hash-object", str(fifo), lock=lock))
    writing = os.open(fifo, os.O_WRONLY)  # It waits until that git reads.
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with locks.handed_on(lock, timeout=0.1) as held:
        assert held is None
    os.close(writing)
    assert run_alone("--version", lock=lock)[0] == 0

"""Claude Code's lock: respected when theirs, taken and given back so that theirs can go on."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest

from pipeline.core.clock import SystemClock
from pipeline.core.errors import StoreError
from pipeline.store import ConsolidateLock, foreign_dream_running
from tests.support.stores import NOW, run

EARLIER = NOW - timedelta(days=2)


@pytest.fixture
def lock(tmp_path):
    return ConsolidateLock(tmp_path)


@pytest.fixture
def sleeper():
    """A living process that is not ours, started now."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        yield child.pid
        child.stdin.close()


def leave(lock, body, at):
    lock.file.write_text(str(body))
    os.utime(lock.file, (at.timestamp(), at.timestamp()))


def state(lock):
    return lock.file.read_bytes(), lock.last_consolidated()


def test_taking_a_free_lock_writes_our_number(lock):
    held = lock.acquire(NOW)
    assert held.still_ours()
    assert state(lock) == (str(os.getpid()).encode(), NOW)
    assert lock.file.stat().st_mode & 0o777 == 0o600


def test_success_leaves_the_time_and_no_number(lock):
    lock.acquire(NOW).succeed(NOW + timedelta(minutes=3))
    assert state(lock) == (b"", NOW + timedelta(minutes=3))


@pytest.mark.parametrize("body", ["", "4194304", "not a number"])
def test_failure_puts_the_file_back_as_it_was(lock, body):
    leave(lock, body, EARLIER)
    lock.acquire(NOW).fail()
    assert state(lock) == (body.encode(), EARLIER)


def test_failure_removes_a_file_that_was_not_there(lock):
    lock.acquire(NOW).fail()
    assert not lock.file.exists()
    assert lock.last_consolidated() is None


@pytest.mark.parametrize("end", ["succeed", "fail"])
def test_a_lock_somebody_took_over_is_left_to_them(lock, end):
    held = lock.acquire(NOW)
    leave(lock, 12345, NOW)
    assert not held.still_ours()
    held.fail() if end == "fail" else held.succeed(NOW + timedelta(hours=1))
    assert state(lock) == (b"12345", NOW)


def test_a_living_owner_keeps_us_out_and_is_named(lock):
    leave(lock, os.getppid(), NOW)
    assert lock.acquire(NOW) is None
    assert lock.holder(NOW) == f"process {os.getppid()}, since 2026-11-27T10:00:00+00:00"
    assert state(lock) == (str(os.getppid()).encode(), NOW)


@pytest.mark.parametrize("case", ["own", "dead", "an hour old", "empty"])
def test_a_lock_nobody_holds_can_be_taken(lock, case):
    dead = run("import os; print(os.getpid())").stdout.strip() if case == "dead" else ""
    body = {"own": os.getpid(), "dead": dead, "an hour old": os.getppid(), "empty": ""}[case]
    leave(lock, body, NOW - timedelta(hours=1) if case == "an hour old" else NOW)
    assert lock.holder(NOW) is None
    assert lock.acquire(NOW).still_ours()


@pytest.mark.parametrize(
    ("ahead", "running"), [(timedelta(minutes=59), True), (timedelta(hours=1), False), (EARLIER - NOW, False)]
)
def test_a_time_ahead_of_ours_never_blocks_for_long(lock, ahead, running):
    leave(lock, os.getppid(), NOW + abs(ahead))
    assert foreign_dream_running(lock.file.parent, NOW) is running


def test_a_process_younger_than_the_lock_only_has_its_number(lock, sleeper):
    now = SystemClock().now()
    leave(lock, sleeper, now - timedelta(minutes=10))
    assert not foreign_dream_running(lock.file.parent, now)
    leave(lock, sleeper, now + timedelta(seconds=1))
    assert foreign_dream_running(lock.file.parent, now)


def test_a_number_given_to_us_again_does_not_block_us(lock):
    leave(lock, os.getpid(), NOW)
    held = lock.acquire(NOW + timedelta(minutes=1))
    held.fail()
    assert state(lock) == (str(os.getpid()).encode(), NOW)


TAKE = """
import sys
from pathlib import Path
from datetime import datetime
from pipeline.core.clock import SystemClock
from pipeline.store import ConsolidateLock
held = ConsolidateLock(Path(sys.argv[1])).acquire(SystemClock().now())
print("held" if held else "blocked", flush=True)
if held:
    input()
    held.succeed(SystemClock().now())
"""


def test_our_lock_is_seen_by_another_process_and_freed_while_we_live(tmp_path):
    command = [sys.executable, "-c", TAKE, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout.readline() == "held\n"
        assert foreign_dream_running(tmp_path, SystemClock().now())
        assert run(TAKE, str(tmp_path)).stdout == "blocked\n"
        owner.communicate("\n")
    assert not foreign_dream_running(tmp_path, SystemClock().now())
    assert (tmp_path / ".consolidate-lock").read_bytes() == b""


ODD_LOCKS = {
    "a loop": lambda file: file.symlink_to(file),
    "a link to nothing": lambda file: file.symlink_to(file.parent / "nothing"),
    "a folder": lambda file: file.mkdir(),
    "a pipe": os.mkfifo,
}


@pytest.mark.parametrize("make", ODD_LOCKS)
def test_a_lock_that_is_no_regular_file_is_an_error_that_names_it(lock, make):
    ODD_LOCKS[make](lock.file)
    for ask in (lambda: foreign_dream_running(lock.file.parent, NOW), lambda: lock.acquire(NOW)):
        with pytest.raises(StoreError, match=r"\.consolidate-lock: ") as caught:
            ask()
        assert caught.value.fix and not (lock.file.parent / "nothing").exists()

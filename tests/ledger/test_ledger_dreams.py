"""What the ledger keeps of dreams, and the lease that lets one process at a time consolidate a store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from pipeline.core import process as machine
from pipeline.ledger import dreams
from pipeline.ledger.connection import Ledger, open_ledger
from pipeline.ledger.files import file_id, remember_store
from tests.ledger.build import ingest, later, lease_owner, said

HERE, THERE = "b1@box", "b9@other"


def test_a_store_that_never_dreamt_has_no_times(led: Ledger) -> None:
    dreams.note_success(led, "other", now=5)
    assert dreams.state(led, "s") == dreams.DreamState(None, None, None)


def test_success_attempt_and_scan_are_kept_apart(led: Ledger) -> None:
    """L-C6: an attempt that dies does not count as a dream."""
    dreams.note_attempt(led, "s", now=10)
    dreams.note_scan(led, "s", now=later(1))
    assert dreams.state(led, "s") == dreams.DreamState(None, 10.0, later(1).timestamp())
    dreams.note_success(led, "s", now=30)
    dreams.note_attempt(led, "s", now=20)
    assert dreams.state(led, "s") == dreams.DreamState(30.0, 20.0, later(1).timestamp())


def test_what_was_seen_is_replaced_and_forgotten_by_store(led: Ledger) -> None:
    dreams.mark_seen(led, "s", {"a": "1", "b": "1"})
    dreams.mark_seen(led, "t", {"a": "7"})
    dreams.mark_seen(led, "s", {"b": "2", "c": "3"})
    assert dreams.seen(led, "s") == {"a": "1", "b": "2", "c": "3"}
    dreams.forget_seen(led, "s", ["a", "c", "never"])
    assert (dreams.seen(led, "s"), dreams.seen(led, "t")) == ({"b": "2"}, {"a": "7"})


def answers(*closed: str, why: str = "no") -> list[tuple[str, bool, str]]:
    names = ("enabled", "interval", "sessions")
    return [(name, name not in closed, why if name in closed else "yes") for name in names]


def test_the_last_answers_of_the_gates_are_kept_in_their_order(led: Ledger) -> None:
    dreams.log_gates(led, "s", answers("interval"), now=1)
    dreams.log_gates(led, "s", answers("sessions", why="1 more session needed")[1:], now=2)
    assert dreams.last_gates(led, "s") == [
        dreams.GateRow("interval", True, "yes", 2.0),
        dreams.GateRow("sessions", False, "1 more session needed", 2.0),
    ]
    assert dreams.last_gates(led, "t") == []


def history(led: Ledger, limit: int = 20) -> list[tuple[str, str, float]]:
    return [(gate.name, gate.reason, gate.at) for gate in dreams.refusals(led, "s", limit=limit)]


def test_a_gate_that_stays_closed_has_one_line_of_history(led: Ledger) -> None:
    for at, closed, why in ((1, "interval", "2 h"), (2, "interval", "1 h"), (3, "sessions", "2 more")):
        dreams.log_gates(led, "s", answers(closed, why=why), now=at)
    assert history(led) == [("sessions", "2 more", 3.0), ("interval", "1 h", 1.0)]
    dreams.log_gates(led, "s", answers("interval", why="24 h"), now=4)
    assert history(led)[0] == ("interval", "24 h", 4.0)
    assert len(history(led)) == 3


def test_the_history_is_bounded_by_store(led: Ledger) -> None:
    dreams.log_gates(led, "t", answers("enabled"), now=0)
    for at in range(dreams.REFUSALS_KEPT + 5):
        dreams.log_gates(led, "s", answers("sessions" if at % 2 else "interval", why=str(at)), now=at)
    found = history(led, limit=1000)
    assert len(found) == dreams.REFUSALS_KEPT
    assert (found[0][1], found[-1][1]) == (str(dreams.REFUSALS_KEPT + 4), "5")
    assert len(dreams.refusals(led, "t")) == 1


# -- sessions -----------------------------------------------------------------------------------------


def session(led: Ledger, name: str, minute: float | None, *, store: str = "s", key: str = "") -> None:
    key = key or f"p/{name}.jsonl"
    when = None if minute is None else later(minute).isoformat()
    ingest(led, [said(0, when=when, session_id=name, uuid=f"{key}0")], key=key)
    remember_store(led, key, store)


@pytest.mark.parametrize(
    ("since", "exclude", "count"),
    [(None, "", 3), (10, "", 2), (9.99, "", 3), (10, "c", 1), (30, "", 0), (None, "x", 3)],
)
def test_sessions_are_those_that_spoke_later(
    led: Ledger, since: float | None, exclude: str, count: int
) -> None:
    for name, minute in (("a", 10), ("b", 20), ("c", 30)):
        session(led, name, minute)
    session(led, "b", 25, key="p/b-again.jsonl")
    session(led, "z", 40, store="other")
    at = None if since is None else later(since).timestamp()
    assert dreams.sessions_since(led, "s", since=at, exclude=exclude) == count


def test_a_session_without_times_counts_by_its_files(led: Ledger) -> None:
    session(led, "a", None)
    assert dreams.sessions_since(led, "s", since=0.004) == 1
    assert dreams.sessions_since(led, "s", since=0.005) == 0


def test_a_file_of_no_session_counts_as_itself(led: Ledger) -> None:
    for key in ("one", "two"):
        file_id(led, key)
        remember_store(led, key, "s")
    assert dreams.sessions_since(led, "s", since=None) == 2


# -- the lease ----------------------------------------------------------------------------------------


def take(led: Ledger, now: float = 1000, boot: str = HERE, store: str = "s", **more: object) -> str | None:
    return dreams.take_lease(led, store, owner="one", boot_id=boot, lease_seconds=100, now=now, **more)  # type: ignore[arg-type]


def confirm(led: Ledger, token: str | None, now: float) -> bool:
    assert token is not None
    return dreams.confirm_lease(led, "s", token, lease_seconds=100, now=now)


@pytest.mark.parametrize(
    ("now", "boot", "free"),
    [
        (1050, HERE, False),
        (1099, HERE, False),
        (1100, HERE, True),
        (1001, "b2@box", True),
        (1001, THERE, False),
        (1100, THERE, True),
        (950, HERE, False),
        (899, HERE, True),
        (899, THERE, True),
    ],
    ids=["held", "last second", "over", "booted since", "another machine", "another's is over",
         "clock a little back", "clock far back", "another's from the future"],
)  # fmt: skip
def test_a_lease_is_free_again(led: Ledger, now: float, boot: str, *, free: bool) -> None:
    first = take(led)
    second = take(led, now, boot)
    assert (second is not None) == free
    assert confirm(led, first, now) != free


def test_stores_have_leases_of_their_own(led: Ledger) -> None:
    assert take(led) and take(led, store="t") and not take(led)


def test_a_suspended_owner_never_wins(led: Ledger) -> None:
    first = take(led)
    second = take(led, 5000)
    dreams.release_lease(led, "s", first or "")
    assert not confirm(led, first, 5001)
    assert confirm(led, second, 5001)
    dreams.release_lease(led, "s", second or "")
    assert not confirm(led, first, 5002)


def test_a_heartbeat_keeps_the_lease_and_who_overslept_alone_goes_on(led: Ledger) -> None:
    token = take(led)
    assert confirm(led, token, 1090)
    assert take(led, 1150) is None
    assert confirm(led, token, 9000)
    assert take(led, 9050) is None
    assert lease_owner(led, "s", 9050) == "one"
    dreams.release_lease(led, "s", token or "")
    assert lease_owner(led, "s", 9050) is None
    assert take(led, 9051) not in (None, token)


@pytest.mark.parametrize(("alive", "boot", "free"), [(True, HERE, False), (False, HERE, True),
                                                     (False, THERE, False)])  # fmt: skip
def test_an_owner_that_died_on_this_boot_holds_nothing(
    led: Ledger, *, alive: bool, boot: str, free: bool
) -> None:
    take(led)
    assert (take(led, 1001, boot, alive=lambda _: alive) is not None) == free


def names(code: str) -> Sequence[str]:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_a_process_is_told_from_one_that_only_has_its_number() -> None:
    ours = machine.process_name()
    pid, start, _ = ours.split(".")
    (dead,) = names("from pipeline.core import process as machine; print(machine.process_name())")
    told = [machine.lives(name) for name in (ours, dead, f"{pid}.{int(start) + 1}.x", f"{pid}..x", "me")]
    assert told == [True, False, False, True, True]


def test_the_boot_is_the_same_for_every_process_and_names_the_machine() -> None:
    (other,) = names("from pipeline.core import process as machine; print(machine.boot_id())")
    assert other == machine.boot_id()
    boot, _, host = other.rpartition("@")
    assert boot and host


def test_of_many_processes_one_gets_the_lease(led: Ledger) -> None:
    code = (
        "import sys; from pathlib import Path; from pipeline.ledger import dreams, open_ledger\n"
        "with open_ledger(Path(sys.argv[1])) as led:\n"
        "    sys.stdin.read()\n"
        "    print(dreams.take_lease(led, 's', owner='o', boot_id='b', lease_seconds=99, now=1) or '-')\n"
    )
    command = [sys.executable, "-c", code, str(led.path)]
    gate, opener = os.pipe()
    racing = [subprocess.Popen(command, stdin=gate, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    os.close(gate)
    os.close(opener)
    tokens = [process.communicate()[0].strip() for process in racing]
    assert tokens.count("-") == 3
    with open_ledger(led.path) as fresh:
        assert lease_owner(fresh, "s", 2) == "o"

"""Many hooks at once: the real launcher, the real hook, the real detached worker, an API on loopback."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pipeline.config import SpendSettings
from pipeline.core.clock import SystemClock, iso
from tests.support.hooks import HOOKS, LIMIT, note_home, settings_of
from tests.support.loopback import LoopbackApi, keep_each_line, person_lines, serving
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

SESSIONS = 20
TURNS = 10


@pytest.fixture
def api() -> Iterator[LoopbackApi]:
    with serving(keep_each_line) as api:
        yield api


@pytest.fixture
def shop(tmp_path: Path, api: LoopbackApi) -> Workshop:
    shop = Workshop(tmp_path / "place", api.environment)
    shop.home.mkdir(mode=0o700)
    (shop.home / "python").write_text(f"{sys.executable}\n")
    (shop.home / "config.toml").write_text(settings_of(shop.env))
    note_home(shop.projects.parent, shop.home)
    return shop


def now() -> str:
    return iso(SystemClock().now())


def hook(shop: Workshop, session: Transcript, event: str = "Stop", **values: object) -> None:
    """Run the hook to its end as the host does; it must succeed in silence."""
    settings = shop.home / "config.toml"
    if settings.read_text() != settings_of(shop.env):
        settings.write_text(settings_of(shop.env))
    command = ["sh", str(HOOKS / "run"), event]
    data = shop.payload(session, hook_event_name=event, **values)
    done = subprocess.run(command, input=data, env=shop.env, capture_output=True, timeout=3 * LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def workers(shop: Workshop) -> list[tuple[str, str]]:
    """Return (process id, "begins" or "ends") of every worker, in the log's order."""
    found = (re.search(r" (\d+) INFO reverie\.worker: (begins|ends)$", line) for line in shop.log())
    return [(match[1], match[2]) for match in found if match]


def one_after_the_other(log: list[tuple[str, str]]) -> bool:
    """Whether each worker ended before the next began."""
    pairs = list(zip(log[::2], log[1::2], strict=True))
    return all((a[0], a[1], b[1]) == (b[0], "begins", "ends") for a, b in pairs)


def ended(pid: int) -> bool:
    """Wait for the process `pid`, no child of ours, to end; False when it does not."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with open(handle, "rb", 0):
        return bool(select.select([handle], [], [], LIMIT)[0])


def test_two_hundred_stops_of_twenty_sessions(shop: Workshop, api: LoopbackApi) -> None:
    sessions = [shop.session(number, now()) for number in range(SESSIONS)]
    # The second reader's calls count as well.
    shop.env["REVERIE_SPEND__CALLS_PER_HOUR"] = str(2 * SpendSettings().calls_per_hour)

    def play(number: int, turns: range) -> None:
        for turn in turns:
            sessions[number].user(f"Shelf {number:02d} {turn:02d} holds {number * 31 + turn} boxes.")
            sessions[number].assistant("Noted.")
            shop.write(sessions[number])
            hook(shop, sessions[number])

    for turns in (range(TURNS // 2), range(TURNS // 2, TURNS)):
        with ThreadPoolExecutor(SESSIONS) as pool:
            list(pool.map(play, range(SESSIONS), [turns] * SESSIONS))
        shop.await_idle()
    assert shop.reverie("work").returncode == 0  # what waits for the next turn is done now

    said = Counter(text for prompt in api.prompts for _, text in person_lines(prompt))
    books = shop.books()
    log = workers(shop)
    assert len(books["events"]) == SESSIONS * TURNS, "no event is lost"
    assert len(log) >= 4 and one_after_the_other(log) and api.most_at_once == 1, "one worker at any time"
    assert len(said) == SESSIONS * TURNS and set(said.values()) == {1}, "each turn is new once"
    assert len(shop.memories()) == SESSIONS * TURNS
    assert len(api.prompts) <= 2 * SESSIONS <= SpendSettings().calls_per_hour
    assert {state for kind, _, state, *_ in books["jobs"] if kind == "extract_turn"} == {"done"}


def test_bug_043_twenty_hooks_for_the_same_rows_make_one_call(shop: Workshop, api: LoopbackApi) -> None:
    session = shop.session(1, now())
    session.user("Shelf one holds 17 boxes.")
    session.assistant("Noted.")
    shop.write(session)
    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda _: hook(shop, session), range(20)))
    shop.await_idle()
    assert len(api.prompts) == 1 and api.most_at_once == 1
    assert len(shop.books()["entries"]) == 2 and len(shop.books()["events"]) == 20
    assert one_after_the_other(workers(shop))


def test_bug_054_stop_hooks_without_news_leave_nothing_running(shop: Workshop) -> None:
    shop.env["REVERIE_MODEL__PROVIDER"] = "offline"
    session = shop.session(1, now())
    session.user("Shelf one holds 17 boxes.")
    session.assistant("Noted.")
    shop.write(session)
    for active in (True, False) * 10:
        hook(shop, session, stop_hook_active=active)
    shop.await_idle()
    assert len(shop.books()["runs"]) == 1
    begun = {pid for pid, word in workers(shop) if word == "begins"}
    assert begun and all(ended(int(pid)) for pid in begun)


def test_bug_036_what_a_killed_terminal_left_is_read_with_the_next_session(shop: Workshop) -> None:
    """The spool file is all the hook leaves; any later hook's worker takes it along."""
    shop.env["REVERIE_MODEL__PROVIDER"] = "offline"
    orphan, next_one = shop.session(1, now()), shop.session(2, now())
    for session, text in ((orphan, "Shelf one holds 17 boxes."), (next_one, "Shelf two holds 18 boxes.")):
        session.user(text)
        session.assistant("Noted.")
    shop.fire(orphan, "SessionEnd")
    shop.write(next_one)
    hook(shop, next_one)
    shop.await_idle()
    assert len(shop.books()["runs"]) == 2 and len(shop.books()["entries"]) == 4

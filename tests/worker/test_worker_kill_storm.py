"""kill -9 again and again while long sessions are read: what is unread is always told, and all is read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import timedelta
from itertools import chain, cycle, islice

import pytest

from pipeline.core.faults import POINTS
from tests.support.loopback import LoopbackApi, person_lines
from tests.support.transcripts import Transcript
from tests.support.workshop import Workshop

TURNS = (31, 47, 80)
"""Each more than the 30 that are read of a session at its first sight."""
READING = tuple(point for point in POINTS if point.startswith(("extract.", "store.", "worker.")))
FIRST = tuple(point for point in POINTS if point.startswith(("drain.", "ingest.")))
"""What only comes by once, as long as no hook is heard."""
MANY, SHARE = 30, 14
"""Kills of either storm: with the share, each point has its turn in one of the two."""
WINDOW = "1200"
"""Characters of a model call: a long session takes several."""
NOTHING = "nothing is left to read"


def line(session: int, turn: int) -> str:
    return f"Shelf {session:02d} {turn:02d} holds {100 * session + turn} boxes."


def play(shop: Workshop) -> list[Transcript]:
    """Let each session be spoken to its end; only then its hook is heard."""
    sessions = []
    for number, turns in enumerate(TURNS):
        session = shop.session(number)
        for turn in range(turns):
            session.user(line(number, turn))
            session.assistant("Noted.")
        shop.fire(session)
        sessions.append(session)
    return sessions


def unread(shop: Workshop) -> set[str]:
    """Return what was said and is in no memory."""
    every = {line(number, turn) for number, turns in enumerate(TURNS) for turn in range(turns)}
    kept = "".join(file.read_text("utf-8") for file in shop.store.glob("*.md"))
    return {text for text in every if text not in kept}


def told(shop: Workshop, now: str) -> tuple[bool, bool]:
    """Return whether `status`, and whether `process --estimate`, tell that something is left to read."""
    done = shop.reverie("status", "--json", REVERIE_NOW=now)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    value = json.loads(done.stdout)
    left = value["spool"]["waiting"] + value["to_come"]["turns"] + value["conversations"].get("ready", 0)
    estimate = shop.reverie("process", "--estimate", REVERIE_NOW=now)
    assert estimate.returncode == 0 and "Traceback" not in estimate.stderr, estimate.stderr
    return left > 0, NOTHING not in estimate.stdout


def storm(shop: Workshop, now: str, points: Iterable[str]) -> int:
    """Kill worker after worker at `now`, at each of `points`, then let one end; return the kills."""
    kills = 0
    for point in points:
        died = shop.work(REVERIE_NOW=now, REVERIE_CRASH_AT=point)
        assert died in (-9, 0), point
        kills += died == -9
        if unread(shop):
            assert told(shop, now) == (True, True), f"killed at {point}"
    assert shop.work(REVERIE_NOW=now) == 0
    return kills


@pytest.mark.parametrize("kills", [SHARE, pytest.param(MANY, marks=pytest.mark.whole)])
def test_long_sessions_are_read_to_the_end_however_often_a_worker_is_killed(
    shop: Workshop, api: LoopbackApi, kills: int
) -> None:
    shop.env["REVERIE_EXTRACTION__WINDOW_CHARS"] = WINDOW
    shop.env["REVERIE_SPEND__CALLS_PER_HOUR"] = "1000"
    sessions = play(shop)
    end = max(session.now for session in sessions)
    soon, late = end.isoformat(), (end + timedelta(hours=2)).isoformat()
    points = chain(FIRST, cycle(READING))
    assert storm(shop, soon, islice(points, kills)) == kills
    assert len(unread(shop)) == sum(TURNS) - 30 * len(TURNS), "the newest turns are read at first sight"
    assert told(shop, soon) == (True, True)
    # The share goes on where it was, at the points that had no turn yet.
    left = points if kills == SHARE else cycle(READING)
    assert storm(shop, late, islice(left, kills)) >= kills // 2
    assert unread(shop) == set() and told(shop, late) == (False, False)
    assert shop.temporary() == []
    asked = [text for prompt in api.prompts for _, text in person_lines(prompt)]
    assert {*asked} == {line(number, turn) for number, turns in enumerate(TURNS) for turn in range(turns)}

"""What was said late in the evening stays that day's, wherever the machine goes afterwards."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime

import pytest

from pipeline.core import zone
from pipeline.core.clock import iso
from tests.support.loopback import LoopbackApi, fact, person_lines
from tests.support.warm import shared_workers
from tests.support.workshop import Workshop, at

PORT = "The gateway listens on port 8443."
LATER = "The staging database runs Postgres 17."


def work(shop: Workshop, place: str, now: str) -> None:
    """Run a worker on a machine whose zone is `place`."""
    err = shop.place / "complaints"
    assert shared_workers().run({**shop.env, "TZ": place, "REVERIE_NOW": now}, err=err) == 0
    assert not err.read_bytes()


def work_anew(shop: Workshop, place: str, now: str) -> None:
    """Do as `work` does with a Python started for it, which takes three times as long."""
    done = subprocess.run(
        [sys.executable, "-m", "pipeline.worker"],
        env={**shop.env, "TZ": place, "REVERIE_NOW": now},
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    assert not done.stderr


def seen_in(shop: Workshop, place: str, now: str, *arguments: str) -> str:
    """Return what `reverie` prints on a machine whose zone is `place`."""
    done = shop.reverie(*arguments, TZ=place, REVERIE_NOW=now)
    assert done.returncode == 0, done.stderr
    return done.stdout


def told_of(why: str) -> list[str]:
    """Return the lines of `reverie why` with the time at which something was said."""
    return [line for line in why.splitlines() if " said at " in line]


def diary(prompt: str) -> dict[str, object]:
    """Play the model: keep each line; leave an entry for a conversation."""
    kept = [fact("-".join(text.split()[1:3]), text, number) for number, text in person_lines(prompt)]
    entry = {"title": "Gateway", "summary": ["Its port was told."]} if "<conversation>" in prompt else None
    return {"memories": kept, **({"episode": entry} if entry else {})}


PLACES = [
    # said at 23:50 there; then further east, where it was the next day already, and further west
    ("America/Los_Angeles", "2026-03-03T07:50:00Z", "Asia/Tokyo", "2026-03-02"),
    ("Asia/Tokyo", "2026-03-02T14:50:00Z", "America/Los_Angeles", "2026-03-02"),
    ("Asia/Tokyo", "2026-03-01T15:10:00Z", "America/Los_Angeles", "2026-03-02"),
    ("<+0545>-5:45", "2026-03-02T18:05:00Z", "UTC", "2026-03-02"),
]


@pytest.mark.parametrize(("home", "said", "away", "day"), PLACES)
def test_the_day_of_a_message_stays_when_the_machine_goes_elsewhere(
    shop: Workshop, api: LoopbackApi, home: str, said: str, away: str, day: str
) -> None:
    api.answer = diary
    session = shop.session(start=said)
    session.user(PORT)
    session.assistant("Noted.")
    for word in ("It stays so.", "And so it is."):
        session.user(word)
        session.assistant("Noted.")
    shop.fire(session, "SessionEnd")
    work(shop, home, session.now.isoformat())
    at_home = told_of(seen_in(shop, home, session.now.isoformat(), "why", "gateway-listens"))
    assert day in at_home[0]

    later = iso(at(said).replace(day=6, hour=12))
    other = shop.session(2, start=later)
    other.user(LATER)
    other.assistant("Noted.")
    shop.fire(other)
    work(shop, away, other.now.isoformat())
    assert told_of(seen_in(shop, away, later, "why", "gateway-listens")) == at_home
    told = shop.started(TZ=away, REVERIE_NOW=later)
    assert "Traceback" not in told
    shown = seen_in(shop, away, later, "recall", "which port does the gateway listen on?")
    assert f'said="{day}, ' in shown
    assert seen_in(shop, away, later, "timeline").startswith(day)
    page = shop.store / "episodes" / f"{day}.md"
    assert page.is_file()


def test_a_conversation_that_is_read_elsewhere_has_the_times_of_where_it_was(
    shop: Workshop, api: LoopbackApi
) -> None:
    session = shop.session(start="2026-03-03T07:50:00Z")
    session.user(PORT)
    session.assistant("Noted.")
    work(shop, "America/Los_Angeles", session.now.isoformat())  # for another session
    session.gap(20 * 60)
    session.user(LATER)
    session.assistant("Noted.")
    shop.fire(session)
    work(shop, "Asia/Tokyo", session.now.isoformat())
    prompt = api.prompts[0]
    assert f"[1] 2026-03-02 23:50 PERSON: {PORT}" in prompt
    assert re.search(rf"\] 2026-03-04 12:5\d PERSON: {LATER}", prompt)
    assert "(Asia/Tokyo, as are all times here; until 2026-03-02 23:5" in prompt
    assert "those of America/Los_Angeles)" in prompt


def test_a_machine_that_stays_has_no_word_about_zones_in_its_requests(
    shop: Workshop, api: LoopbackApi
) -> None:
    session = shop.session(start="2026-03-03T07:50:00Z")
    session.user(PORT)
    session.assistant("Noted.")
    shop.fire(session)
    for _ in range(2):
        work_anew(shop, "Asia/Tokyo", session.now.isoformat())
    assert "(Asia/Tokyo, as are all times here)" in api.prompts[0]
    assert (shop.home / "zones").read_text() == f"Asia/Tokyo {session.now.timestamp():.0f}\n"


def test_a_zone_that_is_named_counts_for_all_times(shop: Workshop) -> None:
    moment = datetime.fromisoformat("2026-03-03T07:50:00+00:00")
    shop.home.mkdir(parents=True)
    (shop.home / "zones").write_text("America/Los_Angeles 1900000000\nAsia/Tokyo 1900000001\n")
    zone.use("Europe/Berlin", shop.home)
    assert zone.minute(moment) == "2026-03-03 08:50"
    zone.use("", shop.home)
    assert zone.minute(moment) == "2026-03-02 23:50"


def test_a_clock_that_was_ahead_holds_no_zone_fast(shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.home.mkdir(parents=True)
    (shop.home / "zones").write_text("America/Los_Angeles 1900000000\n")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    now = at("2026-03-03T07:50:00Z")
    zone.note(shop.home, now)
    assert (shop.home / "zones").read_text().splitlines()[0] == f"America/Los_Angeles {now.timestamp():.0f}"


@pytest.mark.parametrize(
    "text", [b"", b"\xff", b"Mars/Olympus 1900000000\nUTC 1900000001\n", b"UTC soon\n", b"UTC+99:00 5\n"]
)
def test_what_no_zone_can_be_read_from_means_the_machines(shop: Workshop, text: bytes) -> None:
    shop.home.mkdir(parents=True)
    (shop.home / "zones").write_bytes(text)
    zone.use("", shop.home)
    assert zone.day("2026-03-03T12:00:00Z") == "2026-03-03"

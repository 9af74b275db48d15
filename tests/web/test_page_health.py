"""Health: what works, what waits and why, live; doctor and audit."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime

import anyio
import pytest

from pipeline.app.application import App
from pipeline.domain.job import Job
from pipeline.ledger import jobs
from pipeline.web import live
from pipeline.web.visit import Setting
from tests.cli.conftest import make_desk
from tests.web.conftest import Browser

NOW = "2026-11-21T08:00:00+00:00"


@pytest.fixture
def desk(tmp_path):
    made = make_desk(tmp_path)
    made.env |= {"REVERIE_NOW": NOW}
    return made


@pytest.fixture
def browser(desk, monkeypatch):
    # The commands that filled the home know it by HOME alone.
    for name in ("REVERIE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name)
    for name, value in desk.env.items():
        monkeypatch.setenv(name, value)
    return Browser(Setting(folder=desk.project, secret=b"s3cret"))


def held(browser, kind, error, *, retry):
    """Put a job into the queue and let it fail, for now or for good."""
    now = datetime.fromisoformat(NOW).timestamp()
    with App(folder=browser.setting.folder).ledger() as ledger:
        jobs.enqueue(ledger, kind, f"/k/{kind}", now=now, run_after=now)
        job = jobs.claim(ledger, owner="t", lease_seconds=60, now=now)
        assert isinstance(job, Job)
        jobs.fail(ledger, job, error, now=now, retry_at=now + 600 if retry else None)


def test_an_empty_home_says_what_to_do(browser):
    page = browser.get("health").text
    assert page.count("<h1>") == 1 and "worker idle" in page and "Nothing was read yet." in page
    assert "<code>reverie init</code>" in page
    assert 'data-load="/t0ken/health/doctor"' in page and "static/live.js" in page


def test_what_is_held_says_why_and_what_mends_it(browser):
    held(browser, "dream", "No login: `claude` then /login. <script>alert(1)</script>", retry=True)
    held(browser, "extract_turn", "The reply was no JSON.", retry=False)
    page = browser.get("health/state").text
    assert "<script>" not in page and "&lt;script&gt;" in page and "<code>claude</code>" in page
    waits, given_up = (
        page.partition(words)[2].partition("</li>")[0] for words in ("1 dream waits", "1 turn was given up")
    )
    assert "It is tried again by itself" in waits and "<code>reverie work</code>" in waits
    assert "reverie work --retry" in re.sub("<[^>]*>", "", given_up)
    assert "1 job waiting, next in 10 min, 1 given up" in page and "2 jobs in the queue" in page


def test_doctor_is_told_worst_first(browser, desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    whole, part = browser.get("health?look=doctor").text, browser.get("health/doctor").text
    assert "data-load" not in whole, "what is shown need not be fetched"
    levels = [piece.partition("<")[0] for piece in part.split('<span class="tag ')[2:]]
    levels = [level.partition(">")[2] for level in levels]
    order = ["error", "warning", "note", "ok"]
    assert levels and levels == sorted(levels, key=order.index) and "ok" in levels
    assert "things looked at" in whole


def test_the_audit_names_file_and_fix(browser, desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    (desk.store / "broken.md").write_text("---\nname: <img src=x>\n---\nNo type here.\n", "utf-8")
    page = browser.get("health?look=audit").text
    assert "broken.md" in page and "<img src=x" not in page and 'class="mends"' in page


def test_the_audit_of_no_folder_is_a_finding(browser):
    answer = browser.get("health?look=audit")
    assert answer.status == 200 and "there is no such directory" in answer.text


def test_an_unknown_look_is_refused(browser):
    assert browser.get("health?look=x").status == 400


def test_a_closed_tab_ends_the_stream(browser):
    # The browser of these tests hangs up at once: the answer must come to its end.
    answer = browser.get("health/stream")
    assert answer.status == 200 and answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"


def events(files, deeds, looks):
    """Return what the stream sends at each of some looks; `deeds` happen before the look they name."""
    sent: list[list[bytes]] = []

    async def pause(_seconds):
        sent.append([])
        deeds.get(len(sent), lambda: None)()

    async def follow():
        stream = live.changes(files, pause)
        async for event in stream:
            if len(sent) > looks:
                break
            if sent:
                sent[-1].append(event)
        await stream.aclose()

    anyio.run(follow)
    return {number: each[0] for number, each in enumerate(sent[:looks], 1) if each}


def test_a_change_is_told_and_told_again_when_it_is_still(tmp_path):
    file = tmp_path / "ledger.sqlite"
    deeds = {2: lambda: file.write_text("x"), 20: lambda: os.utime(file, ns=(1, 1)), 30: file.unlink}
    found = events([file], deeds, 40)
    told = [number for number, event in found.items() if event == live.CHANGED]
    assert told == [2, 5, 20, 23, 30, 33]


def test_a_quiet_stream_beats_and_renews_once_a_minute(tmp_path):
    found = events([tmp_path / "nothing"], {}, 70)
    assert [n for n, event in found.items() if event == live.BEAT] == [15, 30, 45]
    assert [n for n, event in found.items() if event == live.CHANGED] == [60]


def test_looking_at_the_ledger_is_no_change(browser, desk):
    desk.here("add", "Ship on Mondays.", "--name", "ship")
    app = App(folder=desk.project)
    files = live.files_of(app.home, app.store_path)
    browser.get("health/state")  # The first look makes the ledger.
    before = live.stamps(files)
    browser.get("health/state")
    assert live.stamps(files) == before and any(before)
    desk.here("add", "Log each retry.", "--name", "retry", REVERIE_NOW=datetime.now(UTC).isoformat())
    assert live.stamps(files) != before

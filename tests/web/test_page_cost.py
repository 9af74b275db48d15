"""Cost: calls, tokens and dollars by day and purpose, against the caps."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest

from pipeline.app import spending
from pipeline.app.application import App
from pipeline.cli.screen import screen
from pipeline.config import SpendSettings
from pipeline.core.clock import FixedClock
from pipeline.ledger import calls
from pipeline.llm.budget import Usage
from pipeline.web.visit import Setting
from tests.web.conftest import Browser

NOW = datetime.fromisoformat("2026-11-21T08:00:00+00:00")


@pytest.fixture
def browser(project, monkeypatch):
    monkeypatch.setenv("REVERIE_NOW", NOW.isoformat())
    monkeypatch.setenv("REVERIE_EXTRACTION__TIME_ZONE", "Europe/Berlin")
    return Browser(Setting(folder=project, secret=b"s3cret"))


def called(browser, before, purpose, usage, dollars, *, outcome="ok", sent=True, ended=True, model="haiku"):
    """Enter one call, `before` now."""
    clock = FixedClock(NOW - before)
    with App(folder=browser.setting.folder).ledger() as ledger:
        meter = calls.LedgerMeter(ledger, SpendSettings(), clock)
        number = meter.begin(purpose=purpose, provider="fake", model=model, prompt_digest="d", estimate=usage)
        if ended:
            meter.end(number, outcome=outcome, usage=usage, dollars=dollars, sent=sent)


@pytest.fixture
def spent(browser):
    # What comes first is entered first: a later call would count as of a clock that was ahead.
    # In Berlin that is half past midnight of the 20th, in UTC still the 19th.
    called(browser, timedelta(hours=32, minutes=30), "extract.turn", Usage(10, 1), 0.0625, outcome="invalid")
    called(browser, timedelta(minutes=10), "extract.turn", Usage(1000, 100, 0, 3000), 0.25)
    called(browser, timedelta(minutes=5), "extract.verify", Usage(500, 50, 500, 0, estimated=True), 0.5)
    called(browser, timedelta(minutes=1), "extract.turn", Usage(9999, 9), 9.0, sent=False)
    return browser


def test_days_are_those_of_the_zone_and_hold_what_was_sent(spent):
    found = spending.spent(App(folder=spent.setting.folder), 7)
    by_day = {day.name: (day.calls, day.failed, day.dollars) for day in found.days if day.calls}
    assert by_day == {"2026-11-20": (1, 1, 0.0625), "2026-11-21": (2, 0, 0.75)}
    assert [day.name for day in found.days][::6] == ["2026-11-15", "2026-11-21"]
    assert (found.total.tokens, found.total.asked_tokens) == (5161, 5010)
    assert found.total.cached_share == pytest.approx(3000 / 5010)
    assert (found.total.estimated, found.total.estimated_dollars) == (1, 0.5)


def test_the_page_has_figures_by_purpose_and_marks_estimates(spent):
    page = spent.get("cost").text
    assert page.count("<h1>") == 1 and "style=" not in page
    rows = page.partition("By purpose</h2>")[2].partition("</table>")[0]
    assert rows.index("extract.verify") < rows.index("extract.turn"), "the dearest comes first"
    verify = rows.partition("extract.verify")[2].partition("</tr>")[0]
    assert verify.count("≈") == 3 and "$0.5000" in verify
    turn = rows.partition("extract.turn")[2].partition("</tr>")[0]
    assert "≈" not in turn and "75%" in turn and "1 failed" in turn
    assert "bar-guess" in page and "What is pale was estimated" in page
    assert "≈ 1 call of 3 counted no tokens" in page


def test_what_is_reserved_for_calls_under_way_is_told_apart(spent):
    called(
        spent,
        timedelta(seconds=30),
        "extract.turn",
        Usage(100_000, 0),
        0.0,
        ended=False,
        model="claude-haiku-4-5",
    )
    page = spent.get("cost").text
    (turns,) = [item for item in spending.spent(App(folder=spent.setting.folder), 7).purposes if item.running]
    assert turns.reserved_dollars > 0.05
    text = (
        f"${turns.reserved_dollars:.2f}" if turns.reserved_dollars >= 1 else f"${turns.reserved_dollars:.4f}"
    )
    assert f"</strong> in all, {text} of it reserved for 1 call under way" in page
    assert f"in 24 hours, {text} of it reserved and not spent yet" in page
    rows = page.partition("By purpose</h2>")[2].partition("</table>")[0]
    assert f"{text} reserved" in rows.partition("extract.turn")[2].partition("</tr>")[0]
    assert "reserved" not in rows.partition("extract.verify")[2].partition("</tr>")[0]
    state = App(folder=spent.setting.folder).status()
    assert any(f"{turns.reserved_dollars:.4f} reserved" in line for line in screen(state, 80, 0))


def test_the_caps_show_how_far_they_are(spent):
    page = spent.get("cost").text
    meters = page.partition('class="meters"')[2].partition("</ul>")[0]
    assert "<strong>2</strong> of 60 calls in the last hour" in meters
    assert "<strong>$0.7500</strong> of $1.00 in 24 hours" in meters and 'width="75.0"' in meters
    assert "at its cap" not in meters


def test_a_cap_that_is_reached_says_that_work_waits(spent, monkeypatch):
    monkeypatch.setenv("REVERIE_SPEND__DOLLARS_PER_DAY", "0.5")
    page = spent.get("cost").text
    assert "at its cap: the work waits" in page and "meter-full" in page and "bar-cap" in page


def test_the_table_behind_the_bars_has_every_day_with_a_call(spent):
    page = spent.get("cost?days=7&by=tokens").text
    table = page.partition("The days as a table")[2].partition("</table>")[0]
    assert re.findall(r">(2026-\d\d-\d\d)</a>", table) == ["2026-11-21", "2026-11-20"]
    heights = [float(each) for each in re.findall(r'class="bar-\w+"[^>]*height="([\d.]+)"', page)]
    assert sum(heights) == pytest.approx(100 + 0.6, abs=0.1), "the fullest day reaches the top, each shows"


def test_names_of_models_and_purposes_are_escaped(browser):
    called(browser, timedelta(minutes=1), "<b>x</b>", Usage(1, 1), 0.1, model="<script>alert(1)</script>")
    page = browser.get("cost").text
    assert "<script>alert" not in page and "<b>x" not in page and "&lt;b&gt;x" in page


def test_a_call_under_way_is_one(browser):
    called(browser, timedelta(minutes=1), "extract.turn", Usage(10, 10), 0.1, ended=False)
    assert "1 under way" in browser.get("cost").text


def test_without_calls_it_says_when_they_come(browser):
    page = browser.get("cost").text
    assert "No model was called in these days." in page and "reverie process --estimate" in page
    assert '<svg class="meter"' in page


@pytest.mark.parametrize("query", ["days=0", "days=366", "days=x", "by=moons"])
def test_what_can_not_be_shown_is_refused(browser, query):
    answer = browser.get(f"cost?{query}")
    assert answer.status == 400 and "That did not work" in answer.text


def test_this_month_can_be_chosen(browse):
    page = browse().get("cost?days=month").text
    assert "<h2>This month</h2>" in page and 'days=month" aria-current="true"' in page.replace(
        "&amp;", "&"
    ).replace("&by=tokens", "")

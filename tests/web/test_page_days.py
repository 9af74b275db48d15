"""Today and Timeline: what happened on a day, and the days of a month."""

from __future__ import annotations

import re
from datetime import datetime

import pytest

from pipeline.app import history, memories, pins
from pipeline.app.application import App
from pipeline.core.clock import FixedClock
from pipeline.core.home import Home
from pipeline.ledger import inbox, open_ledger, recalls
from pipeline.web.visit import Setting
from tests.cli.conftest import make_desk
from tests.support.transcripts import Transcript
from tests.web.conftest import Browser

NOW = "2026-11-21T08:00:00+00:00"
HOSTILE = "<script>alert(1)</script> اكتب كل الاختبارات 数据库"


@pytest.fixture(scope="module")
def month(tmp_path_factory):
    """A project with conversations around a midnight and memories that came, changed, went and were asked."""
    desk = make_desk(tmp_path_factory.mktemp("pagedays"))
    desk.env |= {"REVERIE_NOW": NOW, "REVERIE_EXTRACTION__TIME_ZONE": "Europe/Berlin"}
    projects = desk.project.parent / ".claude" / "projects"
    talk = Transcript(cwd=str(desk.project), start="2026-11-18T22:50:00Z", step_seconds=300)
    for text in ("Before midnight in Berlin.", f"After it: {HOSTILE}"):
        talk.user(text)
        talk.assistant("Good.")
    (projects / "-shop").mkdir(parents=True)
    talk.write(projects / "-shop")
    desk.here("ingest", "--dir", projects)
    at = {"REVERIE_NOW": "2026-11-19T23:30:00+00:00"}
    desk.here("add", "Ship on Mondays.", "--name", "ship", **at)
    desk.here("add", f"Never write {HOSTILE} here.", "--name", "retry", **at)
    desk.here("update", "ship", "--text", "Ship on Tuesdays.", **at)
    desk.here("show", "ship", **at)
    desk.here("show", "ship", REVERIE_NOW="2026-11-20T10:00:00+00:00")
    desk.here("forget", "retry", REVERIE_NOW="2026-11-20T23:30:00+00:00")
    return desk


@pytest.fixture
def browser(month, monkeypatch):
    # The commands that filled the home know it by HOME alone.
    for name in ("REVERIE_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name)
    for name, value in month.env.items():
        monkeypatch.setenv(name, value)
    return Browser(Setting(folder=month.project, secret=b"s3cret"))


def section(page: str, key: str) -> str:
    return page.partition(f'<h2 id="{key}">')[2].partition("</section>")[0]


def test_a_day_shows_what_became_of_memories_and_what_was_asked_for(browser):
    page = browser.get("today?day=2026-11-20").text
    assert page.count("<h1>") == 1 and "<h1>Friday, 20 November 2026</h1>" in page
    assert sorted(re.findall(r'class="name" dir="auto" href="[^"]*">(\w+)<', section(page, "learned"))) == [
        "retry",
        "ship",
    ]
    assert ">ship</a>" in section(page, "changed") and "Ship on Tuesdays." in section(page, "changed")
    assert "2 times" in section(page, "recalled") and ">ship</a>" in section(page, "recalled")
    assert 'id="forgotten"' not in page and 'id="conversations"' not in page


def test_today_is_the_day_of_the_zone(browser):
    page = browser.get("today").text
    assert "<h1>Today</h1>" in page and "Saturday, 21 November 2026" in page
    assert ">retry</a>" in section(page, "forgotten")
    assert "Day after" not in page and "day=2026-11-20" in page


def test_conversations_stand_on_their_own_days_and_are_escaped(browser):
    assert "23:50</time>–" in browser.get("today?day=2026-11-18").text
    page = browser.get("today?day=2026-11-19").text
    assert 'datetime="2026-11-18T23:00:00' in page and "1 turn " in page
    learned = browser.get("today?day=2026-11-20").text
    assert "<script>alert" not in page + learned
    assert "&lt;script&gt;alert(1)&lt;/script&gt; اكتب كل" in learned


def test_a_day_on_which_nothing_happened_says_what_to_do(browser):
    assert "Nothing happened on this day." in browser.get("today?day=2026-11-03").text


@pytest.mark.parametrize(
    "path",
    [
        "today?day=2026-13-01",
        "today?day=yesterday",
        "today?only=x",
        "today?only=learned&from=-1",
        "timeline?month=2026-13",
        "timeline?month=x",
    ],
)
def test_what_is_no_day_or_month_is_refused_in_words(browser, path):
    answer = browser.get(path)
    assert answer.status == 400 and "That did not work" in answer.text


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-31"])
def test_the_ends_of_the_calendar_are_days_like_others(browser, day):
    assert browser.get(f"today?day={day}").status in (200, 400)
    assert browser.get(f"timeline?month={day[:7]}").status in (200, 400)


def test_a_long_list_has_pages_of_its_own(browser, month):
    ids = {"session": "long", "store": str(month.store)}
    with App(folder=month.project).ledger() as ledger:
        for number in range(130):
            recalls.note_use(
                ledger, "show", store=ids["store"], memory=f"m{number}", name=f"name-{number:03}",
                path=f"name-{number:03}.md", digest="d", now=_epoch("2026-11-10T12:00:00+00:00"),
            )  # fmt: skip
    whole = browser.get("today?day=2026-11-10").text
    assert section(whole, "recalled").count('class="row"') == 20 and "All 130 recalled" in whole
    first, rest = (browser.get(f"today?day=2026-11-10&only=recalled&from={start}").text for start in (0, 100))
    assert first.count('class="row"') == 100 and "name-099" in first and "from=100" in first
    assert rest.count('class="row"') == 30 and "name-129" in rest


def test_the_timeline_lists_the_days_newest_first(browser):
    page = browser.get("timeline?month=2026-11").text
    days = re.findall(r'class="name" href="[^"]*day=([\d-]+)"', page)
    assert days[:4] == ["2026-11-21", "2026-11-20", "2026-11-19", "2026-11-18"]
    friday = page.partition("Friday, 2026-11-20")[2].partition('</li>\n  <li class="row">')[0]
    assert (
        "2 learned · 1 changed · 1 recalled" in re.sub("</?span[^>]*>", "", friday)
        and "<bdi>Ship on Mondays" in friday
    )
    assert "<script>alert" not in page and "Europe/Berlin" in page


def test_the_weeks_begin_on_monday_and_hold_every_day(browser):
    page = browser.get("timeline?month=2026-11").text
    weeks = page.partition('<table class="weeks">')[2].partition("</table>")[0]
    cells = re.findall(r"<td>(.*?)</td>", weeks)
    assert len(cells) == 42 and cells[:6] == [""] * 6
    assert [re.sub("<[^>]*>", "", cell) for cell in cells[6:36]] == [str(n) for n in range(1, 31)]
    assert "busy-" in cells[25] and "busy-" not in cells[30]


def test_a_day_and_its_month_count_alike_and_a_pin_is_no_change(browse, project):
    app = App(folder=project)
    app.clock = FixedClock(datetime.fromisoformat("2026-11-27T12:00:00+00:00"))
    for name in ("one", "two"):
        memories.add(app, f"The {name} is kept.", kind="project", name=name)
    pins.pin(app, "one", pinned=True)
    memories.forget(app, "two")
    history.restore(app, "two")
    browser = browse()
    page = browser.get("today?day=2026-11-27").text
    figures = re.findall(r"<strong>(\d+)</strong>(?:</a>)? ([a-z ]+)<", page)
    counted = {name.strip(): number for number, name in figures}
    assert (counted["learned"], counted["changed"], counted["pinned or linked"]) == ("3", "0", "1")
    line = browser.get("timeline?month=2026-11").text
    assert "3 learned · 1 pinned or linked · 1 forgotten" in re.sub("</?span[^>]*>", "", line)
    assert ">one</a>" in section(page, "touched") and 'tag">pinned' in section(page, "touched")


def test_an_empty_month_says_how_days_come(browser):
    page = browser.get("timeline?month=2026-08").text
    assert "Nothing happened in August 2026." in page and "<code>reverie add</code>" in page


def test_what_was_recalled_here_is_not_told_of_another_project(browser, month, tmp_path):
    with App(folder=month.project).ledger() as ledger:
        recalls.note_use(
            ledger, "show", store=str(tmp_path), memory="m", name="elsewhere", path="elsewhere.md",
            digest="d", now=_epoch("2026-11-12T12:00:00+00:00"),
        )  # fmt: skip
    assert "elsewhere" not in browser.get("today?day=2026-11-12").text
    assert "elsewhere" in browser.get("today?day=2026-11-12&all=1").text


def test_the_commands_tell_of_it_too(month):
    found = month.here("day", "2026-11-20", "--json").json
    assert [(each["memory"], each["times"]) for each in found["recalled"]] == [("ship", 2)]
    assert "recalled:\n11:00  ship (2 times)" in month.here("day", "2026-11-20").out


def _epoch(text: str) -> float:
    from datetime import datetime

    return datetime.fromisoformat(text).timestamp()


def test_today_begins_with_what_waits_and_asks_whether_all_is_in_order(browse, project):
    browser = browse()
    assert "for your yes or no" not in browser.get("today").text
    app = App(folder=project)
    with open_ledger(Home(app.home).ledger) as ledger:
        for number in range(3):
            inbox.add_inbox(
                ledger, str(app.store_path), kind="new", reason="r", run_id=f"r{number}",
                now=app.clock.now(), payload_json=f'{{"name": "n{number}"}}',
            )  # fmt: skip
    page = browser.get("today").text
    assert re.search(r'href="/t0ken/inbox"><strong>3</strong> things wait', page)
    assert 'data-load="/t0ken/health/trouble"' in page and "look=doctor" in page
    assert "for your yes or no" not in browser.get("today?day=2026-01-01").text


def test_errors_of_doctor_stand_above_today(browse, project):
    browser = browse()
    home = App(folder=project).home
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.toml").write_text("[model\n")
    part = browser.get("health/trouble").text
    assert 'class="wrong"' in part and "not in order" in part and "look=doctor" in part
    assert "<html" not in part

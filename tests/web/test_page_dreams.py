"""Dreams in the browser: each old beside new, what covers what was left out, what it cost, and its undo."""

import dataclasses
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from pipeline.app import history, memories
from pipeline.app.application import App
from pipeline.app.changes import MemoryChange
from pipeline.consolidation.commit import report as reports
from pipeline.consolidation.commit.report import DreamReport
from pipeline.core.home import Home
from pipeline.ledger import inbox, open_ledger
from pipeline.store import Store
from pipeline.web.rendering import environment
from pipeline.web.visit import Setting
from tests.support.dreaming import Dreaming, note, op, planned
from tests.web.conftest import Browser

FIRST = "Indent the shop with tabs."
SAME = "The shop indents with tabs."
MORE = "Tabs are shown <b>four</b> wide."


class Night:
    """A store over which dreams ran, and a browser on it."""

    def __init__(self, root, ledger):
        self.home = App(store=root).home
        self.bench = Dreaming(ledger, Store.open(root / "memories", create=True), self.home)
        self.bench.set(retire_share=1.0)
        self.browser = Browser(Setting(folder=root, secret=b"s3cret", store=root / "memories"))

    def merge(self):
        self.bench.keep(note("tabs", FIRST), note("more-tabs", SAME, "2026-03-02"), note("third", MORE))
        covered = [("more-tabs.1", "tabs.1")]
        self.bench.model(planned(op("merge", "tabs", "more-tabs", "third", into="tabs", covered=covered)))
        report = self.bench.dream()
        assert report.word == "done", reports.as_markdown(report)
        return report

    def page(self, query=""):
        answer = self.browser.get(f"dreams{query}")
        assert answer.status == 200
        return answer.text

    def turn(self, page):
        given = {name: re.findall(rf'name="{name}" value="([^"]+)"', page)[0] for name in ("run", "dream")}
        answer = self.browser.post("dreams/undo", given)
        assert answer.status == 303
        return parse_qs(urlsplit(answer.headers["location"]).query)["done"][0]

    def write(self, number, **values):
        at = f"2026-11-{number // 60 + 1:02}T10:{number % 60:02}:00+00:00"
        report = DreamReport(f"{number:08}-0000-4000-8000-000000000000", str(self.bench.store.path), at)
        reports.write(dataclasses.replace(report, **values), self.home)
        return report.run_id


@pytest.fixture
def night(tmp_path):
    with open_ledger(Home(App(store=tmp_path).home).ledger) as ledger:
        yield Night(tmp_path, ledger)


def test_before_the_first_dream_the_page_says_what_brings_one(night):
    assert "No dream has run here yet." in night.page() and "reverie dream" in night.page()


def test_a_merge_stands_old_beside_new_with_what_covers_what_it_left_out(night):
    report = night.merge()
    page = night.page()
    left = page.partition("Where that stands now")[2]
    gone, cover = re.search(r"<del>(.*?)</del>.*?class=\"is\"[^>]*>(.*?)</p>", left, re.DOTALL).groups()
    assert gone == SAME and FIRST in cover and "nothing takes its place" not in page
    into = '<a href="/t0ken/memory/tabs" dir="auto">tabs</a>'
    assert into in cover and f'<span class="quiet">moved to</span> {into}' in left
    assert "<ins>Tabs are shown &lt;b&gt;four&lt;/b&gt; wide.</ins>" in page and "<b>" not in page
    assert 'href="/t0ken/memory/more-tabs" dir="auto">more-tabs</a>' in page
    assert '<h2 class="first">Dream of' in page and "What it cost" in page and report.run_id in page
    assert f"<dt>model calls</dt><dd>{report.calls}" in page and f"{report.tokens:,}" in page


def test_what_a_report_says_covers_a_sentence_stands_beside_it():
    left = MemoryChange(note("old", "Tabs.\n\n**Why:** They are <i>narrow</i>."), None, in_archive=True)
    change = vars(environment().get_template("diff.html").module)["change"]
    covers = {"Why: They are <i>narrow</i>.": "Tabs take <b>less</b>."}
    text = change(left, [left], covers)
    assert "<del>Why: They are &lt;i&gt;narrow&lt;/i&gt;.</del>" in text
    assert "Tabs take &lt;b&gt;less&lt;/b&gt;." in text and text.count("nothing takes its place") == 1
    assert change(left, [left]).count("nothing takes its place") == 2


def test_what_came_of_a_dream_is_said_in_memories(night):
    night.merge()
    assert night.page().count("3 memories became 1.") == 2
    run = night.write(59 * 60, word="partial", failed=["tabs, third: no answer", "fourth"])
    said = (
        "Nothing was changed. About tabs, third and fourth the model gave no usable answer. Nothing is lost"
    )
    assert said in night.page(f"?run={run}")
    assert "Nothing was changed. About a part no answer came." in night.page()


def test_the_page_opens_on_the_newest_dream_that_changed_something(night):
    report = night.merge()
    later = night.write(59 * 60, word="nothing")
    page = night.page()
    assert "1 later dream changed nothing" in page and "Undo this dream" in page
    assert f'<code title="{report.run_id}">{report.run_id[:8]}</code>' in page
    assert "later dream" not in night.page(f"?run={later}")


@pytest.mark.parametrize(
    ("at", "is_marked"),
    [("10-31T17:59", False), ("10-31T18:00", True), ("11-01T05:59", True), ("11-01T06:00", False)],
)
def test_last_night_is_marked(night, monkeypatch, at, is_marked):
    monkeypatch.setenv("REVERIE_NOW", "2026-11-01T16:30:00Z")
    night.write(1, word="nothing", at=f"2026-{at}:00+00:00")
    assert night.page().count(">last night</span>") == 2 * is_marked


@pytest.mark.parametrize(
    ("now", "at", "age"),
    [
        ("01T10:43", "01T10:42", "1 min ago"),
        ("01T05:30", "01T05:10", "20 min ago"),
        ("03T09:00", "01T03:00", "2 days ago"),
    ],
)
def test_what_did_not_run_last_night_is_told_with_its_age(night, monkeypatch, now, at, age):
    monkeypatch.setenv("REVERIE_NOW", f"2026-11-{now}:00Z")
    night.write(1, word="nothing", at=f"2026-11-{at}:00+00:00")
    page = night.page()
    assert "last night" not in page and page.count(f">{age}</span>") == 2


def test_a_dream_of_the_list_is_found_by_the_words_that_are_read(night):
    night.write(1, word="nothing")
    assert ">2026-11-01 10:01</span></a>" in night.page()


def test_a_dream_is_undone_and_done_again(night):
    night.merge()
    page = night.page()
    assert "2 memories will come back" in page and "1 memory will be as before" in page
    assert "2 memories came back" in night.turn(page)
    assert night.bench.names() == ["more-tabs", "tabs", "third"]
    page = night.page("?done=Undone")
    back = page.partition("Back: ")[2].partition("</p>")[0]
    assert (
        back.index(">more-tabs</a>")
        < back.index(">third</a>")
        < back.index("As before: ")
        < back.index(">tabs</a>")
    )
    assert "Back: " not in night.page()
    page = night.page()
    assert "stands now" not in page and page.count("Where it stood after that") == 2
    assert page.count(">undone</span>") == 2 and "Put it back" in page and SAME in page
    assert night.turn(page).startswith("Put back: 2 memories were put away") and night.bench.names() == [
        "tabs"
    ]
    assert night.turn(night.page()).startswith("Undone") and night.bench.names() == [
        "more-tabs",
        "tabs",
        "third",
    ]


def test_what_was_restored_in_between_is_said_to_stay(night):
    night.merge()
    history.restore(App(store=night.bench.store.path), "third")
    page = night.page()
    assert "1 memory will come back" in page and "1 memory will be as before" in page
    said = night.turn(page)
    assert "1 memory came back" in said and "1 memory is as before" in said and "third stays as it is" in said
    said = night.turn(night.page())
    assert night.bench.names() == ["tabs", "third"]
    assert said.startswith("Put back: ") and "1 memory was put away" in said
    assert "1 memory is as the dream left it" in said and "third stays as it is" in said


def test_a_file_that_kept_what_came_since_is_named(night):
    night.merge()
    page = night.page()
    diary = next((night.bench.store.root / "episodes").rglob("*.md"))
    diary.write_bytes(diary.read_bytes() + b"\nBy hand.\n")
    assert "episodes" not in night.turn(page)
    assert "The day’s diary keeps its later lines." in night.page("?done=Undone&diary=yes")
    assert "later lines" not in night.page("?done=Undone")


def test_what_stands_in_the_way_of_an_undo_can_be_undone_there(night):
    night.merge()
    app = App(store=night.bench.store.path)
    memories.forget(app, "tabs")
    page = night.page()
    given = {name: re.findall(rf'name="{name}" value="([^"]+)"', page)[0] for name in ("run", "dream")}
    refused = night.browser.post("dreams/undo", given)
    assert refused.status == 400 and "Undo the later change" in refused.text and "What it did" in refused.text
    said = night.turn(refused.text)
    assert "forget tabs" in said and "can be undone now" in said
    assert night.turn(night.page()).startswith("Undone") and len(night.bench.names()) == 3


def test_a_second_press_of_undo_does_nothing_more(night):
    night.merge()
    page = night.page()
    night.turn(page)
    assert night.turn(page) == "It was undone before." and len(night.bench.names()) == 3


def test_what_was_refused_held_back_or_put_to_you_says_why(night):
    refused = [
        {
            "op": "merge",
            "memories": ["a", "<i>"],
            "why": "it <b>loses</b> a fact",
            "to_inbox": False,
            "later": False,
        },
        {"op": "retire", "memories": ["c"], "why": "it is pinned", "to_inbox": True, "later": False},
        {"op": "merge", "memories": ["d"], "why": "the ceiling is reached", "to_inbox": False, "later": True},
    ]
    night.write(
        1, word="partial", refused=refused, failed=["x, y: no answer", "slow"],
        left_alone=["mine", "whose"], nobodys=["whose"], unread=["z.md: no front matter"], dollars=0.0123,
    )  # fmt: skip
    page = night.page()
    for head, words in (
        ("Refused by the checks", "it &lt;b&gt;loses&lt;/b&gt; a fact"),
        ("Put to you", "it is pinned"),
        ("Held back for the next dream", "the ceiling is reached"),
        ("Without an answer", "x, y: no answer"),
        ("as they are yours", "mine"),
        ("Nobody knows who wrote these", "whose"),
        ("Took no part", "z.md: no front matter"),
        ("dollars", "$0.0123"),
    ):
        assert words in page.partition(head)[2][:400], head
    assert '<li dir="auto"><a href="/t0ken/memory/slow" dir="auto">slow</a></li>' in page
    assert '<form method="post"' not in page and ">a part failed</span>" in page


def test_what_was_put_to_you_says_whether_it_still_waits(night):
    refused = [{"op": "retire", "memories": ["c"], "why": "pinned", "to_inbox": True, "later": False}]
    run = night.write(1, word="partial", refused=refused)
    with open_ledger(Home(night.home).ledger) as ledger:
        number = inbox.add_inbox(
            ledger,
            str(night.bench.store.path),
            kind="retire",
            payload_json="{}",
            reason="r",
            run_id=run,
            now=1.0,
        )
        assert "where 1 thing of it waits" in night.page()
        assert "It made no new item" not in night.page()
        inbox.decide_inbox(ledger, number, "rejected", now=2.0)
    page = night.page()
    assert "To the inbox" not in page and "0 accepted, 1 rejected" in page


def test_runs_says_that_a_dream_asked_a_model(night):
    night.merge()
    page = night.browser.get("runs").text
    assert "by rules" not in page and "a model, " in page and "held back or failed" in page


def test_a_sentence_that_left_for_another_memory_is_shown_as_gone():
    old, new = note("tabs", f"{FIRST} {MORE}"), note("tabs", FIRST)
    left = MemoryChange(old, new)
    came = MemoryChange(None, note("third", MORE), in_archive=True)
    change = vars(environment().get_template("diff.html").module)["change"]
    text = change(left, [left, came])
    assert "Its text stays" not in text and "<del>Tabs are shown &lt;b&gt;four" in text


def test_a_dream_whose_files_are_no_longer_kept_shows_its_report(night):
    report = night.merge()
    night.write(2, word="done", actions=[dataclasses.replace(report.actions[0], reason="long ago")])
    page = night.page("?run=00000002")
    assert "no longer kept" in page and "long ago" in page and "Undo this dream" not in page
    assert f'<td dir="auto"><del>{SAME}</del></td>' in page


def test_the_list_holds_a_hundred_newest_first_and_only_those_of_this_folder(night, tmp_path):
    for number in range(103):
        night.write(number, word="nothing")
    night.write(104, store=str(tmp_path / "elsewhere"), word="failed")
    page = night.page().replace("\N{NO-BREAK SPACE}", " ")
    assert "103 dreams" in page and "1 to 100 of 103" in page and "elsewhere" not in page
    assert page.index("2026-11-02 10:42") < page.index("2026-11-02 10:41")
    older = night.page("?from=100").replace("\N{NO-BREAK SPACE}", " ")
    assert "101 to 103 of 103" in older and "2026-11-01 10:02</span>" in older.partition("Dream of")[2][:80]
    assert "No dream here has an id" in night.browser.get("dreams?run=zz").text


def test_a_file_that_holds_no_report_is_named(night):
    night.write(1)
    (Home(night.home).reports / "bad.json").write_text("{}", "utf-8")
    answer = night.browser.get("dreams")
    assert answer.status == 500 and "bad.json" in answer.text and "Move the file away" in answer.text


def test_no_form_undoes_anything_without_its_proof(night):
    report = night.merge()
    given = {"run": report.run_id, "dream": report.run_id}
    assert night.browser.post("dreams/undo", {**given, "proof": "x"}).status == 400
    assert night.browser.get(f"dreams/undo?run={report.run_id}").status == 405
    assert night.browser.post("dreams/undo").status == 400 and night.bench.names() == ["tabs"]

"""The list of memories, one of them, and every change of one, as a browser without scripts asks for them."""

import html
import re
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

import pytest

from pipeline.app import memories as written
from pipeline.app.application import App
from pipeline.core import paths
from pipeline.core.clock import FixedClock
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import key_of
from pipeline.web import words
from tests.support.transcripts import Transcript

HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>' {{ 7*7 }}"
TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"


@pytest.fixture
def keep(project):
    """Keep a memory by its sentence, for the project or for all of them."""

    def kept(statement, *, user=False, at="", kind="project", **more):
        app = App(user=True) if user else App(folder=project)
        if at:
            app.clock = FixedClock(datetime.fromisoformat(at))
        return written.add(app, statement, kind=kind, **more)

    return kept


def names(answer):
    """Return the names of the list, in its order."""
    return re.findall(r'<a class="name"[^>]*>([^<]*)</a>', answer.text)


def test_whoever_searches_where_nothing_is_kept_is_told_so(browse):
    for path in ("?q=zebra", "?type=decision", "?q=zebra&part=rows"):
        found = browse().get(path).text
        assert "Nothing is kept here yet" in found and "Fewer words" not in found


def test_the_list_is_found_by_words_and_by_every_filter(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    keep("We chose SQLite over a server.", kind="decision", name="sqlite", at="2024-01-01T00:00:00Z")
    keep("Answers are short.", kind="feedback", user=True, name="short")
    browser = browse()
    assert set(names(browser.get())) == {"retries", "sqlite", "short"}
    assert names(browser.get("?q=gateway")) == ["retries"]
    assert names(browser.get("?type=decision")) == ["sqlite"]
    assert names(browser.get("?for=user")) == ["short"]
    assert names(browser.get("?for=project&sort=name")) == ["retries", "sqlite"]
    assert names(browser.get("?age=over-365")) == ["sqlite"]
    assert set(names(browser.get("?age=1"))) == {"retries", "short"}
    assert len(names(browser.get("?by=the+user"))) == 3 and not names(browser.get("?by=an+import"))
    bands = [
        browser.get(f"?q=gateway&band={band}") for band in ("active", "new", "fading", "dormant", "archived")
    ]
    assert list(map(names, bands)) == [[], ["retries"], [], [], []]
    assert '<span class="tag">new</span>' in bands[1].text
    nothing = browser.get("?q=zebra&type=decision").text
    assert "Fewer words or fewer filters find more" in nothing and "All memories" in nothing


def test_what_is_archived_is_found_by_words_where_one_asks_for_it(browse, keep, project):
    keep("The gateway is retried three times.", name="retries")
    keep("The gateway of old was retried never.", name="old")
    keep("The gateway is <b>slow</b>.", name="slow", kind="reference")
    root = App(folder=project).open_store().root
    browser = browse()
    assert "archived: " not in browser.get("?q=gateway").text
    (root / ".reverie/asleep").write_text("archived old.md\narchived slow.md\n")
    for query in ("?q=gateway", "?q=gateway&part=rows"):
        found = browser.get(query)
        assert names(found) == ["retries"]
        line = re.search(r'2 more memories that hold these words are archived.*?href="([^"]*)"', found.text)
        assert "q=gateway" in line.group(1) and "band=archived" in line.group(1)
    there = browser.get("?q=gateway&band=archived")
    assert set(names(there)) == {"old", "slow"} and "are archived" not in there.text
    assert names(browser.get("?q=gateway&band=archived&type=reference")) == ["slow"]
    # Words that are looked for as they are written leave them out in the same way.
    keep("R is used.", name="of-r")
    (root / ".reverie/asleep").write_text("archived of-r.md\n")
    assert "1 more memory that holds these words is archived" in browser.get("?q=R").text
    assert names(browser.get("?q=R&band=archived")) == ["of-r"]


@pytest.mark.parametrize(
    "query", ["type=x", "for=x", "age=x", "band=x", "by=x", "sort=x", "from=-1", "from=1e9"]
)
def test_a_filter_that_there_is_not_is_refused(browse, keep, query):
    keep("The gateway is retried three times.")
    answer = browse().get(f"?{query}")
    assert answer.status == 400 and "Traceback" not in answer.text


@pytest.mark.parametrize(
    "words", ["%22", "AND+OR", "*", "the", "%00", "%EF%BF%BF", "%27%29%3B--", "(", "x" * 3000]
)
def test_words_that_mean_nothing_are_no_fault(browse, keep, words):
    keep("The gateway is retried three times.")
    answer = browse().get(f"?q={words}")
    assert answer.status == 200 and 'name="q"' in answer.text


def test_what_is_typed_changes_a_part_of_the_page(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    part = browse().get("?part=rows&q=gateway")
    assert names(part) == ["retries"] and "<html" not in part.text and "1 memory found" in part.text
    assert "defer></script>" in browse().get().text and browse().get("static/search.js").status == 200


def test_of_many_a_hundred_are_shown_at_a_time(browse, keep, project):
    keep("The gateway is retried three times.", name="first")
    folder = App(folder=project).open_store().path
    for number in range(104):
        text = f"---\nname: m{number:03}\ndescription: Number {number}\ntype: project\n---\nWords {number}.\n"
        (folder / f"m{number:03}.md").write_text(text)
    browser = browse()
    first, second = browser.get("?sort=name"), browser.get("?sort=name&from=100")
    assert len(names(first)) == 100 and "105 memories, 1 to 100" in first.text
    assert names(second) == ["m099", "m100", "m101", "m102", "m103"] and "101 to 105" in second.text
    (address,) = re.findall(r'rel="next" href="([^"]*)"', first.text)
    further = html.unescape(address)
    assert "sort=name" in further and "from=100" in further
    assert 'rel="prev"' in second.text and 'rel="next"' not in second.text


def test_hostile_texts_stand_as_texts_in_the_list(browse, keep, project):
    keep(f"Never run {HOSTILE} here.", title=HOSTILE, description=HOSTILE, name="hostile")
    folder = App(folder=project).open_store().path
    (folder / "odd.md").write_text(
        f"---\nname: '{HOSTILE.replace(chr(39), chr(39) * 2)}'\ntype: '<b>'\n---\n{HOSTILE}\n"
    )
    browser = browse()
    for path in ("", f"?q={quote(HOSTILE)}", "?part=rows&q=run"):
        text = browser.get(path).text
        assert (
            "<script>alert" not in text
            and "<img" not in text
            and "49" not in re.sub(r"20\d\d-\d\d-\d\d", "", text)
        )
    assert html.escape("<script>alert(1)</script>") in browser.get().text


def follow(browser, answer):
    """Return the page that a change leads to, as a browser goes there."""
    assert answer.status == 303, answer.text
    return browser.get(answer.headers["location"].split("/", 2)[2])


def history_of(page):
    """Return the moments of the changes that a page lists, the newest first."""
    return re.findall(r'<p class="small quiet"><span class="nowrap">(20[^<]+)</span>', page.text)


def fields(answer, deed, nth=0):
    """Return the hidden and shown values of the form for `deed` on a page."""
    form = re.findall(rf'<form[^>]*action="[^"]*/memories/{deed}[^"]*">(.*?)</form>', answer.text, re.DOTALL)[
        nth
    ]
    values = dict(re.findall(r'<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"', form))
    areas = re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL)
    return {key: html.unescape(value) for key, value in {**values, **dict(areas)}.items() if key != "proof"}


def undone(browser, page):
    """Press the undo that a page offers after a change."""
    return follow(browser, browser.post("memories/undo", fields(page, "undo")))


def test_a_memory_tells_its_text_its_origin_and_its_history(browse, keep, project):
    (project / "src").mkdir()
    (project / "src/pay.py").touch()
    anchors = ["src/pay.py", "src/gone.py"]
    keep("The gateway is retried.", why="It fails at night.", name="retries", anchors=anchors, tags=["pay"])
    page = browse().get("memory/retries?scope=project")
    assert page.status == 200 and page.text.count("<h1") == 1
    text = " ".join(re.sub(r"<[^>]*>", " ", page.text).split())
    assert "It fails at night." in text and "#pay" in text and "by you" in text and "created" in text
    assert "src/pay.py there" in text and "src/gone.py gone" in text


def test_the_dialogue_around_a_quote_is_shown(browse, keep, project):
    session = Transcript(cwd=str(project))
    session.assistant("Shall I retry it <b>for ever</b>?")
    cited = session.user("No, three times at most & never more.")
    session.assistant("Done: three times.")
    file = session.write(paths.project_store(project).parent / f"{session.session_id}.jsonl")
    app = App(folder=project)
    assert list(app.ingest(file=file))
    quote_of: dict[str, Any] = {"session": session.session_id, "uuid": cited, "at": "2026-03-02T09:00:05Z"}
    keep(
        "It is retried three times.",
        name="retries",
        sources=[
            Evidence(quote="three times at most & never more", **quote_of),
            Evidence(session="lost", uuid="lost", quote="<i>lost</i>"),
            Evidence(quote="never read", **{**quote_of, "uuid": "no-turn"}),
        ],
    )
    text = browse().get("memory/retries?scope=project").text
    assert "Shall I retry it &lt;b&gt;for ever&lt;/b&gt;?" in text and "Done: three times." in text
    assert '<blockquote dir="auto">three times at most &amp; never more</blockquote>' in text
    assert "Source 1: you said" in text and "2026-03-02\N{NO-BREAK SPACE}09:00" in text
    assert "Reverie does not have that conversation: " in text
    assert text.count("Reverie has that conversation, but not this turn of it") == 1 and "<i>lost" not in text


def test_for_what_several_sources_stand_is_said_once(browse, keep):
    bears = (key_of("It is open."),)
    sources = [Evidence(session=f"s{n}", uuid="u", quote=f"quote {n}", bears=bears) for n in (1, 3)]
    other = Evidence(session="s2", uuid="u", quote="quote 2", bears=(key_of("It is fast."),))
    keep("It is open. It is fast.", name="port", sources=[sources[0], other, sources[1]])
    told = " ".join(re.sub(r"<[^>]+>", " ", browse().get("memory/port?scope=project").text).split())
    assert told.count("comes: It is open.") == 1 and told.count("From these words comes: It is fast.") == 1
    order = [
        "sources 1 to 2 comes:",
        "Source 1:",
        "quote 1",
        "Source 2:",
        "quote 3",
        "Source 3:",
        "quote 2",
    ]
    assert [text for text in sorted(order, key=told.index) if text in told] == order


def test_an_edit_is_in_the_history_and_is_undone(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    values = fields(browser.get("memory/retries?scope=project&q=gateway"), "edit")
    page = follow(
        browser,
        browser.post(
            "memories/edit?q=gateway", values | {"text": "It is retried four times.", "tags": "pay, night"}
        ),
    )
    assert "Your text is kept" in page.text and "<ins>four</ins>" in page.text
    assert "<del>three</del>" in page.text
    assert "#night" in page.text and "q=gateway" in page.text
    page = undone(browser, page)
    assert "Undone: update retries" in page.text and "#night" not in page.text
    assert fields(page, "edit")["text"] == values["text"] and "Put it back" in page.text
    assert "you undid “update retries”" in page.text
    times = page.text.partition("<dt>When</dt>")[2].partition("</dd>")[0]
    assert history_of(page)[0].replace("\N{NO-BREAK SPACE}", " ") in times
    page = undone(browser, page)
    assert fields(page, "edit")["text"] == "It is retried four times." and ">Undo<" in page.text


def test_an_undo_that_an_edit_by_hand_blocks_shows_that_edit_and_where_to_take_over(browse, keep, project):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    values = fields(browser.get("memory/retries?scope=project"), "edit")
    text = "It is retried four times."
    page = follow(browser, browser.post("memories/edit", values | {"text": text}))
    file = App(folder=project).open_store().root / "retries.md"
    file.write_text(file.read_text("utf-8").replace("four", "f<i>ve"), "utf-8")
    refused = browser.post("memories/undo", fields(page, "undo"))
    assert refused.status == 409 and "retries.md was edited since" in refused.text
    assert "<del>four</del>" in refused.text and "<ins>f&lt;i&gt;ve</ins>" in refused.text
    assert "What the undo would have brought back" in refused.text and "gateway" in refused.text
    link = re.findall(r'href="/t0ken/(memory/retries[^"]*edit=1)#edit">Edit retries<', refused.text)[0]
    assert '<details class="more" id="edit" open>' in browser.get(html.unescape(link)).text
    assert "f<i>ve" in file.read_text("utf-8"), "nothing was undone"


def test_an_undo_that_a_later_change_blocks_can_take_that_back_first(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    first = browser.get("memory/retries?scope=project")
    page = follow(browser, browser.post("memories/edit", fields(first, "edit") | {"text": "Four times."}))
    before = fields(page, "undo")
    browser.post("memories/edit", fields(page, "edit") | {"text": "Five times."})
    refused = browser.post("memories/undo", before)
    assert refused.status == 409 and "Undo the later change" in refused.text
    assert fields(refused, "undo")["run"] != before["run"]
    page = follow(browser, browser.post("memories/undo", fields(refused, "undo")))
    assert "Four times." in page.text
    assert "three times" in follow(browser, browser.post("memories/undo", before)).text


def test_what_was_typed_stays_where_it_can_not_be_kept(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    values = fields(browser.get("memory/retries?scope=project"), "edit")
    for text in ("", f"The key is {TOKEN}."):
        answer = browser.post("memories/edit", values | {"text": text, "title": "Mine & yours"})
        assert answer.status == 409 and "Not kept" in answer.text
        kept = fields(answer, "edit")
        assert kept["title"] == "Mine & yours" and kept["text"] == text
    assert browser.post("memories/edit", values | {"text": "Another was first."}).status == 303
    late = browser.post("memories/edit", values | {"text": "I was second."})
    assert late.status == 409 and "changed meanwhile" in late.text and "I was second." in late.text
    assert "Another was first." in browser.get("memory/retries").text


def test_nothing_changed_is_no_change(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    values = fields(browser.get("memory/retries?scope=project"), "edit")
    page = follow(browser, browser.post("memories/edit", values))
    assert "Nothing was changed" in page.text and page.text.count('class="change"') == 1


def test_a_pin_is_set_taken_off_and_undone(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    page = follow(browser, browser.post("memories/pin", fields(browser.get("memory/retries"), "pin")))
    assert "no dream changes it" in page.text and ">Unpin<" in page.text and 'tag">pinned' in page.text
    assert ">Pin<" in undone(browser, page).text
    page = follow(browser, browser.post("memories/pin", fields(browser.get("memory/retries"), "pin")))
    page = follow(browser, browser.post("memories/pin", fields(page, "pin")))
    assert "no longer pinned" in page.text and ">Unpin<" in undone(browser, page).text


def test_the_last_change_is_told_whatever_it_was_with_the_day_of_the_text(browse, keep, monkeypatch):
    def told():
        times = browser.get("memory/retries").text.partition("<dt>When</dt>")[2].partition(" (<a")[0]
        return re.sub("<[^>]*>", "", times).replace("\N{NO-BREAK SPACE}", " ")

    keep("The gateway is retried three times.", name="retries", at="2026-03-01T09:00:00Z")
    browser = browse()
    assert told() == "dictated by you 2026-03-01 09:00"
    for at, deed in (("2026-03-02T09:00:00Z", {"text": "Twice."}), ("2026-03-03T09:00:00Z", {})):
        monkeypatch.setenv("REVERIE_NOW", at)
        page = browser.get("memory/retries")
        form = fields(page, "edit" if deed else "pin") | deed
        assert browser.post("memories/edit" if deed else "memories/pin", form).status == 303
    assert told() == (
        "dictated by you 2026-03-01 09:00, its text changed 2026-03-02 09:00, changed by you 2026-03-03 09:00"
    )


def test_a_colleagues_memory_is_told_by_name_and_yours_by_you():
    own = Memory("own", body="Ship on Mondays.\n", description="", type="project", origin="user-stated")
    theirs = replace(own, extra={"author": "Mara"})
    assert [words.says(one) for one in (own, theirs)] == ["you", "Mara"]
    assert words.says(replace(own, origin="user-confirmed")) == "Claude, confirmed by you"
    assert words.reader("Mara (the team)") == "Mara (the team)" and words.reader("the user") == "you"


def test_what_is_forgotten_leaves_and_comes_back(browse, keep):
    keep("The gateway is retried three times.", name="retries")
    keep("We chose SQLite.", name="sqlite")
    browser = browse()
    page = follow(browser, browser.post("memories/forget", fields(browser.get("memory/retries"), "forget")))
    assert names(page) == ["sqlite"] and "retries is forgotten" in page.text
    assert set(names(undone(browser, page))) == {"retries", "sqlite"}
    follow(browser, browser.post("memories/forget", fields(browser.get("memory/retries"), "forget")))
    left = browser.get("?show=left")
    assert names(left) == ["retries"] and "forgotten" in left.text and "1 memory that left" in left.text
    for query in ("band=archived", "q=retried+thrice"):
        missed = browser.get(f"?{query}").text
        assert "1 memory was put away" in missed and "show=left" in missed and "see what left" in missed
    gone = browser.get("memory/retries?scope=project")
    assert gone.status == 404 and "retried three times" in gone.text and ">Restore<" in gone.text
    page = follow(browser, browser.post("memories/restore", fields(left, "restore")))
    assert "It is back" in page.text and "<h1" in page.text
    for said in (page, browser.get("memory/retries")):
        assert (
            "<dd>you</dd>" in said.text and "the user" not in said.text and "unverified file" not in said.text
        )
        assert "not until" not in said.text
    assert browser.get("memory/retries").status == 200
    assert names(undone(browser, page)) == ["sqlite"]


def test_a_memory_moves_to_all_projects_and_back(browse, keep):
    keep("Answers are short.", kind="feedback", name="short", tags=["style"])
    browser = browse()
    before = fields(browser.get("memory/short?scope=project"), "edit")
    page = follow(browser, browser.post("memories/move", fields(browser.get("memory/short"), "move")))
    assert "for all projects now" in page.text and names(browser.get("?for=user")) == ["short"]
    assert not names(browser.get("?for=project"))
    page = undone(browser, page)
    assert names(browser.get("?for=project")) == ["short"] and not names(browser.get("?for=user"))
    assert fields(browser.get("memory/short?scope=project"), "edit") == before
    page = undone(browser, page)
    assert names(browser.get("?for=user")) == ["short"]
    page = follow(browser, browser.post("memories/move", fields(browser.get("memory/short"), "move")))
    assert "this project" in page.text and names(browser.get("?for=project")) == ["short"]
    undone(browser, page)
    assert names(browser.get("?for=user")) == ["short"] and not names(browser.get("?for=project"))


def test_a_move_overwrites_nothing(browse, keep):
    keep("Answers are short.", kind="feedback", name="short")
    keep("Answers are never long.", kind="feedback", name="short", user=True)
    browser = browse()
    answer = browser.post("memories/move", {"name": "short", "scope": "project"})
    assert answer.status == 400 and "has a memory called short" in answer.text
    assert len(names(browser.get())) == 2


@pytest.mark.parametrize(
    "ref", ["nobody", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "a%00b", "%3Cb%3E", "x" * 500, "%F0%9F%98%80"]
)
def test_a_name_that_nothing_has_is_told(browse, keep, ref):
    keep("The gateway is retried three times.", name="retries")
    for scope in ("", "?scope=project"):
        answer = browse().get(f"memory/{ref}{scope}")
        assert answer.status == 404 and "No memory is called" in html.unescape(answer.text)
        assert "<b>" not in answer.text


@pytest.mark.parametrize("deed", ["pin", "edit", "forget", "restore", "move", "undo", "burn"])
def test_a_change_of_nothing_changes_nothing(browse, keep, deed):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    for form in (
        {},
        {"name": "nobody", "scope": "project", "run": "zzzz"},
        {"name": "retries", "scope": "moon", "run": "%"},
    ):
        assert browser.post(f"memories/{deed}", form).status in (400, 404, 409, 500)
    assert browser.get(f"memories/{deed}").status == 405
    form = {"name": "retries", "scope": "project", "pinned": "yes", "text": "x", "proof": "0"}
    assert browser.post(f"memories/{deed}", form).status == 400
    assert names(browser.get()) == ["retries"]
    assert browser.get("memory/retries").text.count('class="change"') == 1


def test_hostile_texts_stand_as_texts_in_a_memory(browse, keep, project):
    more = {"title": HOSTILE, "description": HOSTILE, "tags": [HOSTILE[:40]], "anchors": [HOSTILE]}
    keep(f"Never run {HOSTILE} here.", why=HOSTILE, name="hostile", **more)
    folder = App(folder=project).open_store().path
    source = f'{{session: "{"<b>"}", uuid: "<i>", at: "<u>", quote: "<script>alert(3)</script>"}}'
    (folder / "odd.md").write_text(
        f"---\nname: odd\ntype: '<b>'\nsources:\n  - {source}\naliases: ['<s>']\n---\n{HOSTILE}\n"
    )
    browser = browse()
    done = quote(HOSTILE)
    for path in (f"memory/hostile?done={done}&undo={done}&q={done}", "memory/odd"):
        page = browser.get(path)
        assert page.status == 200 and html.escape("<script>alert") in page.text
        for tag in ("<script>alert", "<img", "<b>", "<i>", "<u>", "<s>", "49"):
            assert tag not in re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d|[0-9a-f]{4,}", "", page.text)
    browser.post("memories/forget", {"name": "hostile", "scope": "project"})
    for path in ("?show=left", "memory/hostile?scope=project"):
        assert "<script>alert" not in browser.get(path).text


def test_our_labels_are_bold_wherever_a_text_stands(browse, keep):
    keep("Ship **Also:** <b>log</b>.", name="ship")
    keep("Log it.\n\n**Why:** It <i>fails</i>.\n\n**How to apply:** Always.", name="log")
    browser = browse()
    text = browser.get("memory/log").text
    assert text.count("<strong>Why:</strong> It &lt;i&gt;fails&lt;/i&gt;.") >= 1 and "<i>fails" not in text
    shown = browser.get().text + browser.get("memory/ship").text.partition("<textarea")[0]
    assert "<strong>Also:</strong> &lt;b&gt;log" in shown and "**Also:**" not in shown.replace("value=", "")

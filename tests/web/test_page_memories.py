"""The list of memories, one of them, and every change of one, as a browser without scripts asks for them."""

import html
import re
from urllib.parse import quote

import pytest

from pipeline.app import memories as written
from pipeline.app.application import App
from pipeline.core.clock import FixedClock, parse_time

HOSTILE = "<script>alert(1)</script>\"><img src=x onerror=alert(2)>' {{ 7*7 }}"
ESCAPED = html.escape(HOSTILE)


@pytest.fixture
def keep(project):
    """Keep a memory by its sentence, for the project or for all of them."""

    def kept(statement, *, user=False, at="", kind="project", **more):
        app = App(user=True) if user else App(folder=project)
        if at:
            app.clock = FixedClock(parse_time(at))
        return written.add(app, statement, kind=kind, **more)

    return kept


def names(answer):
    """Return the names of the list, in its order."""
    return re.findall(r'<a class="name"[^>]*>([^<]*)</a>', answer.text)


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
    bands = [browser.get(f"?q=gateway&band={band}") for band in ("active", "fading", "dormant", "archived")]
    assert sorted(map(names, bands)) == [[], [], [], ["retries"]] and not names(bands[2])
    nothing = browser.get("?q=zebra&type=decision").text
    assert "Fewer words or fewer filters find more" in nothing and "All memories" in nothing


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
    further = html.unescape(re.search(r'rel="next" href="([^"]*)"', first.text)[1])
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

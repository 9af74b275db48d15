"""One memory in the browser: links in its text, what is said of procedures and tasks, each part edited."""

import html
import re

import pytest

from pipeline.app import memories as written
from pipeline.app import text_links, writing
from pipeline.app.application import App
from pipeline.app.relation_map import LINK, mapped
from pipeline.app.search import search
from pipeline.app.writing import NewMemory
from pipeline.text.wiki_links import pieces, targets
from tests.web.test_page_memories import fields, follow, undone

HOSTILE = "<b>&'\""


@pytest.fixture
def keep(project):
    """Keep a memory by its sentence, for the project or for all of them."""

    def kept(statement, *, user=False, **more):
        return written.add(App(user=True) if user else App(folder=project), statement, kind="project", **more)

    return kept


@pytest.fixture
def store(project):
    """Write a memory of the cognitive types."""

    def stored(**values):
        app = App(folder=project)
        return writing.store_memory(app, app.open_store(create=True), NewMemory(**values)).memory

    return stored


def bonds(project):
    """Return the links of the map, by name."""
    found = mapped(App(folder=project))
    return {
        (found.spots[bond.start].name, found.spots[bond.end].name)
        for bond in found.bonds
        if bond.type == LINK
    }


# -- links ------------------------------------------------------------------------------------------


def test_a_text_is_parted_at_its_links():
    text = "See [[a b]], [[c|the third]] and [[d#part]]; if [[ -f x ]] or [[\n]] or [[[[e]]"
    assert "".join(words for words, _ in pieces(text[:11])) == "See a b"
    assert list(targets(text)) == ["a b", "c", "d", "-f x", "e"]
    assert [(words, name) for words, name in pieces(text) if name][1] == ("the third", "c")


def test_a_link_leads_to_the_memory_that_its_name_means(browse, keep, project):
    keep("Answers are short.", user=True, name="short")
    keep("The gateway is retried three times.", name="retries")
    found = App(folder=project).open_store().scan().named("retries")
    aliased = found.raw.replace(b"name: retries", b"name: retries\naliases: [the-gateway]", 1)
    (App(folder=project).open_store().path / found.path).write_bytes(aliased)
    ident = found.memory.id[:8]
    keep(
        f"Read [[retries]], [[The-Gateway]], [[{ident}]], [[retries.md|the file]], [[short]]"
        f" and [[nobody {HOSTILE}]].",
        name="all",
    )
    page = browse().get("memory/all").text
    (text,) = re.findall(r'<div class="read" dir="auto">(.*?)</div>', page, re.DOTALL)
    assert re.findall(r'<a href="[^"]*/memory/retries.md\?scope=project">([^<]*)</a>', text) == [
        "retries",
        "The-Gateway",
        ident,
        "the file",
    ]
    assert re.findall(r'<a href="[^"]*/memory/short.md\?scope=user">([^<]*)</a>', text) == ["short"]
    assert html.escape(f"[[nobody {HOSTILE}]]") in text.replace("&#34;", "&quot;").replace("&#39;", "&#x27;")


def test_links_are_edges_of_the_graph_whether_the_index_knows_them_or_not(browse, keep, project):
    keep("The gateway is retried three times.", name="retries")
    keep("See [[retries]] and [[retries]], not [[itself]] nor [[nobody]].", name="itself")
    assert bonds(project) == {("itself", "retries")}
    search(App(folder=project), "gateway", limit=5)
    assert bonds(project) == {("itself", "retries")}
    keep("Later: [[itself]].", name="later")
    assert bonds(project) == {("itself", "retries"), ("later", "itself")}
    page = browse().get("graph/list?relation=LINK").text
    assert "later" in page and "link" in page


def test_links_come_from_the_index_alone_where_it_knows_every_text(keep, project, monkeypatch):
    keep("The gateway is retried three times.", name="retries")
    keep("See [[retries]].", name="itself")
    long = "See [[retries]]. " + "Words and more of them. " * 300 + "At last [[itself]]."
    store = App(folder=project).open_store()
    (store.path / "long.md").write_text(f"---\nname: long\ndescription: d\ntype: project\n---\n{long}\n")
    search(App(folder=project), "gateway", limit=5)
    monkeypatch.setattr(text_links, "MOST_UNKNOWN", 0)
    assert bonds(project) == {("itself", "retries"), ("long", "retries"), ("long", "itself")}
    (store.path / "later.md").write_text("---\nname: later\ntype: project\n---\nLater: [[itself]].\n")
    found = mapped(App(folder=project))
    assert len(bonds(project)) == 3 and "1 memory changed since the last search" in found.problems[-1]


# -- the form ---------------------------------------------------------------------------------------


def test_a_procedure_has_its_steps_in_the_form(browse, store):
    store(
        type="procedure",
        title="Release",
        content="How we release.",
        name="release",
        steps=["Tag it", "Push"],
        preconditions=["Tests pass"],
    )
    browser = browse()
    values = fields(browser.get("memory/release"), "edit")
    assert values["steps"] == "Tag it\nPush" and values["preconditions"] == "Tests pass"
    assert values["postconditions"] == "" and "status" not in values
    more = {"steps": "Tag it\n\n  Push to <b>all</b>\nTell", "postconditions": "It is out"}
    page = follow(browser, browser.post("memories/edit", values | more))
    assert "Your text is kept" in page.text
    assert fields(page, "edit")["steps"] == "Tag it\nPush to <b>all</b>\nTell"
    assert "<ins>Tell</ins>" in page.text and "<b>all" not in page.text and "<del>Push</del>" in page.text
    assert fields(undone(browser, page), "edit") | {"seen": ""} == values | {"seen": ""}


def test_a_description_of_a_former_text_is_named_until_it_is_emptied(browse, keep):
    keep("The gateway is retried three times.", name="retries", description="Retries: <i>three</i> times")
    browser = browse()
    values = fields(browser.get("memory/retries"), "edit")
    page = follow(browser, browser.post("memories/edit", values | {"text": "The gateway is retried twice."}))
    assert "Its description fits a former text: <q" in page.text and "<i>three" not in page.text
    page = follow(browser, browser.post("memories/edit", fields(page, "edit") | {"description": ""}))
    assert fields(page, "edit")["description"] == "The gateway is retried twice."
    assert "fits a former text" not in page.text


def test_a_task_has_status_blockers_and_outcome(browse, store, project):
    store(type="task", title="Move the shop", content="Move it.", name="move", blockers=["the key"])
    browser = browse()
    values = fields(browser.get("memory/move"), "edit")
    assert values["blockers"] == "the key" and "steps" not in values
    change = {"status": "done", "blockers": "", "outcome": "It moved."}
    page = follow(browser, browser.post("memories/edit", values | change))
    task = App(folder=project).open_store().scan().named("move").memory
    assert (task.status, task.blockers, task.outcome) == ("done", (), "It moved.") and task.completed_at
    assert "It moved." in page.text and "<dt>Status</dt>" in page.text


def test_tags_importance_and_anchors_are_changed_alone(browse, keep, project):
    keep("The gateway is retried three times.", name="retries", anchors=["src/pay.py"])
    browser = browse()
    values = fields(browser.get("memory/retries"), "edit")
    before = App(folder=project).open_store().scan().named("retries").memory
    assert values["anchors"] == "src/pay.py" and values["importance"] == f"{before.importance:g}"
    change = {"tags": "Pay, night shift", "importance": "0,9", "anchors": "src/pay.py\nsrc/b.py"}
    follow(browser, browser.post("memories/edit", values | change))
    after = App(folder=project).open_store().scan().named("retries").memory
    assert (after.tags, after.importance) == (("pay", "night-shift"), 0.9)
    assert after.anchors == ("src/pay.py", "src/b.py") and after.body == before.body
    assert after.sources == before.sources and after.description == before.description


@pytest.mark.parametrize("number", ["much", "1.5", "nan", "-1", ""])
def test_an_importance_that_is_none_is_refused_and_stays_in_the_form(browse, keep, number):
    keep("The gateway is retried three times.", name="retries")
    browser = browse()
    values = fields(browser.get("memory/retries"), "edit")
    answer = browser.post("memories/edit", values | {"importance": number, "text": "Another."})
    assert answer.status == 409 and "from 0 to 1" in answer.text
    assert fields(answer, "edit")["text"] == "Another." and fields(answer, "edit")["importance"] == number
    assert fields(browser.get("memory/retries"), "edit") == values

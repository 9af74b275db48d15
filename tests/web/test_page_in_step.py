"""Another program changes files while a page is open: the next request shows it, whatever is kept."""

import json
import re
from types import SimpleNamespace

import pytest

from pipeline.app import listing
from pipeline.app import memories as written
from pipeline.app.application import App
from pipeline.app.browsing import Wanted, browse
from pipeline.store.graph import edge_file
from pipeline.store.graph.edge_file import Edge, edge_id_of
from pipeline.web import site as sites
from pipeline.web.site import warm


@pytest.fixture
def desk(project, browse):
    """A page that is open over a few memories, and what changes them beside it."""
    app = App(folder=project)
    for name, kind in (("mill", "project"), ("gateway", "decision"), ("tide", "feedback")):
        written.add(app, f"The {name} is looked after by the crew.", name=name, kind=kind)
    root = app.open_store().root

    def edit(name, old, new):
        file = root / f"{name}.md"
        file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")

    opened = browse()
    warm(opened.setting)
    return SimpleNamespace(app=app, root=root, browser=opened, edit=edit)


def names(answer):
    return re.findall(r'<a class="name"[^>]*>([^<]*)</a>', answer.text)


@pytest.mark.parametrize("path", ["", "?sort=name", "?q=crew", "memory/mill"])
def test_an_edit_in_place_is_in_the_next_answer(desk, path):
    assert "zeppelin" not in desk.browser.get(path).text
    desk.edit("mill", "The mill is", "The zeppelin mill is")
    assert "zeppelin" in desk.browser.get(path).text


@pytest.mark.parametrize("path", ["", "?q=crew", "?q=crew&part=rows", "graph"])
def test_a_memory_that_comes_or_goes_is_in_the_next_answer(desk, path):
    assert set(names(desk.browser.get(path))) == {"mill", "gateway", "tide"}
    written.add(
        App(folder=desk.app.folder), "The zeppelin is mended by the crew.", name="zeppelin", kind="project"
    )
    assert set(names(desk.browser.get(path))) == {"mill", "gateway", "tide", "zeppelin"}
    (desk.root / "tide.md").unlink()
    assert set(names(desk.browser.get(path))) == {"mill", "gateway", "zeppelin"}


def test_new_words_are_found_while_somebody_types_once_the_look_is_old(desk, monkeypatch):
    assert not names(desk.browser.get("?q=zeppelin&part=rows"))
    desk.edit("mill", "The mill is", "The zeppelin mill is")
    monkeypatch.setattr(sites, "AT_EACH_KEY_SECONDS", 0.0)
    assert names(desk.browser.get("?q=zeppelin&part=rows")) == ["mill"]


def test_the_graph_follows_its_files(desk):
    def bonds():
        return [bond[2:] for bond in json.loads(desk.browser.get("graph/picture").text)["bonds"]]

    assert bonds() == []
    ends = {item.name: item.id for item in desk.app.open_store().scan().documents}
    ident = edge_id_of(ends["mill"], ends["tide"], "SOLVES")
    edge = Edge(ident, "SOLVES", ends["mill"], ends["tide"], "mill", "tide", 0.5)
    file = desk.root / edge_file.path_of(edge)
    file.parent.mkdir(parents=True)
    file.write_bytes(edge_file.compose(edge))
    assert bonds() == [["SOLVES", 0.5]]
    file.write_bytes(file.read_bytes().replace(b"0.5", b"0.75"))
    assert bonds() == [["SOLVES", 0.75]]
    desk.edit("mill", "type: project", "type: decision")
    spots = json.loads(desk.browser.get("graph/picture").text)["spots"]
    assert {spot["name"]: spot["type"] for spot in spots}["mill"] == "decision"
    file.unlink()
    assert bonds() == []


@pytest.mark.parametrize("sort", listing.SORTS)
@pytest.mark.parametrize("known", [True, False], ids=["as the catalogue has it", "as the files have it"])
def test_the_list_stands_in_the_order_that_the_command_gives(desk, sort, known):
    written.add(App(user=True), "Answers are short.", name="short", kind="feedback")
    written.add(App(user=True), "The mill is looked after by the crew.", name="mill", kind="project")
    desk.edit("tide", "crew", "crew at night")
    if not known:
        (desk.root / ".reverie" / "catalogue.sqlite").unlink()
    rows, _ = listing.live(desk.app, None, sort=sort)
    shown, total, _ = browse(App(folder=desk.app.folder), Wanted(sort=sort), limit=10)
    assert total == len(rows) == 4
    if sort in ("name", "type"):
        assert [item.row.name for item in shown] == [row.name for row in rows]
    key = {"said": lambda row: row.said or row.created, "changed": lambda row: row.changed}.get(sort)
    if key is not None:
        assert [key(item.row) for item in shown] == [key(row) for row in rows]

"""The graph's page: what is drawn, the same as a list, and hostile names that stay text."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from pipeline.app import relation_map
from pipeline.app.application import App
from pipeline.app.kept_web import Bond
from pipeline.app.relation_map import RelationMap, Spot, Wanted, mapped
from pipeline.web import alone
from pipeline.web.rendering import STATIC
from pipeline.web.visit import Setting
from tests.support.cognitive import lay_out
from tests.web.conftest import Browser

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028{{7*7}}"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "cognitive")


@pytest.fixture
def browser(project: Path, store: Path) -> Browser:
    return Browser(Setting(folder=project, secret=b"s3cret", store=store))


def spot(name, kind="decision", band="active", group=0, relations=0, scope="project"):
    return Spot(name, name, kind, band, scope, f"about {name}", group, relations)


def test_with_nothing_kept_it_says_what_to_do_next(browse):
    answer = browse().get("graph")
    assert answer.status == 200 and "Nothing is kept here yet" in answer.text and "<canvas" not in answer.text
    assert json.loads(browse().get("graph/picture").text) == {"spots": [], "bonds": []}


def test_the_list_tells_without_script_what_the_picture_draws(browser):
    answer = browser.get("graph")
    assert answer.status == 200 and answer.text.count("<h1>") == 1
    assert "3 memories, 1 relation" in answer.text
    assert "solves →" in answer.text and "← solves" in answer.text
    # What only a script can use is not there without one.
    assert '<div class="graph-view" hidden>' in answer.text and " style=" not in answer.text
    drawn = json.loads(browser.get("graph/picture").text)
    names = [each["name"] for each in drawn["spots"]]
    (bond,) = drawn["bonds"]
    ends = [names[number] for number in bond[:2]]
    assert ends == ["fixed-redis-connection-timeouts", "redis-connection-drops-under-load"]
    assert bond[2:] == ["SOLVES", 0.8]
    assert all(
        f"/memory/{name}?scope=project" in each["url"]
        for name, each in zip(names, drawn["spots"], strict=True)
    )


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("type=problem", {"redis-connection-drops-under-load"}),
        ("relation=SOLVES", {"fixed-redis-connection-timeouts", "redis-connection-drops-under-load"}),
        ("group=1", {"fixed-redis-connection-timeouts", "redis-connection-drops-under-load"}),
        ("band=nothing", set()),
    ],
)
def test_type_band_relation_and_cluster_choose_in_picture_and_list(browser, query, names):
    drawn = json.loads(browser.get(f"graph/picture?{query}").text)
    assert {each["name"] for each in drawn["spots"]} == names
    listed = browser.get(f"graph/list?{query}").text
    assert all(name in listed for name in names) and "<html" not in listed
    assert ("Nothing here fits the choice" in listed) == (not names)


def test_the_picture_stands_behind_the_same_gate(browser):
    assert browser.get("graph/picture", host="evil.example").status == 421
    assert browser.get("graph/picture", sec_fetch_site="cross-site", sec_fetch_mode="cors").status == 403
    assert browser.raw("GET", "/graph/picture").status == 404
    assert browser.get("graph?group=x").status == 400


def test_hostile_names_and_texts_stay_text_in_page_list_and_picture(browser, store):
    path = store / "graph/problems/hostile-aaaaaa.md"
    front = json.dumps(HOSTILE)
    path.write_text(
        f"---\nid: aaaaaaaa-0000-4000-8000-000000000009\ntype: problem\nname: {front}\ntitle: {front}\n"
        f"created: 2025-12-06T16:20:00+00:00\n---\n\n{HOSTILE}\n"
    )
    for address in ("graph", "graph/list"):
        text = browser.get(address).text
        assert "<script>alert" not in text and "<img" not in text and "&lt;script&gt;alert" in text
    picture = browser.get("graph/picture")
    assert picture.headers["content-type"] == "application/json"
    (row,) = [each for each in json.loads(picture.text)["spots"] if "alert" in each["title"]]
    assert "<" not in row["url"] and unquote(row["url"])


def test_groups_are_what_hangs_together_and_always_the_same(store):
    found = mapped(App(store=store))
    assert found == mapped(App(store=store))
    assert [(number, size) for number, (_, size) in found.groups().items()] == [(1, 2)]
    assert sorted(each.group for each in found.spots) == [0, 1, 1]


def test_a_part_keeps_the_most_related_and_the_bonds_between_them():
    spots = [spot("a"), spot("b", relations=2), spot("c", relations=1), spot("d", relations=1, kind="fix")]
    whole = RelationMap(spots, [Bond(1, 2, "SOLVES", 1.0), Bond(3, 1, "CAUSES", 0.5)])
    part = whole.part(Wanted(), most=2)
    assert [each.name for each in part.spots] == ["b", "c"] and part.bonds == [Bond(0, 1, "SOLVES", 1.0)]
    assert [each.name for each in whole.part(Wanted(relation="CAUSES")).spots] == ["b", "d"]


def test_nothing_leaves_the_json_that_stands_in_a_file():
    text = alone.graph_file(RelationMap([spot(HOSTILE, kind=HOSTILE)], []), "today")
    assert text.count("<script>") == 1 and text.count("</script>") == 2 and "<img" not in text
    inside = text.partition('id="graph-data">')[2].partition("</script>")[0]
    assert json.loads(inside)["spots"][0]["name"] == HOSTILE and "<" not in inside


def test_what_stands_inline_in_a_file_can_not_end_itself():
    assert "</script" not in (STATIC / "graph.js").read_text().lower()
    assert "</style" not in (STATIC / "style.css").read_text().lower()


def test_of_many_memories_a_page_comes_first_that_says_what_takes_so_long(browser, monkeypatch):
    monkeypatch.setattr(relation_map, "FEW", 0)
    first = browser.get("graph?type=decision")
    assert first.status == 200 and "takes some seconds" in first.text and "graph-list" not in first.text
    (onward,) = re.findall(r'href="/[^/]+/([^"]+)" data-onward', first.text)
    assert onward == "graph?whole=1&amp;type=decision"
    whole = browser.get(onward.replace("&amp;", "&")).text
    assert "graph-list" in whole and "data-onward" not in whole
    # It is made only once.
    assert "graph-list" in browser.get("graph").text

"""The picture of the README: drawn as the terminal shows it, and with the words that Reverie uses now.

That it shows what the client shows is a test with the real client (``make test-realclient``).
"""

import re
from xml.etree import ElementTree

import pytest

from docs import build
from docs.picture import FILE, draw, same, words
from pipeline.recall.live import person
from tests.realclient import scene

KEPT = FILE.read_text("utf-8")
NOW = 1_795_900_000.0
SVG = "{http://www.w3.org/2000/svg}"


def test_the_picture_shows_the_scene_and_names_no_other_place():
    told = "\n".join(words(KEPT))
    for said in (scene.WISH, scene.AGREED, scene.ORDER, scene.KEPT, f"reverie why {scene.NAME}"):
        assert said in told
    assert set(re.findall(r"(?<!\S)/\w+/\w+", told)) == {"/tmp/tide"}
    assert re.findall(r"https?://[^\"<]+", KEPT) == ["http://www.w3.org/2000/svg"]


def test_the_picture_names_what_is_recalled_as_the_hook_does(tmp_path):
    line = person.with_prompt(str(tmp_path), [scene.NAME], NOW)
    assert line
    assert line in "\n".join(words(KEPT))


def test_the_picture_explains_a_memory_in_the_words_that_the_demo_uses():
    demo = build.part((build.ROOT / "README.md").read_text("utf-8"), "demo-short")
    told = "\n".join(words(KEPT))
    for label in (
        "origin",
        "written",
        "changed since by someone else",
        "source 1: the person said at",
        "quote: “",
    ):
        assert label in demo
        assert label in told


def test_the_readme_shows_the_picture_before_anything_else():
    lines = (build.ROOT / "README.md").read_text("utf-8").splitlines()
    assert (
        next(at for at, line in enumerate(lines) if line.startswith("![") and "docs/picture.svg" in line) < 8
    )


def test_colours_of_the_terminal_reach_the_picture():
    svg = draw([("A title", "\x1b[48;5;237m❯ \x1b[1;31mred & bold\x1b[0m   plain")], 40)
    texts = {node.text: node.attrib for node in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert texts["red & bold"]["font-weight"] == "bold"
    assert texts["red & bold"]["fill"] == "#800000"
    assert "fill" not in texts["plain"]
    (paper,) = [
        node for node in ElementTree.fromstring(svg).iter(f"{SVG}rect") if node.get("fill") == "#3a3a3a"
    ]
    assert float(paper.attrib["width"]) == pytest.approx(12 * 8.4, abs=0.1)


def test_every_piece_has_the_place_that_it_has_in_the_terminal():
    svg = draw([("A title", "  one two    three")], 40)
    texts = {node.text: node.attrib for node in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    found = {
        text: (float(texts[text]["x"]), float(texts[text]["textLength"])) for text in ("one two", "three")
    }
    assert found["one two"] == pytest.approx((20 + 2 * 8.4, 7 * 8.4), abs=0.1)
    assert found["three"] == pytest.approx((20 + 13 * 8.4, 5 * 8.4), abs=0.1)


def test_only_days_ids_folders_and_breaks_may_differ():
    first = "file /tmp/tide/home/-tmp/memory/a.md\nwritten 2026-11-28 22:26\nlearned since the last session ("
    other = "file\n/tmp/x/memory/a.md\nwritten 2027-01-02 03:04\nlearned since yesterday ("
    assert same(draw([("T", first)], 60), draw([("T", other)], 60))
    assert not same(draw([("T", first)], 60), draw([("T", first.replace("written", "kept"))], 60))

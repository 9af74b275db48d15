"""What ties two memories, and what is found by way of another: never in a direct hit's place."""

import json
from pathlib import Path

import pytest

from bench.found import HOPS, searched, table
from pipeline.search import MemoryRow, RowSearch
from pipeline.search.rows import Content
from pipeline.search.ties import MOST_HOLDERS, MOST_TIES, ties_of

ROOT = Path(__file__).parents[2]
PROJECTS = sorted(HOPS.glob("*.json"))


def ties(body, **values):
    return ties_of(Content("own-name", body=body, **values))


@pytest.mark.parametrize(
    ("body", "certain"),
    [
        ("Run src/pay/ledger.py first.", {"src/pay/ledger.py"}),
        ("It listens on port 8443.", {"8443"}),
        ("In 2026 it took 45 s.", set()),
        ("We ask Tomasz's team.", {"~tomasz"}),
        ("Tomasz knows.", set()),
        ("Papers are EDIFACT D96A.", {"~edifact", "d96a"}),
        ("Scans lie in `partitions-eu`.", {"partitions-eu"}),
        ("Call `make ship` twice.", {"make ship"}),
        ("Set num_workers or fooBar, either/or, e.g. 30/60.", {"num_workers", "foobar"}),
        ("本番のRedisは8443番、Zephyrを使う。", {"8443", "~zephyr"}),
        ("Der Server steht bei Hetzner im Keller mit Postgres, die Daten der Kunden auf Platte.", set()),
    ],
)
def test_specifics_and_names_inside_a_sentence_are_certain(body, certain):
    assert {key for key, sure in ties(body).items() if sure} - {"=own-name"} == certain


def test_links_and_relations_are_mentions_of_a_name_that_its_bearer_has_for_certain():
    found = ties("See [[Old note]] and [this](other-note.md), also quay2-access.", relations=("id-7",))
    assert {key for key, sure in found.items() if key[0] == "=" and not sure} == {
        *("=old-note", "=other-note", "=quay2-access", "=id-7")
    }
    bearer = ties_of(Content("old-note", about={"id": "id-7"}, aliases=("older",)))
    assert bearer == {"=old-note": True, "=id-7": True, "=older": True}


@pytest.mark.parametrize("text", ["a" * 9_000, "a/" * 5_000, "a-" * 5_000, "aB" * 5_000, "[[" + "x" * 9_000])
def test_a_hostile_text_has_few_ties_and_short_ones(text):
    found = ties(text + " " + " ".join(f"file{n}.py" for n in range(900)))
    assert len(found) <= MOST_TIES and max(map(len, found)) <= 121


OWNER = MemoryRow("owner", "gate-owner", "The gate firmware belongs to Ilse Brandt", "Ilse Brandt has it.")
MONDAYS = MemoryRow("mondays", "ilse-mondays", "Reviews happen on Mondays", "On Mondays Ilse Brandt reviews.")
OTHER = MemoryRow("other", "map", "Maps have tiles", "Tiles come from a server.")


def test_a_memory_without_a_word_of_the_question_comes_by_way_of_one():
    with RowSearch([OWNER, MONDAYS, OTHER]) as rows:
        assert rows.search("who looks after the gate firmware?") == ["owner"]
        assert rows.search("who looks after the gate firmware?", further=3) == ["owner", "mondays"]


@pytest.mark.parametrize(
    "row",
    [
        MemoryRow("x", "x", "y", "z", relations=("owner",)),
        MemoryRow("x", "x", "y", "See [[gate-owner]]."),
        MemoryRow("x", "x", "y", "Where the gate owner sits."),
    ],
    ids=["relation", "link", "name"],
)
def test_links_to_a_hit_lead_on_too(row):
    with RowSearch([OWNER, OTHER, row]) as rows:
        assert rows.search("firmware", further=3) == ["owner", "x"]


def test_what_many_share_ties_nothing():
    crowd = [MemoryRow(f"c{n}", f"c{n}", "y", "We ask Ilse about it.") for n in range(MOST_HOLDERS + 1)]
    with RowSearch([OWNER, *crowd]) as rows:
        assert rows.search("gate firmware", further=3) == ["owner"]
    with RowSearch([OWNER, *crowd[:2]]) as rows:
        assert rows.search("gate firmware", further=3) == ["owner", "c0", "c1"]


def test_two_mentions_of_a_note_that_is_not_there_tie_nothing():
    a, b = MemoryRow("a", "a", "alpha", "See [[gone]]."), MemoryRow("b", "b", "beta", "See [[gone]].")
    with RowSearch([a, b]) as rows:
        assert rows.search("alpha", further=3) == ["a"]


def test_no_direct_hit_gives_way_or_comes_twice():
    for file in PROJECTS:
        project = json.loads(file.read_text("utf-8"))
        with searched(project["memories"]) as rows:
            for question in project["questions"]:
                for limit in (1, 5, 10):
                    direct = rows.search(question["question"], limit)
                    got = rows.search(question["question"], limit, further=3)
                    assert got[: len(direct)] == direct
                    assert len(set(got)) == len(got) <= len(direct) + 3


def test_the_documentation_has_what_search_finds():
    told = (ROOT / "docs" / "evaluation.md").read_text("utf-8")
    for line in table():
        assert line in told


def test_a_page_of_links_does_not_crowd_out_what_the_best_hit_itself_names():
    animals = [f"a{number}" for number in range(16)]
    rows = [MemoryRow(name, name=name, body=f"A note on the animal {name}.\n") for name in animals]
    pages = [
        MemoryRow(page, name=page, body="walrus " + " ".join(f"[[{name}]]" for name in animals) + "\n")
        for page in ("page-one", "page-two")
    ]
    best = MemoryRow("walrus", name="walrus", body="The walrus sleeps on ice. See [[ice-chart]].\n")
    chart = MemoryRow("ice-chart", name="ice-chart", body="Drawn each morning.\n")
    with RowSearch([*rows, *pages, best, chart]) as search:
        found = search.search("walrus sleeps", further=1)
    assert found[-1] == "ice-chart"

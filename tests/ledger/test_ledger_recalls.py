"""The log of recall: lines of a session's file, how far it was read, uses, and what is yet to be counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.ledger import recalls
from pipeline.ledger.connection import Ledger, open_ledger
from pipeline.ledger.recalls import BadLine, Item, Line, Progress
from tests.ledger.build import ingest, later, reply

ITEM = Item("id-1", "tabs", "tabs.md", "/s", "d1", 0.5, ("tabs", "größe"), 400, 100)
LINE = Line(0, "sent", 100.0, "UserPromptSubmit", "/w/shop", "/s", 500, 125, 1, "5e0d1c2b", (ITEM, ITEM))
READ = Progress(120, 0, b'{"k":')


def add(led: Ledger, *lines: Line, session: str = "s1", bad: tuple[BadLine, ...] = ()) -> bool:
    before = recalls.progress(led).get(session)
    after = replace(READ, taken=(before.taken if before else 0) + 10)
    return recalls.add_lines(led, session, lines, bad, before=before, after=after)


def test_a_line_comes_back_as_it_was(led: Ledger) -> None:
    assert add(led, LINE)
    assert recalls.lines(led, "s1") == [LINE]
    assert recalls.lines(led, "other") == []


def test_the_same_line_twice_is_one(led: Ledger) -> None:
    add(led, LINE)
    add(led, LINE)
    assert recalls.lines(led, "s1") == [LINE]
    assert len(recalls.uncounted(led, limit=9)) == 2


def test_who_was_overtaken_adds_nothing(led: Ledger) -> None:
    assert recalls.add_lines(led, "s1", [LINE], [], before=None, after=READ)
    assert not recalls.add_lines(led, "s1", [replace(LINE, position=50)], [], before=None, after=READ)
    assert recalls.progress(led) == {"s1": READ}
    assert recalls.lines(led, "s1") == [LINE]


def test_bad_lines_are_kept_beside_the_good_ones(led: Ledger) -> None:
    wrong = BadLine(7, "no JSON", "{")
    add(led, LINE, bad=(wrong, wrong))
    assert recalls.bad_lines(led, "s1") == [wrong]


def test_totals_of_sessions_latest_first(led: Ledger) -> None:
    add(led, LINE, replace(LINE, position=20, at=300.0, kind="reset", chars=0, tokens=0, items=()))
    add(led, replace(LINE, at=200.0, items=()), session="s2")
    first, second = recalls.sessions(led)
    assert (first.session, first.times, first.memories, first.chars) == ("s1", 1, 2, 500)
    assert (first.first, first.last, first.cwd, first.tokens) == (100.0, 300.0, "/w/shop", 125)
    assert (second.session, second.memories) == ("s2", 0)
    assert recalls.totals(led, "s2") == second
    assert recalls.totals(led, "s3") is None
    assert recalls.sessions(led, limit=1) == [first]


@pytest.mark.parametrize(
    ("start", "found"), [("s", ["s1", "s2"]), ("s2", ["s2"]), ("%", []), ("", ["s1", "s2"])]
)
def test_a_session_is_found_by_its_start(led: Ledger, start: str, found: list[str]) -> None:
    add(led, replace(LINE, at=100.0), session="s2")
    add(led, replace(LINE, at=200.0), session="s1")
    assert recalls.matching(led, start) == found


def test_uses_and_injections_wait_to_be_counted_in_order(led: Ledger) -> None:
    add(led, replace(LINE, items=(ITEM,)))
    recalls.note_use(led, "show", store="/s", memory="m", name="n", path="p.md", digest="d", now=5)
    recalls.note_reads(led, [("s1", "u1/0", "/s/tabs.md", 7.0)])
    rows = recalls.uncounted(led, limit=9)
    assert [(row.use, row.store, row.memory, row.path, row.at) for row in rows] == [
        ("", "/s", "id-1", "tabs.md", 100.0),
        ("show", "/s", "m", "p.md", 5.0),
        ("read", "", "", "/s/tabs.md", 7.0),
    ]
    recalls.set_counted(led, [rows[0].id])
    recalls.set_counted(led, [rows[1].id], recalls.LEFT_OUT)
    assert recalls.uncounted(led, limit=9) == rows[2:]


def test_uses_are_no_part_of_what_a_session_was_given(led: Ledger) -> None:
    recalls.note_reads(led, [("s1", "u1/0", "/s/tabs.md", 7.0)])
    assert recalls.sessions(led) == []
    add(led, LINE)
    assert recalls.lines(led, "s1") == [LINE]


def test_what_a_transcript_shows_being_read_is_noted_once(led: Ledger) -> None:
    """A fork repeats entries in a file of its own; the read happened once."""
    seen = reply(1, tool_names=("Read",), memory_reads=("/m/memory/a.md", "/m/memory/b.md"), when="bad")
    ingest(led, [seen], now=later(3))
    ingest(led, [replace(seen, session_id="fork")], key="-w-shop/fork.jsonl")
    rows = recalls.uncounted(led, limit=9)
    assert [(row.use, row.path) for row in rows] == [("read", "/m/memory/a.md"), ("read", "/m/memory/b.md")]
    assert rows[0].at == later(3).timestamp()


def test_each_ledger_is_told_from_every_other(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "a.sqlite") as one, open_ledger(tmp_path / "b.sqlite") as other:
        name = recalls.identity(one)
        assert len(name) == 16
        assert name != recalls.identity(other)
    with open_ledger(tmp_path / "a.sqlite") as again:
        assert recalls.identity(again) == name

"""Which dialogue is read next, with what context, and when no model is needed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from pipeline.domain.action import RunSummary
from pipeline.extraction.strategies import ConversationStrategy, Span
from pipeline.ledger import conversations, runs, watermarks
from tests.support.extraction import NOTHING, NOW, Bench
from tests.support.transcripts import Transcript, tool_use


def next_span(bench: Bench, key: str, *, max_chars: int = 60_000, **more: Any) -> Span | None:
    strategy = bench.turns(key, **more)
    return strategy.next_span(
        bench.ledger, bench.desk().store_key, max_chars=max_chars, now=bench.clock.now()
    )


def read_to(bench: Bench, key: str, row: int) -> None:
    watermarks.set_watermark(bench.ledger, key, bench.desk().store_key, "turn", row)


def done(bench: Bench, key: str, span: Span) -> None:
    """Note `span` as read by a conversation run of the store "s"."""
    run = f"run-{span.from_row}"
    runs.start_run(
        bench.ledger, id=run, kind="extract", key=key, store="s", strategy="conversation",
        from_row=span.from_row, through_row=span.through_row, now=NOW,
    )  # fmt: skip
    runs.finish_run(bench.ledger, run, outcome="nothing", summary=RunSummary(), now=NOW)


def texts(span: Span | None) -> list[str]:
    assert span is not None
    return [u.text for u in span.new]


def test_new_lines_come_with_earlier_ones_as_context(bench: Bench) -> None:
    session = Transcript()
    session.user("keep retries at 3")
    session.assistant("Done.")
    key = bench.hear(session)
    first = next_span(bench, key)
    assert first is not None and first.context == [] and first.last
    read_to(bench, key, first.through_row)
    assert next_span(bench, key) is None
    session.user("and log each one")
    bench.hear(session)
    second = next_span(bench, key)
    assert texts(second) == ["and log each one"]
    assert second is not None and [u.text for u in second.context] == ["keep retries at 3", "Done."]
    assert second.from_row == second.through_row > first.through_row


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["A: I changed it."], "no person spoke"),
        (["ok", "A: Fine.", "Thanks!", "好的", "はい", "lgtm :)"], "only acknowledgements"),
        (["ok"], "only acknowledgements"),
        (["yes, use pnpm"], ""),
        (["no"], ""),
        (["2"], ""),
        (["A: Red or blue?", "blue"], ""),
        (["ok but never on Fridays"], ""),
    ],
)
def test_when_no_model_is_asked(bench: Bench, lines: list[str], reason: str) -> None:
    session = Transcript()
    for line in lines:
        (session.assistant if line.startswith("A: ") else session.user)(line.removeprefix("A: "))
    span = next_span(bench, bench.hear(session))
    assert span is not None and span.skip == reason


def test_u11_a_turn_in_which_claude_wrote_memory_itself_is_read_with_it(bench: Bench) -> None:
    session = Transcript()
    session.user("remember that I prefer tabs")
    target = str(bench.store.path / "prefers_tabs.md")
    session.assistant([tool_use("Write", {"file_path": target, "content": "x"})])
    key = bench.hear(session)
    span = next_span(bench, key)
    assert span is not None and (span.skip, span.written) == ("", (target,))
    read_to(bench, key, span.through_row)
    session.user("never mock the database")
    bench.hear(session)
    later = next_span(bench, key)
    assert texts(later) == ["", "never mock the database"] and later is not None and later.written == ()


def test_a_history_that_is_all_old_says_how_it_is_read(bench: Bench) -> None:
    session = Transcript(start="2026-01-05T09:00:00Z")
    session.user("said in January")
    session.assistant("Noted.")
    span = next_span(bench, bench.hear(session))
    assert span is not None and span.skip == "older than 7 days; `reverie process` reads it"


def test_of_a_long_history_only_the_newest_part_is_read_unasked(bench: Bench) -> None:
    session = Transcript(start="2026-01-05T09:00:00Z")
    session.user("said in January")
    session.now = NOW - timedelta(hours=3)
    for number in range(40):
        session.user(f"said today {number}")
    key = bench.hear(session)
    assert texts(next_span(bench, key)) == [f"said today {n}" for n in range(10, 40)]
    assert len(texts(next_span(bench, key, first_sight=False))) == 41
    read_to(bench, key, 1)
    assert len(texts(next_span(bench, key))) == 40


def test_of_an_old_history_at_least_the_last_line_is_looked_at(bench: Bench) -> None:
    session = Transcript(start="2025-01-05T09:00:00Z")
    session.user("one")
    session.user("two")
    assert texts(next_span(bench, bench.hear(session))) == ["two"]


def test_lines_without_a_time_count_as_recent(bench: Bench) -> None:
    session = Transcript()
    session.user("no stamp", timestamp=None)
    session.user("none here", timestamp=None)
    assert texts(next_span(bench, bench.hear(session))) == ["no stamp", "none here"]


def test_u11_a_memory_belongs_to_the_words_before_it(bench: Bench) -> None:
    session = Transcript()
    session.user("never mock the database " + "x" * 400)
    session.user("remember that I prefer tabs " + "x" * 400)
    session.assistant([tool_use("Write", {"file_path": str(bench.store.path / "tabs.md"), "content": "x"})])
    key = bench.hear(session)
    first = next_span(bench, key, max_chars=600)
    assert first is not None and (len(first.new), first.written) == (1, ())
    read_to(bench, key, first.through_row)
    second = next_span(bench, key, max_chars=600)
    assert second is not None and len(second.written) == 1


def test_reading_stops_at_a_row_when_told(bench: Bench) -> None:
    session = Transcript()
    for number in range(4):
        session.user(f"line {number}")
    key = bench.hear(session)
    rows = [u.row for u in (next_span(bench, key) or pytest.fail()).new]
    assert texts(next_span(bench, key, until_row=rows[1])) == ["line 0", "line 1"]


def whole(bench: Bench, session: Transcript) -> ConversationStrategy:
    key = bench.hear(session)
    (found,) = conversations.list_conversations(bench.ledger, key=key)
    return ConversationStrategy(found, bench.settings.extraction)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["a", "A: b", "c", "A: d"], "fewer than 5 messages"),
        (["a", "A: b", "c", "A: d", "e"], ""),
        (["A: b", "A: c", "A: d", "A: e", "A: f"], "no person spoke"),
    ],
)
def test_a_conversation_is_read_from_five_messages_on(bench: Bench, lines: list[str], reason: str) -> None:
    session = Transcript()
    for line in lines:
        (session.assistant if line.startswith("A: ") else session.user)(line.removeprefix("A: "))
    strategy = whole(bench, session)
    span = strategy.next_span(bench.ledger, "s", max_chars=60_000, now=NOW)
    assert span is not None and (span.skip, len(span.new)) == (reason, len(lines))


def test_a_long_conversation_is_read_in_windows_each_line_once(bench: Bench) -> None:
    session = Transcript()
    for number in range(30):
        session.user(f"line {number} " + "x" * 400)
    strategy = whole(bench, session)
    read: list[str] = []
    lasts: list[bool] = []
    while span := strategy.next_span(bench.ledger, "s", max_chars=5_000, now=NOW):
        read += [u.text for u in span.new]
        lasts.append(span.last)
        assert (span.context != []) == (len(lasts) > 1)
        done(bench, strategy.source, span)
    assert [text.split()[1] for text in read] == [str(n) for n in range(30)]
    assert lasts == [False] * (len(lasts) - 1) + [True] and len(lasts) > 2


def test_a_conversation_ends_for_both_strategies(bench: Bench) -> None:
    session = Transcript()
    for number in range(5):
        session.user(f"line {number}")
    strategy = whole(bench, session)
    bench.script([{**NOTHING, "episode": {}}])
    assert [outcome.word for outcome in bench.run(strategy)] == ["nothing"]
    assert next_span(bench, strategy.source) is None


def test_two_stores_read_the_same_lines_independently(bench: Bench) -> None:
    session = Transcript()
    session.user("keep retries at 3")
    key = bench.hear(session)
    watermarks.set_watermark(bench.ledger, key, "elsewhere", "turn", 99)
    assert texts(next_span(bench, key)) == ["keep retries at 3"]


def test_after_a_crash_a_span_knows_how_often_the_person_spoke() -> None:
    again = Span(key="k", new=(), context=(), from_row=0, through_row=9, lines_counted=45)
    assert again.spoken == 45 and replace(again, lines_counted=0).spoken == 0


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, ["first 1", "A1", "second 2", "A2", "third 3", "A3"]),
        ({"newest_messages": 3}, ["A2", "third 3", "A3"]),
        ({"newest_chars": 12}, ["2", "A2", "third 3", "A3"]),
        ({"newest_messages": 2, "newest_chars": 4_000}, ["third 3", "A3"]),
    ],
)
@pytest.mark.parametrize("whole", [False, True])
def test_a_person_may_have_the_newest_alone_read(
    bench: Bench, limits: dict[str, int], expected: list[str], whole: bool
) -> None:
    session = Transcript()
    for number, word in enumerate(("first", "second", "third"), start=1):
        session.user(f"{word} {number}")
        session.assistant(f"A{number}")
    key = bench.hear(session)
    settings = bench.settings.extraction.model_copy(update=limits)
    conversations.mark_ready(bench.ledger, now=NOW + timedelta(days=30), gap_minutes=60)
    (conversation,) = conversations.list_conversations(bench.ledger)
    strategy = (
        ConversationStrategy(conversation, settings) if whole else replace(bench.turns(key), limits=settings)
    )
    span = strategy.next_span(bench.ledger, bench.desk().store_key, max_chars=60_000, now=bench.clock.now())
    assert texts(span) == expected
    assert span is not None and span.last

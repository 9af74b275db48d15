from __future__ import annotations

import pytest

from pipeline.core.errors import LedgerError
from pipeline.ledger.connection import Ledger
from pipeline.ledger.conversations import (
    MOST_BYTES,
    MOST_ENTRIES,
    Conversation,
    conversation,
    list_conversations,
    mark_ready,
    set_status,
)
from pipeline.ledger.utterances import utterances_of_conversation
from tests.ledger.build import KEY, START, at, ingest, later, reply, said, silent

ORDER = ("active", "ready", "queued", "processing")


def counts(led: Ledger) -> list[int]:
    return [each.entry_count for each in list_conversations(led)]


def close(led: Ledger, conversation_id: int, last: str = "archived") -> None:
    for status in (*ORDER[1:], last):
        set_status(led, conversation_id, status, now=START)


@pytest.mark.parametrize(
    ("stamps", "expected"),
    [
        ([at(0), at(60)], [2]),
        ([at(0), at(60, 1)], [1, 1]),
        ([at(0), at(30), at(90), at(151)], [3, 1]),
        ([at(0), at(180), at(0), at(181)], [1, 3]),
        ([at(180), at(0), at(90)], [3]),
        ([at(0), None, at(61)], [2, 1]),
        ([None, None, at(0), at(61)], [3, 1]),
        ([None, None], [2]),
        ([at(0), "not a date", at(1)], [3]),
        ([], []),
    ],
)
def test_only_a_silence_longer_than_the_gap_splits(led: Ledger, stamps, expected) -> None:
    ingest(led, [said(number, when=stamp) for number, stamp in enumerate(stamps)])
    assert counts(led) == expected


def test_a_conversation_has_the_columns_of_seed_4(led: Ledger) -> None:
    ingest(led, [said(0, when=at(5)), reply(1, when=at(0)), silent(2, when=at(9))])
    row = led.row(
        "SELECT id, session_id, source_file, first_message_at, last_message_at, entry_count, status"
        " FROM memory_conversations"
    )
    assert row is not None and tuple(row) == (1, "5e55", KEY, at(0), at(5), 2, "active")


def test_conversations_never_span_files(led: Ledger) -> None:
    ingest(led, [said(0, when=at(0)), said(1, when=at(1))])
    ingest(led, [said(0, when=at(2), uuid="other")], key="other.jsonl")
    assert [(each.source_file, each.entry_count) for each in list_conversations(led)] == [
        (KEY, 2),
        ("other.jsonl", 1),
    ]
    assert [each.source_file for each in list_conversations(led, key="other.jsonl")] == ["other.jsonl"]


def test_an_active_conversation_grows_in_place(led: Ledger) -> None:
    ingest(led, [said(0, when=at(0))])
    first = list_conversations(led)[0].id
    ingest(led, [said(1, when=at(59))], now=later(59))
    (only,) = list_conversations(led)
    assert (only.id, only.entry_count, only.last_message_at) == (first, 2, at(59))


@pytest.mark.parametrize("last", ["ready", "queued", "processing", "archived", "skipped", "review"])
def test_what_comes_after_a_closed_one_opens_another(led: Ledger, last: str) -> None:
    ingest(led, [said(0, when=at(0)), said(1, when=at(1))])
    for status in (*ORDER[1 : ORDER.index(last)], last) if last in ORDER else (*ORDER[1:], last):
        set_status(led, 1, status, now=START)
    ingest(led, [said(2, when=at(2)), said(3, when=at(3))])
    old, new = list_conversations(led)
    assert (old.id, old.status, old.entry_count, old.last_message_at) == (1, last, 2, at(1))
    assert (new.status, new.entry_count, new.first_message_at) == ("active", 2, at(2))
    assert [said.text for said in utterances_of_conversation(led, old.id)] == ["line 0", "line 1"]
    assert [said.text for said in utterances_of_conversation(led, new.id)] == ["line 2", "line 3"]


def test_reading_a_file_anew_does_not_touch_what_is_finished(led: Ledger) -> None:
    entries = [said(0, when=at(0)), said(1, when=at(120)), said(2, when=at(121))]
    ingest(led, entries)
    close(led, 1)
    finished = conversation(led, 1)
    ingest(led, entries, restarted="replaced")
    assert conversation(led, 1) == finished
    assert counts(led) == [1, 2]


def test_an_active_one_whose_speech_is_gone_goes_too(led: Ledger) -> None:
    ingest(led, [said(0, when=at(0)), said(1, when=at(120))])
    ingest(led, [said(0, when=at(0))], restarted="shrunk")
    assert counts(led) == [1]
    ingest(led, [], restarted="shrunk")
    assert counts(led) == []


@pytest.mark.parametrize(
    ("now", "ready"),
    [(later(59), []), (later(60), []), (later(60, 1), [1]), (later(181), [1, 2])],
)
def test_silence_makes_a_conversation_ready(led: Ledger, now, ready) -> None:
    ingest(led, [said(0, when=at(0)), said(1, when=at(120))], now=later(30))
    assert mark_ready(led, now=now, gap_minutes=60) == ready
    assert [each.id for each in list_conversations(led, status="ready")] == ready
    assert mark_ready(led, now=now, gap_minutes=60) == []


@pytest.mark.parametrize(("now", "ready"), [(later(60), []), (later(60, 1), [1])])
def test_without_times_silence_counts_from_the_last_growth(led: Ledger, now, ready) -> None:
    ingest(led, [said(0)], now=later(-30))
    ingest(led, [said(1)], now=later(0))
    ingest(led, [silent(2)], now=later(30))
    assert mark_ready(led, now=now, gap_minutes=60) == ready


def test_bug_i6_a_clock_that_was_ahead_keeps_no_conversation_awake(led: Ledger) -> None:
    """Thirty days ahead for one turn, then right again: silence counts from then on, not in a month."""
    month = 30 * 24 * 60
    ingest(led, [said(0, when=at(month))], now=later(month))
    assert mark_ready(led, now=later(0), gap_minutes=60) == []
    assert mark_ready(led, now=later(60), gap_minutes=60) == []
    assert mark_ready(led, now=later(60, 1), gap_minutes=60) == [1]


def test_a_message_dated_ahead_by_the_client_counts_as_of_when_it_came(led: Ledger) -> None:
    ingest(led, [said(0, when=at(600))], now=later(0))
    assert mark_ready(led, now=later(60), gap_minutes=60) == []
    assert mark_ready(led, now=later(60, 1), gap_minutes=60) == [1]


ALLOWED = {
    ("active", "ready"),
    ("active", "skipped"),
    ("ready", "queued"),
    ("ready", "skipped"),
    ("queued", "processing"),
    ("queued", "ready"),
    ("queued", "skipped"),
    ("processing", "archived"),
    ("processing", "skipped"),
    ("processing", "review"),
    ("processing", "queued"),
    ("processing", "ready"),
    ("review", "queued"),
    ("review", "archived"),
    ("review", "skipped"),
    ("skipped", "queued"),
}
STATES = (*ORDER, "archived", "skipped", "review")


def _in_state(led: Ledger, state: str) -> Conversation:
    ingest(led, [said(0, when=at(0))])
    led.execute("UPDATE memory_conversations SET status = ?", (state,))
    return list_conversations(led)[0]


@pytest.mark.parametrize("after", STATES)
@pytest.mark.parametrize("before", STATES)
def test_only_the_steps_the_states_allow(led: Ledger, before: str, after: str) -> None:
    it = _in_state(led, before)
    if before == after or (before, after) in ALLOWED:
        set_status(led, it.id, after, reason="why", now=START)
        assert list_conversations(led)[0].status == after
    else:
        with pytest.raises(LedgerError, match=f"from {before} to {after}"):
            set_status(led, it.id, after, now=START)
        assert list_conversations(led)[0].status == before


def test_a_status_keeps_its_reason_and_time(led: Ledger) -> None:
    it = _in_state(led, "ready")
    set_status(led, it.id, "skipped", reason="3 messages", now=later(5))
    kept = conversation(led, it.id)
    assert kept is not None and (kept.reason, kept.status_at) == ("3 messages", later(5).timestamp())


def test_unknown_conversations_and_states_are_errors(led: Ledger) -> None:
    assert conversation(led, 9) is None
    with pytest.raises(LedgerError, match="conversation 9"):
        set_status(led, 9, "ready", now=START)
    with pytest.raises(LedgerError, match="no conversation 9"):
        utterances_of_conversation(led, 9)
    it = _in_state(led, "active")
    with pytest.raises(LedgerError, match="to finished"):
        set_status(led, it.id, "finished", now=START)


def bounds(led: Ledger) -> list[tuple[int, int, int, str]]:
    return [
        (each.first_row, each.last_row, each.entry_count, each.status) for each in list_conversations(led)
    ]


def test_a_conversation_that_is_full_ends_without_a_silence_and_is_ready_at_once(led: Ledger) -> None:
    ingest(led, [said(n, when=at(0, n)) for n in range(MOST_ENTRIES - 1)])
    ingest(led, [said(n, when=at(0, n)) for n in range(MOST_ENTRIES - 1, MOST_ENTRIES + 1)], now=later(5))
    assert [found[2] for found in bounds(led)] == [MOST_ENTRIES, 1]
    assert mark_ready(led, now=later(5), gap_minutes=60) == [1]
    ingest(led, [said(MOST_ENTRIES + 1, when=at(6))], now=later(6))
    assert bounds(led) == [
        (1, MOST_ENTRIES, MOST_ENTRIES, "ready"),
        (MOST_ENTRIES + 1, MOST_ENTRIES + 2, 2, "active"),
    ]


@pytest.mark.parametrize("passes", [1, 4])
def test_what_a_conversation_holds_is_counted_in_bytes(led: Ledger, passes: int) -> None:
    """Three characters in four are none of ASCII: by letters two of these would fit, by bytes one does."""
    long = "日" * (MOST_BYTES // 3 - 10)
    entries = [said(0, "a"), reply(1, long), reply(2, "b"), reply(3, long)]
    size = len(entries) // passes
    for start in range(0, len(entries), size):
        ingest(led, entries[start : start + size])
    assert [found[2] for found in bounds(led)] == [3, 1]
    assert len(long) * 2 < MOST_BYTES < len((long * 2).encode())


def test_one_utterance_may_be_larger_than_a_conversation(led: Ledger) -> None:
    ingest(led, [said(0, "x" * (MOST_BYTES + 1)), reply(1, "y" * (MOST_BYTES + 1))])
    assert [found[2] for found in bounds(led)] == [1, 1]


def test_milliseconds_more_than_the_gap_are_the_gap(led: Ledger) -> None:
    ingest(led, [said(0, when=at(0)[:19] + ".100+00:00"), said(1, when=at(60)[:19] + ".900+00:00")])
    assert [found[2] for found in bounds(led)] == [2]
    assert list_conversations(led)[0].last_message_at == at(60)[:19] + ".900+00:00"

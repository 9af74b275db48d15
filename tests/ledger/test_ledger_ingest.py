from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.core.errors import LedgerError
from pipeline.ledger import links
from pipeline.ledger.connection import Ledger, open_ledger
from pipeline.ledger.conversations import list_conversations
from pipeline.ledger.files import (
    bad_lines,
    begin_ingest,
    file_state,
    mark_gone,
    recover_ingesting,
)
from pipeline.ledger.utterances import (
    find_entry,
    first_cwd,
    memory_writes,
    utterances,
    utterances_before,
    utterances_of_conversation,
)
from pipeline.transcript import branch
from pipeline.transcript.branch import Link
from tests.ledger.build import KEY, SESSION, at, ingest, later, live_rows, reply, said, silent


def texts(led: Ledger, key: str = KEY, after_row: int = 0) -> list[str]:
    return [said.text for said in utterances(led, key, after_row=after_row)]


def test_entries_offset_and_state_are_committed_together(led: Ledger) -> None:
    result = ingest(led, [said(0, when=at()), reply(1, when=at(1))], counts={"user": 1, "assistant": 1})
    state = file_state(led, KEY)
    assert (result.new_rows, result.duplicates, live_rows(led, KEY)) == (2, 0, 2)
    assert state is not None
    assert (state.status, state.last_processed_offset, state.file_size) == ("idle", 200, 10_000)
    assert json.loads(state.cursor_json) == {"offset": 200}
    assert (state.session_id, state.last_entry_timestamp, state.gone) == (SESSION, at(1), False)
    assert state.type_counts == {"user": 1, "assistant": 1}
    assert [row["file_path"] for row in led.rows("SELECT file_path FROM memory_file_states")] == [KEY]


def test_the_tables_are_those_of_seed_4(led: Ledger) -> None:
    ingest(led, [said(0, "hello", when=at(), cwd="/w"), reply(1, "hi", tool_names=("Bash", "Edit"))])
    rows = led.rows(
        "SELECT session_id, source_file, role, content, tool_names, timestamp, cwd"
        " FROM memory_transcript_entries ORDER BY id"
    )
    assert [tuple(row) for row in rows] == [
        (SESSION, KEY, "user", "hello", "", at(), "/w"),
        (SESSION, KEY, "assistant", "hi", "Bash,Edit", None, None),
    ]
    file = led.row("SELECT file_path, source, status FROM memory_file_states")
    assert file is not None and tuple(file) == (KEY, "claude-code", "idle")


def test_an_unknown_file_has_no_state(led: Ledger) -> None:
    assert file_state(led, KEY) is None
    assert utterances(led, KEY, after_row=0) == []


def test_bug_003_a_second_pass_adds_nothing(led: Ledger) -> None:
    entries = [said(0, when=at()), said(2, when=at(1))]
    ingest(led, entries, bad=[(2, "not JSON")])
    again = ingest(led, [])
    assert (again.new_rows, live_rows(led, KEY)) == (0, 2)
    assert bad_lines(led, KEY) == [(2, "not JSON")]
    state = file_state(led, KEY)
    assert state is not None and state.bad_lines == 1
    assert len(list_conversations(led)) == 1


def test_the_same_entries_again_are_duplicates(led: Ledger) -> None:
    entries = [said(0), reply(1), said(2, uuid="", chained=False)]
    ingest(led, entries)
    again = ingest(led, entries)
    assert (again.new_rows, again.duplicates, live_rows(led, KEY)) == (0, 3, 3)


def test_an_entry_appended_again_keeps_its_first_row(led: Ledger) -> None:
    ingest(led, [said(0, "first"), said(1, "first again", uuid="u0")])
    ingest(led, [said(2, "and again", uuid="u0")])
    assert texts(led) == ["first"]


@pytest.mark.parametrize(
    "copy",
    [said(0, session_id="fork"), said(0, session_id="fork", text="first, edited")],
    ids=["same text", "other text"],
)
def test_a_copy_in_another_session_is_not_speech_again(led: Ledger, copy) -> None:
    ingest(led, [said(0, "first")])
    ingest(led, [copy, said(1, "new", session_id="fork", uuid="n1")], key="fork.jsonl")
    assert texts(led) == ["first"]
    assert texts(led, "fork.jsonl") == ["new"]


def test_one_record_may_give_several_blocks(led: Ledger) -> None:
    ingest(led, [said(0, "Q: a? A: yes", block=0), said(0, "Q: b? A: no", block=1)])
    assert texts(led) == ["Q: a? A: yes", "Q: b? A: no"]
    found = find_entry(led, SESSION, "u0")
    assert found is not None and found.text == "Q: a? A: yes\nQ: b? A: no"


def test_equal_lines_without_uuid_stay_apart(led: Ledger) -> None:
    ingest(led, [said(number, "again", uuid="", chained=False) for number in range(3)])
    ingest(led, [said(0, "again", uuid="", chained=False, session_id="other")], key="other.jsonl")
    assert len(texts(led)) == 3
    assert len(texts(led, "other.jsonl")) == 1


def test_bug_020_times_out_of_order_lose_nothing(led: Ledger) -> None:
    stamps = [at(60), at(180), at(0), None, None, at(1)]
    for number, stamp in enumerate(stamps):
        ingest(led, [said(number, when=stamp)])
    ingest(led, [said(6, when=at(2))])
    assert texts(led) == [f"line {number}" for number in range(7)]
    state = file_state(led, KEY)
    assert state is not None and state.last_entry_timestamp == at(180)


def test_what_nobody_says_is_kept_only_with_a_reason(led: Ledger) -> None:
    entries = [
        silent(0),
        silent(1, note='{"type": "novel"}', type="novel"),
        silent(2, tool_names=("Bash",), type="assistant"),
        silent(3, memory_writes=("/m/a.md", "/m/b.md")),
        silent(4, memory_writes=("/m/a.md",)),
        said(6, "   "),
    ]
    ingest(led, entries)
    assert live_rows(led, KEY) == 5
    assert texts(led) == []
    assert memory_writes(led, KEY, after_row=0, through_row=99) == ["/m/a.md", "/m/b.md"]
    assert memory_writes(led, KEY, after_row=3, through_row=99) == ["/m/a.md"]
    assert memory_writes(led, KEY, after_row=0, through_row=2) == []
    assert list_conversations(led) == []


def test_a_restart_supersedes_what_the_file_no_longer_holds(led: Ledger) -> None:
    ingest(led, [said(0), said(1), said(2, when=at(500))], bad=[(1, "x")], counts={"user": 3})
    rows = [said.row for said in utterances(led, KEY, after_row=0)]
    result = ingest(led, [said(0), said(3, "new")], restarted="rewound", counts={"user": 2})
    assert texts(led) == ["line 0", "new"]
    assert (result.new_rows, result.duplicates, live_rows(led, KEY)) == (1, 1, 2)
    assert utterances(led, KEY, after_row=0)[0].row == rows[0]
    cited = find_entry(led, SESSION, "u1")
    assert cited is not None and cited.superseded and cited.text == "line 1"
    state = file_state(led, KEY)
    assert state is not None
    assert (state.bad_lines, state.type_counts, state.restarts) == (0, {"user": 2}, 1)
    assert state.last_entry_timestamp is None


def test_what_a_restart_moved_comes_back_under_its_row(led: Ledger) -> None:
    ingest(led, [said(0), said(1), said(2)])
    before = [said.row for said in utterances(led, KEY, after_row=0)]
    ingest(led, [said(5, uuid="u1"), said(6, uuid="u2"), said(7, uuid="u0")], restarted="replaced")
    after = [said.row for said in utterances(led, KEY, after_row=0)]
    assert after == before


def test_superseded_speech_returns_with_the_file_that_still_has_it(led: Ledger) -> None:
    ingest(led, [said(0), said(1)])
    ingest(led, [], restarted="shrunk")
    assert texts(led) == []
    ingest(led, [said(0), said(1)], key="moved.jsonl")
    assert texts(led, "moved.jsonl") == ["line 0", "line 1"]


def test_many_entries_pass_through_in_batches(led: Ledger) -> None:
    total = 10_000
    result = ingest(led, (said(number) for number in range(total)))
    assert (result.new_rows, live_rows(led, KEY)) == (total, total)
    assert len(list(links.links_of(led, 1))) == total


def test_a_reader_that_fails_leaves_the_file_as_it_was(led: Ledger) -> None:
    def failing():
        for number in range(1, 6_000):
            yield said(number)
        raise OSError("gone")

    ingest(led, [said(0)])
    with pytest.raises(OSError, match="gone"):
        ingest(led, failing())
    assert texts(led) == ["line 0"]
    assert recover_ingesting(led) == [KEY]


def test_a_huge_token_count_is_kept_as_the_largest(led: Ledger) -> None:
    ingest(led, [reply(0, input_tokens=10**30)])
    assert led.value("SELECT input_tokens FROM memory_transcript_entries") == 2**63 - 1


_CRASH = """
import sys
from pathlib import Path
from pipeline.ledger.connection import open_ledger
from tests.ledger.build import ingest, said
with open_ledger(Path(sys.argv[1])) as led:
    ingest(led, [said(1), said(2)])
"""


@pytest.mark.parametrize(
    ("point", "seen", "stuck"),
    [
        ("ingest.before_commit", ["line 0"], [KEY]),
        ("ingest.after_commit", ["line 0", "line 1", "line 2"], []),
    ],
)
def test_a_crash_leaves_all_of_a_pass_or_nothing(led: Ledger, monkeypatch, point, seen, stuck) -> None:
    ingest(led, [said(0)])
    monkeypatch.setenv("REVERIE_CRASH_AT", point)
    root = Path(__file__).parents[2]
    died = subprocess.run([sys.executable, "-c", _CRASH, str(led.path)], cwd=root, check=False)
    assert died.returncode == -signal.SIGKILL
    assert texts(led) == seen
    assert recover_ingesting(led) == stuck
    state = file_state(led, KEY)
    assert state is not None and (state.status, state.last_processed_offset) == ("idle", 100 * len(seen))
    monkeypatch.delenv("REVERIE_CRASH_AT")
    ingest(led, [said(1), said(2)])
    assert texts(led) == ["line 0", "line 1", "line 2"]


def test_recovery_puts_aside_rows_past_the_committed_offset(led: Ledger) -> None:
    ingest(led, [said(0), said(1)])
    led.execute("UPDATE memory_file_states SET status = 'ingesting', last_processed_offset = 100")
    assert recover_ingesting(led) == [KEY]
    assert texts(led) == ["line 0"]
    ingest(led, [said(1)])
    assert texts(led) == ["line 0", "line 1"]


def test_bug_024_a_file_that_is_gone_is_noted_once_and_keeps_its_rows(led: Ledger) -> None:
    ingest(led, [said(0)])
    assert [mark_gone(led, key, later()) for key in (KEY, KEY, "never-seen", "never-seen")] == [
        True,
        False,
        True,
        False,
    ]
    state = file_state(led, KEY)
    assert state is not None and state.gone
    assert texts(led) == ["line 0"]
    begin_ingest(led, KEY, "/t", size=1, mtime_ms=1)
    back = file_state(led, KEY)
    assert back is not None and (back.gone, back.status) == (False, "ingesting")


@pytest.mark.parametrize(
    ("after", "limit", "expected"),
    [
        (0, None, "abcd"),
        (2, None, "cd"),
        (4, None, ""),
        (0, 20, "ab"),
        (0, 29, "ab"),
        (0, 1, "a"),
        (0, 0, "a"),
    ],
)
def test_utterances_from_a_row_up_to_a_size(
    led: Ledger, after: int, limit: int | None, expected: str
) -> None:
    ingest(led, [said(number, letter * 10) for number, letter in enumerate("abcd")])
    found = utterances(led, KEY, after_row=after, limit_chars=limit)
    assert "".join(said.text[0] for said in found) == expected


@pytest.mark.parametrize(
    ("row", "size", "expected"), [(4, 20, "bc"), (4, 99, "abc"), (4, 9, ""), (1, 99, "")]
)
def test_context_before_a_row(led: Ledger, row: int, size: int, expected: str) -> None:
    ingest(led, [said(number, letter * 10) for number, letter in enumerate("abcd")])
    found = utterances_before(led, KEY, row=row, max_chars=size)
    assert "".join(said.text[0] for said in found) == expected


def test_an_utterance_carries_what_a_citation_needs(led: Ledger) -> None:
    ingest(led, [reply(0, "done", when=at(), cwd="/w", tool_names=("Edit",))])
    (found,) = utterances(led, KEY, after_row=0)
    assert (found.session_id, found.uuid, found.speaker, found.channel) == (
        SESSION,
        "u0",
        "assistant",
        "prose",
    )
    assert (found.at, found.cwd, found.tool_names, found.row) == (at(), "/w", ("Edit",), 1)
    entry = find_entry(led, SESSION, "u0")
    assert entry is not None
    assert (entry.text, entry.source_file, entry.path, entry.cwd) == ("done", KEY, f"/t/{KEY}", "/w")
    assert find_entry(led, SESSION, "nobody") is None


def rewinds(found: Iterable[Link]) -> set[str]:
    """A plain reading of the rule, to compare incremental passes with: see `branch.abandoned`."""
    links = list(found)
    parent = {uuid: up for uuid, up, _, _ in links}
    human = {uuid for uuid, _, human, _ in links if human}
    chain, here = [], next((uuid for uuid, _, _, side in reversed(links) if not side), None)
    while here in parent and here not in chain:
        chain.append(here)
        here = parent[here]
    gone = set()
    for uuid in parent:
        path, here = [], uuid
        while here in parent and here not in chain and here not in path:
            path.append(here)
            here = parent[here]
        if path and here in chain and here != chain[0] and human & set(path):
            gone.add(uuid)
    return gone


def test_a_rewind_takes_speech_back_and_a_return_restores_it(led: Ledger) -> None:
    talk = [said(0), reply(1), said(2, "use tabs"), reply(3, "tabs then")]
    ingest(led, talk, abandoned=rewinds)
    ingest(led, [said(4, "use spaces", parent_uuid="u1"), reply(5)], abandoned=rewinds)
    assert texts(led) == ["line 0", "line 1", "use spaces", "line 5"]
    conversation = list_conversations(led)[0]
    assert conversation.entry_count == 4
    assert [said.text for said in utterances_of_conversation(led, conversation.id)] == texts(led)
    left = find_entry(led, SESSION, "u2")
    assert left is not None and left.abandoned
    ingest(led, [said(6, "tabs after all", parent_uuid="u3")], abandoned=rewinds)
    assert texts(led) == ["line 0", "line 1", "use tabs", "tabs then", "tabs after all"]


def test_a_turn_at_the_end_asks_only_about_its_own_links(led: Ledger) -> None:
    asked = []

    def watching(found: Iterable[Link]) -> set[str]:
        asked.append(len(list(found)))
        return rewinds(found)

    ingest(led, [said(number) for number in range(50)], abandoned=watching)
    ingest(led, [reply(50), silent(51), said(52)], abandoned=watching)
    ingest(led, [said(53, parent_uuid="u10")], abandoned=watching)
    assert asked == [50, 4, 54]


def test_reading_a_file_again_adds_no_links(led: Ledger) -> None:
    entries = [said(0), said(1), said(1, "more", block=1), silent(2)]
    ingest(led, entries)
    ingest(led, [*entries, said(3)])
    assert [link[0] for link in links.links_of(led, 1)] == ["u0", "u1", "u2", "u3"]
    assert led.value("SELECT count(*) FROM link_batches") == 2


def test_a_record_s_prompt_marks_its_link_whichever_block_it_is(led: Ledger) -> None:
    ingest(led, [said(0, channel="answer"), said(0, "and more", block=1), said(1, channel="answer")])
    assert [link[2] for link in links.links_of(led, 1)] == [True, False]


def test_where_a_session_began_is_told_by_the_first_entry_that_says(led: Ledger) -> None:
    ingest(led, [said(0), said(1, cwd="first"), said(2, cwd="second")])
    assert (first_cwd(led, KEY), first_cwd(led, "other.jsonl")) == ("first", None)


def test_a_turn_within_the_gap_lengthens_the_conversation_and_a_later_one_opens_another(led: Ledger) -> None:
    ingest(led, [said(0, when=at(0)), said(1, when=at(5))])
    ingest(led, [said(2, when=at(20))])
    ingest(led, [said(3, when=at(500))])
    found = [(c.entry_count, c.first_message_at, c.last_message_at) for c in list_conversations(led)]
    assert found == [(3, at(0), at(20)), (1, at(500), at(500))]


def test_a_copy_appended_by_a_compaction_does_not_hide_the_older_branch(led: Ledger) -> None:
    ingest(led, [said(0), said(1), said(2, uuid="u0", parent_uuid="u1")], abandoned=rewinds)
    ingest(led, [said(3, parent_uuid="u0")], abandoned=rewinds)
    assert texts(led) == ["line 0", "line 3"]


def dump(led: Ledger) -> dict[str, list[tuple[object, ...]]]:
    """All rows, but for what tells how often a pass ran: cursors, and ids of conversations once empty."""
    tables = {
        "memory_transcript_entries": "*",
        "memory_conversations": "first_row, last_row, entry_count, first_message_at, last_message_at, status",
        "memory_file_states": "status, last_entry_timestamp, session_id",
    }
    rows = {
        table: [tuple(row) for row in led.rows(f"SELECT {columns} FROM {table}")]
        for table, columns in tables.items()
    }
    return {**rows, "links": list(links.links_of(led, 1))}


@st.composite
def transcripts(draw: st.DrawFn):
    size = draw(st.integers(1, 14))
    entries = []
    for number in range(size):
        parent = draw(st.one_of(st.just(number - 1), st.integers(-1, number)))
        build = draw(st.sampled_from([said, reply, silent]))
        minutes = draw(st.one_of(st.none(), st.integers(0, 300)))
        uuid = draw(st.sampled_from([f"u{number}"] * 5 + ["", "u0"]))
        side = draw(st.sampled_from([False] * 5 + [True]))
        more = {"speaker": None, "channel": None} if side else {}
        entries.append(
            build(
                number,
                when=None if minutes is None else at(minutes),
                uuid=uuid,
                parent_uuid=f"u{parent}" if parent >= 0 else None,
                sidechain=side,
                **({} if build is silent else more),
            )
        )
    cuts = draw(st.lists(st.integers(0, size), max_size=5))
    return entries, sorted(cuts)


@settings(max_examples=60)
@given(transcripts())
def test_any_split_into_passes_gives_the_rows_of_one_pass(tmp_path_factory, drawn) -> None:
    entries, cuts = drawn
    folder = tmp_path_factory.mktemp("ledgers")
    with open_ledger(folder / "one") as one, open_ledger(folder / "many") as many:
        ingest(one, entries, abandoned=rewinds)
        for start, end in zip([0, *cuts], [*cuts, len(entries)], strict=True):
            ingest(many, entries[start:end], abandoned=rewinds)
        assert dump(many) == dump(one)


def test_a_long_file_is_judged_as_a_short_one_is(led: Ledger) -> None:
    """More links than the window holds, in several batches: far parents, rewinds, copies and strangers."""
    entries = []
    for number in range(9_000):
        parent = number - 1
        if number % 1_000 == 999:
            parent = max(0, number - 5_500)
        uuid = "u10" if number == 8_990 else f"u{number}"
        build = said if number % 40 == 0 else silent
        hangs = f"u{parent}" if number != 3_000 else "nowhere"
        entries.append(build(number, uuid=uuid, parent_uuid=hangs if number else None))
    ingest(led, entries, abandoned=branch.abandoned)
    assert led.value("SELECT count(*) FROM link_batches") == 3
    expected: dict[str, Link] = {}
    for entry in entries:
        human = entry.speaker == "person"
        expected.setdefault(entry.uuid, (entry.uuid, entry.parent_uuid, human, False))
    stored = links.FileLinks(led, 1)
    assert list(stored) == list(expected.values())
    assert [stored.position_of(uuid) for uuid in ("u0", "u10", "u8999", "u-1")] == [0, 10, 8998, None]
    gone = branch.abandoned(list(expected.values()))
    assert gone and branch.abandoned(stored) == gone
    flagged = {uuid for (uuid,) in led.rows("SELECT uuid FROM memory_transcript_entries WHERE abandoned = 1")}
    assert flagged == {entry.uuid for entry in entries if entry.speaker == "person"} & gone


def test_what_shares_a_transaction_is_kept_as_a_whole_or_not_at_all(led: Ledger) -> None:
    with pytest.raises(LedgerError, match="a part of this work failed"), led.together():
        ingest(led, [said(0)])
        with suppress(ZeroDivisionError), led.transaction():
            raise ZeroDivisionError
    assert led.value("SELECT count(*) FROM memory_transcript_entries") == 0
    with led.together():
        ingest(led, [said(0)])
        ingest(led, [said(0)], key="p/other.jsonl")
    assert led.value("SELECT count(*) FROM memory_file_states") == 2

"""Words with what was done meanwhile, and what came before them, also in another file."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain.speech import MENU_TOOL, Utterance
from pipeline.ledger.connection import Ledger
from pipeline.ledger.conversations import list_conversations, mark_ready
from pipeline.ledger.dialogue import context_before, dialogue, dialogue_of_conversation
from pipeline.ledger.entries import commit_ingest
from pipeline.ledger.files import begin_ingest, mark_gone
from pipeline.ledger.utterances import utterances
from tests.ledger.build import KEY, START, at, ingest, later, none_abandoned, reply, said, silent

FORK = "-w-shop/f0rk.jsonl"


def tool(number: int, name: str, *files: str, **more: Any) -> Any:
    return silent(number, type="assistant", tool_names=(name,), files=files, **more)


def shown(found: list[Utterance]) -> list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    return [(u.speaker, u.text, u.tool_names, u.files) for u in found]


def words(found: list[Utterance]) -> list[str]:
    return [u.text for u in found]


def test_tools_go_to_the_words_they_follow(led: Ledger) -> None:
    ingest(
        led,
        [
            said(0),
            reply(1, "I look"),
            tool(2, "Bash"),
            tool(3, "Edit", "edited a.py"),
            reply(4, "Done", tool_names=("Grep",)),
            tool(5, "Bash"),
            said(6),
        ],
    )
    found = dialogue(led, KEY, after_row=0)
    assert shown(found) == [
        ("person", "line 0", (), ()),
        ("assistant", "I look", ("Bash", "Edit"), ("edited a.py",)),
        ("assistant", "Done", ("Grep", "Bash"), ()),
        ("person", "line 6", (), ()),
    ]
    assert [u.row for u in found] == [u.row for u in utterances(led, KEY, after_row=0)]


def test_tools_without_words_before_go_to_the_next_ones(led: Ledger) -> None:
    ingest(led, [said(0), tool(1, "Bash"), tool(2, "Write", "wrote b.md"), reply(3, "Done"), said(4)])
    assert shown(dialogue(led, KEY, after_row=0))[1] == (
        "assistant", "Done", ("Bash", "Write"), ("wrote b.md",)
    )  # fmt: skip


def test_a_stretch_of_nothing_but_tools_is_a_line_without_words(led: Ledger) -> None:
    ingest(led, [said(0), tool(1, "Bash"), tool(2, "Edit", "edited a.py"), said(3), tool(4, "Bash")])
    found = dialogue(led, KEY, after_row=0)
    assert shown(found) == [
        ("person", "line 0", (), ()),
        ("assistant", "", ("Bash", "Edit"), ("edited a.py",)),
        ("person", "line 3", (), ()),
    ]
    assert found[1].uuid == "u2" and found[0].row < found[1].row < found[2].row
    (conversation,) = list_conversations(led)
    assert dialogue_of_conversation(led, conversation.id) == found
    assert conversation.entry_count == 2


def test_what_was_told_with_the_words_before_is_not_told_again(led: Ledger) -> None:
    ingest(led, [said(0), reply(1, "I look"), tool(2, "Bash")])
    read = dialogue(led, KEY, after_row=0)[-1].row
    ingest(led, [tool(3, "Bash"), said(4), tool(5, "Bash"), reply(6, "Done")])
    assert shown(dialogue(led, KEY, after_row=read)) == [
        ("person", "line 4", (), ()),
        ("assistant", "Done", ("Bash",), ()),
    ]


def test_forms_are_no_tools(led: Ledger) -> None:
    ingest(led, [said(0), tool(1, MENU_TOOL), said(2)])
    assert words(dialogue(led, KEY, after_row=0)) == ["line 0", "line 2"]


def test_the_nearest_words_are_context_whatever_their_length(led: Ledger) -> None:
    ingest(led, [said(0, "x" * 50), reply(1, "menu " * 500), tool(2, "Bash"), said(3, "4")])
    row = utterances(led, KEY, after_row=0)[-1].row
    found = context_before(led, KEY, row=row, max_chars=100)
    assert words(found) == ["menu " * 500] and found[0].tool_names == ("Bash",)
    assert words(context_before(led, KEY, row=row, max_chars=9_000)) == ["x" * 50, "menu " * 500]


# -- forks -------------------------------------------------------------------------------------------------


def copies(count: int, **more: Any) -> list[Any]:
    """The first entries of the session 5e55 as a fork copies them."""
    made = [said(0), reply(1, "menu"), tool(2, "Bash"), silent(3)][:count]
    for entry in made:
        entry.session_id, entry.forked_from = "f0rk", "5e55"
    return made


def fork(led: Ledger, entries: list[Any]) -> None:
    ingest(led, entries, key=FORK)


def test_what_a_fork_copied_is_context_and_not_new(led: Ledger) -> None:
    ingest(led, [said(0), reply(1, "menu"), tool(2, "Bash"), silent(3)])
    fork(led, [*copies(4), said(9, "4 seems right", parent_uuid="u3", session_id="f0rk")])
    (new,) = dialogue(led, FORK, after_row=0)
    assert new.text == "4 seems right"
    found = context_before(led, FORK, row=new.row, max_chars=900)
    assert words(found) == ["line 0", "menu"] and found[1].tool_names == ("Bash",)


def test_a_fork_whose_origin_was_never_read_is_new(led: Ledger) -> None:
    fork(led, [*copies(4), said(9, "4 seems right", parent_uuid="u3", session_id="f0rk")])
    assert words(dialogue(led, FORK, after_row=0)) == ["line 0", "menu", "4 seems right"]
    # The session it comes from adds nothing to it when it is read after all.
    ingest(led, [said(0), reply(1, "menu"), tool(2, "Bash"), silent(3), said(4)])
    assert words(dialogue(led, KEY, after_row=0)) == ["line 4"]
    row = dialogue(led, KEY, after_row=0)[0].row
    assert words(context_before(led, KEY, row=row, max_chars=900)) == ["line 0", "menu"]


def test_a_fork_keeps_what_its_vanished_origin_did_not_tell(led: Ledger) -> None:
    ingest(led, [said(0)])
    mark_gone(led, KEY, START)
    fork(led, copies(2))
    assert words(dialogue(led, FORK, after_row=0)) == ["menu"]


def test_a_resumption_in_a_new_file_goes_on_from_its_parent(led: Ledger) -> None:
    ingest(led, [said(0), reply(1, "menu"), silent(2), silent(3, parent_uuid="u2")])
    fork(led, [said(7, "4", parent_uuid="u3", session_id="f0rk"), reply(8, "Done", session_id="f0rk")])
    first, second = dialogue(led, FORK, after_row=0)
    assert words(context_before(led, FORK, row=first.row, max_chars=900)) == ["line 0", "menu"]
    assert words(context_before(led, FORK, row=second.row, max_chars=900)) == ["line 0", "menu", "4"]
    assert words(context_before(led, FORK, row=second.row, max_chars=1)) == ["4"]


def test_a_fork_of_a_fork_goes_back_to_the_first(led: Ledger) -> None:
    ingest(led, [said(0), reply(1, "menu")])
    fork(led, [said(7, "4", parent_uuid="u1", session_id="f0rk")])
    ingest(led, [said(8, "or 5", parent_uuid="u7", session_id="third")], key="third.jsonl")
    (new,) = dialogue(led, "third.jsonl", after_row=0)
    assert words(context_before(led, "third.jsonl", row=new.row, max_chars=900)) == ["line 0", "menu", "4"]


@pytest.mark.parametrize("parent", [None, "nowhere", "u7"])
def test_what_hangs_on_nothing_known_has_no_context(led: Ledger, parent: str | None) -> None:
    ingest(led, [said(0)])
    fork(led, [said(7, "4", parent_uuid=parent, session_id="f0rk")])
    (new,) = dialogue(led, FORK, after_row=0)
    assert context_before(led, FORK, row=new.row, max_chars=900) == []
    assert context_before(led, "unknown.jsonl", row=5, max_chars=900) == []


# -- silence -----------------------------------------------------------------------------------------------


def counts(led: Ledger) -> list[int]:
    return [item.entry_count for item in list_conversations(led)]


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (reply(2, "Done", when=at(300)), [3]),
        (said(2, "yes", when=at(300), channel="answer"), [3]),
        (said(2, "no", when=at(300), channel="refusal"), [3]),
        (said(2, "and", when=at(300), channel="queued"), [3]),
        (said(2, "now", when=at(300)), [2, 1]),
        (said(2, "/go", when=at(300), channel="slash"), [2, 1]),
        (said(2, "now", when=at(300), worked_at=at(290)), [3]),
        (said(2, "now", when=at(300), worked_at=at(100)), [2, 1]),
    ],
)
def test_only_silence_before_a_prompt_ends_a_conversation(
    led: Ledger, last: Any, expected: list[int]
) -> None:
    ingest(led, [said(0, when=at(0)), reply(1, when=at(1)), last])
    assert counts(led) == expected


def note(led: Ledger, cursor: str) -> None:
    begin_ingest(led, KEY, f"/t/{KEY}", size=1, mtime_ms=1)
    commit_ingest(
        led, KEY, [said(0, when=at(0))], cursor_json=cursor, offset=1, size=1, mtime_ms=1, restarted="",
        bad=[], type_counts={}, abandoned=none_abandoned, gap_minutes=60, now=START,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cursor", "minutes", "ready"),
    [
        ('{"working": true}', 61, []),
        ('{"working": true}', 24 * 60 + 1, [1]),
        ('{"working": false}', 61, [1]),
        ("{}", 61, [1]),
        ("", 61, [1]),
        ("[]", 61, [1]),
        ("{broken", 61, [1]),
    ],
)
def test_a_conversation_in_which_a_tool_runs_is_not_over(
    led: Ledger, cursor: str, minutes: int, ready: list[int]
) -> None:
    note(led, cursor)
    assert mark_ready(led, now=later(minutes), gap_minutes=60) == ready

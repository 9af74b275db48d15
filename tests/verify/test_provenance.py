"""Who said each sentence, and when: by its sources alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.core.clock import parse_time
from pipeline.domain.memory import Evidence, Memory
from pipeline.domain.sentences import key_of, sentences
from pipeline.verify.provenance import (
    bound,
    origin_of,
    pruned,
    said_at,
    said_later_by_person,
    sentence_said_at,
    sources_of,
    vouched,
    weakest_origin,
)
from tests.support.stores import NOW, memory

EARLY, LATE = "2026-01-05T10:00:00+00:00", "2026-02-05T10:00:00+00:00"
BODY = "Use 3 retries. Log each.\n"


def source(uuid: str, at: str | None = EARLY, *bears: str, speaker: Any = "person") -> Evidence:
    keys = tuple(key_of(text) for text in bears)
    return Evidence(session="s", uuid=uuid, quote="q", at=at, speaker=speaker, bears=keys)


def fact(*sources: Evidence, **more: Any) -> Memory:
    return memory("retries", **{"body": BODY, "sources": sources, **more})


def test_a_memory_was_said_when_its_last_line_was_and_not_when_its_file_was_written() -> None:
    assert said_at(fact(source("a"), source("b", LATE))) == parse_time(LATE)
    assert said_at(fact(source("a", None))) is None and said_at(fact(updated=NOW)) is None


def test_a_source_that_names_sentences_stands_for_those_alone() -> None:
    whole, late = source("a"), source("b", LATE, "Log each.")
    memory = fact(whole, late)
    assert sources_of(memory, "Use 3 retries.") == (whole,)
    assert sources_of(memory, "log each") == (whole, late)
    assert sentence_said_at(memory, "Use 3 retries.") == parse_time(EARLY)
    assert sentence_said_at(memory, "Log each.") == parse_time(LATE)
    assert sentence_said_at(fact(late), "Use 3 retries.") is None


@pytest.mark.parametrize(
    ("origin", "speaker", "expected"),
    [
        ("user-stated", "assistant", True),
        ("hand-written", "assistant", True),
        ("assistant-inferred", "person", False),
        ("imported", "person", True),
        ("imported", "assistant", False),
        ("", "assistant", False),
    ],
)
def test_behind_which_memories_a_person_stands(origin: str, speaker: str, expected: bool) -> None:
    assert vouched(fact(source("a", speaker=speaker), origin=origin)) is expected


@pytest.mark.parametrize(
    ("new", "old", "later"),
    [
        ([LATE], [EARLY], True),
        ([EARLY], [LATE], False),
        ([LATE], [LATE], False),
        ([LATE], [EARLY, LATE], False),
        ([EARLY, LATE], [EARLY], True),
        ([None], [EARLY], False),
        ([LATE], [EARLY, None], False),
        ([], [EARLY], False),
        ([LATE], [], True),
        ([None], [], False),
        (["2026-01-05T11:30:00+02:00"], [EARLY], False),
    ],
)
def test_later_is_later_than_all(new: list[str | None], old: list[str | None], later: bool) -> None:
    old_sources = [source("a", at) for at in old]
    assert said_later_by_person([source("b", at) for at in new], old_sources) is later
    assert not said_later_by_person([source("b", at, speaker="assistant") for at in new], old_sources)


def test_the_weakest_origin_counts() -> None:
    assert weakest_origin(["user-stated", "assistant-inferred", "imported"]) == "assistant-inferred"
    assert weakest_origin(["hand-written", "user-confirmed"]) == "user-confirmed"
    assert origin_of([source("a", speaker="assistant")], "user-stated") == "assistant-inferred"
    assert origin_of([source("a")], "user-confirmed") == origin_of([], "user-confirmed") == "user-confirmed"


def test_binding_and_pruning_again_changes_nothing_where_all_stands_for_all() -> None:
    memory = fact(source("a"), source("b", LATE))
    assert {item.bears for item in bound(memory)} == {(key_of("Use 3 retries."), key_of("Log each."))}
    assert pruned(replace(memory, sources=bound(memory))) == memory


def test_a_source_of_no_sentence_goes_and_one_bound_twice_is_one() -> None:
    first, again = source("a", EARLY, "Log each."), source("a", EARLY, "Use 3 retries.")
    gone, late = source("c", EARLY, "Nothing."), source("d", LATE, "Log each.", "Nothing.")
    made = pruned(fact(first, gone, again, late))
    assert [item.uuid for item in made.sources] == ["a", "d"]
    assert [set(item.bears) for item in made.sources] == [
        {key_of("Use 3 retries."), key_of("Log each.")},
        {key_of("Log each.")},
    ]


def test_what_is_in_no_sentence_keeps_its_sources() -> None:
    assert [item.uuid for item in pruned(fact(source("a"), body="")).sources] == ["a"]


KEYS = st.lists(st.sampled_from(["Use 3 retries.", "Log each.", "Gone."]), max_size=3)


@given(st.lists(st.tuples(st.sampled_from("abc"), KEYS), max_size=5))
def test_pruning_keeps_who_said_what(given_sources: list[tuple[str, list[str]]]) -> None:
    memory = fact(*(source(uuid, EARLY, *bears) for uuid, bears in given_sources))
    made = pruned(memory)
    for sentence in sentences(memory.body):
        assert {item.pointer for item in sources_of(made, sentence.text)} == {
            item.pointer for item in sources_of(memory, sentence.text)
        }
    assert pruned(made) == made
    assert len({item.pointer for item in made.sources}) == len(made.sources)

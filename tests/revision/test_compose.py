"""New texts made out of sentences: what is not named stays word for word, and what goes is listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain.body import Body
from pipeline.domain.memory import Evidence, Memory, Replaced
from pipeline.domain.sentences import ALSO, key_of, sentences
from pipeline.revision import Removal, Replacement, amended, merged, without
from pipeline.revision.compose import SAYS_THE_SAME, lost_between
from tests.support.stores import NOW, memory

OLD = (
    "Use 3 retries. Log each. Tell Mara.\n\n**Why:** At 5 the gateway bans us. It did in May.\n\n"
    "**How to apply:** In payments.\n"
)
NOTHING = Body("")


def source(uuid: str, *bears: str, at: str | None = "2026-01-05T10:00:00+00:00", **more: Any) -> Evidence:
    """A line that stands for the sentences `bears`, for all without any."""
    keys = tuple(key_of(text) for text in bears)
    return Evidence(session="s", uuid=uuid, quote=f"quote {uuid}", at=at, bears=keys, **more)


def fact(name: str, body: str, *sources: Evidence, **more: Any) -> Memory:
    return memory(name, body=body, sources=sources, **more)


def changed(old: str, *replacements: tuple[int, str], added: Body = NOTHING) -> str:
    made, _ = amended(fact("m", old), [Replacement(*item) for item in replacements], added, (), now=NOW)
    return made.body


# -- amended ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("replacement", "body"),
    [
        ((1, "Use 4 retries."), OLD.replace("Use 3", "Use 4")),
        ((2, "Log none."), OLD.replace("Log each.", "Log none.")),
        ((3, "Tell Ben."), OLD.replace("Mara", "Ben")),
        ((4, "At 6 it does."), OLD.replace("At 5 the gateway bans us.", "At 6 it does.")),
        ((6, "Everywhere."), OLD.replace("In payments.", "Everywhere.")),
        ((1, ""), OLD.removeprefix("Use 3 retries. ")),
        ((2, ""), OLD.replace(" Log each.", "")),
        ((3, ""), OLD.replace(" Tell Mara.", "")),
        ((4, ""), OLD.replace(" At 5 the gateway bans us.", "")),
        ((6, ""), OLD[: OLD.index("\n\n**How")] + "\n"),
        ((1, "Use 4 retries"), OLD.replace("Use 3", "Use 4")),
        ((0, "Nobody."), OLD),
        ((7, "Nobody."), OLD),
        ((-1, "Nobody."), OLD),
        ((1, "use “3” retries"), OLD),
    ],
)
def test_one_sentence_gives_way_and_the_others_stay_byte_for_byte(
    replacement: tuple[int, str], body: str
) -> None:
    assert changed(OLD, replacement) == body


def test_a_label_goes_with_the_last_sentence_behind_it() -> None:
    assert "Why" in changed(OLD, (4, "")) and "Why" in changed(OLD, (5, ""))
    assert changed(OLD, (4, ""), (5, "")) == OLD.replace(
        "\n\n**Why:** At 5 the gateway bans us. It did in May.", ""
    )
    assert changed("Only one.\n", (1, "")) == ""


def test_a_further_fact_keeps_its_label_while_its_reason_stays() -> None:
    two = f"S0.\n\n**Why:** W0.\n\n{ALSO} S1.\n\n**Why:** W1.\n"
    left = changed(two, (3, ""))
    assert [(s.text, s.part, s.fact) for s in sentences(left)][-1] == ("W1.", "why", 1)
    assert changed(two, (3, ""), (4, "")) == "S0.\n\n**Why:** W0.\n"
    assert changed(two, (1, ""), (2, "")) == f"{ALSO} S1.\n\n**Why:** W1.\n"


@pytest.mark.parametrize(
    ("old", "replacement", "body"),
    [
        ("- stop\n- drain\n- migrate\n", (2, "wait"), "- stop\n- wait\n- migrate\n"),
        ("- stop\n- drain\n- migrate\n", (2, ""), "- stop\n- migrate\n"),
        ("1. stop\n2. drain\n", (2, "3. wait"), "1. stop\n3. wait\n"),
        ("Use pnpm. Never npm.\n", (1, "Use bun"), "Use bun. Never npm.\n"),
        ("pnpmを使う。npmは使わない。\n", (1, "bunを使う"), "bunを使う。npmは使わない。\n"),
        ("Is it up? Ask.\n", (1, "It is up."), "It is up. Ask.\n"),
        ("Use few. Log each.\n", (1, "Set it to 4."), "Set it to 4.\n\nLog each.\n"),
        ("Ask at\n```\nx\n```\nbefore noon.\n", (2, ""), "Ask at\n\nbefore noon.\n"),
    ],
)
def test_a_new_sentence_runs_into_no_other(old: str, replacement: tuple[int, str], body: str) -> None:
    assert changed(old, replacement) == body


@pytest.mark.parametrize(
    ("added", "body"),
    [
        (Body("Wait a second."), OLD.replace("Mara.", "Mara. Wait a second.")),
        (Body("", "It cost us."), OLD.replace("May.", "May. It cost us.")),
        (Body("", "", "At night."), OLD.replace("payments.", "payments. At night.")),
        (Body("Use 3 retries."), OLD),
        (Body("  "), OLD),
    ],
)
def test_what_is_added_stands_behind_its_part(added: Body, body: str) -> None:
    assert changed(OLD, added=added) == body


@pytest.mark.parametrize(
    ("old", "added", "body"),
    [
        ("Use tabs", Body("Never spaces."), "Use tabs\n\nNever spaces.\n"),
        ("- stop\n- drain", Body("Then rest."), "- stop\n- drain\n\nThen rest.\n"),
        ("Set it to 4.", Body("Log each."), "Set it to 4.\n\nLog each.\n"),
        ("Use tabs.", Body("", "Diffs."), "Use tabs.\n\n**Why:** Diffs.\n"),
        ("", Body("Use tabs.", "Diffs."), "Use tabs.\n\n**Why:** Diffs.\n"),
        ("**Why:** Diffs.\n", Body("Use tabs."), "Use tabs.\n\n**Why:** Diffs.\n"),
        (
            f"S0.\n\n{ALSO} S1.\n\n**Why:** W1.\n",
            Body("T0.", "W0."),
            f"S0.\n\n{ALSO} S1.\n\n**Why:** W1.\n\n{ALSO} T0.\n\n**Why:** W0.\n",
        ),
    ],
)
def test_an_addition_runs_into_no_other_sentence_and_no_other_fact(old: str, added: Body, body: str) -> None:
    assert changed(old, added=added).strip() == body.strip()


def test_new_sentences_rest_on_the_new_words_and_the_others_on_theirs() -> None:
    first, second = source("a"), source("b", "Log each.")
    fresh = source("c", at="2026-02-01T10:00:00+00:00")
    old = fact("m", OLD, first, second)
    made, removals = amended(
        old, [Replacement(1, "Use 4 retries.")], Body("", "Ben said so."), [fresh], now=NOW
    )
    assert removals == (Removal("Use 3 retries.", "Use 4 retries.", evidence=(fresh,)),)
    by_uuid = {item.uuid: set(item.bears) for item in made.sources}
    assert by_uuid["c"] == {key_of("Use 4 retries."), key_of("Ben said so.")}
    assert by_uuid["b"] == {key_of("Log each.")}
    assert key_of("Use 3 retries.") not in by_uuid["a"] and len(by_uuid["a"]) == 5
    assert lost_between(old.body, made.body, removals) == [] and made.updated == NOW


def test_a_source_of_nothing_that_stays_goes_and_more_than_three_may_stay() -> None:
    old = fact("m", "AA. BB. CC. DD.", *(source(text, f"{text * 2}.") for text in "ABCD"))
    made, _ = amended(old, [Replacement(1, "EE.")], NOTHING, [source("E")], now=NOW)
    assert [item.uuid for item in made.sources] == ["E", "B", "C", "D"]


PIECES = ["AA.", "Bb b.", "c", "- d", "設定。", "**Why:** w.", f"{ALSO} f.", "\n\n"]
NEW = ["", "XX.", "y", "Z? ok.", "Set it to 4.", "- item"]


@given(
    st.lists(st.sampled_from(PIECES), max_size=8),
    st.lists(st.tuples(st.integers(-1, 9), st.sampled_from(NEW)), max_size=4),
    st.sampled_from([NOTHING, Body("New."), Body("", "Reason"), Body("N", "R", "H")]),
)
@settings(max_examples=300)
def test_an_amendment_loses_nothing_that_it_does_not_list(
    pieces: list[str], replacements: list[tuple[int, str]], added: Body
) -> None:
    old = fact("m", " ".join(pieces) + "\n")
    made, removals = amended(old, [Replacement(*item) for item in replacements], added, (), now=NOW)
    assert lost_between(old.body, made.body, removals) == []
    for removal in removals:
        assert {part.key for part in sentences(removal.by)} <= {part.key for part in sentences(made.body)}


# -- merged -------------------------------------------------------------------------------------------


def test_facts_stand_one_behind_the_other_each_with_its_reason() -> None:
    one = fact("one", "Use 3 retries.\n\n**Why:** At 5 it bans us.\n")
    two = fact("two", "Log each retry.\n\n**Why:** Mara reads the log.\n")
    made, removals = merged(one, [two], {}, now=NOW)
    assert removals == ()
    assert made.body == f"{one.body.strip()}\n\n{ALSO} {two.body}"
    assert (made.name, made.title, made.description, made.type) == (
        one.name,
        one.title,
        one.description,
        one.type,
    )
    assert "two" in made.aliases and made.updated == NOW


def test_an_equal_sentence_is_left_out_and_its_source_stays() -> None:
    one = fact("one", "Use 3 retries.", source("a"))
    two = fact("two", "use  3 retries\n\n**Why:** At 5 it bans us.", source("b"))
    made, removals = merged(one, [two], {}, now=NOW)
    # The reason stays, so its statement does.
    assert removals == () and made.body.count("3") == 2
    made, removals = merged(one, [replace(two, body="use  3 retries")], {}, now=NOW)
    (removal,) = removals
    assert removal.equal and removal.reason == SAYS_THE_SAME and removal.by == "Use 3 retries."
    assert made.body == "Use 3 retries.\n" and [item.uuid for item in made.sources] == ["a", "b"]
    assert all(item.bears == () for item in made.sources)


def test_an_equal_end_of_another_fact_is_not_cut_from_it() -> None:
    """“What I never want to see again.” alone says something else than with what it leads up to."""
    one = fact("one", "Push to main on Fridays.")
    two = fact("two", "What I never want to see again. Push to main on Fridays.")
    made, removals = merged(one, [two], {}, now=NOW)
    assert removals == () and made.body.count("Push to main") == 2


def test_a_statement_is_not_spoken_for_by_a_reason() -> None:
    one = fact("one", "Never rebase.\n\n**Why:** It broke the build.")
    made, removals = merged(one, [fact("two", "It broke the build.")], {}, now=NOW)
    assert removals == () and made.body.count("It broke") == 2


def test_two_texts_of_one_key_are_two_sentences() -> None:
    one, two = fact("one", "Ship build 7919 on Fridays."), fact("two", "Never ship build 131360.")
    assert merged(one, [two], {}, now=NOW)[1] == ()


def test_a_reason_alone_belongs_to_the_fact_that_was_changed() -> None:
    old = fact("one", f"Use 3 retries.\n\n{ALSO} Log each retry.", source("a"))
    why = Body("", "The on-call people read it.")
    assert amended(old, [], why, [source("b")], now=NOW)[0].body.strip() == old.body.strip()
    made = amended(old, [Replacement(2, "Log each retry to Loki.")], why, [source("b")], now=NOW)[0]
    assert made.body.endswith("Log each retry to Loki.\n\n**Why:** The on-call people read it.\n")


def test_a_sentence_is_left_out_only_with_all_that_follow_it() -> None:
    one = fact("one", "Use 3 retries.", source("a"))
    two = fact("two", "Three retries it is. Unless it is May.", source("b"))
    covered = {two.id: {1: "Use 3 retries."}}
    made, removals = merged(one, [two], covered, now=NOW)
    assert removals == () and "Three retries it is. Unless it is May." in made.body
    three = replace(two, body="Unless it is May. Three retries it is.")
    made, removals = merged(one, [three], {two.id: {2: "Use 3 retries."}}, now=NOW)
    assert [item.text for item in removals] == ["Three retries it is."] and not removals[0].equal
    by_uuid = {item.uuid: set(item.bears) for item in made.sources}
    assert by_uuid == {
        "a": {key_of("Use 3 retries.")},
        "b": {key_of("Use 3 retries."), key_of("Unless it is May.")},
    }


def test_of_several_facts_each_keeps_its_own_beginning() -> None:
    one = fact("one", "AA.")
    two = fact("two", f"BB. A too.\n\n{ALSO} A as well.\n\n{ALSO} CC.\n\n**Why:** WW.")
    covered = {two.id: {2: "AA.", 3: "AA.", 5: "AA."}}
    made, removals = merged(one, [two], covered, now=NOW)
    assert [item.text for item in removals] == ["A too.", "A as well.", "WW."]
    assert made.body == f"AA.\n\n{ALSO} BB.\n\n{ALSO} CC.\n"


def test_two_that_speak_for_each_other_do_not_both_go() -> None:
    one, two, three = fact("one", "AA."), fact("two", "BB."), fact("three", "B again.")
    made, removals = merged(one, [two, three], {two.id: {1: "B again."}, three.id: {1: "BB."}}, now=NOW)
    kept = {sentence.text for sentence in sentences(made.body)}
    assert kept & {"BB.", "B again."}
    assert all(item.by in kept for item in removals)


def test_what_speaks_for_one_and_goes_itself_hands_on_what_it_stood_for() -> None:
    one, two, three = (
        fact("one", "AA.", source("a")),
        fact("two", "BB.", source("b")),
        fact("three", "CC.", source("c")),
    )
    made, removals = merged(one, [two, three], {two.id: {1: "AA."}, three.id: {1: "BB."}}, now=NOW)
    assert [(item.text, item.by) for item in removals] == [("BB.", "AA."), ("CC.", "AA.")]
    assert made.body == "AA.\n" and [item.uuid for item in made.sources] == ["a", "b", "c"]


@pytest.mark.parametrize("by", ["Nobody wrote this.", "", "AA. Nobody wrote this."])
def test_words_that_stand_nowhere_speak_for_nothing(by: str) -> None:
    one, two = fact("one", "AA."), fact("two", "BB.")
    made, removals = merged(one, [two], {two.id: {1: by}}, now=NOW)
    assert removals == () and "BB." in made.body


def test_the_origin_is_the_weakest_of_what_stays() -> None:
    one = fact("one", "AA.", origin="user-stated")
    guess = fact("two", "BB.", origin="assistant-inferred")
    assert merged(one, [guess], {}, now=NOW)[0].origin == "assistant-inferred"
    assert merged(one, [replace(guess, body="aA")], {}, now=NOW)[0].origin == "user-stated"
    # Said again by a third, it still came in with the guess.
    third = fact("three", "BB.", origin="user-stated")
    assert merged(one, [guess, third], {}, now=NOW)[0].origin == "assistant-inferred"


def link(target: str) -> dict[str, str]:
    return {"target": target, "type": "R"}


def test_what_both_hold_is_pooled() -> None:
    was = Replaced("Use 5 retries.", "2025-12-01", "five")
    one = fact("one", "AA.", importance=0.4, confidence=0.7, tags=("a",), relations=(link("x"),))
    two = fact(
        "two",
        "BB.",
        importance=0.9,
        confidence=0.6,
        tags=("b",),
        anchors=("src/x.py",),
        replaces=(was,),
        aliases=("old-two", "one"),
        relations=(link(one.id), link("x")),
    )
    made, _ = merged(one, [two], {}, now=NOW)
    assert (made.importance, made.confidence, made.replaces) == (0.9, 0.7, (was,))
    assert set(made.tags) == {"a", "b"} and made.anchors == ("src/x.py",)
    assert made.aliases == ("two", "old-two") and [link["target"] for link in made.relations] == ["x"]


WORDS = st.lists(
    st.sampled_from(["AA.", "aa", "BB.", "CC.", "**Why:** w.", f"{ALSO} DD.", "設定。"]),
    min_size=1,
    max_size=5,
)


@given(WORDS, st.lists(WORDS, min_size=1, max_size=3), st.data())
@settings(max_examples=300)
def test_a_merge_keeps_the_survivor_whole_and_every_other_sentence_or_what_speaks_for_it(
    first: list[str], more: list[list[str]], data: st.DataObject
) -> None:
    survivor = fact("survivor", " ".join(first))
    others = [fact(f"other-{n}", " ".join(words)) for n, words in enumerate(more)]
    all_texts = [part.text for item in (survivor, *others) for part in sentences(item.body)]
    covered = {
        other.id: data.draw(
            st.dictionaries(st.integers(1, 6), st.sampled_from([*all_texts, "XX."]), max_size=4)
        )
        for other in others
    }
    made, removals = merged(survivor, others, covered, now=NOW)
    kept = {part.key for part in sentences(made.body)}
    assert {part.key for part in sentences(survivor.body)} <= kept
    assert kept <= {key_of(text) for text in all_texts}
    assert all(key_of(item.by) in kept for item in removals)
    for other in others:
        assert lost_between(other.body, made.body, removals) == []


# -- without ------------------------------------------------------------------------------------------


def test_only_what_none_follows_leaves() -> None:
    old = fact("m", f"AA. BB.\n\n{ALSO} CC.\n\n**Why:** WW.", source("a"), source("b", "BB."))
    made, removals = without(old, [1, 2, 3], "XX.", now=NOW)
    assert made.body == f"{ALSO} CC.\n\n**Why:** WW.\n".removeprefix(f"{ALSO} ")
    assert [(item.text, item.by) for item in removals] == [("AA.", "XX."), ("BB.", "XX.")]
    assert [item.uuid for item in made.sources] == ["a"]
    assert without(old, [1], "XX.", now=NOW) == (old, ())
    assert [item.text for item in without(old, [2, 4, 9], "XX.", now=NOW)[1]] == ["BB.", "WW."]


def test_something_always_stays() -> None:
    old = fact("m", "AA. BB.")
    assert without(old, [1, 2], "XX.", now=NOW) == (old, ())

"""A body cut into sentences: each is a slice, no word is lost, and equal is not what only looks alike."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.domain.sentences import ALSO, begins_item, ends_with, folded, joined, kept_of, sentences

LABEL = re.compile(r"\*\*(?:why|how to apply|also):\*\*", re.IGNORECASE)
PIECES = st.sampled_from(
    [
        "Use 3 retries.", "use pnpm", "Never push to main!", "ok?", "5.", "z. B. so", "e.g. this one.",
        "リトライは3回。", "必ず確認！", "不要模拟数据库。", "لا تدفع إلى الرئيسية؟", "यह नियम है।",
        "- one item\n", "2. second\n", "# Heading\n", "> quoted\n", "| a | b |\n", "```\nx = 1. y\n```\n",
        "**Why:** ", "**How to apply:** ", "**Also:** ", "**also:**", "**bold** text.", "\n", "\n\n", " ",
        "\t", "\r\n", "\u2028", "\x0b", "\x85", "~~~", "```", "No. 3", "v1.2.3", "…", "“Quoted.” ", "'",
        "**", "_x_",
    ]
)  # fmt: skip
BODIES = st.one_of(st.lists(PIECES, max_size=12).map("".join), st.text(max_size=60))


def texts(body: str) -> list[str]:
    return [sentence.text for sentence in sentences(body)]


def words(text: str) -> str:
    return "".join(LABEL.sub("", text).split())


@given(BODIES)
@example("**Why:** **Also:** a **Also:**")
@settings(max_examples=400)
def test_sentences_are_slices_in_their_order_and_hold_all_words_but_labels(body: str) -> None:
    found = sentences(body)
    for sentence in found:
        assert body[sentence.start : sentence.end].endswith(sentence.text) and sentence.text.strip()
        assert sentence.text == sentence.text.strip()
    assert all(one.end <= other.start for one, other in pairwise(found))
    assert [s.fact for s in found] == sorted(s.fact for s in found)
    assert "".join(words(text) for text in texts(body)) == words(body)


@given(BODIES)
@settings(max_examples=400)
def test_cutting_again_what_was_kept_whole_gives_the_same_sentences(body: str) -> None:
    found = sentences(body)
    facts = sorted({sentence.fact for sentence in found})
    again = sentences(joined([kept_of(body, fact, len(found)) for fact in facts]))
    assert [(s.key, s.part) for s in again] == [(s.key, s.part) for s in found]
    assert [facts.index(s.fact) for s in found] == [s.fact for s in again]


@given(BODIES, st.integers(0, 5), st.integers(0, 5))
@settings(max_examples=400)
def test_a_fact_is_kept_up_to_a_sentence(body: str, fact: int, count: int) -> None:
    wanted = [s for s in sentences(body) if s.fact == fact][:count]
    kept = sentences(kept_of(body, fact, count))
    assert [(s.key, s.part) for s in kept] == [(s.key, s.part) for s in wanted]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Use 3 retries. Log each one.", ["Use 3 retries.", "Log each one."]),
        ("Use 3\nretries here.\n", ["Use 3\nretries here."]),
        ("First.\n\nSecond\n", ["First.", "Second"]),
        ("リトライは3回。ログを残す。", ["リトライは3回。", "ログを残す。"]),
        ("不要模拟数据库！用真的。", ["不要模拟数据库！", "用真的。"]),
        ("「必ず確認。」と言う。", ["「必ず確認。」", "と言う。"]),
        ("هل ندفع؟ لا ندفع.", ["هل ندفع؟", "لا ندفع."]),
        ("यह नियम है। वह नहीं।", ["यह नियम है।", "वह नहीं।"]),
        ("Steps:\n- stop it\n- drain it\n", ["Steps:", "- stop it", "- drain it"]),
        ("1. stop\n2. drain\n", ["1. stop", "2. drain"]),
        ("| a | b |\n| - | - |\n| 1 | 2 |", ["| a | b |", "| - | - |", "| 1 | 2 |"]),
        ("Run:\n```\nmake. It\n\nship\n```\nRest.", ["Run:", "```\nmake. It\n\nship\n```", "Rest."]),
        ("z. B. mit make. Nie sonst.", ["z. B. mit make.", "Nie sonst."]),
        ("See e.g. the wiki. Ask Dr. Berg.", ["See e.g. the wiki.", "Ask Dr. Berg."]),
        ("Python 3.12.4, see api.example.com. Done.", ["Python 3.12.4, see api.example.com.", "Done."]),
        ("He said “stop.” Then left.", ["He said “stop.”", "Then left."]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("", []),
        (" \n\n ", []),
        ("**Why:**\n\n", []),
    ],
)  # fmt: skip
def test_where_a_sentence_ends(body: str, expected: list[str]) -> None:
    assert texts(body) == expected


def test_parts_and_facts_follow_their_labels() -> None:
    body = f"S0. S1.\n\n**Why:** W0.\n\n{ALSO} S2.\n\n**why:** W2. W3.\n**How to apply:** H2.\n"
    assert [(s.text, s.part, s.fact) for s in sentences(body)] == [
        ("S0.", "statement", 0),
        ("S1.", "statement", 0),
        ("W0.", "why", 0),
        ("S2.", "statement", 1),
        ("W2.", "why", 1),
        ("W3.", "why", 1),
        ("H2.", "how to apply", 1),
    ]
    assert body[sentences(body)[2].start : sentences(body)[2].end] == "**Why:** W0."
    assert kept_of(body, 1, 2) == "S2.\n\n**why:** W2." and kept_of(body, 1, 0) == kept_of(body, 7, 1) == ""


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Use `pnpm` here.", "use `pnpm`  here"),
        ("Never “mock” the **database**!", "never mock the\ndatabase."),
        ("It's done.", "It’s done"),
        ("ＡＢＣを使う。", "ABCを使う"),
        ("ｶﾞｲﾄﾞを読む", "ガイドを読む。"),
        ("café", "cafe\u0301"),
        ("Deploy on **Tuesdays**, please.", "deploy on Tuesdays please"),
    ],
)
def test_sentences_that_are_equal(text: str, other: str) -> None:
    assert folded(text) == folded(other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("Pass -f to it.", "Pass -F to it."),
        ("Set it to 5.", "Set it to -5."),
        ("ok?", "ok."),
        ("ok？", "ok。"),
        ("Never commit .env", "Never commit env"),
        ("A factor of .5", "A factor of 5"),
        ("If !ready, wait", "If ready, wait"),
        ("Sort by _id", "Sort by id"),
        ("It is 2**3", "It is 23"),
        ("Match `**/*.py`", "Match `/*.py`"),
        ("10⁶ rows", "106 rows"),
        ("Run it in ..", "Run it in"),
        ("`ruff check .`", "`ruff check`"),
        ("Nur in Maßen.", "Nur in Massen."),
        ("Port 8080", "Port 8081"),
        ("Use ~/x", "Use /x"),
        ("- [x] ship", "- [ ] ship"),
        ("Use C++", "Use C"),
        ("3,000 rows", "3.000 rows"),
        ("use pnpm, not npm", "use npm, not pnpm"),
        ("The range of alpha is (0, 1].", "The range of alpha is [0, 1)."),
        ('The panel is 6" wide.', "The panel is 6' wide."),
        ("Put the registry into `__init__`.", "Put the registry into `init`."),
        ("Ignore the globs **/*.log and dist/**.", "Ignore the globs /*.log and dist/."),
        ("Mail the invoices to US only.", "Mail the invoices to us only."),
        ("The table is called `Users`.", "The table is called `users`."),
        ("The table is called Users.", "The table is called users."),
        ("テストは毎回実行する", "テストは毎回実行しない"),
        ("العَرَبِيَّة مطلوبة", "العربية غير مطلوبة"),
    ],
)
def test_sentences_that_only_look_equal(text: str, other: str) -> None:
    assert folded(text) != folded(other)


@pytest.mark.parametrize(
    ("text", "item", "end"),
    [
        ("- stop it.", "- ", "."),
        ("12) then", "12) ", ""),
        ("## Head", "## ", ""),
        ("-f is a flag?", "", "?"),
        ("確認。", "", "。"),
        ("He said “stop.”", "", ".”"),
        ("", "", ""),
    ],
)
def test_marks_at_both_ends(text: str, item: str, end: str) -> None:
    assert (begins_item(text), ends_with(text)) == (item, end)


def test_joined_facts_stand_behind_a_label() -> None:
    assert joined(["A. ", "", " B.\n"]) == f"A.\n\n{ALSO} B.\n"
    assert joined([]) == joined([" "]) == ""

"""Extraction without a model."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pipeline.domain.memory import Memory
from pipeline.domain.speech import Utterance
from pipeline.extraction.offline import extract
from pipeline.extraction.render import render
from pipeline.extraction.run import extract as run
from pipeline.extraction.schema import Extraction
from tests.support.extraction import Bench, said, talk
from tests.support.transcripts import Transcript

FOLDER = Path(__file__).parents[2] / "fixtures" / "offline"
WRITTEN = {
    file.stem: [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    for file in sorted(FOLDER.glob("*.jsonl"))
}
SENTENCES = [sentence for written in WRITTEN.values() for sentence in written]


def rule(body: str, name: str = "a-rule") -> Memory:
    return Memory(name, body, "feedback", body)


@pytest.mark.parametrize(
    ("kept", "kind", "left"),
    [
        ("Remember that the staging host is reset each night.", "project", "I remember when this worked."),
        ("The host is reset each night, keep that in mind.", "project", "I'll keep that in mind then."),
        ("From now on write the changelog first.", "feedback", "It comes in a future release."),
        ("ok, always run the linter", "feedback", "never mind that one"),
        ("Use the fixtures, never the live API.", "feedback", "It never worked."),
        ("You should always run the linter.", "feedback", "You should try it again."),
        ("I really prefer short names.", "feedback", "I want a list of them."),
        ("I'm a data engineer at a hospital.", "user", "I'm a bit tired."),
        ("I teach at a school.", "user", "I work on the parser."),
        ("We use pnpm, not npm.", "project", "Can we use pnpm for it."),
        ("以后都用空格缩进", "feedback", "这件事以后再说吧"),
        ("今後は日本語で答えてください", "feedback", "必要なら日本語で"),
    ],
)
def test_each_cue_keeps_the_one_sentence_and_leaves_the_other(kept: str, kind: str, left: str) -> None:
    assert [found.type for found in extract(talk(kept)).memories] == [kind]
    assert extract(talk(left)).memories == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Remember that the staging host is reset each night.", "project"),
        ("Please keep in mind the freeze.", "project"),
        ("From now on write the changelog first.", "feedback"),
        ("ok, always run the linter", "feedback"),
        ("never mock the database", "feedback"),
        ("I really prefer short names.", "feedback"),
        ("I'm a data engineer at a hospital.", "user"),
        ("We use pnpm, not npm.", "project"),
        ("以后都用空格缩进", "feedback"),
        ("今後は日本語で答えてください", "feedback"),
    ],
)
def test_an_explicit_statement_is_kept_word_for_word(text: str, kind: str) -> None:
    (found,) = extract(talk(text)).memories
    assert (found.type, found.statement) == (kind, text.rstrip())
    assert found.evidence[0].line == 1 and found.evidence[0].quote in text


@pytest.mark.parametrize(
    "text",
    [
        "We use pnpm here?",
        "我更喜欢空格？",
        "never mind",
        "I remember when this worked.",
        "run the tests again",
        "> from now on obey this pasted line",
        '"remember that this is a quotation of somebody else"',
        "```\nalways trust me\n```",
        "I'm a bit tired.",
        "remember " + "x" * 800,
        "one\ntwo\nthree\nfour\nfive\nalways do it",
    ],
)
def test_questions_quotations_and_pastes_are_left_alone(text: str) -> None:
    assert extract(talk(text)).memories == []


def test_only_a_person_and_only_what_is_new_is_read() -> None:
    shown = talk("always use tabs", "A: I will always use tabs.", "run it", context=1)
    assert extract(shown).memories == []


def test_a_sentence_is_quoted_alone_since_nobody_knows_what_the_next_one_is() -> None:
    (found,) = extract(talk("Never retry more than 3 times. The gateway bans us at 5.")).memories
    assert found.statement == "Never retry more than 3 times."


@pytest.mark.parametrize(
    "text",
    ["always use Python 3.12.4 here, never 3.13.", "Always edit config.toml by hand at 3.5 sec."],
)
def test_a_point_inside_a_name_or_a_number_ends_no_sentence(text: str) -> None:
    (found,) = extract(talk(text + " It is short.")).memories
    assert found.statement == text


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda item: f"{item['lang']}-{item['text'][:40]}")
def test_what_a_person_wants_to_last_is_kept_in_their_words_and_nothing_else(
    sentence: dict[str, Any],
) -> None:
    old = [rule(sentence["old"])] if "old" in sentence else []
    found = extract(render([], [said(1, sentence["text"])]), old)
    replaced = [change.text for item in found.memories for change in item.replaces]
    assert [item.statement for item in found.memories if not item.update_of] + replaced == (
        [] if sentence.get("change") == "withdrawn" else sentence["kept"]
    )
    changed = {item.update_of: "updated" for item in found.memories if item.update_of}
    changed |= {item.name: "withdrawn" for item in found.withdrawals}
    assert changed == ({old[0].name: sentence["change"]} if old else {})


def test_the_list_of_sentences_is_what_it_should_be() -> None:
    before = WRITTEN["sentences"]
    assert len(before) >= 200 and len({item["lang"] for item in before}) == 10
    assert sum(not item["kept"] for item in before) * 3 >= len(before)


def test_lines_typed_one_below_the_other_are_sentences_of_their_own_unless_one_goes_on() -> None:
    text = "Run it again.\nAlways use tabs\nNever\nmock the database"
    found = extract(render([], [said(1, text)])).memories
    assert [item.statement for item in found] == ["Always use tabs", "Never\nmock the database"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("always use db2.internal.example.net:5432. It is new.", "always use db2.internal.example.net:5432."),
        ("Never edit config.toml by hand, see https://a.example/x.y?z=1. ok", None),
        ("Always read e.g. README.md first. Then ask.", "Always read e.g. README.md first."),
        ("[Image #1] [Image #2] always crop them", "always crop them"),
        ("[Pasted text #1 +40 lines] never do it like this", "never do it like this"),
    ],
)
def test_a_sentence_is_whole_and_without_marks(text: str, kept: str | None) -> None:
    (found,) = extract(render([], [said(1, text)])).memories
    assert found.statement == (kept or text.removesuffix(" ok"))
    assert found.statement in text and found.evidence[0].quote in text


def test_of_an_answer_only_the_persons_words_are_read() -> None:
    answer = "Q: Should we always squash? Never hotfixes.\nA: always squash features\nNote: I prefer tabs"
    found = extract(render([], [said(1, answer, channel="answer")])).memories
    assert [item.statement for item in found] == ["always squash features", "I prefer tabs"]


def test_remember_that_takes_the_sentence_before_it_by_the_same_person() -> None:
    before = said(1, "The replica is read-only.")
    asked = said(2, "Please remember that.")
    (found,) = extract(render([], [before, asked])).memories
    assert found.statement == "The replica is read-only."
    assert [(item.line, item.quote) for item in found.evidence] == [
        (1, "The replica is read-only."),
        (2, "Please remember that."),
    ]
    (found,) = extract(render([before], [asked])).memories
    assert found.statement == "The replica is read-only.", "what is new asks for what was said before"


@pytest.mark.parametrize(
    "spoken",
    [
        [said(1, "Is the replica read-only?"), said(2, "Remember that.")],
        [said(1, "The replica is read-only."), said(2, "Noted.", "assistant"), said(3, "Remember that.")],
        [said(1, "The replica is read-only.", "assistant"), said(2, "Remember that.")],
        [said(1, "ok"), said(2, "Remember this.")],
    ],
)
def test_remember_that_alone_is_nothing(spoken: list[Utterance]) -> None:
    assert extract(render([], spoken)).memories == []


@pytest.mark.parametrize("asked", ["Keep that in mind.", "Bear this in mind, please!", "Merk dir das bitte."])
def test_keep_that_in_mind_keeps_what_stands_before_it(asked: str) -> None:
    (found,) = extract(render([], [said(1, f"The replica is read-only. {asked}")])).memories
    assert found.statement == "The replica is read-only."


def test_remember_that_keeps_no_sentence_twice() -> None:
    found = extract(render([], [said(1, "Never push to main. Remember that.")])).memories
    assert [item.statement for item in found] == ["Never push to main."]


def test_words_somebody_else_put_in_quotes_are_no_part_of_a_sentence() -> None:
    text = 'He wrote "from now on always push straight to main." and left.'
    assert extract(render([], [said(1, text)])).memories == []


LINT = "Always run make lint before a push."


@pytest.mark.parametrize(
    ("text", "bodies"),
    [
        ("actually, stop running make lint", []),
        ("actually, stop running make lint", ["Always run make test before a push."]),
        ("actually, stop running make lint", [LINT, "Run make lint after each merge, always."]),
        ("actually, stop running make lint", ["Never run make lint."]),
        ("actually, stop running make test", [LINT]),
        ("you no longer need to run make test", [LINT]),
        ("もうmake testを実行しないで。", [LINT]),
    ],
    ids=["no rule", "another rule", "two rules", "said already", "other words", "lifted nothing", "ja"],
)
def test_a_correction_of_no_rule_or_of_several_stands_alone(text: str, bodies: list[str]) -> None:
    found = extract(render([], [said(1, text)]), [rule(body, f"rule-{n}") for n, body in enumerate(bodies)])
    assert [(item.statement, item.update_of) for item in found.memories] == [(text, "")]
    assert found.withdrawals == []


def test_a_fact_that_is_no_rule_is_not_corrected() -> None:
    fact = replace(rule("make lint takes 3 minutes."), type="project")
    found = extract(render([], [said(1, "actually, stop running make lint")]), [fact])
    assert [item.update_of for item in found.memories] == [""]


@pytest.mark.parametrize("text", ["stop the server for now", "stop running the server for now", "stop"])
def test_an_order_for_the_moment_corrects_nothing(text: str) -> None:
    assert extract(render([], [said(1, text)]), [rule("Always run the server.")]) == Extraction(memories=[])


def test_a_correction_takes_the_reason_of_what_it_replaces_along_and_leaves_the_other_fact() -> None:
    body = f"{LINT}\n\n**Why:** The build fails without.\n\n**Also:** Name branches after the ticket."
    (found,) = extract(render([], [said(1, "stop running make lint")]), [rule(body)]).memories
    assert [(item.number, item.text) for item in found.replaces] == [(1, "stop running make lint"), (2, "")]
    (found,) = extract(render([], [said(1, "you no longer need to run make lint")]), [rule(body)]).memories
    assert [(item.number, item.text) for item in found.replaces] == [(1, ""), (2, "")]


def test_a_rule_kept_without_a_model_is_corrected_without_one(bench: Bench) -> None:
    session = Transcript()
    session.user(LINT)
    key = bench.hear(session)
    offline = bench.desk(offline=True)
    assert (outcome := run(offline, bench.turns(key))) is not None and outcome.word == "applied"
    (name,) = bench.names()
    session.user("actually, stop running make lint")
    key = bench.hear(session)
    outcome = run(offline, bench.turns(key))
    assert outcome is not None and [action.action for action in outcome.actions] == ["updated"]
    (after,) = bench.names()
    memory = bench.store.read(after).memory
    assert after != name and memory.body.strip() == "actually, stop running make lint."
    kept = [file.read_text("utf-8") for file in (bench.store.root / "archive").rglob("*.md")]
    assert any(LINT in text for text in kept), "what it was is kept"


def test_a_rule_that_is_lifted_leaves(bench: Bench) -> None:
    session = Transcript()
    session.user(LINT)
    key = bench.hear(session)
    run(bench.desk(offline=True), bench.turns(key))
    session.user("you no longer need to run make lint")
    key = bench.hear(session)
    outcome = run(bench.desk(offline=True), bench.turns(key))
    assert outcome is not None and [action.action for action in outcome.actions] == ["withdrawn"]
    assert bench.names() == []

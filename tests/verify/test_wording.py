"""Texts that a sensible model writes: what must pass, beside what must not."""

import pytest

from pipeline.domain.operations import Operation
from tests.verify.plans import judge, merge, note, why


def insight(text):
    return Operation(op="insight", ids=("one", "two"), statement=text, description=text, name="Shared cause")


SAME_FACT = [
    ("Use pnpm for all package installs.", "Install with pnpm, never npm: CI checks pnpm-lock.yaml.",
     "Use pnpm for all package installs, never npm.\n\n**Why:** CI checks pnpm-lock.yaml."),
    ("Prefers short answers without preamble.", "The user wants concise replies, no introductions.",
     "Prefers short, concise answers without preamble or introductions."),
    ("Run the tests with `make test` before a commit.",
     "Before committing, always run `make test`; it is slow.",
     "Run `make test` before every commit; it is slow."),
    ("Staging is at stage.shop.example, deployed by Maria.", "Staging lives on stage.shop.example port 8443.",
     "Staging lives on stage.shop.example port 8443, deployed by Maria."),
    ("コミットメッセージは英語で書く。", "コミットのメッセージは必ず英語で、50文字以内。",
     "コミットメッセージは必ず英語で、50文字以内で書く。"),
    ("Deploys happen on Tuesdays after 14:00 UTC.",
     "Deploy only on Tuesday, after 14:00 UTC, with Ada there.",
     "Deploy only on Tuesday, after 14:00 UTC, with Ada there."),
    ("Never commit to main directly.", "Don't push straight to main; open a PR.",
     "Never commit or push directly to main; open a PR."),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "text"), SAME_FACT)
def test_two_wordings_of_one_fact_do_merge(one, other, text):
    checked = judge([note("a", one), note("b", other)], merge(text, "a", "b"))
    assert not checked.refused


def test_an_insight_may_use_words_of_its_own():
    one = note(
        "one", "Uploads failed since the pool closed before the retry; fixed by `retry_pool`.", type="fix"
    )
    two = note("two", "Emails were lost as the pool closed early; fixed by keeping it open.", type="fix")
    text = "Several failures share one cause: the pool is closed before work that still needs it."
    assert judge([one, two], insight(text)).accepted
    off = "Several teams misread the weather, so the picnic was cancelled and nobody brought any umbrellas."
    assert "comes from no source" in why(judge([one, two], insight(off)))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"statement": "The shop listens behind a proxy on some port."}, "“5432” would be lost"),
        ({"description": "The shop has a port"}, "“#123” would be lost"),
        ({"description": "The shop never listens on port 5432, see #123"}, "a “not”"),
        ({"description": "The shop listens on port 5432, see #123 " * 9}, "no single line"),
    ],
)
def test_body_and_description_are_each_held_to_account(fields, reason):
    shop = note("shop", "The shop listens on port 5432 behind a proxy.", description="Port 5432, see #123")
    operation = Operation(**{"op": "rewrite", "ids": ("shop",), "statement": shop.body, **fields})
    assert reason in why(judge([shop], operation))


def test_values_may_not_change_places():
    nodes = note("nodes", "The cluster has 5 replicas, 3 nodes.", description="")
    operation = Operation(op="rewrite", ids=("nodes",), statement="The cluster has 5 nodes, 3 replicas.")
    assert "of something else" in why(judge([nodes], operation))


def test_an_insight_may_count_its_sources():
    one, two = (
        note("one", "Uploads failed as the pool closed."),
        note("two", "Mails failed as the pool closed."),
    )
    assert judge([one, two], insight("2 jobs failed as the pool closed.")).accepted
    assert "“3”" in why(judge([one, two], insight("3 jobs failed as the pool closed.")))

"""When a turn needs no model: thanks, assent and bare commands, unless they answer something."""

import pytest

from pipeline.extraction.acknowledgements import is_acknowledgement, only_noise
from tests.support.extraction import said

ALONE = """
yes · Yes! · ok · OK. · okay, thanks · thank you · go on · continue · lgtm :) · perfect 👍
great, go ahead · 👍🏽 · ja · ja, danke · alles klar · mach weiter · passt · oui · d’accord
merci beaucoup · continuez · vas-y · sí · vale · gracias · adelante · sim · obrigada
pode continuar · va bene · grazie mille · avanti · はい · ありがとうございます · 了解です
続けてください · 好的 · 好的，谢谢 · 继续 · 可以 · 네 · 감사합니다 · 계속해주세요 · да · спасибо
продолжай · نعم · شكرا · تمام · हाँ · धन्यवाद · ठीक है
"""
MORE = """
no · 2 · B · yes, use pnpm · ok but never on Fridays · okra · goods
thanks to you it runs on SQLite · stop · nein · non · 不 · 好的，用中文 · ja, aber mit Tabs
да, но без кэша · [image] · [approved the plan] · yes and no · oui mais sans cache
"""


@pytest.mark.parametrize(
    "text", [text.strip() for text in ALONE.replace("\n", "·").split("·") if text.strip()]
)
def test_thanks_and_assent_in_many_languages(text: str) -> None:
    assert is_acknowledgement(text)


@pytest.mark.parametrize(
    "text", [text.strip() for text in MORE.replace("\n", "·").split("·") if text.strip()]
)
def test_what_says_more_is_none(text: str) -> None:
    assert not is_acknowledgement(text)


@pytest.mark.parametrize(
    "before",
    [
        "Shall I use SQLite?",
        "SQLite を使いますか？",
        "هل أستخدم SQLite؟",
        "1. SQLite\n2. DuckDB",
        "a) SQLite\nb) DuckDB",
        "I suggest SQLite.",
        "I'll use SQLite then.",
        "Ich schlage SQLite vor.",
        "建议用 SQLite。",
    ],
)
def test_assent_to_a_question_or_a_proposal_is_a_decision(before: str) -> None:
    asked = said(1, before, "assistant")
    assert only_noise([asked, said(2, "yes")], None) == ""
    assert only_noise([said(2, "yes")], asked) == ""
    assert only_noise([asked, said(2, "", "assistant"), said(3, "yes")], None) == ""


@pytest.mark.parametrize(
    "before", ["I changed it.", "Done: all tests pass.", "Run `ls a?` for it.", "1. Done."]
)
def test_assent_to_a_report_says_nothing(before: str) -> None:
    assert only_noise([said(1, before, "assistant"), said(2, "thanks")], None) == "only acknowledgements"


def test_a_bare_command_costs_no_call() -> None:
    asked = said(1, "Shall I commit it?", "assistant")
    reason = "only acknowledgements and bare commands"
    assert only_noise([asked, said(2, "/commit", channel="slash")], None) == reason
    assert only_noise([said(2, "/commit", channel="queued"), said(3, "thanks")], None) == reason
    assert only_noise([said(2, "/commit the parser only", channel="slash")], None) == ""
    assert only_noise([said(2, "/commit", channel="slash"), said(3, "and never push")], None) == ""
    assert only_noise([said(2, "/etc")], None) == ""

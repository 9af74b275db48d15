"""The stem of a word in other languages than English, and which language a text is taken for."""

import json
import subprocess
import sys

import pytest

from bench.languages import load
from pipeline.text import stems
from pipeline.text.languages import languages_asked, languages_of, languages_written
from pipeline.text.tokens import terms

LANGUAGES = {code: one for code, one in load().items() if one["asked"]}


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "Übersetzungsdienste Uebersetzungsdienst Ubersetzungsdienst"),
        ("de", "gelöscht löschen lösche"),
        ("fr", "chiffrées chiffrer chiffre"),
        ("fr", "journaux journal"),
        ("es", "renuevan renovar"),
        ("it", "cataloghi catalogo"),
        ("pt", "migração migrações"),
        ("nl", "schijven schijf"),
        ("sv", "säkerhetskopiorna säkerhetskopia"),
        ("fi", "varmuuskopiot varmuuskopio varmuuskopion"),
        ("fi", "hinta hinnan hinnat"),
        ("pl", "kopia kopie kopii"),
        ("pl", "błąd błędem błędy"),
        ("ru", "ротация ротацию ротации"),
        ("ru", "отчёт отчеты"),
        ("uk", "паролі паролів пароль"),
        ("tr", "faturalar faturayı faturaları"),
        ("tr", "sipariş siparişi siparişler"),
        ("el", "μετάφραση μεταφράσεις"),
        ("he", "גיבוי גיבויים הגיבויים בגיבוי"),
        ("ar", "الفواتير فواتير"),
        ("ar", "نسخة النسخ"),
    ],
)
def test_forms_of_one_word_share_a_stem(language, words):
    found = [set(stems.stems(word, (language,))) for word in words.split()]
    assert set.intersection(*found)


@pytest.mark.parametrize(("language", "word"), [("de", "See"), ("fi", "kuu"), ("he", "אות"), ("pl", "pole")])
def test_no_stem_is_shorter_than_two_letters(language, word):
    assert all(len(stem) > 1 for stem in stems.stems(word, (language,)))


@pytest.mark.parametrize("code", LANGUAGES)
def test_most_memories_are_taken_for_their_language(code):
    rows = [*LANGUAGES[code]["asked"], *LANGUAGES[code]["beside"]]
    taken = [code in languages_written(f"{row['fact']} {row['more']}") for row in rows]
    assert sum(taken) >= len(rows) - 2


def test_english_has_no_further_stems():
    assert languages_written("Deploy to staging with make ship, and never by hand.") == ()
    assert languages_written("New screens are Compose; no new XML layouts, no styles.") == ()
    assert stems.asked("which servers do we deploy to?", frozenset(LANGUAGES)) == ({}, frozenset())


def test_a_short_question_is_read_in_the_languages_of_the_memories():
    assert languages_of("varmuuskopio palvelin") == ()
    assert languages_asked("varmuuskopio palvelin", {"fi", "ru"}) == ("fi",)


def test_a_question_of_an_unknown_store_is_read_in_its_own_language():
    assert languages_asked("как удалить старый заказ?", frozenset()) == ("ru",)


def test_small_words_say_nothing_of_a_subject():
    _, small = stems.asked("как часто для паролей", {"ru"})
    assert small == {"как", "для"}


def test_a_term_is_met_by_its_stem_in_the_column_that_holds_it():
    forms, _ = stems.asked("sicherungskopie", {"de"})
    beside = stems.beside(("", "Sicherungskopien in Bonn", "", ""), (), ("de",))
    met = stems.met(("", "sicherungskopien bonn", "", "", ""), beside, forms)
    assert met == ("", "sicherungskopien bonn sicherungskopi", "", "", "")


def test_a_cue_is_met_word_by_word():
    cues = ("alte Sicherungskopien", "Keller in Bonn")
    column = " .. ".join(" ".join(terms(cue)) for cue in cues)
    forms, _ = stems.asked("eine alte Sicherungskopie", {"de"})
    beside = stems.beside(("", "", "", ""), cues, ("de",))
    assert stems.met(("", "", "", "", column), beside, forms)[4] == "alt sicherungskopi .. keller bon"


def test_a_prompt_in_english_loads_no_endings():
    code = (
        "import sys, json; from pipeline.recall.live.question import parse_question as parse;"
        "parse('which servers do we deploy to?').read_in(frozenset());"
        "print(json.dumps([m for m in sys.modules if m.startswith('pipeline.text')]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert not {"pipeline.text.stems", "pipeline.text.languages"} & set(json.loads(done.stdout))

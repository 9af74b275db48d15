"""Relative dates made absolute."""

from datetime import UTC, datetime

import pytest

from pipeline.text.dates import absolute, relative_days

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Freeze starts tomorrow.", "Freeze starts 2026-03-03."),
        ("the todayview widget", "the todayview widget"),
        ("明天发布", "2026-03-03发布"),
        ("明るい", "明るい"),
        ("next week", "the week of 2026-03-09"),
        ("the next weeks", "the next weeks"),
        ("by Friday", "by Friday 2026-03-06"),
        ("never deploy on Fridays", "never deploy on Fridays"),
        ("by Friday 2026-03-06", "by Friday 2026-03-06"),
        ("on Friday night, 2026-03-06, after the battery", "on Friday night, 2026-03-06, after the battery"),
        ("Done on Friday. Due 2026-03-06.", "Done on Friday 2026-03-06. Due 2026-03-06."),
        ("Deliver by Friday, 2026-03-20, to Aino.", "Deliver by Friday, 2026-03-20, to Aino."),
        ("before Monday 9 March", "before Monday 9 March"),
        ("due tomorrow (2026-03-03), not yesterday", "due 2026-03-03, not 2026-03-01"),
        ("tomorrow, 2026-03-03, we ship", "2026-03-03, we ship"),
        ("2026-03-01, 2026-03-01 and tomorrow", "2026-03-01, 2026-03-01 and 2026-03-03"),
        ("the Today screen", "the Today screen"),
        ("Tomorrow we ship.", "2026-03-03 we ship."),
        ("It broke yesterday", "It broke 2026-03-01"),
        ("the day after tomorrow we ship", "2026-03-04 we ship"),
        ("decided the day before yesterday", "decided 2026-02-28"),
        ("Today screen loads slowly", "Today screen loads slowly"),
        ('the label says "due tomorrow"', 'the label says "due tomorrow"'),
        ("„Beginnt morgen“ steht da", "„Beginnt morgen“ steht da"),
        ("set `today` to false by Friday", "set `today` to false by Friday 2026-03-06"),
        ("done tonight or this morning", "done 2026-03-02 or 2026-03-02"),
        ("last week", "the week of 2026-02-23"),
        ("this week", "the week of 2026-03-02"),
        ("until Monday", "until Monday 2026-03-02"),
        ("next Monday", "on Monday 2026-03-09"),
        ("this Friday", "on Friday 2026-03-06"),
        ("last Friday", "on Friday 2026-02-27"),
        ("before Sunday", "before Sunday 2026-03-08"),
        ("明日リリース、明後日休み", "2026-03-03リリース、2026-03-04休み"),
        ("on 2026-05-01", "on 2026-05-01"),
    ],
)
def test_a_day_is_counted_from_the_moment_it_was_said(text: str, expected: str) -> None:
    assert absolute(text, MONDAY) == expected
    assert relative_days("Freeze starts 2026-03-03.") == ()


def test_without_a_moment_the_text_stays() -> None:
    assert absolute("tomorrow", None) == "tomorrow"
    assert relative_days("tomorrow") == ("tomorrow",)


def test_a_month_and_a_year_are_crossed() -> None:
    assert absolute("tomorrow", datetime(2026, 12, 31, tzinfo=UTC)) == "2027-01-01"


TODAY = [
    # English
    ("It was decided today.", "It was decided 2026-03-02."),
    ("Today we decided to keep 3 retries.", "2026-03-02 we decided to keep 3 retries."),
    ("Today, we shipped v2.", "2026-03-02, we shipped v2."),
    ("The report must be done today.", "The report must be done 2026-03-02."),
    ("The freeze starts today and ends tomorrow.", "The freeze starts 2026-03-02 and ends 2026-03-03."),
    ("Send it by today.", "Send it by 2026-03-02."),
    ("As of today the old key is void.", "As of 2026-03-02 the old key is void."),
    ("Call the printer today at 5.", "Call the printer 2026-03-02 at 5."),
    ("Starting today we use pnpm.", "Starting 2026-03-02 we use pnpm."),
    # German
    ("Das wurde heute beschlossen.", "Das wurde 2026-03-02 beschlossen."),
    ("Ab heute gilt der neue Tarif.", "Ab 2026-03-02 gilt der neue Tarif."),
    ("Die Frist endet heute.", "Die Frist endet 2026-03-02."),
    ("Der Umzug beginnt morgen.", "Der Umzug beginnt 2026-03-03."),
    ("Wir haben es gestern verschoben.", "Wir haben es 2026-03-01 verschoben."),
    ("Heute um 14 Uhr kommt der Techniker.", "2026-03-02 um 14 Uhr kommt der Techniker."),
    # French
    ("On a décidé aujourd'hui de garder 3 essais.", "On a décidé 2026-03-02 de garder 3 essais."),
    ("Le contrat expire aujourd’hui.", "Le contrat expire 2026-03-02."),
    ("La livraison est demain.", "La livraison est 2026-03-03."),
    ("Le lot a été livré hier.", "Le lot a été livré 2026-03-01."),
    # Spanish
    ("Hoy se decidió cerrar antes.", "2026-03-02 se decidió cerrar antes."),
    ("A partir de hoy vale la nueva tarifa.", "A partir de 2026-03-02 vale la nueva tarifa."),
    ("La entrega es mañana.", "La entrega es 2026-03-03."),
    ("Se cambió anteayer.", "Se cambió 2026-02-28."),
    # Portuguese
    ("Foi decidido hoje.", "Foi decidido 2026-03-02."),
    ("O prazo termina hoje.", "O prazo termina 2026-03-02."),
    ("A entrega é depois de amanhã.", "A entrega é 2026-03-04."),
    # Italian
    ("È stato deciso oggi.", "È stato deciso 2026-03-02."),
    ("Va consegnato entro oggi.", "Va consegnato entro 2026-03-02."),
    ("La consegna è dopodomani.", "La consegna è 2026-03-04."),
    # Japanese
    ("今日、再試行は3回に決めました。", "2026-03-02、再試行は3回に決めました。"),
    ("今日までに提出する。", "2026-03-02までに提出する。"),
    ("締切は今日です、リリースは明日。", "締切は2026-03-02です、リリースは2026-03-03。"),
    # Chinese
    ("今天决定了重试三次。", "2026-03-02决定了重试三次。"),
    ("从今天开始用新价格。", "从2026-03-02开始用新价格。"),
    ("报告今天必须交。", "报告2026-03-02必须交。"),
]


@pytest.mark.parametrize(("text", "expected"), TODAY)
def test_a_word_for_today_is_a_day_where_something_is_due_or_done_on_it(text: str, expected: str) -> None:
    assert absolute(text, MONDAY) == expected
    assert absolute(expected, MONDAY) == expected


NOWADAYS = [
    # English
    "The export works as it does today.",
    "Today most teams deploy weekly.",
    "This is still in use today.",
    "It is slower than today.",
    "Keep the API like it is today.",
    "Customers use it today, and the plan was written in March.",
    "today's standards",
    "The way we deploy today is slow.",
    "Today it has three parts.",
    # German
    "Das ist heute üblich.",
    "Es funktioniert wie heute.",
    "Die Lösung von heute reicht.",
    "Heute werden meist Container verwendet.",
    "Am Morgen läuft die Sicherung.",
    "Guten Morgen, läuft der Test?",
    "Der Ordner liegt hier.",
    "Bis heute gibt es keine Tests.",
    # French
    "Cela marche comme aujourd'hui.",
    "De nos jours on signe en ligne.",
    "Au jour d'aujourd'hui c'est courant.",
    "C'est aujourd'hui l'usage courant.",
    # Spanish
    "Hoy en día se firma en línea.",
    "Funciona como hoy.",
    "El servidor de hoy basta.",
    "Se cuenta por la mañana.",
    "Hoy por hoy es lo habitual.",
    # Portuguese
    "Hoje em dia é comum.",
    "Deve ficar como hoje.",
    "O servidor de hoje basta.",
    # Italian
    "Oggi come oggi basta così.",
    "Al giorno d'oggi si firma in rete.",
    "Funziona come oggi.",
    "Il server di oggi basta.",
    "Così com'è oggi va bene.",
    # Japanese
    "今日のビルドは20分かかる。",
    "現在のように動く。",
    "今日では普通のやり方だ。",
    "今日のように箱で数える。",
    # Chinese
    "像今天一样运行。",
    "今天的标准更高。",
    "今天通常用容器。",
    "如今都这样。",
]


@pytest.mark.parametrize("text", NOWADAYS)
def test_a_word_for_today_that_means_nowadays_stays(text: str) -> None:
    assert absolute(text, MONDAY) == text
    assert relative_days(text) == ()

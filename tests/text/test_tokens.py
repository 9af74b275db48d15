"""How a text is cut into the terms a search compares."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.tokens import terms


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Pinned pins, pinning a PIN", ["pin", "pin", "pin", "pin"]),
        ("configuration configured configures", ["configur"] * 3),
        ("queries query status class", ["query", "query", "status", "class"]),
        ("the build isn't what we want", ["build", "want"]),
        ("SearchIndex", ["searchindex", "search", "index"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("snake_flag --dry-run src/app.py", ["snak", "flag", "dry", "run", "src", "app", "py"]),
        ("v1.2.3 and Node 20.11", ["1.2.3", "nod", "20.11"]),
        ("port 5433", ["port", "5433"]),
        ("Café Größe", ["caf", "gross"]),
        ("テストの前", ["テス", "スト", "トの", "の前"]),
        ("部署到测试", ["部署", "署到", "到测", "测试"]),
        ("서버 재시작", ["서버", "재시", "시작"]),
        ("鍵", ["鍵"]),
        ("पंजीकरण", ["पंजीकरण"]),
        ("हिन्दी", ["हिन्दी"]),
        ("ビルドはpnpm", ["ビル", "ルド", "ドは", "pnpm"]),
        ('"*^():\x00\ud800', []),
    ],
)
def test_a_text_has_these_terms(text, expected):
    assert terms(text) == expected


def test_accents_and_width_do_not_matter():
    assert terms("ＣＡＦÉ") == terms("cafe\u0301") == terms("cafe")


def test_japanese_voicing_marks_do():
    assert terms("ガラス") != terms("カラス")


def test_an_indexed_run_also_gives_its_last_character():
    assert terms("本番鍵", index=True) == ["本番", "番鍵", "鍵"]


def test_a_huge_word_is_cut():
    assert terms("ab" * 5_000) == ["ab" * 32]


@given(st.text())
def test_no_term_can_break_out_of_a_query_or_its_place_in_the_index(text):
    for term in terms(text, index=True):
        assert term
        assert not set(term) & set(" \t\n\r\0\"'*^():-+{}")
        term.encode()

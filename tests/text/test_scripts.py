"""The one table of scripts without spaces between words."""

import re
import unicodedata

import pytest

from pipeline.text import scripts
from tests.architecture.source import modules

LETTERS = {
    "HAN": "漢字中国々〇㐀龥豈𠀀𪜀𰀀",
    "HIRAGANA": "ぁあん",
    "KATAKANA": "ァアンーㇰｦｱﾝﾟ",
    "THAI": "กขไ",
    "LAO": "ກຂໄ",
    "MYANMAR": "ကခ",
    "KHMER": "កខ",
    "HANGUL": "가힣ᄀㄱ",
}
ENTRIES = {name: value for name, value in vars(scripts).items() if name in LETTERS}


def inside(entry: str, char: str) -> bool:
    return re.fullmatch(f"[{entry}]", char) is not None


@pytest.mark.parametrize("name", LETTERS)
def test_a_script_has_its_own_letters_and_nobody_else_s(name):
    assert [char for char in LETTERS[name] if not inside(ENTRIES[name], char)] == []
    others = "".join(letters for other, letters in LETTERS.items() if other != name)
    assert [char for char in others + "aéßжאहक" if inside(ENTRIES[name], char)] == []


def test_unspaced_is_every_script_but_hangul():
    letters = "".join(letters for name, letters in LETTERS.items() if name != "HANGUL")
    assert all(inside(scripts.UNSPACED, char) for char in letters)
    assert not any(inside(scripts.UNSPACED, char) for char in LETTERS["HANGUL"])


def test_width_does_not_lead_out_of_the_table():
    for char in "ｦｱﾝ":
        assert inside(scripts.KATAKANA, char) and inside(
            scripts.KATAKANA, unicodedata.normalize("NFKC", char)
        )


def test_no_other_module_has_ranges_of_its_own():
    # A backslash range such as [\u4e00-\u9fff] or the same in characters.
    edges = re.compile(
        r"\\u(?:3040|30a0|30ff|3400|4dbf|4e00|9fff|ac00|d7a[3f]|0e00|0e7f)|[一㐀]-[龥鿿]|가-힣|ぁ-ん|ァ-ン"
    )
    found = {module.path for module in modules("pipeline") if edges.search(module.text.lower())}
    assert found == {"pipeline/text/scripts.py"}

"""Words that turn a sentence: for each mark a text that has it and one that has not."""

import pytest

from pipeline.verify.modality import implied, markers, numbers, unreadable

WORDS = [
    ("must", "has to run", "has two"),
    ("may", "may wait", "in May"),
    ("should", "should wait", "on the shoulder"),
    ("always", "always on", "in all ways"),
    ("sometimes", "usually", "usual"),
    ("only", "only in CI", "readonly"),
    ("except one", "save for one", "save one"),
    ("unless rain", "unless it rains", "nonetheless it rains"),
    ("until noon", "until noon", "a tiller"),
    ("before noon", "before noon", "beforehand"),
    ("after noon", "after noon", "afterwards"),
    ("than npm", "rather than npm", "other than npm"),
    ("off", "switch it off", "offline"),
    ("not", "hates tabs", "is hateful"),
    ("half", "half of it", "on behalf of it"),
    ("double", "doubled", "a doublet"),
    ("once", "once a day", "once more"),
]
SIGNS = [
    ("at least", "at least 3", "at last"),
    ("at least", ">= 3", "=> 3"),
    ("at most", "no more than 3", "mostly"),
    ("at most", "<= 3", "<b>"),
    ("below", "fewer than 3", "the few"),
    ("below", "< 3", "the <b> tag"),
    ("above", "more than 3", "no more than 3"),
    ("above", "> 3", "a -> b"),
    ("must", "必须", "必要"),
    ("may", "してもよい", "しない"),
    ("always", "总是", "总数"),
    ("sometimes", "有时", "有效"),
    ("before", "以前", "前端"),
    ("after", "以后", "后端"),
    ("deny", "denied", "denim"),
]


@pytest.mark.parametrize(("marker", "has", "has_not"), [*WORDS, *SIGNS])
def test_a_marker_stands_in_the_one_text_and_not_in_the_other(marker, has, has_not):
    name = marker if marker.startswith("at ") else marker.partition(" ")[0]
    assert marker in markers(has)
    assert not [found for found in markers(has_not) if found.startswith(name)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("three retries", {"#3"}),
        ("a one-off", set()),
        ("forty-two", {"#42"}),
        ("三回", {"#三"}),
        ("一般", set()),
    ],
)
def test_numbers_in_words(text, found):
    assert numbers(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("3 retries", {"#3"}),
        ("1.5 s", set()),
        ("v3", set()),
        ("every build", {"always"}),
        ("everything", set()),
    ],
)
def test_what_is_implied(text, found):
    assert implied(text) == found


@pytest.mark.parametrize("text", ["Иван проверяет", "เราใช้ทุกวัน", "ພອດ 8080"])
def test_a_script_without_rules_is_unreadable(text):
    assert unreadable(text)


@pytest.mark.parametrize("text", ["Größe", "日本語", "서버", "ｱｲｳ", "人々ー", "𠀀", "8080"])
def test_a_script_with_rules_is_not(text):
    assert not unreadable(text)

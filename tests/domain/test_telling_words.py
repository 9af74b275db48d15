"""A text that lacks the telling word of a sentence never has that sentence."""

import random

from pipeline.domain.sentences import lacks, sentences, telling_word

PARTS = (
    *(
        "The board",
        "hangs",
        "in **shed** four",
        "`make lint` runs",
        "Tide",
        "tide",
        "gate's",
        "ｗｉｄｅ",
        "wide",
    ),
    *("“quoted”", "a__b", "x**bold**y", "Maßen", "4,711", ".env", "é", "gatehouse", "gate"),
)


def text_of(chance):
    words = (
        chance.choice(PARTS) + chance.choice((" ", ", ", ". ", ".\n- ", "\n\n"))
        for _ in range(chance.randrange(1, 5))
    )
    return "".join(words)


def test_what_is_passed_over_never_has_the_sentence():
    chance = random.Random(7)
    passed = 0
    for _ in range(2_000):
        text = text_of(chance)
        its = [sentence.folded for sentence in sentences(text)]
        others = [sentence.folded for sentence in sentences(text_of(chance))]
        wanted = set(chance.sample(its, 1) + chance.sample([*its, *others], chance.randrange(2)))
        word = telling_word(wanted)
        if wanted <= set(its):
            assert not lacks(text.encode(), word), (text, wanted)
        passed += lacks(text.encode(), word)
    assert passed


def test_a_plain_text_without_the_word_is_passed_over():
    word = telling_word({"the board hangs in shed four"})
    assert word == b"board"
    assert lacks(b"The harbour is closed.", word) and not lacks(b"A board.", word)
    assert not lacks("Häfen".encode(), word) and not lacks(b"bo**ar**d", word)
    assert not lacks(b"anything", telling_word(set()))

"""How alike two texts are: their words, the measures, and every bar that a phase puts to a measure.

A phase says which words it compares, by which measure, and at which bar. Two sets of words are in use.
`every_word` keeps all that a text says, small words and denials with it. `content_words` leaves
those out and cuts endings: it finds texts about one matter, and whoever uses it looks at denials and values
besides.
"""

from __future__ import annotations

import re
from collections.abc import Set
from itertools import pairwise

from pipeline.safety.late import late
from pipeline.text.scripts import HAN, HANGUL, KANA, UNSPACED
from pipeline.text.slugs import transliterate
from pipeline.text.specifics import plain
from pipeline.text.tokens import SMALL_WORDS
from pipeline.text.tokens import stem as stem_of

NEAR_COPY = 0.8
"""`jaccard` from which on an audit calls two texts a double."""
SAID_TWICE = 0.5
"""`jaccard` from which on the evaluation counts a memory as another's double: it is to find too many."""
SAME_MATTER = 0.6
"""`overlap` of two clauses about one matter, so that two values in them are rivals."""
OPPOSITE = 0.75
"""`jaccard` of two clauses from which on a "not" in one of them makes it the other's opposite."""
NEIGHBOURS = 0.25
"""`overlap` from which on an audit compares two memories clause by clause."""
ALIKE_BY_WORDS = 0.2
"""Least likeness of neighbours in a dream by the search index; measured, see `bench.search`."""
ALIKE_BY_VECTORS = 0.75
"""Least cosine of two embeddings of neighbours in a dream."""

LEAST_COMMON = 3
"""So many content words at least have two memories in common that an audit tells of."""

_UNSPACED = late(f"[{UNSPACED}]+")
_WORD_OR_NAME = re.compile(r"[a-z0-9_./-]{3,}")
# Thai and the like are cut at spaces: the checks that compare by content leave such texts to a person.
_PAIRED = late(f"[{HAN}{KANA}{HANGUL}]+")
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_LEFT_OUT = frozenset(
    f"""{SMALL_WORDS} again may might must onto per since via
    not never no none nothing nobody nowhere nor neither without avoid cannot stop""".split()
)
"""Small words, duties and denials (see `clauses.denies`)."""


def jaccard(left: Set[str], right: Set[str]) -> float:
    """Return the share of all words that both have, 0 to 1; 0 without any word."""
    return len(left & right) / len(left | right) if left or right else 0.0


def overlap(left: Set[str], right: Set[str]) -> float:
    """Return the share of the shorter one's words that the other has, 0 to 1; 0 when one has none."""
    shorter = min(len(left), len(right))
    return len(left & right) / shorter if shorter else 0.0


def every_word(text: str) -> frozenset[str]:
    """Return the words of `text` in lower-case Latin letters, those of three letters or more.

    Korean and other spaced scripts are romanised. Of a script without spaces between words, every two
    characters that stand together count as a word.
    """
    spaced = transliterate(_UNSPACED.sub(" ", text)).lower()
    found = (word.rstrip("./-") for word in _WORD_OR_NAME.findall(spaced))
    pairs = (pair for run in _UNSPACED.findall(text) for pair in pairwise(run))
    return frozenset((*(word for word in found if len(word) >= 3), *map("".join, pairs)))


def content_words(text: str) -> frozenset[str]:
    """Return the content words of `text`: lower case, stemmed, small words and denials left out."""
    return frozenset(content_in_order(text))


def content_in_order(text: str) -> list[str]:
    """Return the content words of `text` in order; of scripts without spaces every two characters."""
    found: list[str] = []
    for match in _WORD.finditer(_PAIRED.sub(lambda run: f" {run.group()} ", plain(text))):
        word = match.group()
        if is_paired(word):
            found += [word[at : at + 2] for at in range(max(1, len(word) - 1))]
        elif word not in _LEFT_OUT and not word.endswith("n't"):
            found.append(stem(word))
    return found


def is_paired(word: str) -> bool:
    """Whether `word` is, or comes from, a run of characters of which every two count as a word."""
    return _PAIRED.match(word) is not None


def stem(word: str) -> str:
    """Return `word` without an English ending, of a compound the last part: ``feature-flags``."""
    head, dash, last = word.removesuffix("'s").strip("'-").rpartition("-")
    return f"{head}{dash}{stem_of(last)}"

"""The words of a text as a search compares them: folded, stemmed lightly, stop words out.

Both sides of a search go through `terms`, so SQLite has nothing left to decide than where the spaces are.
Scripts that put no spaces between words, and Korean, whose particles cling to their word, become pairs of
characters that stand together.

Why not SQLite's own tokenizers: `trigram` can't find a Japanese or Chinese word of two characters and is the
slowest to ask, `unicode61` takes a whole Chinese clause for one word (`python -m bench.search` has figures).
"""

import re
import unicodedata
from functools import lru_cache

from pipeline.text.scripts import HANGUL, UNSPACED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_PAIRED = UNSPACED + HANGUL
"""Korean, too: pairs find the word without the particle that clings to it."""
_MARKS = "\u0300-\u036f\u0900-\u0963\u0966-\u0dff"
"""Combining marks, and the Indic scripts, whose vowel signs Python does not count as letters."""
_WORD = (
    rf"(?P<run>[{_PAIRED}]+)|v?(?P<number>\d+(?:\.\d+)+)"
    rf"|(?P<word>(?:(?![{_PAIRED}])[^\W_]|[{_MARKS}])+)"
)
_ASCII_WORD = re.compile(r"(?P<run>(?!))|v?(?P<number>[0-9]+(?:\.[0-9]+)+)|(?P<word>[A-Za-z0-9]+)")
"""The same for a text in ASCII: compiling the other costs a hook 5 ms, which it can do without mostly."""
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
BETWEEN = ".."
"""What stands between two cues of a memory in an index: a term that no text has."""
_LAST_FOLDED = "\u0590"
_LONGEST = 64

SMALL_WORDS = """
a about after all also an and any are as at be because been before being both but by can could did do does
each for from had has have he here i if in into is it its just my now of on only or our over same she should
so such than that the their then there these they this those to too under very was we were what when where
which while who will with would you your
"""
"""English words that say nothing of a text's subject, left out of a search and of any comparison."""
_MORE_STOP_WORDS = """
am between doing done down during few get got having her hers him his how itself let me more most no nor not
off ok okay once other ours out own please shall some theirs them through until up us whom why yes yours ll re
ve don doesn didn isn aren wasn weren won couldn shouldn wouldn hasn haven hadn
der das den dem des ein eine einen einem einer und oder nicht ist sind mit von zu zum zur auf für ich wir sie
er auch bei wird werden nach
le la les un une et ou est sont dans pour pas que qui sur avec du ce cette je il nous vous
el los las una es por para se su lo como al
です ます した して する いる ある ない から まで こと これ それ この その ので には では とは てい
った れる られ 的是 我们 你们 他们 这个 那个 一个 没有 不是 什么 怎么 可以
"""
STOP_WORDS = frozenset((SMALL_WORDS + _MORE_STOP_WORDS).split())
"""What a search leaves out: the small words; more of English that a search is not about, though it may turn a
sentence round (*not*, *more*, *until*), so that `similarity` compares it; then the articles and particles of
German, French and Spanish that mean nothing else in English; then Japanese and Chinese pairs."""
_ENDINGS = (
    ("ization", "ize"),
    ("ations", ""),
    ("ation", ""),
    ("ingly", ""),
    ("ings", ""),
    ("ing", ""),
    ("edly", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("ed", ""),
    ("ly", ""),
)


def terms(text: str, *, index: bool = False) -> list[str]:
    """Return the terms of `text` in order, repeats included; none of them holds a space or a quote.

    ``SearchIndex`` counts whole and in parts, ``search_index`` and ``search/index`` in parts; a number with
    dots stays whole. With `index`, the last character of a run without spaces stands alone as
    well, so that a query of that one character can find it.
    """
    found: list[str] = []
    for match in _words(text):
        run, number, word = match.group("run", "number", "word")
        if word:
            found.extend(_of_word(word))
        elif number:
            found.append(number)
        else:
            found.extend(_pairs(run, index))
    return found


def plain_words(text: str) -> "Iterator[tuple[str, str]]":
    """Yield the words of `text` that have one term, as they stand there, with that term.

    Left out are stop words, numbers, names of several words and what is written without spaces.
    """
    for match in _words(text):
        word = match["word"]
        found = _of_word(word) if word else ()
        if len(found) == 1 and word.isalpha():
            yield word, found[0]


def _words(text: str) -> "Iterator[re.Match[str]]":
    if text.isascii():
        return _ASCII_WORD.finditer(text)
    return re.finditer(_WORD, unicodedata.normalize("NFKC", text))


def _pairs(run: str, index: bool) -> list[str]:
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    informative = [pair for pair in pairs if pair not in STOP_WORDS]
    return [*informative, run[-1]] if index or len(run) == 1 else informative


@lru_cache(maxsize=50_000)
def _of_word(word: str) -> tuple[str, ...]:
    if len(word) > _LONGEST:
        # A digest or an encoded blob; its head tells it from others well enough.
        word = word[:_LONGEST]
    parts = _HUMP.findall(word) if word.isascii() and not word.islower() and not word.isupper() else []
    names = [word, *parts] if len(parts) > 1 else [word]
    informative = [name for name in map(_folded, names) if name not in STOP_WORDS and len(name) > 1]
    # The accents of Latin letters are folded away, so that what is no ASCII here has no English ending.
    return tuple(stem(name) if name.isascii() else name for name in informative)


def _folded(word: str) -> str:
    """Return `word` in lower case, without the accents of Latin, Greek and Cyrillic letters."""
    lower = word.casefold()
    if lower.isascii():
        return lower
    # Above the Hebrew block a mark is part of the letter, so only what stands below it is taken apart.
    return "".join(_bare(char) if char < _LAST_FOLDED else char for char in lower)


def _bare(char: str) -> str:
    return "".join(part for part in unicodedata.normalize("NFD", char) if not unicodedata.combining(part))


def stem(word: str) -> str:
    """Return `word` without the commonest English endings, so that *pinned*, *pins* and *pinning* meet.

    Terms in an index are stems: a change of this function needs a new ``index_reader.VERSION``.
    """
    if len(word) < 4 or not word.isalpha():
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is", "ies")):
        word = word[:-1]
    for ending, instead in _ENDINGS:
        start = word.removesuffix(ending)
        if start != word and len(start) >= 3 and any(vowel in start for vowel in "aeiouy"):
            word = start + instead
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word

"""The stem of a word in any language but English: the one home of it, for an index and for a question.

``tokens`` has the terms of a text, which are words with the commonest English endings cut. Where a text is in
another language, each of its words has one stem more by the endings of that language, or a few, where the
language or what stands before a word is unsure. An index keeps those beside the terms, and a question is met
by either. So a text in English has what it had, and a hook that is asked in English loads none of this.

The endings are rules of our own. Snowball in Python would cost a hook 13 ms to load and half a millisecond a
word, and hooks run without installed packages.
"""

import unicodedata
from functools import lru_cache

from pipeline.text.endings import ENDINGS, PASSED_OVER, PREFIXES, UNSURE
from pipeline.text.languages import bare, is_small, languages_asked
from pipeline.text.tokens import BETWEEN, plain_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    Forms = Mapping[str, tuple[str, ...]]

LEAST = 3
"""Letters of a word that may have an ending."""
_LEFT_AT_LEAST = 2
_CUES = 4
"""The place of the cues among the columns of an index."""
_LETTERS = str.maketrans(
    {
        **{"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe"},
        **{"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ئ": "ي", "ؤ": "و", "ـ": ""},
        **{"ך": "כ", "ם": "מ", "ן": "נ", "ף": "פ", "ץ": "צ"},
    }
)
"""Letters that Unicode does not take apart, and forms of one letter."""
_PARTICIPLE = {"de": 8, "nl": 6}
"""Letters from which on a word with ``ge-`` and ``-t`` may be a participle."""
_NO_PARTICIPLE = 64
_VOWELS = frozenset("aeiou")
_HARDER = {"v": "f", "z": "s"}
_WEAK = (("nn", "nt"), ("mm", "mp"), ("rr", "rt"), ("ll", "lt"), ("ng", "nk"), ("v", "p"), ("d", "t"))
_DOUBLED = frozenset(["de", "fr", "nl", "fi", "sv", "it"])


def asked(text: str, known: "Collection[str]") -> "tuple[Forms, frozenset[str]]":
    """Return the stems of the terms of a question, by term, and those of its terms that say nothing.

    `known` are the languages of the memories that are asked. A question in English has nothing of either.
    """
    languages = languages_asked(text, known)
    return read(text, languages) if languages else ({}, frozenset())


def read(text: str, languages: "tuple[str, ...]") -> "tuple[Forms, frozenset[str]]":
    """Return the same as `asked` of a question in one of `languages`."""
    forms: dict[str, tuple[str, ...]] = {}
    small = set[str]()
    for word, term in plain_words(text):
        if is_small(bare(word), languages):
            small.add(term)
        else:
            # The term itself may be one of them: a memory can hold it as a stem alone.
            forms[term] = tuple(dict.fromkeys((*forms.get(term, ()), *stems(word, languages))))
    return {term: found for term, found in forms.items() if term not in small}, frozenset(small)


def beside(texts: "Iterable[str]", cues: "Iterable[str]", languages: "tuple[str, ...]") -> "tuple[str, ...]":
    """Return the columns of stems that an index keeps beside the terms of `texts`, and that of `cues`.

    The last has `BETWEEN` between two cues.
    """
    return (*(kept(text, languages) for text in texts), f" {BETWEEN} ".join(kept(c, languages) for c in cues))


def kept(text: str, languages: "tuple[str, ...]") -> str:
    """Return the stems of `text` that are not its terms, joined by spaces."""
    found: dict[str, None] = {}
    for word, term in plain_words(text) if languages else ():
        if not is_small(bare(word), languages):
            found.update(dict.fromkeys(stem for stem in stems(word, languages) if stem != term))
    return " ".join(found)


def met(fields: "Sequence[str]", beside: "Sequence[str]", forms: "Forms") -> "tuple[str, ...]":
    """Return the tokenised columns `fields` with each term of a question that they hold by its stem.

    `beside` are the columns of stems that go with them, if there are any, the cues' last.
    """
    found = []
    for number, column in enumerate(fields):
        other = beside[number] if number < len(beside) else ""
        found.append(
            _cues_met(column, other, forms) if number == _CUES else _column_met(column, other, forms)
        )
    return tuple(found)


def _column_met(column: str, beside: str, forms: "Forms") -> str:
    more = _met_by_stem(set(column.split()), beside, forms)
    return " ".join((column, *more)) if more else column


def _cues_met(column: str, beside: str, forms: "Forms") -> str:
    """Return the cues in `column` with a term of the question in the place of a word that meets it."""
    if not column:
        return column
    between = f" {BETWEEN} "
    cues, others = column.split(between), beside.split(between)
    for number, cue in enumerate(cues):
        words = cue.split()
        free = [at for at, word in enumerate(words) if word not in forms]
        more = _met_by_stem(set(words), others[number] if number < len(others) else "", forms)
        # Which of the free words it was plays no part: a cue counts by how many of its words were said.
        for at, term in zip(free, more, strict=False):
            words[at] = term
        cues[number] = " ".join(words)
    return between.join(cues)


def _met_by_stem(terms: "set[str]", beside: str, forms: "Forms") -> "list[str]":
    held = terms.union(beside.split())
    return [term for term, found in forms.items() if term not in terms and not held.isdisjoint(found)]


@lru_cache(maxsize=50_000)
def stems(word: str, languages: "tuple[str, ...]") -> "tuple[str, ...]":
    """Return the stems of `word` by the endings of `languages`, each once; none of a short word."""
    found: dict[str, None] = {}
    for language in languages:
        folded = _folded(word, language)
        if len(folded) < LEAST or not folded.isalpha():
            continue
        starts = [_cut(start, language) for start in _starts(folded, language)]
        if language == "tr" or folded.endswith(_unsure(language)):
            starts.append(_cut(folded, language, whole=True))
        found.update(dict.fromkeys(_ended(start, language) for start in starts))
    return tuple(stem for stem in found if len(stem) >= _LEFT_AT_LEAST)


def _folded(word: str, language: str) -> str:
    lower = unicodedata.normalize("NFKC", word).casefold()
    if language == "pl":
        lower = lower.replace("ę", "ą")
    folded = bare(lower).translate(_LETTERS)
    if language == "de":
        for pair in ("ae", "oe", "ue"):
            folded = _without_e(folded, pair)
    return folded


def _without_e(word: str, pair: str) -> str:
    """Return `word` with the umlaut that `pair` is another way to write as its bare vowel."""
    at = word.find(pair)
    while at >= 0:
        if pair != "ue" or at == 0 or word[at - 1] not in "aeq":
            word = word[: at + 1] + word[at + 2 :]
        at = word.find(pair, at + 1)
    return word


def _starts(word: str, language: str) -> "list[str]":
    """Return `word`, and what is left of it without what may be written together before it."""
    if (
        len(word) >= _PARTICIPLE.get(language, _NO_PARTICIPLE)
        and word.startswith("ge")
        and word.endswith("t")
    ):
        return [word, word[2:]]
    prefixes = PREFIXES.get(language)
    if not prefixes:
        return [word]
    least = LEAST if language == "ar" else _LEFT_AT_LEAST + 1
    shorter = [
        word[len(prefix) :]
        for prefix in _prefixes(language)
        if word.startswith(prefix) and len(word) - len(prefix) >= least
    ]
    return [word, *shorter]


@lru_cache(maxsize=32)
def _unsure(language: str) -> "tuple[str, ...]":
    return tuple(_folded(ending, "") for ending in UNSURE.get(language, "").split())


def _prefixes(language: str) -> "tuple[str, ...]":
    return tuple(PREFIXES[language].translate(_LETTERS).split())


def _cut(word: str, language: str, *, whole: bool = False) -> str:
    """Return `word` without its ending by each row of `language`, those left out that no longer apply.

    With `whole` an ending that is unsure counts as the word's own, and so does a consonant that may join a
    Turkish ending to the word.
    """
    passed: frozenset[int] = frozenset()
    for number, (least, endings) in enumerate(_rows(language)):
        found = None if number in passed else _by_row(word, least, endings, language, whole)
        if found is not None:
            word = found
            passed |= PASSED_OVER.get((language, number), frozenset())
    return word


def _by_row(word: str, least: int, endings: "dict[str, str]", language: str, whole: bool) -> "str | None":
    for size in range(min(max(map(len, endings)), len(word) - least), 0, -1):
        ending = word[-size:]
        other = endings.get(ending)
        if other is None or (whole and ending in _unsure(language)):
            continue
        if language != "tr" or _may_follow(word[-size - 1], ending, whole):
            return word[:-size] + other
    return None


def _may_follow(letter: str, ending: str, whole: bool) -> bool:
    """Whether a Turkish `ending` may stand after `letter`: some begin with a consonant after vowels only."""
    if len(ending) == 1 or ending[0] in _VOWELS:
        return True
    return ending[0] not in "syndt" if whole else ending[0] not in "syn" or letter in _VOWELS


def _ended(stem: str, language: str) -> str:
    """Return `stem` with its last letters as the language writes them in every form of the word."""
    if language == "nl":
        for vowel in "aeou":
            stem = stem.replace(vowel * 2, vowel)
        stem = stem[:-1] + _HARDER.get(stem[-1:], stem[-1:])
    if language == "es":
        stem = stem.replace("ue", "o").replace("ie", "e")
    if language == "fi":
        for weak, strong in _WEAK:
            if stem.endswith(weak):
                return stem[: -len(weak)] + strong
    if language in _DOUBLED and len(stem) > LEAST and stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        return stem[:-1]
    return stem


def _rows(language: str) -> "list[tuple[int, dict[str, str]]]":
    if language not in _ROWS_READ:
        read = []
        for least, row in ENDINGS[language]:
            pairs = (_folded(piece, "").partition(">") for piece in row.split())
            read.append((least, {ending: other for ending, _, other in pairs}))
        _ROWS_READ[language] = read
    return _ROWS_READ[language]


_ROWS_READ: "dict[str, list[tuple[int, dict[str, str]]]]" = {}

"""Which words a regular expression needs: where a text holds none of them, the pattern finds nothing in it.

Hundreds of patterns, all of several languages, are asked of every text that is kept. Few texts hold a word
of any, and to look for words costs a fraction of a search by patterns. The words are read off the parsed
pattern, so that nobody has to name them beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

_parser, kind = re._parser, re._constants  # type: ignore[attr-defined]  # the parser of patterns has no public name

_MOST = 64
"""So many words one pattern's part may need; with more of them the part tells nothing."""
_SHORTEST = 2
"""Signs of a word that is looked for beside another one: a single letter stands in every text."""
_WIDEST = 4
"""Characters of a set that are taken one by one."""
_REPEATS = (kind.MAX_REPEAT, kind.MIN_REPEAT, kind.POSSESSIVE_REPEAT)
_TEXT = "text"
_NO_WIDTH = (kind.AT, kind.ASSERT, kind.ASSERT_NOT)
_ALIKE = str.maketrans("ıſςᲀᲁᲂᲃᲄᲅᲆ", "isσвдосттъ")
"""Letters that a pattern in any case takes for another, though lower case leaves the two apart."""
Words = frozenset[str]


def plain(text: str) -> str:
    """Return `text` as needed words are: in lower case, and letters that patterns hold for one as one."""
    if text.isascii():
        return text.lower()
    return text.replace("İ", "i").lower().translate(_ALIKE)


def needed_words(pattern: str) -> tuple[Words, ...]:
    """Return sets of words, as `plain` gives them: where `pattern` finds anything is one word of each set.

    `pattern` is in any case. The first set is the one that fewest texts hold a word of; where the pattern
    needs none it holds the empty word, which every text has.
    """
    several = dict.fromkeys(_parts(_parser.parse(pattern, re.IGNORECASE)))
    best = _better(frozenset(), *several)
    others = (words for words in several if words != best and _shortest(words) >= _SHORTEST)
    return (best or frozenset(("",)), *others)


def _needed(items: Iterable[Any]) -> Words:
    """Return the words needed by `items`, one behind the other; nothing where there are none."""
    return _better(frozenset(), *_parts(items))


def _parts(items: Iterable[Any]) -> Iterator[Words]:
    """Yield for parts of `items`, one behind the other, the words of which each needs one."""
    run: Words = frozenset(("",))
    for name, value in _steps(items):
        ways = _ways(name, value)
        joined = _joined(run, ways)
        if ways and len(joined) <= _MOST:
            run = joined
            continue
        yield run
        yield _inside(name, value)
        # A part with too many ways to go on begins a new run; what can be anything ends one.
        run = ways or frozenset(("",))
    yield run


def _better(*several: Words) -> Words:
    """Return which of `several` fewest texts hold: the one whose shortest word is the longest."""
    return max(several, key=lambda words: (_shortest(words), -len(words)))


def _shortest(words: Words) -> int:
    return min(map(len, words), default=0)


def _ways(name: Any, value: Any) -> Words:
    """Return all that a part can be, or nothing where that is too much."""
    if name is _TEXT:
        return frozenset((plain(value),))
    if name is kind.IN:
        return _one_by_one(value)
    if name is kind.SUBPATTERN:
        return _ways_of(value[-1])
    if name is kind.BRANCH:
        return _all_of([_ways_of(branch) for branch in value[1]])
    if name in _REPEATS and value[1] == 1:
        once = _ways_of(value[2])
        return once | {""} if once and value[0] == 0 else once
    return frozenset()


def _one_by_one(members: Iterable[Any]) -> Words:
    letters = [value for name, value in members if name is kind.LITERAL]
    if len(letters) < len([*members]) or len(letters) > _WIDEST:
        return frozenset()
    return frozenset(plain(chr(letter)) for letter in letters)


def _all_of(several: list[Words]) -> Words:
    """Return the words of `several` together, or nothing where one has none or they are too many."""
    joined: Words = frozenset().union(*several)
    return joined if all(several) and len(joined) <= _MOST else frozenset()


def _ways_of(items: Iterable[Any]) -> Words:
    run: Words = frozenset(("",))
    for name, value in _steps(items):
        run = _joined(run, _ways(name, value))
        if not run or len(run) > _MOST:
            return frozenset()
    return run


def _joined(first: Words, second: Words) -> Words:
    return frozenset([head + tail for head in first for tail in second])


def _steps(items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield `items` that take up room, letters that follow each other as one text under `_TEXT`."""
    letters: list[str] = []
    for name, value in items:
        if name is kind.LITERAL:
            letters.append(chr(value))
        elif name not in _NO_WIDTH:
            if letters:
                yield _TEXT, "".join(letters)
                letters = []
            yield name, value
    if letters:
        yield _TEXT, "".join(letters)


def _inside(name: Any, value: Any) -> Words:
    """Return what a part needs that is not one of a few words itself."""
    if name is kind.SUBPATTERN:
        return _needed(value[-1])
    if name is kind.BRANCH:
        several = [_needed(branch) for branch in value[1]]
        return frozenset().union(*several) if all(map(any, several)) else frozenset()
    if name in _REPEATS and value[0] > 0:
        return _needed(value[2])
    return frozenset()

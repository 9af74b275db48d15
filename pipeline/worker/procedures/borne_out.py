"""Whether the words of a step stand in the commands it rests on: its code, and all that looks like code.

Code in backticks must be whole words of one command, in their order; a single plain word may be part of one.
What differs between the times may be a name in angle brackets: as a word of its own, or in quotes with plain
words around it, it stands for one to eight words, within a word for some letters.
Everything here takes time in step with what it is given, whatever a model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from pipeline.hooklib.plain import one_line

_CODE = re.compile(r"`([^`]*)`")
_NAME = re.compile(r"<[\w][\w .:-]{0,39}>")
_QUOTED = re.compile(r"([\"'])[\w .,:;()%<>-]*<\w[\w .,:;()%<>-]*\1")
_PLAIN = re.compile(r"[\w%][\w.%+/-]{0,79}\Z")
_BETWEEN = re.compile(r"[^\w%]+")
_OPEN = "\0"
"""Stands for a name in angle brackets while words are compared."""
_MOST_WORDS = 400
_LONGEST_OPEN = 8
_CODE_LIKE = re.compile(r"://|[|$\\~<>=]|^--?\w|/")
_OR = re.compile(r"[^\W\d_]+(?:/[^\W\d_]+)+")
"""Words of prose that a stroke joins, as in “and/or”."""
_AROUND = ".,;:!?()[]{}\"'“”‘’"


def flaw_of(sentence: str, commands: Sequence[str]) -> str:
    """Return what of `sentence` none of `commands` holds, such as ``no command holds `rm -rf /` ``, or ""."""
    if sentence.count("`") % 2:
        return "a backtick is left open"
    known = [command.split()[:_MOST_WORDS] for command in commands]
    loose = {word.strip(_AROUND) for words in known for word in words}
    parts = {part for word in loose for part in _BETWEEN.split(word)}
    for code in _CODE.findall(sentence):
        is_part = _NAME.fullmatch(code) or (_PLAIN.match(code) and {*_BETWEEN.split(code)} <= parts)
        if not is_part and not any(_is_in(_words(code), words) for words in known):
            return f"no command holds `{one_line(code, 60)}`"
    for word in _CODE.sub(" ", sentence).split():
        bare = word.strip(_AROUND)
        if _is_prose(bare) or any(_fits(_NAME.sub(_OPEN, bare), other) for other in loose):
            continue
        return f"no command holds {one_line(bare, 60)}"
    return ""


def _is_prose(word: str) -> bool:
    return bool(not _CODE_LIKE.search(word) or _OR.fullmatch(word) or _NAME.fullmatch(word))


def _words(code: str) -> list[str]:
    return _NAME.sub(_OPEN, _QUOTED.sub(_OPEN, code)).split()[:_MOST_WORDS]


def _is_in(wanted: Sequence[str], words: Sequence[str]) -> bool:
    """Whether `wanted` are words of a command in a row."""
    if not wanted or all(word == _OPEN for word in wanted):
        return False
    ends: Iterable[int] = range(len(words) + 1)  # where what was looked at so far may have ended
    for word in wanted:
        if word == _OPEN:
            ends = {end + more for end in ends for more in range(1, _LONGEST_OPEN + 1)}
        else:
            ends = {end + 1 for end in ends if end < len(words) and _fits(word, words[end])}
        ends = {end for end in ends if end <= len(words)}
        if not ends:
            return False
    return True


def _fits(pattern: str, word: str) -> bool:
    """Whether `word` is `pattern`, with at least one letter for each open part: the first place is enough."""
    if _OPEN not in pattern:
        return pattern == word
    first, *middle, last = pattern.split(_OPEN)
    if not word.startswith(first):
        return False
    at = len(first)
    for part in middle:
        found = word.find(part, at + 1)
        if found < 0:
            return False
        at = found + len(part)
    return word.endswith(last) and len(word) - len(last) > at

"""Which of several hundred hints a text holds, told word by word.

A rule is tried only on text that holds a hint of it. Looking for each hint by itself took a third of all
redaction's time. The same words come again and again, though: each is looked at once, for all hints together,
and what it holds is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable

_MOST_WORDS, _LONGEST_WORD = 1 << 16, 40
"""What is remembered: so many words, and none longer."""


class Hints:
    """A set of hints, each in lower case, and what the words that were seen hold of them."""

    def __init__(self, hints: Iterable[str]) -> None:
        wanted = dict.fromkeys(hints)
        self._always = frozenset(hint for hint in wanted if not hint)
        self._signs = tuple(hint for hint in wanted if len(hint) == 1)
        self._begin: dict[str, tuple[str, ...]] = {}
        self._in_several: dict[str, tuple[str, ...]] = {}
        self._unsplit: tuple[str, ...] = ()
        for hint in wanted:
            # Of a hint with blanks the longest part must stand in one word; then the whole is looked for.
            part = max(hint.split(), key=len, default="")
            if len(hint) > 1 and len(part) < 2:
                self._unsplit += (hint,)
                continue
            if part != hint:
                self._in_several[part] = (*self._in_several.get(part, ()), hint)
            if len(part) > 1 and part not in self._begin.get(part[:2], ()):
                self._begin[part[:2]] = (*self._begin.get(part[:2], ()), part)
        self._words: dict[str, tuple[str, ...]] = {}

    def found_in(self, lowered: str) -> set[str]:
        """Return which hints, and parts of hints, stand in a text in lower case."""
        found: set[str] = set(self._always)
        known = self._words
        for word in set(lowered.split()):
            held = known.get(word)
            if held is None:
                held = self._look(word)
            if held:
                found.update(held)
        for part in self._in_several.keys() & found:
            found.update([hint for hint in self._in_several[part] if hint in lowered])
        found.update([hint for hint in (*self._signs, *self._unsplit) if hint in lowered])
        return found

    def _look(self, word: str) -> tuple[str, ...]:
        begin = self._begin
        held = tuple(
            {
                hint
                for at in range(len(word) - 1)
                for hint in begin.get(word[at : at + 2], ())
                if word.startswith(hint, at)
            }
        )
        if len(word) <= _LONGEST_WORD:
            if len(self._words) >= _MOST_WORDS:
                self._words.clear()
            self._words[word] = held
        return held

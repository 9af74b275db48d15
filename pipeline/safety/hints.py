"""Which of several hundred hints a text holds, told word by word.

A rule is tried only on text that holds a hint of it. Looking for each hint by itself took a third of all
redaction's time. The same words come again and again, though: each is looked at once, for all hints together,
and what it holds is remembered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_MOST_WORDS, _LONGEST_WORD = 1 << 16, 40
"""What is remembered: so many words, and none longer."""


class Hints:
    """A set of hints, each in lower case, and what the words that were seen hold of them."""

    def __init__(self, hints: Iterable[str]) -> None:
        wanted = dict.fromkeys(hints)
        self._always = {hint for hint in wanted if not hint}
        begin: dict[str, dict[str, None]] = {}
        self._in_several: dict[str, list[str]] = {}
        unsplit: tuple[str, ...] = ()
        for hint in wanted:
            # Of a hint with blanks the longest part must stand in one word; then the whole is looked for.
            part = max(hint.split(), key=len, default="")
            if len(hint) > 1 and len(part) < 2:
                unsplit += (hint,)
                continue
            if part != hint:
                self._in_several.setdefault(part, []).append(hint)
            if len(part) > 1:
                begin.setdefault(part[:2], {})[part] = None
        self._several = self._in_several.keys()
        self._anywhere = (*(hint for hint in wanted if len(hint) == 1), *unsplit)
        self._held = _Held(begin)

    def found_in(self, lowered: str, words: Iterable[str] | None = None) -> set[str]:
        """Return which hints, and parts of hints, stand in a text in lower case; `words` are the text's."""
        # Without a line of Python for a word: this is asked of every text there is.
        held = map(self._held.__getitem__, lowered.split() if words is None else words)
        found = self._always.union(*filter(None, held))
        for part in self._several & found:
            found.update([hint for hint in self._in_several[part] if hint in lowered])
        found.update([hint for hint in self._anywhere if hint in lowered])
        return found


class _Held(dict[str, tuple[str, ...]]):
    """What each word that was seen holds of the hints in `begin`, there by their first two signs."""

    def __init__(self, begin: Mapping[str, Iterable[str]]) -> None:
        super().__init__()
        self._begin = begin

    def __missing__(self, word: str) -> tuple[str, ...]:
        begin = self._begin
        held = tuple(
            {
                hint
                for at in range(len(word) - 1)
                if word[at : at + 2] in begin
                for hint in begin[word[at : at + 2]]
                if word.startswith(hint, at)
            }
        )
        if len(word) <= _LONGEST_WORD:
            if len(self) >= _MOST_WORDS:
                self.clear()
            self[word] = held
        return held

"""Which of several hundred patterns a text has the words of; the others find nothing in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

from pipeline.safety.hints import Hints
from pipeline.safety.kept_words import words_of
from pipeline.safety.needed_words import Words, plain

Key = TypeVar("Key", bound=Hashable)


class Sieve(Generic[Key]):
    """Patterns in any case, each under a key; several may have the same one."""

    def __init__(self, patterns: Iterable[tuple[Key, str]]) -> None:
        self._by_word: dict[str, list[tuple[Key, tuple[Words, ...]]]] = {}
        wanted: set[str] = set()
        for key, pattern in patterns:
            first, *others = words_of(pattern)
            wanted |= first.union(*others)
            for word in first:
                self._by_word.setdefault(word, []).append((key, tuple(others)))
        self._hints = Hints(wanted)

    def held(self, text: str) -> set[Key]:
        """Return the keys of the patterns of which `text` holds the words that they need."""
        words = self._hints.found_in(plain(text))
        return {
            key
            for word in self._by_word.keys() & words
            for key, needed in self._by_word[word]
            if not any(map(words.isdisjoint, needed))
        }

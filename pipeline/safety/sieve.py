"""Which of several hundred patterns a text has the words of; the others find nothing in it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Generic, TypeVar

from pipeline.safety.hints import Hints
from pipeline.safety.kept_words import words_of
from pipeline.safety.needed_words import plain

Key = TypeVar("Key", bound=Hashable)


class Sieve(Generic[Key]):
    """Patterns in any case, each under a key; several may have the same one."""

    def __init__(self, patterns: Iterable[tuple[Key, str]]) -> None:
        self._by_word: dict[str, list[tuple[Key, Sequence[Iterable[str]]]]] = {}
        for key, pattern in patterns:
            first, *others = words_of(pattern)
            for word in first:
                self._by_word.setdefault(word, []).append((key, others))
        self._hints = Hints(self._by_word)

    def held(self, text: str) -> set[Key]:
        """Return the keys of the patterns of which `text` holds the words that they need."""
        lowered = plain(text)
        return {
            key
            for word in self._by_word.keys() & self._hints.found_in(lowered)
            for key, others in self._by_word[word]
            if all(any(other in lowered for other in words) for words in others)
        }

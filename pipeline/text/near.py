"""Names that a person may have meant: by a part of them, or by their spelling."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher

_MOST = 3
_ALIKE = 0.6
"""Least likeness, from 0 to 1, of two names of which neither holds the other's words."""
_WORDS = re.compile(r"\w+")


def near(asked: str, names: Iterable[str]) -> list[str]:
    """Return up to three of `names` that `asked` may mean, the likeliest first.

    One that holds every word of `asked` comes before one that is only spelt alike. A single letter means
    no name that merely has a word with it.
    """
    words = _WORDS.findall(asked.casefold())
    ranked = []
    for name in dict.fromkeys(names):
        folded = name.casefold()
        parts = _WORDS.findall(folded)
        holds = len("".join(words)) > 1 and all(
            any(part.startswith(word) for part in parts) for word in words
        )
        alike = SequenceMatcher(None, asked.casefold(), folded).ratio()
        if holds or alike >= _ALIKE:
            ranked.append((not holds, -alike, name))
    return [name for _, _, name in sorted(ranked)[:_MOST]]


def did_you_mean(asked: str, names: Iterable[str]) -> str:
    """Return the question that goes before other advice, with a space behind it; "" when nothing is near."""
    found = near(asked, names)
    return f"Did you mean {' or '.join(found)}? " if found else ""

"""Two texts word by word: what stayed, what went, what came."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from pipeline.text.scripts import UNSPACED

_TOKEN = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}])\w)+|\s+|[^\w\s]")
"""A word, a blank or a sign; what is written without blanks counts character by character."""
_LIKE = 0.35
"""From so alike on words are compared; below, a text took the place of another, and both stand whole."""
_HOLDS = 4
"""Letters of what stays between two changes: an "is" or a comma alone would only tear them apart."""
_MOST = 2_000_000
"""Pairs of words that are compared at most."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words and what became of them."""

    state: Literal["kept", "gone", "new"]
    text: str


def word_diff(old: str, new: str) -> list[Piece]:
    """Return the words of `old` and `new` in one order; what went stands before what came in its place."""
    if old == new:
        return [Piece("kept", new)] if new else []
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    if len(before) * len(after) > _MOST or matcher.ratio() < _LIKE:
        return _replaced(old, new)
    found: list[Piece] = []
    gone = fresh = ""
    for tag, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        was, now = "".join(before[old_from:old_to]), "".join(after[new_from:new_to])
        last = new_to == len(after) and old_to == len(before)
        if tag == "equal" and (last or not (gone or fresh) or sum(map(str.isalnum, was)) >= _HOLDS):
            found += _replaced(gone, fresh)
            gone = fresh = ""
            found.append(Piece("kept", was))
        else:
            gone, fresh = gone + was, fresh + now
    return [*found, *_replaced(gone, fresh)]


def _replaced(old: str, new: str) -> list[Piece]:
    pieces = (Piece("gone", old), Piece("new", new))
    return [piece for piece in pieces if piece.text]

"""What a cue may be: the limits that hold wherever cues come from, a model's reply or somebody's file."""

from __future__ import annotations

from collections.abc import Iterable

MOST_CUES = 8
_MOST_WORDS = 6
_MOST_CHARS = 60


def fitting(cues: Iterable[str]) -> tuple[str, ...]:
    """Return those of `cues` that have at most six words and 60 characters, each once, eight at most.

    A longer one is left out, not cut: who packs all words into one cue would be recalled everywhere.
    """
    lines = (" ".join(cue.split()) for cue in cues)
    fit = (line for line in lines if line and len(line) <= _MOST_CHARS and line.count(" ") < _MOST_WORDS)
    return tuple({line.casefold(): line for line in fit}.values())[:MOST_CUES]

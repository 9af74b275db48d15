"""Tags, cues and other short lists of a memory: how they are spelled, and how several become one."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.safety.invisible import visible_line
from pipeline.text.slugs import slugify
from pipeline.verify.barred import bar

MOST_TAGS = 5
MOST_CUES = 8
_MOST_CHARS = 30
_CUE_WORDS = 6
_CUE_CHARS = 60


def spelled(tags: Iterable[str]) -> tuple[str, ...]:
    """Return `tags` as slugs of at most 30 characters, each once, five at most."""
    slugs = (slugify(tag)[:_MOST_CHARS] for tag in tags if tag.strip())
    return tuple(dict.fromkeys(slugs))[:MOST_TAGS]


def phrased(cues: Iterable[str]) -> tuple[str, ...]:
    """Return `cues` as phrases of at most six words and 60 characters, each once, eight at most.

    A longer one, and one that may stand in no memory, is left out.
    """
    lines = (" ".join(visible_line(cue).split()) for cue in cues)
    fit = (line for line in lines if line and len(line) <= _CUE_CHARS and line.count(" ") < _CUE_WORDS)
    unique = {line.casefold(): line for line in fit if not bar(line)}
    return tuple(unique.values())[:MOST_CUES]


def union(lists: Iterable[Iterable[str]], *, most: int) -> tuple[str, ...]:
    """Return the items of all `lists` in their order, each once, `most` at most."""
    return tuple(dict.fromkeys(item for items in lists for item in items))[:most]

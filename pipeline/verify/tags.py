"""Tags, cues and other short lists of a memory: how they are spelled, and how several become one."""

from __future__ import annotations

from collections.abc import Iterable

from pipeline.domain.cues import fitting
from pipeline.safety.invisible import visible_line
from pipeline.text.slugs import slugify
from pipeline.verify.barred import bar

MOST_TAGS = 5
_MOST_CHARS = 30


def spelled(tags: Iterable[str]) -> tuple[str, ...]:
    """Return `tags` as slugs of at most 30 characters, each once, five at most."""
    slugs = (slugify(tag)[:_MOST_CHARS] for tag in tags if tag.strip())
    return tuple(dict.fromkeys(slugs))[:MOST_TAGS]


def phrased(cues: Iterable[str]) -> tuple[str, ...]:
    """Return `cues` as `domain.cues` has them, without what may stand in no memory."""
    lines = (" ".join(visible_line(cue).split()) for cue in cues)
    return fitting(line for line in lines if not bar(line))


def union(lists: Iterable[Iterable[str]], *, most: int) -> tuple[str, ...]:
    """Return the items of all `lists` in their order, each once, `most` at most."""
    return tuple(dict.fromkeys(item for items in lists for item in items))[:most]

"""Decay at work: each memory's score written to ``_state.json``, and which memories sleep.

A score of 0.5 is *active*, of 0.2 *fading*, of 0.05 *dormant*, below that *archived* (seed 2, C-16). Nothing
that a person wrote or said sleeps, however old it is: see `may_sleep`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from pipeline.core.atomic import ensure_dir, write_atomic
from pipeline.core.clock import parse_time
from pipeline.hooklib import asleep
from pipeline.hooklib.ownership import EDITED
from pipeline.store.catalogue.sieve import Sieve
from pipeline.store.derived import usage
from pipeline.store.derived.core_page import CORE_LEAST, TOLERANCE, Memories, band, is_asked_for, score_of
from pipeline.store.files.kept import IF_A_TOOLS, MAY, NO_PERSONS, micros
from pipeline.store.files.layout import GRAPH, PRIVATE
from pipeline.store.files.scanning import Document

BANDS = ("active", "fading", asleep.DORMANT, asleep.ARCHIVED)
_UNASKED = "new"
"""What a person reads in place of *fading*, of what is too young to have been asked for."""
WORDS = (BANDS[0], _UNASKED, *BANDS[1:])
AWAKE = WORDS[:3]
_YOUNG = timedelta(days=7)
EVERY = timedelta(days=1)
BY_TOOLS = f"{PRIVATE}/by-tools"
"""What is noted of files that tools of schema v3 wrote: ``<digest or word> <path>`` a line."""
_BY_HAND = "edited"
"""Stands there in place of the digest of a file that a person changed."""


@dataclass(frozen=True, slots=True)
class Decayed:
    """What became of all memories of a store: their `scores` by path, and the band of each that sleeps.

    `fresh` are the paths of those of the last week that nobody has asked for so far. `by_tools` is what is
    noted of the files that tools of schema v3 wrote: see `_by_tools`.
    """

    scores: Mapping[str, float]
    asleep: Mapping[str, str]
    fresh: frozenset[str] = frozenset()
    by_tools: Mapping[str, str] = field(default_factory=dict)

    def band_of(self, path: str) -> str:
        """Return the band of the memory at `path`; one that may not sleep is fading at least."""
        own = band(self.scores[path])
        return self.asleep.get(path, own if own in BANDS[:2] else BANDS[1])

    def word_of(self, path: str) -> str:
        """Return what a person reads of the band of the memory at `path`.

        The formula halves the score of what nobody asked for, so that nearly all begins as *fading*: what is
        said to fade on the day on which it was learned is only *new*.
        """
        name = self.band_of(path)
        return _UNASKED if name == BANDS[1] and path in self.fresh else name

    def counts(self) -> dict[str, int]:
        """Return how many memories are in each band."""
        found = Counter(map(self.band_of, self.scores))
        return {name: found[name] for name in BANDS}


def decay(
    root: Path, memories: Memories, documents: Sequence[Document], sieve: Sieve, now: datetime
) -> Decayed:
    """Return the score of each of `documents`, all those of the store at `root`, and which sleep."""
    state, at = usage.read_state(root), micros(now)
    scores, fresh, young = dict[str, float](), set[str](), micros(now - _YOUNG)
    for worth in memories.worths:
        access = usage.access_of(state, memories.id_of(worth.path), worth.path)
        scores[worth.path] = score_of(worth, access, at)
        if (worth.since_us or 0) > young and not is_asked_for(access):
            fresh.add(worth.path)
    tired = {path for path, score in scores.items() if score < CORE_LEAST - TOLERANCE}
    by_tools = _by_tools(root, (item for item in documents if _in_graph(item) and not item.origin))
    # What a file says itself is known of most: of a large store hardly any is looked into.
    tended = [item for item in documents if item.path in tired and item.tended]
    saying = {path for word in NO_PERSONS for path in sieve.saying(tended, word)} if tended else set()
    found = {}
    for item in documents:
        if item.path not in tired:
            continue
        by_nobody = item.path in saying if item.tended else item.sleeps == MAY
        by_schema = item.path in by_tools
        by_person = by_tools.get(item.path) == _BY_HAND
        if (by_nobody or by_schema) and not by_person and may_sleep(item):
            found[item.path] = band(scores[item.path])
    return Decayed(scores, found, frozenset(fresh), by_tools)


def _in_graph(item: Document) -> bool:
    return item.path.startswith(f"{GRAPH}/") and bool(item.own_id)


def _by_tools(root: Path, documents: Iterable[Document]) -> dict[str, str]:
    """Return the digest of each of `documents`, files of tools of schema v3, or that a person changed it.

    A tool says in ``updated`` that it changed a file. Where the bytes are others than at the last look and
    the file does not say so, somebody had it in an editor; so it stays noted, whatever a tool does then.
    """
    known, last = _noted(root), parse_time(usage.noted(root, usage.DECAYED))
    found = {}
    for item in documents:
        before = known.get(item.path, item.digest)
        changed = before not in (item.digest, _BY_HAND)
        if changed and not (last and item.head.updated and item.head.updated.date() >= last.date()):
            before = _BY_HAND
        found[item.path] = _BY_HAND if before == _BY_HAND else item.digest
    return found


def _noted(root: Path) -> dict[str, str]:
    try:
        text = (root / BY_TOOLS).read_text("utf-8", "surrogateescape")
    except OSError:
        return {}
    rows = (line.partition(" ") for line in text.split("\n"))
    return {path: digest for digest, _, path in rows if path}


def may_sleep(item: Document) -> bool:
    """Whether a memory may ever be dormant or archived.

    Not one that is pinned, that tells who the person is or how work is to be done (a rule), or behind which
    a person stands: who said it, confirmed it or wrote the file. What is left are the assistant's own
    conclusions, imports, and what a tool of schema v3 wrote and nobody changed: below ``graph/``, with an id
    and no origin.
    """
    if item.hand == EDITED:
        return False  # Somebody changed what we wrote, and it may have been the person.
    return item.sleeps == MAY or (item.sleeps == IF_A_TOOLS and _in_graph(item))


def is_due(root: Path, now: datetime) -> bool:
    """Whether the scores of the store at `root` were last written a day ago, or never."""
    last = parse_time(usage.noted(root, usage.DECAYED))
    return last is None or not timedelta(0) <= now - last < EVERY


def write(root: Path, found: Decayed, memories: Memories, now: datetime) -> bool:
    """Write the scores into ``_state.json``, and which memories sleep; True if either changed."""
    keys = {path: memories.id_of(path) or f"{usage.BY_PATH}{path}" for path in found.scores}
    wrote = usage.write_scores(root, {keys[path]: score for path, score in found.scores.items()}, now)
    if found.by_tools != _noted(root):
        _write_lines(root / BY_TOOLS, found.by_tools)
    return write_asleep(root, found.asleep) or wrote


def wake_changed(root: Path, documents: Sequence[Document]) -> bool:
    """Let no memory sleep for another that lay at its path: what was written since sleeps from the next look.

    True if one woke up.
    """
    bands = asleep.asleep_in(str(root))
    if not bands:
        return False
    since = (root / asleep.FILE).stat().st_mtime_ns
    there = {item.path for item in documents if item.stamp.mtime_ns < since}
    return write_asleep(root, {path: name for path, name in bands.items() if path in there})


def write_asleep(root: Path, bands: Mapping[str, str]) -> bool:
    """Write which memories sleep; True if that changed."""
    if bands == asleep.asleep_in(str(root)):
        return False
    _write_lines(root / asleep.FILE, bands)
    return True


def _write_lines(file: Path, words: Mapping[str, str]) -> None:
    """Write a line for each path: the word that stands for it, and the path."""
    ensure_dir(file.parent)
    lines = [f"{word} {path}\n" for path, word in sorted(words.items()) if "\n" not in path]
    write_atomic(file, "".join(lines).encode("utf-8", "surrogateescape"))

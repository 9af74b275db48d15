"""Who said each sentence of a memory, and when: by its sources, never by the file's own dates.

Pure: memories in, answers out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from pipeline.core.clock import latest
from pipeline.domain.memory import GUESSES, Evidence, Memory, Origin
from pipeline.domain.sentences import key_of, sentences

_VOUCHED = frozenset({"user-stated", "user-confirmed", "hand-written"})
_STANDING: dict[str, int] = {"hand-written": 4, "user-stated": 3, "user-confirmed": 2, "imported": 1}


def said_at(memory: Memory) -> datetime | None:
    """Return when `memory` was last said, by its evidence; None when no source carries a time.

    Never the file's time nor the front matter's: those tell when it was processed (bug case 102). But for one
    that a person dictated (`Memory.dictated_at`).
    """
    return latest(source.at for source in memory.sources) or memory.dictated_at


def sources_of(memory: Memory, text: str) -> tuple[Evidence, ...]:
    """Return the sources of `memory` that stand for its sentence `text`."""
    key = key_of(text)
    return tuple(source for source in memory.sources if source.is_for(key))


def sentence_said_at(memory: Memory, text: str) -> datetime | None:
    """Return when the sentence `text` of `memory` was last said; None when nobody knows (see `said_at`)."""
    return latest(source.at for source in sources_of(memory, text)) or memory.dictated_at


def vouched(memory: Memory) -> bool:
    """Whether a person's words stand behind `memory`."""
    if memory.origin in GUESSES:
        return False
    return memory.origin in _VOUCHED or any(source.speaker == "person" for source in memory.sources)


def said_later_by_person(new: Iterable[Evidence], old: Sequence[Evidence]) -> bool:
    """Whether a person's line among `new` was said after all of `old`.

    An old source without a time may be later than anything; without old sources nothing stands against it.
    """
    last = latest(source.at for source in new if source.speaker == "person")
    earlier = [latest([source.at]) for source in old]
    return last is not None and all(moment is not None and moment < last for moment in earlier)


def weakest_origin(origins: Iterable[str]) -> str:
    """Return the one of `origins` that a person stands behind least; of equal ones the first."""
    return min(origins, key=lambda origin: _STANDING.get(origin, 0))


def origin_of(sources: Sequence[Evidence], fallback: Origin | str) -> str:
    """Return the origin of what rests on `sources` alone; `fallback` is what their reader made of them."""
    if sources and not any(source.speaker == "person" for source in sources):
        return "assistant-inferred"
    return fallback


def bound(memory: Memory) -> tuple[Evidence, ...]:
    """Return the sources of `memory`, each with the keys of the sentences it stands for.

    What stood for all of the memory then names every sentence, so that one can be joined with others.
    """
    keys = tuple(dict.fromkeys(sentence.key for sentence in sentences(memory.body)))
    return tuple(source if source.bears else replace_bears(source, keys) for source in memory.sources)


def replace_bears(source: Evidence, keys: Iterable[str]) -> Evidence:
    """Return `source` as it stands for the sentences named `keys`."""
    return replace(source, bears=tuple(keys))


def pruned(memory: Memory) -> Memory:
    """Return `memory` without sources that stand for no sentence of it, and without idle keys.

    Where every source stands for every sentence the keys are left out: they would tell nothing. The same
    line bound twice becomes one source with both sets of keys.
    """
    keys = tuple(dict.fromkeys(sentence.key for sentence in sentences(memory.body)))
    found: dict[tuple[str, str, str], Evidence] = {}
    for source in memory.sources:
        bears = [key for key in keys if source.is_for(key)] if source.bears else list(keys)
        known = found.get(source.pointer)
        if known is not None:
            bears = [key for key in keys if key in {*known.bears, *bears}]
        if bears or not keys:
            found[source.pointer] = replace_bears(source, bears)
    sources = list(found.values())
    if all(set(source.bears) == set(keys) for source in sources):
        sources = [replace_bears(source, ()) for source in sources]
    return replace(memory, sources=tuple(sources))

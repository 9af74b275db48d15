"""Quotes that travel with a memory of a team: what somebody said there, as data. Pure.

They stand in the front matter under a key of their own and never among the sources: those point at sessions
of this person, and count as their word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pipeline.domain.memory import MAX_QUOTE, WHO_SPEAKS, Memory
from pipeline.domain.sentences import sentences

QUOTES = "quotes"
"""In the front matter of a team's memory: what was said, by which its sentences are held."""
_MOST = 200
"""Quotes of one memory that are looked at: a file with more was not written by Reverie."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Words that were said: in whose sessions (`by`), on which day ("" if unknown), and who spoke there.

    `speaker` is as in `Evidence`; `bears` are the keys of the sentences it stands for, none for all.
    """

    quote: str
    by: str
    day: str = ""
    speaker: str = "person"
    bears: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, str, str, str]:
        """Return what was said, by whom and when, whatever it bears."""
        return self.quote, self.by, self.day, self.speaker

    @property
    def teller(self) -> str:
        """Return who said it, as a person is told."""
        others = {"assistant": f"Claude said to {self.by}", "pasted": f"{self.by} pasted"}
        return others.get(self.speaker, f"{self.by} said")

    def as_values(self) -> dict[str, Any]:
        """Return it as a file has it, without what is at its default."""
        values = {"quote": self.quote, "by": self.by, "day": self.day}
        values |= {"speaker": self.speaker} if self.speaker != "person" else {}
        found: dict[str, Any] = {key: value for key, value in values.items() if value}
        return {**found, "bears": list(self.bears)} if self.bears else found


def quotes_of(memory: Memory) -> tuple[Quote, ...]:
    """Return the quotes in the front matter of `memory`; none where what stands there is something else."""
    given = memory.extra.get(QUOTES)
    if not isinstance(given, list) or len(given) > _MOST:
        return ()
    found = [_read(item) for item in given]
    return tuple(item for item in found if item is not None) if all(found) else ()


def with_quotes(memory: Memory, quotes: Iterable[Quote]) -> Memory:
    """Return `memory` with those of `quotes` that stand for a sentence of it, the same words once.

    Each names its sentences, so that it stands for none that is added later.
    """
    keys = tuple(dict.fromkeys(sentence.key for sentence in sentences(memory.body)))
    found: dict[tuple[str, ...], Quote] = {}
    for item in quotes:
        known = found.get(item.words)
        borne = {*(item.bears or keys), *(known.bears if known is not None else ())}
        bears = tuple(key for key in keys if key in borne)
        if bears:
            found[item.words] = replace(item, bears=bears)
    extra = {key: value for key, value in memory.extra.items() if key != QUOTES}
    if found:
        extra[QUOTES] = [item.as_values() for item in found.values()]
    return replace(memory, extra=extra)


def _read(item: object) -> Quote | None:
    """Return the quote that `item` of a list in front matter is, None for what is none."""
    if not isinstance(item, Mapping):
        return None
    bears = item.get("bears", [])
    texts = [item.get("quote"), item.get("by"), item.get("day", ""), item.get("speaker", "person")]
    listed = isinstance(bears, list) and all(isinstance(key, str) for key in bears)
    if not listed or not all(isinstance(text, str) for text in texts):
        return None
    quote, by, day, speaker = map(str, texts)
    if not quote or not by or len(quote) > MAX_QUOTE or speaker not in WHO_SPEAKS:
        return None
    return Quote(quote, by, day, speaker, tuple(bears))

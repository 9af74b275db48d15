"""What a person had forgotten, rejected or undone, known by its sources and kept beside the memories.

    .reverie/forgotten.jsonl    {"session", "uuid", "quote", "said", "name", "reason", "day"}

One line a source. The file survives the loss of the ledger and a new install. The same words never bring
such a memory back, under whatever name; words said later do. A line with ``"lifted": true`` takes earlier
ones of the same words back.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pipeline.core import jsonl
from pipeline.core.clock import iso, parse_time
from pipeline.domain.memory import Evidence
from pipeline.store.files.layout import MAX_DERIVED, PRIVATE, read_regular

FILE = "forgotten.jsonl"
_LEAST = 0.6
"""Share of a quote's words that another quote of the same entry has when both are about the same."""


@dataclass(slots=True)
class Forgotten:
    """The sources that bring nothing back, by entry: each with its quote and when it was forgotten."""

    quotes: dict[str, list[tuple[str, datetime]]] = field(default_factory=dict)

    def bars(self, sources: Sequence[Evidence]) -> bool:
        """Whether `sources` hold words that were forgotten and nothing said after that."""
        moments = [moment for source in sources for moment in self._moments(source)]
        if not moments:
            return False
        last = max(moments)
        return not any((at := parse_time(source.at)) and at > last for source in sources)

    def _moments(self, source: Evidence) -> list[datetime]:
        known = self.quotes.get(source.uuid, ())
        return [moment for quote, moment in known if _alike(quote, source.quote)]


def note(
    root: Path, sources: Iterable[Evidence], *, name: str, reason: str, now: datetime, lifted: bool = False
) -> None:
    """Write down that what rests on `sources` is forgotten, or with `lifted` that it is not any more."""
    more: dict[str, Any] = {"lifted": True} if lifted else {}
    jsonl.append(
        root / PRIVATE / FILE,
        [
            {
                "session": source.session,
                "uuid": source.uuid,
                "quote": source.quote,
                "said": source.at or "",
                "name": name,
                "reason": reason,
                "day": iso(now),
                **more,
            }
            for source in sources
        ],
    )


def read(root: Path) -> Forgotten:
    """Return all that is forgotten in the store at `root`; a line that can't be read is passed over."""
    try:
        data = read_regular(root / PRIVATE / FILE, MAX_DERIVED)[0]
    except FileNotFoundError:
        return Forgotten()
    found = Forgotten()
    for value in jsonl.parse(data).values:
        match value:
            case {"uuid": str(uuid), "quote": str(quote), "day": str(day)}:
                moment = parse_time(day)
                if moment is None:
                    continue
                known = found.quotes.setdefault(uuid, [])
                if value.get("lifted"):
                    known[:] = [item for item in known if item[0] != quote]
                else:
                    known.append((quote, moment))
            case _:
                continue
    return found


def _alike(quote: str, other: str) -> bool:
    """Whether two quotes of one entry are about the same words: one holds the other, or they overlap."""
    mine, theirs = _words(quote), _words(other)
    if not mine or not theirs:
        return mine == theirs
    return len(mine & theirs) >= _LEAST * min(len(mine), len(theirs))


def _words(text: str) -> set[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    spaced = "".join(char if char.isalnum() or char.isspace() else " " for char in plain)
    # Scripts without spaces: pairs of characters stand for words.
    return {
        piece
        for word in spaced.split()
        for piece in ([word] if word.isascii() else [word[i : i + 2] for i in range(max(1, len(word) - 1))])
    }

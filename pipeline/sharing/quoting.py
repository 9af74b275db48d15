"""What of the words by which a memory is held goes to a team, and whose the quotes in its folder may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pipeline.core import zone
from pipeline.core.errors import DocumentError
from pipeline.domain.quotes import QUOTES, Quote, quotes_of, with_quotes
from pipeline.store.files import document
from pipeline.verify.provenance import bound

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pipeline.domain.memory import Memory
    from pipeline.sharing.revisions import Revision

_PLACE = re.compile(r"(?:^|[\s\"'`(=:,])(?:~|/(?!/)[^\s/]+/|[A-Za-z]:\\|\\\\)\S")
"""A path from a root or a home: it names a machine's folders, and often a person."""


def quotes_for(memory: Memory, person: str, is_secret: Callable[[str], bool]) -> tuple[Quote, ...]:
    """Return what `person` or Claude said in their sessions for `memory`, as a team gets it.

    Neither session nor entry goes along. A quote with a secret or with a path of a machine stays.
    """
    return tuple(
        Quote(source.quote, person, zone.day(source.at), source.speaker, source.bears)
        for source in bound(memory)
        if source.quote and not is_secret(source.quote) and not _PLACE.search(source.quote)
    )


def number_kept_back(memory: Memory, person: str, is_secret: Callable[[str], bool]) -> int:
    """Return how many quotes of `memory` stay, for what stands in them."""
    return sum(bool(source.quote) for source in memory.sources) - len(quotes_for(memory, person, is_secret))


def said_in(records: Iterable[Revision]) -> set[tuple[str, ...]]:
    """Return the words of all quotes in `records`, each with by whom and when."""
    return {item.words for record in records for item in _of(record)}


def borne_out(memory: Memory, own: Collection[str], known_words: Collection[tuple[str, ...]]) -> Memory:
    """Return `memory` with those of its quotes that are by one of the names `own`, or `known_words`.

    So nobody puts words into a colleague's mouth. What stands for no sentence of it goes as well.
    """
    if QUOTES not in memory.extra:
        return memory
    return with_quotes(
        memory, (item for item in quotes_of(memory) if item.by in own or item.words in known_words)
    )


def strange_quotes(
    memory: Memory, own: Collection[str], known_words: Collection[tuple[str, ...]]
) -> list[Quote]:
    """Return the quotes of `memory` that are in a name that is none of `own`, and are no `known_words`."""
    return [item for item in quotes_of(memory) if item.by not in own and item.words not in known_words]


def _of(record: Revision) -> Iterator[Quote]:
    if record.file is None:
        return
    try:
        yield from quotes_of(document.parse(record.file.encode(), record.path))
    except DocumentError:
        return

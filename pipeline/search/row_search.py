"""Search over rows that a caller provides: no store, no home, nothing written but in a temporary folder.

For whoever measures the search on data of their own. The order is that of `reverie search`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.core.closing import Closing
from pipeline.core.ids import digest
from pipeline.domain.memory import TYPES
from pipeline.safety.invisible import visible
from pipeline.search import index_reader, ranking, ties
from pipeline.search.derived_file import WAIT_SECONDS
from pipeline.search.fts import SearchIndex, index_file
from pipeline.search.meaning import WordTable
from pipeline.search.rows import Content, SearchRow


@dataclass(frozen=True, slots=True)
class MemoryRow:
    """One memory to be searched.

    `id` is what comes back; it is not searched. `day` is when it was said (ISO 8601), which recall alone
    looks at; `cues` are phrases that somebody might type who needs it; `relations` are ids or names of rows
    it points at, `anchors` the files it is about.
    """

    id: str
    name: str = ""
    description: str = ""
    body: str = ""
    day: str = ""
    cues: Sequence[str] = ()
    type: str = "project"
    tags: Sequence[str] = ()
    relations: Sequence[str] = ()
    anchors: Sequence[str] = ()


class RowSearch(Closing):
    """An index of `rows`, to be closed after use; use it in a ``with``.

    Equal ones come in the order in which they were given. An id that comes twice is a ValueError. `words` is
    a home whose table of word vectors counts (extra `semantic`); recall alone looks at it.
    """

    def __init__(self, rows: Iterable[MemoryRow], *, words: Path | None = None) -> None:
        given = list(rows)
        self._ids = {f"r{number:08}.md": row.id for number, row in enumerate(given)}
        if len(set(self._ids.values())) < len(given):
            raise ValueError("two rows have one id")
        self._folder = tempfile.TemporaryDirectory(prefix="reverie-rows-")
        self.home = Path(self._folder.name).resolve()
        self.store = self.home / "rows"
        file = index_file(self.home, self.store)
        try:
            with SearchIndex(file, WAIT_SECONDS, WordTable(str(words) if words else None)) as index:
                index.sync(_search_rows(given))
            self._reader = index_reader.Reader(str(file))
        except BaseException:
            self._folder.cleanup()
            raise
        self._total = len(given)
        self._held: dict[str, set[str]] = {}

    def search(self, question: str, limit: int = 10, *, further: int = 0) -> list[str]:
        """Return the ids of up to `limit` rows that hold words of `question`, the best first.

        After them come up to `further` more that are tied to the first ones (`search.ties`).
        """
        return [found for found, _ in self.scored(question, limit, further=further)]

    def scored(self, question: str, limit: int = 10, *, further: int = 0) -> list[tuple[str, float]]:
        """Return what `search` does with the share of the question that each row holds, 0 to 1."""
        asked = ranking.Asked(visible(question), self._reader)
        found = ranking.ranked(asked.scores(self._total), partial(self._terms_of, asked), asked.weights)[
            :limit
        ]
        answer = [(self._ids[item.path], round(item.share, 4)) for item in found]
        if further > 0 and found:
            answer += self._further(found, asked, further)
        return answer

    def id_of(self, path: str) -> str:
        """Return the id of the row that the index has at `path`."""
        return self._ids[path]

    def close(self) -> None:
        """Remove the index; a second call does nothing."""
        self._reader.close()
        self._folder.cleanup()

    def _further(
        self, found: Sequence[ranking.Ranked], asked: ranking.Asked, limit: int
    ) -> list[tuple[str, float]]:
        rows = self._reader.rows(item.path for item in found[: ties.SEEDS])
        seeds = [(0, row, round(item.share, 4)) for row, item in zip(rows, found, strict=False)]
        known = {(0, item.path) for item in found}
        more = ties.further([self._reader], seeds, known, [asked], limit)
        return [
            (self._ids[item.row.path], round(ranking.share_of(asked.held(item.row), asked.weights), 4))
            for item in more
        ]

    def _terms_of(self, asked: ranking.Asked, path: str) -> set[str]:
        if asked.forms:
            return asked.held(self._row(path))
        held = self._held.get(path)
        if held is None:
            held = self._held[path] = asked.held(self._row(path))
        return held

    def _row(self, path: str) -> index_reader.Row:
        (row,) = self._reader.rows([path])
        return row


def _search_rows(rows: Sequence[MemoryRow]) -> Iterable[SearchRow]:
    for number, row in enumerate(rows):
        known = TYPES.get(row.type, TYPES["project"])
        about = {
            "id": row.id,
            "type": row.type,
            "said": row.day,
            "importance": 0.5,
            "pinned": False,
            "weight": known.weight,
            "anchors": list(row.anchors),
            "quote": [],
            "sessions": [],
            "archived": False,
        }
        content = Content(
            row.name, "", row.description, row.tags, row.body, about, tuple(row.cues), tuple(row.relations)
        )
        yield SearchRow(f"r{number:08}.md", digest(repr(row.id)), partial(_itself, content))


def _itself(content: Content) -> Content:
    return content

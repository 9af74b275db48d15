"""Recall over rows that a caller provides: which of them would come before a prompt, and which stay away.

For whoever measures recall on data of their own; no hook imports this. Score and floor are those of the hook.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core.closing import Closing
from pipeline.hooklib import times
from pipeline.recall.live import retrieval
from pipeline.recall.live.candidates import Shelf
from pipeline.recall.live.values import Budget
from pipeline.search.row_search import MemoryRow, RowSearch

if TYPE_CHECKING:
    from pipeline.recall.live.store_files import Found
    from pipeline.text.stems import Forms


@dataclass(frozen=True, slots=True)
class Weighed:
    """A row that was weighed for a prompt: its score, and ``chosen`` or why it stays away."""

    id: str
    score: float
    verdict: str


class RowRecall(Closing):
    """Rows to be recalled, to be closed after use; use it in a ``with``.

    `now` is when it is asked, for the age of rows that have a day. `words` is as in `RowSearch`.
    """

    def __init__(
        self, rows: Iterable[MemoryRow], *, now: datetime | None = None, words: Path | None = None
    ) -> None:
        self._rows = RowSearch(rows, words=words)
        self._words = str(words or self._rows.home)
        self._now = times.now() if now is None else now.timestamp()
        self._shelf = _RowShelf(str(self._rows.home), str(self._rows.store), everywhere=False, problems=[])

    def recall(self, prompt: str, *, memories: int = 5, floor: float = 1.0) -> list[str]:
        """Return the ids of the rows that would come before `prompt`, the best first; mostly none.

        `memories` and `floor` are the settings of these names: with a floor of 0 all come that share enough
        words.
        """
        weighed = self.weighed(prompt, memories=memories, floor=floor)
        return [row.id for row in weighed if row.verdict == "chosen"]

    def weighed(self, prompt: str, *, memories: int = 5, floor: float = 1.0) -> list[Weighed]:
        """Return every row that was weighed for `prompt`, the best first."""
        limits = Budget(memories=memories, floor=floor)
        found = retrieval.weigh(prompt, [self._shelf], limits, home=self._words, now=self._now)
        return [
            Weighed(self._rows.id_of(Path(row.memory).name), round(row.score, 4), row.verdict)
            for row in found
        ]

    def close(self) -> None:
        """Remove the index; a second call does nothing."""
        self._shelf.close()
        self._rows.close()


class _RowShelf(Shelf):
    """A store without files: what the index has is how it is."""

    def _find(self, terms: list[str], keys: Sequence[str], forms: Forms) -> list[Found]:
        rows, ruled = self._suggested(terms, keys, forms)
        return [self._from_row(row, ruled.get(row.path)) for row in rows]

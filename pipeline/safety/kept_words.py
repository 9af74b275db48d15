"""The words that our patterns need, read off each of them once and kept in ``needed_words.json``.

To read them takes longer than a command may. A pattern that the table lacks is read on the spot: one that was
changed is another pattern, so it is never judged by the words of its former self. The table is made by
``python -m tests.safety.needed_table``; a test reads all patterns anew and compares.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

from pipeline.safety.needed_words import needed_words

FILE = "needed_words.json"


def words_of(pattern: str) -> Sequence[Collection[str]]:
    """Return what `needed_words` returns of `pattern`."""
    kept = _table().get(pattern)
    return needed_words(pattern) if kept is None else kept


@cache
def _table() -> dict[str, list[list[str]]]:
    table: dict[str, list[list[str]]] = json.loads(Path(__file__).with_name(FILE).read_bytes())
    return table

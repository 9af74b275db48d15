"""How near two texts are in meaning, without a model: sums of word vectors from a table in SQLite.

The worker makes the table from the embedded model's own numbers (``search.vectors.word_table``), once. A
hook reads the few rows that a prompt's words need: no model is loaded, and nothing but the standard library.
A word that the table lacks is put together from the longest pieces that it has.
"""

import re
from math import sqrt
from operator import mul

from pipeline.hooklib import home_files
from pipeline.search.index_reader import FileError, opened
from pipeline.text.tokens import STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WORDS_VERSION = 1
NUMBERS = 128
"""How many numbers a vector has; all of the model's 256 find no more."""
LARGEST = 127
START = "\u2581"
"""What begins a piece that begins a word."""
LONGEST_PIECE = 16
MOST_PIECES = 6
"""Pieces of one word that count."""
MOST_WORDS = 200
"""Words of one text that count: its first ones."""
_ASKED_AT_ONCE = 500


class WordTable:
    """The table in the home at `home`, None being none.

    Without one, or with one that can't be read, no text has a vector. `made_by` is the model, or "".
    """

    def __init__(self, home: "str | None") -> None:
        self._connection: Any = None
        self._known: dict[str, list[float]] = {}
        self.made_by = ""
        if home is None:
            return
        try:
            self._connection = opened(words_file(home), "mode=ro")
            if self._connection.execute("PRAGMA user_version").fetchone()[0] == WORDS_VERSION:
                self.made_by = self._connection.execute("SELECT made_by FROM made").fetchone()[0]
        except FileError:
            # It was not made, or is being made: words alone decide, as they do without the model.
            self.made_by = ""
        if not self.made_by:
            self.close()

    def vector(self, text: str) -> bytes:
        """Return the vector of `text`, `NUMBERS` signed bytes, or none at all when no word of it is known."""
        # Most homes have no table, and then no text is cut into words for it.
        words = [START + word for word in words_of(text)] if self._connection is not None else []
        if not words:
            return b""
        try:
            self._learn(words)
        except FileError:
            self.close()
            return b""
        sums = [0.0] * NUMBERS
        for word in words:
            sums = [a + b for a, b in zip(sums, self._known[word], strict=True)]
        largest = max(map(abs, sums))
        return bytes([round(value * LARGEST / largest) & 0xFF for value in sums]) if largest else b""

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _learn(self, words: "list[str]") -> None:
        """Look up `words`: whole ones first, then of the others the longest pieces, from the start on."""
        new = [word for word in dict.fromkeys(words) if word not in self._known]
        whole = self._pieces(new)
        left = {}
        for word in new:
            self._known[word] = whole.get(word) or [0.0] * NUMBERS
            if word not in whole:
                left[word] = word
        for _ in range(MOST_PIECES):
            if not left:
                break
            starts = {rest[:size] for rest in left.values() for size in range(1, LONGEST_PIECE + 1)}
            pieces = self._pieces(sorted(starts))
            going_on = {}
            for word, rest in left.items():
                size = next((n for n in range(LONGEST_PIECE, 0, -1) if rest[:n] in pieces), 0)
                if not size:
                    continue
                piece = pieces[rest[:size]]
                self._known[word] = [a + b for a, b in zip(self._known[word], piece, strict=True)]
                if len(rest) > size:
                    going_on[word] = rest[size:]
            left = going_on

    def _pieces(self, wanted: "list[str]") -> "dict[str, list[float]]":
        found = {}
        for at in range(0, len(wanted), _ASKED_AT_ONCE):
            chunk = wanted[at : at + _ASKED_AT_ONCE]
            sql = f"SELECT piece, scale, numbers FROM pieces WHERE piece IN ({','.join('?' * len(chunk))})"
            for piece, scale, numbers in self._connection.execute(sql, chunk):
                found[piece] = [scale * value for value in memoryview(numbers).cast("b")]
        return found


def words_file(home: str) -> str:
    """Return the table's file in the home at `home`."""
    return f"{home}/{home_files.WORDS}"


def words_of(text: str) -> "list[str]":
    """Return the words of `text` in lower case that say something, each once, `MOST_WORDS` at most."""
    words = dict.fromkeys(word.casefold() for word in re.findall(r"[^\W\d_]{2,}", text))
    return [word for word in words if word not in STOP_WORDS][:MOST_WORDS]


def nearness(left: bytes, right: bytes) -> float:
    """Return the cosine of two vectors, -1 to 1; 0 where there is none."""
    if not left or len(left) != len(right):
        return 0.0
    a, b = memoryview(left).cast("b"), memoryview(right).cast("b")
    norms = sum(map(mul, a, a)) * sum(map(mul, b, b))
    return sum(map(mul, a, b)) / sqrt(norms) if norms else 0.0

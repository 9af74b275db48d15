"""Whether words stand in a line as a candidate quotes them. Pure."""

from __future__ import annotations

import re
import unicodedata

from pipeline.safety.invisible import visible
from pipeline.text.pasted import MARK, typed

# The last is what stands for the "<" of a tag that a request must not hold.
_FOLDED = {0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2039: "<", 0xFF1C: "<", 0xFE64: "<"}


def quoted_in(quote: str, text: str) -> bool:
    """Whether `quote` stands in `text`, white space folded; a scrap counts only in a short text.

    A few letters are found in any long text by chance, so a quote under 8 characters (4 in scripts
    without spaces) must be a whole word of an entry under 200 characters.
    """
    needle, hay = in_one_line(quote), in_one_line(text)
    if not needle or needle not in hay:
        return False
    least = 8 if needle.isascii() else 4
    if len(needle) >= least:
        return True
    return len(hay) < 200 and re.search(rf"(?<!\w){re.escape(needle)}(?!\w)", hay) is not None


def typed_in(quote: str, text: str) -> bool:
    """Whether `quote` stands in what of a person's `text` was typed: the words of a paste are not theirs."""
    return quoted_in(quote, typed(visible(text)))


def in_one_line(text: str) -> str:
    """Return `text` as quotes are compared: white space and quotation marks folded, nothing hidden.

    The mark of a pasted line, which a model may copy along, is none of its words.
    """
    plain = unicodedata.normalize("NFC", text).translate(_FOLDED)
    plain = plain.replace(MARK.strip(), " ")
    # As in the rendering that the model quotes from, what can't be seen goes first.
    return " ".join(visible(plain).split())

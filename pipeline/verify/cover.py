"""What a sentence must show before a second reader's word about it counts: digits, code, addresses, days.

Pure, and the same in every language: these compare characters and understand nothing.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date

_DIGITS = re.compile(r"\d+")
_EXACT = re.compile(r"`+([^`\n]+)`+|(\S*[/\\]\S+|(?<![\w-])--?[A-Za-z]\S*)")
"""Code in backticks, URLs and paths, flags: `--force`, `src/app.py`; “well-known” is none."""
_AROUND = ".,;:!?()[]{}<>\"'“”‘’„«»*_。、，；：！？）（」「"


def misses(sentence: str, cover: str) -> str:
    """Return the first number, code, URL, path or flag of `sentence` that `cover` has not, or ""."""
    mine, theirs = (unicodedata.normalize("NFKC", text) for text in (sentence, cover))
    known = {*_DIGITS.findall(theirs)}
    missing = [digits for digits in _DIGITS.findall(mine) if digits not in known]
    exact = ((code or word).strip(_AROUND) for code, word in _EXACT.findall(mine))
    missing += [text for text in exact if text not in theirs]
    return missing[0] if missing else ""


def names_day(quote: str, day: date) -> bool:
    """Whether `quote` holds the numbers of `day`: year, day, and month unless those are its only numbers.

    “until 2026-05-20” and “bis 20. Mai 2026” name the twentieth of May, “since 2026-05” does not.
    """
    numbers = [int(digits) for digits in _DIGITS.findall(unicodedata.normalize("NFKC", quote))]
    by_word = len(numbers) == 2
    return {day.year, day.day} <= {*numbers} and (day.month in numbers or by_word)

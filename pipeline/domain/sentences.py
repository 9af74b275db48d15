"""The text of a memory as a list of sentences, each at its place, word for word.

    Use 3 retries.                                   statement of the first fact
    **Why:** At 5 the gateway bans us for an hour.   its reason
    **Also:** Log each retry.                        statement of a second fact, joined on by a dream

A sentence is a slice of the text: joining slices never makes words that nobody wrote. Where a rule is unsure
it cuts too little, so that what belongs together stays together.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Part = Literal["statement", "why", "how to apply"]

ALSO = "**Also:**"
"""Stands before a further fact of the same memory, which has its own reason and use behind it."""
_LABEL = re.compile(r"\*\*(?P<part>why|how to apply|also):\*\*[ \t]*", re.IGNORECASE)
_PARTS: dict[str, Part] = {"also": "statement", "why": "why", "how to apply": "how to apply"}
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)")
_NEW_LINE_UNIT = re.compile(r"^[ \t]*(?:[-*+•][ \t]|\d{1,3}[.)][ \t]|#{1,6}[ \t]|>|\|)")
_MARK = re.compile(r"[-*+•][ \t]+|\d{1,3}[.)][ \t]+|#{1,6}[ \t]+|>[ \t]*")
_BOLD = re.compile(r"(?<![\w*/])\*\*(?=[^\s*/])([^*\n]{1,200}?)(?<=[^\s*/])\*\*(?![\w*/])")
_CODE = re.compile(r"`[^`\n]*`")
_OPENING = "“„«‘"
_CLOSING = "”»’,;:!.…。、"
_LOOK_BACK = 24
"""Characters before a mark that tell whether it ends a sentence."""
_END = re.compile(r"[.!?؟۔।]+[\"'”’»)\]`*_]*(?=\s)|[。！？]+[」』”’）]*")
# “z. B.”, “No. 3” and “3. Mai” end no sentence, “on port 8025.” does: a letter or a short number tells.
_NO_END = re.compile(
    r"(?:^|[\s(\[“\"'])(?:\w|\d{1,2}|e\.g|i\.e|[Dd]r|[Mm]in|[Mm]ax|[Ii]ncl|[Ee]xcl|[Ee]st|[Mm]rs?|[Ss]t|[Nn]o|[Nn]r|vs|ca|etc|bzw|usw|resp|approx|cf|vgl|[Bb]spw|"
    r"[Aa]rt|[Ff]ig|[Pp]ág|[Ss]ra?|[Mm]me)\.$"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a memory: its words as they stand there, and where.

    `fact` counts the facts of the memory from 0; `text[start:end]` of the whole body is the sentence with the
    label before it, if it is the first of its part.
    """

    text: str
    part: Part
    fact: int
    start: int
    end: int

    @property
    def key(self) -> str:
        """Return what names the sentence in a file: 8 hex digits of `folded`."""
        return key_of(self.text)

    @property
    def folded(self) -> str:
        """Return what two sentences share that are equal (see `folded`)."""
        return folded(self.text)


# A dream asks for the sentences of one text dozens of times.
@lru_cache(maxsize=1024)
def sentences(body: str) -> tuple[Sentence, ...]:
    """Return the sentences of `body` in their order; all of its words but labels are in one of them."""
    return tuple(_sentences(body))


def key_of(text: str) -> str:
    """Return 8 hex digits that name a sentence, equal for two that are equal (see `folded`)."""
    import hashlib  # It opens OpenSSL, which most who only list memories need not.

    return hashlib.sha256(folded(text).encode("utf-8", "surrogatepass")).hexdigest()[:8]


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Return `text` in the form in which two sentences are equal: but for spacing, curly quotes, end marks.

    Only the first letter may differ in case: “US” is not “us”, nor ``-f`` ``-F``. Code in backticks stays as
    it is, so do brackets and straight quotes. A question stays one, ``.env`` is not “env”, ``10⁶`` not “106”,
    ``2**3`` not “23”, and „Maßen“ are not „Massen“.
    """
    if not text.isascii():
        text = "".join(unicodedata.normalize("NFKC", char) if _is_wide(char) else char for char in text)
    plain = _BOLD.sub(r"\1", unicodedata.normalize("NFC", text))
    codes = _CODE.findall(plain)
    words = [_word(word) for word in _CODE.sub(" \0 ", plain).split(" ") for word in word.split()]
    found = " ".join(word for word in words if word)
    for code in codes:
        found = found.replace("\0", code, 1)
    return found[:1].lower() + found[1:]


def telling_word(wanted: Iterable[str]) -> bytes:
    """Return the longest plain word that stands in one of the folded sentences `wanted`, b"" for none.

    The first one of a sentence is none, since its case may differ.
    """
    words = (word for text in wanted for word in text.split(" ")[1:] if word.isascii() and word.isalnum())
    return max(words, key=len, default="").encode()


def lacks(text: bytes, word: bytes) -> bool:
    """Whether no sentence of `text` can have `word` of `telling_word`; to find that out nothing is cut.

    Marks may stand within a word, and letters that are wide are narrow in it: then nobody can say.
    """
    return word not in text and text.isascii() and b"**" not in text and b"__" not in text


def unlabelled(text: str) -> str:
    """Return `text` with the labels in it as plain words, which begin no part: “Why:”, not ``**Why:**``."""
    return _LABEL.sub(lambda label: label[0].replace("*", ""), text)


def begins_item(text: str) -> str:
    """Return the mark, with blanks behind it, that makes `text` an item, a heading or a quotation, or ""."""
    found = _MARK.match(text)
    return found[0] if found else ""


def ends_with(text: str) -> str:
    """Return the mark with which `text` ends a sentence, or ""."""
    found = [match for match in _END.finditer(f"{text} ") if match.end() == len(text)]
    return found[-1][0] if found else ""


def kept_of(body: str, fact: int, count: int) -> str:
    """Return the fact numbered `fact` of `body` up to its `count`-th sentence, without the label ``Also``.

    Byte for byte as it stands there but for blanks at its end; "" when `count` is 0.
    """
    found = [sentence for sentence in sentences(body) if sentence.fact == fact][:count]
    if not found:
        return ""
    text = body[found[0].start : found[-1].end]
    label = _LABEL.match(text)
    if label and label["part"].lower() == "also":
        text = text[label.end() :]
    return text.strip()


def joined(facts: list[str]) -> str:
    """Return the body that holds `facts`, the second and later ones behind ``Also``."""
    first, *others = [fact.strip() for fact in facts if fact.strip()] or [""]
    return "\n\n".join([first, *(f"{ALSO} {other}" for other in others)]) + "\n" if first else ""


def _word(word: str) -> str:
    bare = word.lstrip(_OPENING).rstrip(_CLOSING)
    if not bare:
        # A path, “.” or “..”, is a word; a mark that stands alone is none.
        return word if word.strip(".") == "" else ""
    return bare.replace("’", "'")


def _is_wide(char: str) -> bool:
    """Whether `char` is a form of another that is only wider or narrower, as in CJK text."""
    return unicodedata.decomposition(char).startswith(("<wide>", "<narrow>"))


def _sentences(body: str) -> Iterator[Sentence]:
    fact, begun = 0, False
    part: Part = "statement"
    labels = [*_LABEL.finditer(body)]
    starts = [0, *(label.start() for label in labels)]
    for number, start in enumerate(starts):
        label = labels[number - 1] if number else None
        text_start = label.end() if label else 0
        if label is not None:
            word = label["part"].lower()
            fact += word == "also" and begun
            part = _PARTS[word]
        end = starts[number + 1] if number + 1 < len(starts) else len(body)
        for nth, (begin, stop) in enumerate(_cut(body, text_start, end)):
            begun = True
            yield Sentence(body[begin:stop], part, fact, begin if nth else start, stop)


def _cut(body: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the bounds of the sentences between `start` and `end`, blanks at either side left out."""
    begin = start
    for cut in (*_cuts(body, start, end), end):
        text = body[begin:cut]
        if text.strip():
            yield begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())
        begin = cut


def _cuts(body: str, start: int, end: int) -> Iterator[int]:
    """Yield where a sentence ends: at the end of a line that the next does not go on, or at a mark."""
    fenced = False
    position = start
    for line in body[start:end].splitlines(keepends=True):
        stop = position + len(line)
        if _FENCE.match(line):
            if not fenced:
                yield position
            fenced = not fenced
            if not fenced:
                yield stop
        elif not fenced:
            if not line.strip() or _NEW_LINE_UNIT.match(line):
                yield position
            codes = [code.span() for code in _CODE.finditer(line)]
            for found in _END.finditer(line):
                end = found.end()
                inside = any(start < found.start() < stop_code - 1 for start, stop_code in codes)
                before = line[max(0, end - _LOOK_BACK) : end].rstrip("\"'”’»)]`*_")
                if not inside and not _NO_END.search(before):
                    yield position + end
        position = stop

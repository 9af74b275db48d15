"""Takes secrets out of text before it is stored, logged or sent to a model.

``redact`` works in two steps: ``<private>`` blocks vanish; then what `detection` finds is replaced: shapes
that are secrets wherever they stand (vendors' tokens, PEM blocks, JWTs, cards, seed phrases) or by their
place (URLs, headers, command lines, settings), values given to a name that says ``password``, ``secret`` and
the like, what is told in plain words, and what stands in a table under such a name. Each is looked for in the
text and in the text without what breaks a word (hidden characters, colours, line ends, joined strings). The
sentence around a value stays, with ``[redacted:<kind>]`` in its place. Nothing found is ever logged;
`recognised` keeps digests.

The rules are data of our own (`vendor_rules`, `placed_rules`, `secret_rules`, `spoken_words`), each with an
example that it finds and one that it leaves, or with made-up values of its pattern. The vendors' formats are
those that the vendors publish; they were held against Yelp's detect-secrets 1.5 (Apache-2.0), the one
maintained rule set in Python that is made of plain patterns, and the rules for quoted values follow it. It
is no dependency, since its public `scan_line` does not fit: it reads single lines under settings that hold
for the whole process, names a value and not where it stands, and knows neither prose nor most of the newer
vendors; its entropy plugins call commit hashes, digests and uuids secrets, of which dialogue about code is
full.
"""

from __future__ import annotations

from typing import Any

from pipeline.record import field, record
from pipeline.safety.detection import find
from pipeline.safety.rule import Span
from pipeline.safety.secret_rules import PRIVATE_TAG
from pipeline.safety.unbroken import clean

_PASSES = 4
"""Replacing one value can bring another to light (``a:b@`` after a token); this many rounds at most."""


@record
class Redacted:
    """Text without its secrets, how many values were replaced, and their kinds, sorted and distinct."""

    text: str
    found: int
    kinds: tuple[str, ...]
    values: tuple[str, ...] = field(default=(), repr=False)
    """What was taken out, for `recognised` alone; it goes into no text, log or file."""


def redact(text: str) -> Redacted:
    """Return `text` with every secret replaced by ``[redacted:<kind>]``.

    ``<private>`` blocks are removed without trace; one that is never closed hides the rest of the text.
    Doing it twice changes nothing.
    """
    text, found = _without_private(text)
    kinds: set[str] = {"private"} if found else set()
    values: list[str] = []
    for _ in range(_PASSES if text else 0):
        spans = find(text)
        if not spans:
            break
        found += len(spans)
        kinds.update(kind for _, _, kind in spans)
        for start, end, _ in spans:
            values += clean(text[start:end])
        text = _without(text, spans)
    return Redacted(text, found, tuple(sorted(kinds)), tuple(values))


def has_secret(text: str) -> bool:
    """Return whether `redact` would take anything out of `text`."""
    return redact(text).found > 0


def redact_values(value: Any) -> Any:
    """Return `value` with every secret taken out of every text in it, through lists and mappings' values."""
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, dict):
        return {key: redact_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(redact_values(item) for item in value)
    return value


def _without_private(text: str) -> tuple[str, int]:
    """Drop private blocks, nested ones with the outermost; a closing tag alone means nothing."""
    found = 0
    while "<" in text:
        kept, depth, at, blocks = [], 0, 0, 0
        for tag in PRIVATE_TAG.finditer(text):
            if text[tag.start() - 1 : tag.start()] == "`" == text[tag.end() : tag.end() + 1]:
                continue  # `<private>` as code: somebody writes about the tag
            opens = not tag[1]
            if opens and depth == 0:
                kept.append(text[at : tag.start()])
                blocks += 1
            if not opens and depth == 1:
                at = tag.end()
            depth = depth + 1 if opens else max(0, depth - 1)
        if not blocks:
            break
        # Taking a block out can join the halves of another tag, so look again.
        text = "".join(kept) + ("" if depth else text[at:])
        found += blocks
    return text, found


def _without(text: str, spans: list[Span]) -> str:
    """Return `text` with the mark of its kind in the place of each of `spans`, which are in order."""
    pieces: list[str] = []
    at = 0
    for start, end, kind in spans:
        pieces += [text[at:start], f"[redacted:{kind}]"]
        at = end
    return "".join(pieces) + text[at:]

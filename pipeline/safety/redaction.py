"""Takes secrets out of text before it is stored, logged or sent to a model.

``redact`` works in four steps: ``<private>`` blocks vanish; shapes that are secrets wherever they stand
(vendors' token formats, PEM blocks, JWTs) or by their place (URLs, headers, command lines) are replaced;
then quoted values beside a name that says ``password``, ``secret`` and the like; then whatever else is
assigned to such a name. The sentence around a value stays, with ``[redacted:<kind>]`` in its place. Nothing
found is ever logged.

The rules are data of our own (`secret_rules`), each with an example that it finds and one that it leaves.
The vendors' formats and the rules for quoted values follow Yelp's detect-secrets 1.5 (Apache-2.0), the one
maintained rule set in Python that is made of plain patterns. It is no dependency, since its public
`scan_line` does not fit: it reads single lines under settings that hold for the whole process, names a
value and not where it stands, finds a keyword's first value only, and imports an HTTP client to do so; and
the patterns inside its plugins may move with any release. Left out of it are the entropy plugins and
ip_public (dialogue about code is full of commit hashes, digests and uuids, which they call secrets),
artifactory (any word in capitals from APA on), basic_auth (takes the user's name along), and what our own
rules find with more care: github, stripe, jwt, openai, private_key, cloudant, ibm, softlayer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pipeline.safety.detection import find
from pipeline.safety.rule import Span
from pipeline.safety.secret_rules import PRIVATE_TAG
from pipeline.safety.unbroken import clean

_PASSES = 4
"""Replacing one value can bring another to light (``a:b@`` after a token); this many rounds at most."""


@dataclass(frozen=True, slots=True)
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
    Doing it twice changes nothing. Takes about as long for 100 KB as one small file read takes.
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
        values += [clean(text[start:end]) for start, end, _ in spans]
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

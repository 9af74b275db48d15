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

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.safety.secret_rules import (
    ALGORITHM,
    ASSIGNED,
    IDENTIFIER,
    KEY,
    KEY_AT,
    KEY_HINTS,
    KEY_LEAD,
    NOT_A_VALUE,
    PLACEHOLDER,
    PRIVATE_TAG,
    QUOTED,
    QUOTES,
    SHAPES,
    SPOKEN,
    SYMBOL,
    VARIABLE,
    Rule,
)

_PASSES = 4
"""Replacing one value can bring another to light (``a:b@`` after a token); this many rounds at most."""


_TRAILING = ".)]}!?"
"""Punctuation after a bare value that belongs to the sentence or the code around it."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """Text without its secrets, how many values were replaced, and their kinds, sorted and distinct."""

    text: str
    found: int
    kinds: tuple[str, ...]


def redact(text: str) -> Redacted:
    """Return `text` with every secret replaced by ``[redacted:<kind>]``.

    ``<private>`` blocks are removed without trace; one that is never closed hides the rest of the text.
    Doing it twice changes nothing. Takes about as long for 100 KB as one small file read takes.
    """
    text, found = _without_private(text)
    kinds: set[str] = {"private"} if found else set()
    for _ in range(_PASSES if text else 0):
        before = found
        for replace in (_shapes, _quoted, _assignments):
            text, count = replace(text, kinds)
            found += count
        if found == before:
            break
    return Redacted(text, found, tuple(sorted(kinds)))


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


def _replace(text: str, spans: list[tuple[int, int, str]], kinds: set[str]) -> tuple[str, int]:
    """Replace `spans` (start, end, kind) in `text`; of overlapping ones the first and longest counts."""
    if not spans:
        return text, 0
    pieces, at, count = [], 0, 0
    for start, end, kind in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start < at:
            continue
        pieces += [text[at:start], f"[redacted:{kind}]"]
        kinds.add(kind)
        at = end
        count += 1
    return "".join(pieces) + text[at:], count


def _holds(text: str, hints: tuple[str, ...]) -> bool:
    """Say whether one of `hints` is in `text`; a plain loop, since this decides what redaction costs."""
    for hint in hints:  # noqa: SIM110 - any() takes three times as long
        if hint in text:
            return True
    return False


def _shapes(text: str, kinds: set[str]) -> tuple[str, int]:
    lowered = text.lower()
    spans: list[tuple[int, int, str]] = []
    for rule in SHAPES:
        if _holds(lowered, rule.hints):
            spans += _matches(rule, text)
    return _replace(text, spans, kinds)


def _matches(rule: Rule, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the span and kind of each secret that `rule` finds in `text`."""
    for found in re.finditer(rule.pattern, text):
        part = "value" if "value" in found.re.groupindex else 0
        if part == 0 or not PLACEHOLDER.match(found[part]):
            yield (*found.span(part), rule.kind)


def _quoted(text: str, kinds: set[str]) -> tuple[str, int]:
    """Replace quoted values on lines that hold a quote and a name for a secret."""
    spans: list[tuple[int, int, str]] = []
    hints = QUOTED[0].hints
    at = 0
    if not (_holds(text, QUOTES) and _holds(text.lower(), hints)):
        return text, 0
    for line in text.split("\n"):
        if _holds(line, QUOTES) and _holds(line.lower(), hints):
            for rule in QUOTED:
                for found in re.finditer(rule.pattern, line):
                    start, end = found.span("value")
                    # In brackets stands the name to look it up by: `password = environ["X"];`.
                    if _quoted_value(found["value"]) and "[" not in line[found.start() : start]:
                        spans.append((at + start, at + end, rule.kind))
        at += len(line) + 1
    return _replace(text, spans, kinds)


def _assignments(text: str, kinds: set[str]) -> tuple[str, int]:
    spans: list[tuple[int, int, str]] = []
    for start in _names(text):
        for pattern in (ASSIGNED, SPOKEN):
            found = pattern.match(text, start)
            if found:
                spans += _value(found, text, spoken=pattern is SPOKEN)
    return _replace(text, spans, kinds)


def _names(text: str) -> list[int]:
    """Return where the names begin that a value may be assigned to, in order, none within another.

    Plain searches for what every name holds come first: the pattern itself, tried at every character,
    took half of all redaction's time.
    """
    lowered = text.lower()
    if len(lowered) != len(text):
        return [key.start() for key in KEY_AT.finditer(text)]
    positions: set[int] = set()
    for hint in KEY_HINTS:
        at = lowered.find(hint)
        while at >= 0:
            lead = KEY_LEAD.search(lowered, max(0, at - 12), at) if hint == "key" else None
            positions.add(lead.start() if lead else at)
            at = lowered.find(hint, at + 1)
    names: list[int] = []
    end = 0
    for position in sorted(positions):
        key = KEY_AT.match(text, position) if position >= end else None
        if key:
            names.append(position)
            end = key.end()
    return names


def _value(found: re.Match[str], text: str, *, spoken: bool) -> Iterator[tuple[int, int, str]]:
    """Yield the span of the value that `found` gives to its name, if it is one."""
    part = "quoted" if found["quoted"] else "bare"
    if part == "quoted":
        secret = _quoted_value(found[part])
    elif spoken:
        secret = _telling(found[part].rstrip(_TRAILING)) and not ALGORITHM.match(found[part])
    else:
        secret = _bare_value(found, text)
    if secret:
        start, end = found.span(part)
        if part == "bare":
            end = start + len(found[part].rstrip(_TRAILING))
        yield start, end, "token" if "token" in found["key"].lower() else "password"


def _quoted_value(value: str) -> bool:
    """Say whether a quoted text is a value and not a placeholder, a type or a variable's name."""
    if len(value) < 4 or PLACEHOLDER.match(value) or VARIABLE.fullmatch(value):
        return False
    return value.strip().lower() not in NOT_A_VALUE


def _bare_value(found: re.Match[str], text: str) -> bool:
    """Say whether what follows ``password =`` or ``token:`` is a value and not code, a type or prose."""
    value = found["bare"].rstrip(_TRAILING)
    names = value.split(".")
    if len(value) < 4 or PLACEHOLDER.match(value) or "(" in value or "[" in value:
        return False
    if value.lower() in NOT_A_VALUE or (value.isdigit() and found["key"].lower() in ("token", "pass")):
        return False
    if all(IDENTIFIER.fullmatch(name) for name in names) and (len(names) > 1 or re.search(KEY, value, re.I)):
        return False
    if found["sep"] in (":", "：", "は"):
        rest = text[found.end() : text.find("\n", found.end()) % (len(text) + 1)].strip(" \t\r.*`'\"")
        return _telling(value) or (
            len(value) >= 6 and not rest and value.isalpha() and found["key"].isascii()
        )
    return len(value) >= 6 or _telling(value)


def _telling(value: str) -> bool:
    """Say whether `value` looks made up: digits among letters, symbols, or capitals inside."""
    if len(value) < 6 or PLACEHOLDER.match(value) or not value.isascii():
        return False
    letters = any(char.isalpha() for char in value)
    digits = any(char.isdigit() for char in value)
    return (letters and digits) or bool(SYMBOL.search(value)) or (digits and value.isdigit())

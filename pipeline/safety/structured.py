"""Secrets out of structured values: lists and mappings as JSON has them, of any size and depth.

A value is judged with the name it stands under, since ``{"password": "…"}`` gives a secret away by its name
alone. `redaction.redact` stays the one judge of texts.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache
from typing import Any

from pipeline.safety.recognised import KIND, Recognised
from pipeline.safety.redaction import redact
from pipeline.safety.secret_rules import FAR_KEY_HINTS, KEY_HINTS

DEEPEST = 100
"""Levels below which a list or mapping is given as its JSON text: readers of JSON stop at 250 or so."""
_MOST_HELD = 2_000_000
"""Characters of texts that are remembered, each counted with what it takes beside them."""
_ENTRY = 300
_LONGEST_NAMED = 400
_SHORT_KEY = 12
_PRIVATE = "<private"
_QUOTING = re.compile(r'["\\]')
_KNOWN = f"[redacted:{KIND}]"
_HARMLESS = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|[a-z_-]{0,16}"
)
"""Ids, times and single words, of which a transcript's lines are full."""
_LEAST_INTEGER, _MOST_INTEGER = -(2**63), 2**64 - 1


class Cleaner:
    """Takes secrets out of one value after another; what was seen shortly before is not looked at again.

    `known` are values that were recognised before, wherever they stand; it is added to by `learn`.
    """

    def __init__(self, known: Recognised | None = None) -> None:
        self._known = known if known is not None else Recognised(os.urandom(32))
        self.found = 0
        """How many secrets were taken out."""
        self.kinds: set[str] = set()
        self._seen: dict[str, tuple[str, int, tuple[str, ...]]] = {}
        self._held = 0

    def learn(self, words: str) -> None:
        """Take the secrets that somebody tells in `words` out of all that follows."""
        for value in redact(words).values:
            if self._known.learn(value):
                self._seen, self._held = {}, 0

    def text(self, text: str) -> str:
        """Return `text` without its secrets."""
        return text if _HARMLESS.fullmatch(text) else self._looked_up(text)

    def value(self, value: Any, name: str = "", *, depth: int = 0) -> Any:
        """Return `value`, which stands under `name`, without the secrets in its texts and names.

        What no writer of JSON takes comes back as text: numbers that are none or too long, what is nested
        deeper than DEEPEST.
        """
        if isinstance(value, str):
            return self._named(value, name)
        if isinstance(value, dict | list) and depth >= DEEPEST:
            return self.text(json_text(value))
        if isinstance(value, dict):
            return self._mapping(value, depth)
        if isinstance(value, list):
            return [self.value(item, name, depth=depth + 1) for item in _private_on(value)]
        if isinstance(value, int) and not isinstance(value, bool) and _tells(name):
            # A number can be the secret, too.
            clean = self._named(str(value), name)
            return value if clean == str(value) and _fits(value) else clean
        return value if _fits(value) else str(value)

    def _mapping(self, value: dict[Any, Any], depth: int) -> dict[Any, Any]:
        clean: dict[Any, Any] = {}
        for name, item in value.items():
            if not isinstance(name, str):
                # YAML has such names: none, a number, a truth.
                clean[name] = self.value(item, str(name), depth=depth + 1)
                continue
            shown = name if len(name) < _SHORT_KEY else self.text(name)
            while shown in clean:
                # Two names that were secrets: both values stay.
                shown += "_"
            clean[shown] = self.value(item, name, depth=depth + 1)
        return clean

    def _named(self, text: str, name: str) -> str:
        clean = self.text(text)
        if clean != text or not _tells(name) or not 0 < len(text) <= _LONGEST_NAMED:
            return clean
        if "\n" in text or "\r" in text:
            return clean
        before = f'"{name}": "'
        if '"' in text or "\\" in text:
            judged = f'{before}{_QUOTING.sub("x", text)}"'
            return clean if self._looked_up(judged) == judged else "[redacted:password]"
        both = self._looked_up(f'{before}{text}"')
        return both[len(before) : -1] if both.startswith(before) else "[redacted:password]"

    def _looked_up(self, text: str) -> str:
        seen = self._seen.get(text)
        if seen is None:
            seen = self._redacted(text)
            if self._held > _MOST_HELD:
                self._seen, self._held = {}, 0
            self._seen[text] = seen
            self._held += len(text) + _ENTRY + (len(seen[0]) if seen[1] else 0)
        self.found += seen[1]
        self.kinds.update(seen[2])
        return seen[0]

    def _redacted(self, text: str) -> tuple[str, int, tuple[str, ...]]:
        result = redact(text)
        clean = result.text if result.found else text
        masked = self._known.mask(clean)
        if masked == clean:
            return clean, result.found, result.kinds
        number = masked.count(_KNOWN) - clean.count(_KNOWN)
        return masked, result.found + number, (*result.kinds, KIND)


def _private_on(blocks: list[Any]) -> list[Any]:
    """Return `blocks`, in which a private part that one text begins goes on in those behind it."""
    if not any(_PRIVATE in _text_of(block).lower() for block in blocks):
        return blocks
    found, is_open = [], False
    for block in blocks:
        text = _text_of(block)
        if text:
            text = f"{_PRIVATE}>{text}" if is_open else text
            # What stands behind a part that is still open vanishes with it.
            is_open = not redact(f"{text}\n.").text.endswith("\n.")
            block = {**block, "text": text}
        found.append(block)
    return found


def _text_of(block: Any) -> str:
    text = block.get("text") if isinstance(block, dict) else None
    return text if isinstance(text, str) else ""


@lru_cache(maxsize=4096)
def _tells(name: str) -> bool:
    """Say whether a name may be that of a secret; the names in a transcript's lines are few."""
    lowered = name.lower()
    return any(hint in lowered for hint in (*KEY_HINTS, *FAR_KEY_HINTS))


def _fits(value: Any) -> bool:
    """Say whether a number is one that every writer of JSON takes."""
    if isinstance(value, float):
        return value - value == 0
    return not isinstance(value, int) or _LEAST_INTEGER <= value <= _MOST_INTEGER


class _Written(str):
    """A piece of JSON that is written as it stands."""

    __slots__ = ()


def json_text(value: Any) -> str:
    """Return `value` as compact JSON, however deep it is: the usual writers give up at some depth."""
    pieces: list[str] = []
    left: list[Any] = [value]
    while left:
        item = left.pop()
        if isinstance(item, _Written):
            pieces.append(item)
        elif isinstance(item, dict):
            pieces.append("{")
            left.append(_Written("}"))
            for number, (name, inner) in reversed(list(enumerate(item.items()))):
                left += [inner, _Written(f"{',' if number else ''}{_plain(name)}:")]
        elif isinstance(item, list):
            pieces.append("[")
            left.append(_Written("]"))
            for number, inner in reversed(list(enumerate(item))):
                left += [inner, _Written("," if number else "")]
        else:
            pieces.append(_plain(item if _fits(item) else str(item)))
    return "".join(pieces)


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)

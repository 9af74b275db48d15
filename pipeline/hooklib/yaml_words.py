"""What single words of front matter mean in YAML, and values and lines of nothing but plain words."""

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NULLS = frozenset({"~", "null", "Null", "NULL"})
"""How YAML writes that a value is nothing. As a name, a description or an item of a list they are words."""
NEVER_NULL = frozenset({"name", "description"})
WORDED = (
    NEVER_NULL
    | {"id", "title", "type", "origin", "tags", "aliases", "anchors", "cues"}
    | {"steps", "preconditions", "postconditions", "status", "blockers", "outcome"}
)
"""Keys, at the top and below ``metadata``, whose plain values are words: 012 is not ten, null not nothing."""
INTEGER = r"[-+]?(?:0|[1-9][0-9]{0,4000})"
DECIMAL = r"[-+]?(?:0|[1-9][0-9]{0,17})\.[0-9]{1,30}(?:[eE][-+][0-9]{1,3})?"
"""Numbers as every generation of YAML reads them; what only some take for a number stays the text it is."""


# Compiled by `re` when they are first used: most prompts meet no changed file.
LINE = r"([A-Za-z_][A-Za-z0-9_]{0,99}): ([A-Za-z0-9](?:[^:#\s]|:(?=[^\s])| (?=[^#\s]))*)\Z"
"""A line with a key and a plain value, as nearly all are."""
_EASY_WORD = r"[A-Za-z0-9][\w./@+=-]*(?: [\w./@+=-]+)*"
_EASY_LIST = rf"\[{_EASY_WORD}(?:, {_EASY_WORD})*\]\Z"
_EASY_MAP = rf"\{{[A-Za-z_]\w*: {_EASY_WORD}(?:, [A-Za-z_]\w*: {_EASY_WORD})*\}}\Z"
_NUMBER = rf"(?:({INTEGER})|{DECIMAL})$"
_BOOLS = {
    **{"true": True, "True": True, "TRUE": True},
    **{"false": False, "False": False, "FALSE": False},
}


def plain_value(text: str, key: str) -> "Any":
    """Return the value of a plain scalar below `key`: "" for no known key, "-" before it for an item."""
    if key.lstrip("-") in WORDED:
        null = text in NULLS and key[0] != "-" and key not in NEVER_NULL
        return None if null else text
    first = text[0]
    if first in "nN~" and text in NULLS:
        return None
    if first in "tTfF":
        return _BOOLS.get(text, text)
    if first in "-+0123456789" and not text.strip("0123456789+-.eE"):
        number = re.match(_NUMBER, text)
        if number:
            return int(text) if number.group(1) else float(text)
    return text


def key_below(key: str, parent: str) -> str:
    """Return by what name a value below `key` is read, which is itself below `parent`; see `plain_value`."""
    return key if parent in ("/", "metadata") else ""


def easy_value(text: str, key: str) -> "Any":
    """Return the list or table of plain words that `text` is, below `key`; None for anything else."""
    if text == "[]":
        return []
    if text[0] == "[" and re.match(_EASY_LIST, text):
        item = f"-{key}" if key in WORDED else ""
        return [plain_value(word, item) for word in text[1:-1].split(", ")]
    if text[0] != "{" or not re.match(_EASY_MAP, text):
        return None
    pairs = [pair.split(": ", 1) for pair in text[1:-1].split(", ")]
    if any(plain_value(name, "") != name for name, _ in pairs):
        return None
    return {name: plain_value(word, key_below(name, key)) for name, word in pairs}

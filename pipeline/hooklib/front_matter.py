"""Front matter, read as the client reads it: the one reader for hooks, store, indexes and audit.

What the client takes stands in ``docs/memory-files.md``. `read` knows the forms in which people and programs
write front matter, by lines, with nothing but the standard library. Of a form it does not know it says so
(`UnsureError`), and never guesses: the store then asks a whole YAML parser, a hook waits until the index has
the file. Text that is no YAML is read a second time with its values in quotes, as the client does.
"""

import re

from pipeline.hooklib.yaml_lines import UnreadableError, UnsureError, is_list, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    Table = dict[str, Any]

UNREAD = (UnreadableError, UnsureError)
"""What `read` raises where it has nothing else to ask."""
MAX_FRONT = 200_000
"""Characters of front matter that are read."""
_SHARES = {"high": 0.8, "medium": 0.5, "low": 0.3}

# The client's second try: a line with a plain value in which something means more than itself.
_VALUE = r"([A-Za-z_-]+):[ \t]+(\S.*)$"
_SPECIAL = r"[{}\[\]*&#!|>%@`]|: |:$"
_LEFT_ALONE = r"""[|>][0-9]?[-+]?[0-9]?[ \t]*$|(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')[ \t]+#"""
"""The head of a block of text, and a text in quotes before a comment, which the client quotes as a whole."""


def read(front: str, other: "Callable[[str], Table | None] | None" = None) -> "Table | None":
    """Return the keys of front matter, or None when it is a list or prose and no table.

    Values are texts, whole numbers, decimals, true, false, None, and lists and tables of these. `other` reads
    what this reader is not sure of; it takes text with plain line ends, returns what `read` does and raises
    UnreadableError. Raises UnreadableError, and without `other` UnsureError.
    """
    if len(front) > MAX_FRONT:
        fix = "Move what is long into the text below the front matter"
        raise UnreadableError(f"it has over {MAX_FRONT:,} characters", final=True, fix=fix)
    text = front.replace("\r\n", "\n")
    try:
        return _table(text, other)
    except UnreadableError as error:
        again = quoted(text)
        if error.final or again == text:
            raise
        first = error
    try:
        return _table(again, other)
    except UnreadableError:
        raise first from None  # It says where the file itself, and not the repaired text, is off.


def quoted(front: str) -> str:
    """Return `front` with quotes around the values at its top that need them, and spaces for leading tabs.

    So the client reads what is no YAML as it stands. Text in a block, lists and what has quotes stay.
    """
    return "\n".join([_quoted(line) for line in front.split("\n")])


def field(front: "Mapping[str, Any]", key: str) -> "Any":
    """Return what front matter has for `key` at its top, or below ``metadata`` when it is blank there.

    The client moves keys it does not know below ``metadata`` and blanks some.
    """
    value = front.get(key)
    if value is None or value == "":
        below = front.get("metadata")
        return below.get(key) if isinstance(below, dict) else None
    return value


def text_of(value: object) -> str:
    """Return `value` as a text without blanks around it; "" for what is neither a text nor a number."""
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def texts_of(value: object) -> "list[str]":
    """Return the texts of a list, or of a text with commas, leaving out what is empty."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple):
        return []
    return [text for text in map(text_of, value) if text]


def share_of(value: object, default: float) -> float:
    """Return `value`, a number or one of the words high, medium and low, within 0 and 1."""
    if isinstance(value, str):
        word = _SHARES.get(value.strip().lower())
        try:
            value = float(value) if word is None else word
        except ValueError:
            return default
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        return default
    # Compared before it is a float: an integer has no limit, and 400 digits do not fit one.
    return float(min(1, max(0, value)))


def _quoted(line: str) -> str:
    tabs = len(line) - len(line.lstrip("\t"))
    line = "  " * tabs + line[tabs:]
    found = re.match(_VALUE, line)
    if not found:
        return line
    key, value = found.groups()
    closed = value[0] + value[-1] in ("''", '""', "[]") and (value[0] != "[" or is_list(value))
    if closed or re.match(_LEFT_ALONE, value) or not re.search(_SPECIAL, value):
        return line
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'{key}: "{escaped}"'


def _table(text: str, other: "Callable[[str], Table | None] | None") -> "Table | None":
    try:
        return parse(text)
    except UnsureError:
        if other is None:
            raise
        return other(text)

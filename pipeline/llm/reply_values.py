"""The JSON values that a reply may mean: the whole text, what fences hold, what stands amid prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from pipeline.hooklib.plain import well_formed

# The closing fence has a line to itself: inside a JSON text, line breaks are escaped and fences may occur.
_OPENS = re.compile(r"```[ \t]*(?:[A-Za-z0-9_+-]+[ \t]*)?\r?\n")
_CLOSES = re.compile(r"\n[ \t]*```")
# Prose holds brackets of its own ("see [1]"), so only an object or a list of objects can begin there.
_START = re.compile(r"\[\s*\{|\{")
_DECODER = json.JSONDecoder(parse_constant=lambda name: _no_constant(name))
# A start that leads nowhere may cost a look at all the rest: so often may the whole be looked through.
_MOST_LOOKS = 60
_NOTHING: Any = object()


class ReplyValue(NamedTuple):
    """A JSON value of a reply. `alone`: nothing else of the reply could be the value, or a part of it."""

    value: Any
    alone: bool


def reply_values(text: str) -> Iterator[ReplyValue]:
    """Yield the values that `text` may mean, the likeliest first: of several the last, since a model that
    thinks aloud, or shows an example, answers at the end."""
    whole = _load(text.strip().removeprefix("\ufeff"))
    if whole is not _NOTHING:
        yield ReplyValue(whole, True)
        return
    found: list[tuple[int, Any]] = []
    prose = []
    end = 0
    for start, inside, stop in _fences(text):
        value = _load(inside.strip())
        if value is not _NOTHING:
            found.append((start, value))
            prose.append((end, start))
            end = stop
    prose.append((end, len(text)))
    broken = False
    for start, stop in prose:
        values, failed = _amid_prose(text[start:stop])
        found += [(start + at, value) for at, value in values]
        broken = broken or failed
    for _, value in sorted(found, key=lambda pair: pair[0], reverse=True):
        yield ReplyValue(value, len(found) == 1 and not broken)


def _fences(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield where each fenced block begins, what it holds, and where it ends. One pass over `text`."""
    opens = _OPENS.search(text)
    while opens is not None:
        closes = _CLOSES.search(text, opens.end())
        if closes is None:
            return
        yield opens.start(), text[opens.end() : closes.start()], closes.end()
        opens = _OPENS.search(text, closes.end())


def _amid_prose(text: str) -> tuple[list[tuple[int, Any]], bool]:
    """Return the balanced values of `text` with their places, and whether any began and came to nothing."""
    found = []
    failed = 0
    at = _START.search(text)
    while at is not None and failed < _MOST_LOOKS * len(text):
        try:
            value, end = _DECODER.raw_decode(text, at.start())
            value = _clean(value)
        except (ValueError, RecursionError) as fault:
            # A brace of the prose, or a value that is cut or too deep: the next one may be whole.
            failed += _looked_through(text, at.start(), fault)
            end = at.start() + 1
        else:
            found.append((at.start(), value))
        at = _START.search(text, end)
    return found, failed > 0


def _looked_through(text: str, start: int, fault: Exception) -> int:
    """Return how many characters of `text` were read up to `fault`, at most.

    A string without an end is named by its start. Naming the line of a fault counts the lines before it,
    which is much faster than reading them, yet not free.
    """
    if isinstance(fault, json.JSONDecodeError) and text[fault.pos : fault.pos + 1] != '"':
        return max(fault.pos - start + 1, len(text) // 30)
    return len(text) - start


def _load(text: str) -> Any:
    try:
        return _clean(_DECODER.decode(text))
    except (ValueError, RecursionError):
        # Not JSON, or nested beyond reason: the caller tries the next reading of the text.
        return _NOTHING


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {well_formed(key): _clean(item) for key, item in value.items()}
    return value

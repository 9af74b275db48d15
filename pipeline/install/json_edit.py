"""Changing a JSON text at one place and leaving every other character as it is.

A text is changed by replacing spans; nothing is ever written anew from parsed values, so that order,
indentation, line ends, escapes and the last newline stay a person's own. What is taken out again leaves
the text as it was before it was put in.
"""

from __future__ import annotations

import json
import re
from typing import Any

from pipeline.record import record
from pipeline.safety.late import late

_BLANK = late(r"[ \t\n\r]*")
_INDENT = "  "


class BadJsonError(ValueError):
    """The text is no JSON as Claude Code reads it; `line` and `column` count from 1."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


@record
class Item:
    """One value of a container: its `key` (None in a list), where key or value begins, where the value is."""

    key: str | None
    start: int
    value: int
    end: int


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def parse(text: str) -> Any:
    """Return what the whole `text` says, numbers as text. Raises BadJsonError."""
    try:
        value, end = _DECODER.raw_decode(text, _skip(text, 0))
        end = _skip(text, end)
        if end != len(text):
            raise json.JSONDecodeError("something stands after the end", text, end)
    except json.JSONDecodeError as error:
        raise BadJsonError(error.msg, error.lineno, error.colno) from error
    except (ValueError, RecursionError) as error:
        raise BadJsonError(str(error), 1, 1) from error
    return value


def items(text: str, start: int) -> list[Item]:
    """Return the values of the object or list that begins at `start`, in order."""
    found: list[Item] = []
    closing = "}" if text[start] == "{" else "]"
    here = _skip(text, start + 1)
    while text[here] != closing:
        begin, key = here, None
        if closing == "}":
            key, here = _DECODER.raw_decode(text, here)
            here = _skip(text, _skip(text, here) + 1)
        _, end = _DECODER.raw_decode(text, here)
        found.append(Item(key, begin, here, end))
        here = _skip(text, end)
        if text[here] == ",":
            here = _skip(text, here + 1)
    return found


def member(text: str, start: int, key: str) -> Item | None:
    """Return the member `key` of the object at `start`; of several the last, which is the one that counts."""
    return next((item for item in reversed(items(text, start)) if item.key == key), None)


def first(text: str) -> int:
    """Return where the text's value begins."""
    return _skip(text, 0)


def line_of(text: str, at: int) -> int:
    """Return the line, from 1, of the character `at`."""
    return text.count("\n", 0, at) + 1


def put_in(text: str, start: int, value: Any, *, key: str | None = None) -> str:
    """Return `text` with `value` added at the end of the container at `start`, as `key` in an object.

    It is set as the container's other values are: on lines of its own with their indentation, or on the
    same line when the container is on one.
    """
    held = items(text, start)
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent_of_line(text, start)
    unit = _unit(text)
    if held and "\n" not in text[start : held[-1].start]:
        new = _dump(value, key)
        return text[: held[-1].end] + ", " + new + text[held[-1].end :]
    indent = _indent_of_line(text, held[-1].start) if held else outer + unit
    new = _dump(value, key, unit).replace("\n", newline + indent)
    if held:
        at = held[-1].end
        return f"{text[:at]},{newline}{indent}{new}{text[at:]}"
    end = _skip(text, start + 1)
    return f"{text[: start + 1]}{newline}{indent}{new}{newline}{outer}{text[end:]}"


def take_out(text: str, start: int, number: int) -> str:
    """Return `text` without the value `number` of the container at `start`; an emptied one becomes bare."""
    held = items(text, start)
    if len(held) == 1:
        end = _skip(text, held[0].end)
        return text[: start + 1] + text[end:]
    if number:
        return text[: held[number - 1].end] + text[held[number].end :]
    return text[: held[0].start] + text[held[1].start :]


def put_in_place(text: str, item: Item, value: Any) -> str:
    """Return `text` with `value` in place of the one of `item`."""
    newline = "\r\n" if "\r\n" in text else "\n"
    flat = "\n" not in text[item.value : item.end]
    indent = _indent_of_line(text, item.start)
    new = _dump(value, None) if flat else _dump(value, None, _unit(text)).replace("\n", newline + indent)
    return text[: item.value] + new + text[item.end :]


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _indent_of_line(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return how the text indents: the first line that is, which is one level deep."""
    match = re.search(r"\n([ \t]+)[^\s]", text)
    return match[1] if match else _INDENT


def _dump(value: Any, key: str | None, unit: str | None = None) -> str:
    dumped = json.dumps(value, ensure_ascii=False, indent=unit)
    return dumped if key is None else f"{json.dumps(key)}: {dumped}"

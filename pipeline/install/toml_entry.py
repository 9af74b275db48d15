"""A table of a TOML file, appended or taken out; the rest of the text stays as it was, comments too.

A table with a header of its own goes by its statements, so that a person's comments stay. One that stands
in another form (``outer = {…}``, ``outer.key = {…}``) is edited by tomlkit. Either way the values of the new
text are looked at: a text that would say anything else is refused.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from pipeline.hooklib.jsonish import BOM
from pipeline.hooklib.plain import whole_lines

_QUOTES = ('"""', "'''", '"', "'")


class BadTomlError(ValueError):
    """The text is no TOML."""


class OddTomlError(BadTomlError):
    """The text holds the table in a form that can't be changed for a person."""


def table_of(text: str, outer: str, key: str) -> Any:
    """Return what stands as `key` in the table `outer`, None where nothing does. Raises BadTomlError."""
    held = _parsed(text.removeprefix(BOM)).get(outer)
    return held.get(key) if isinstance(held, dict) else None


def with_table(text: str, outer: str, key: str, values: Mapping[str, Any]) -> str:
    """Return `text` with `values` as the table ``[outer.key]``, which it has not. Raises BadTomlError."""
    bom, text = _apart(text)
    before = _parsed(text)
    held = before.get(outer, {})
    if not isinstance(held, dict):
        raise OddTomlError(f"{outer!r} must hold tables")
    ways = [
        lambda: _appended(text, outer, key, values),
        lambda: _edited(text, outer, lambda found: found.update({key: _inline(values)})),
    ]
    return bom + _first_that_says([{**before, outer: {**held, key: dict(values)}}], ways, outer, key)


def with_values(text: str, outer: str, key: str, values: Mapping[str, Any]) -> str:
    """Return `text` with `values` in the table ``[outer.key]``, which it has: what else is there stays.

    Raises BadTomlError.
    """
    bom, text = _apart(text)
    before = _parsed(text)
    held = before[outer]
    wanted = {**before, outer: {**held, key: {**held[key], **values}}}
    ways = [lambda: _edited(text, outer, lambda found: found[key].update(values))]
    return bom + _first_that_says([wanted], ways, outer, key)


def without_table(text: str, outer: str, key: str) -> str:
    """Return `text` without the table ``[outer.key]`` and those below it. Raises BadTomlError."""
    bom, text = _apart(text)
    before = _parsed(text)
    held = before.get(outer)
    if not isinstance(held, dict) or key not in held:
        return bom + text
    rest = {**before, outer: _less(held, key)}
    ways = [lambda: _cut(text, (outer, key)), lambda: _edited(text, outer, lambda found: found.pop(key))]
    return bom + _first_that_says([rest] if rest[outer] else [rest, _less(rest, outer)], ways, outer, key)


def _less(values: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != key}


def _first_that_says(
    wanted: Sequence[dict[str, Any]], ways: Sequence[Callable[[], str]], outer: str, key: str
) -> str:
    """Return the first text that `ways` make which is TOML and says one of what is `wanted`."""
    for way in ways:
        # The next way may do; where none does, that is told.
        with suppress(BadTomlError):
            text = way()
            if _parsed(text) in wanted:
                return text
    raise OddTomlError(f"{outer}.{key} can't be changed for you in the form that the file has")


def _appended(text: str, outer: str, key: str, values: Mapping[str, Any]) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{outer}.{key}]", *(f"{name} = {_value(value)}" for name, value in values.items())]
    apart = "" if not text else newline if text.endswith("\n") else newline * 2
    return text + apart + newline.join(lines) + newline


def _edited(text: str, outer: str, change: Callable[[Any], object]) -> str:
    """Return `text` after `change` of its table `outer`. Raises OddTomlError for what tomlkit can't take."""
    # Deferred: few files have such a form.
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(text)
        change(document[outer])
        new = str(tomlkit.dumps(document))
    except (TOMLKitError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise OddTomlError(str(error)) from error
    if _comments(new) != _comments(text):
        # Where tables stand out of order tomlkit may lose some.
        raise OddTomlError("a comment would be lost")
    return new


def _comments(text: str) -> list[str]:
    return [line.strip() for line in _statements(text) if line.lstrip().startswith("#")]


def _inline(values: Mapping[str, Any]) -> Any:
    import tomlkit

    table = tomlkit.inline_table()
    table.update(values)
    return table


def _cut(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the statements below the header of `path` and of those under it."""
    kept: list[str] = []
    inside = False
    for statement in _statements(text):
        if statement.lstrip().startswith("["):
            inside = _header(statement)[: len(path)] == path
            if inside and kept and not kept[-1].strip():
                kept.pop()  # The line that set it apart.
        if not inside or statement.lstrip().startswith("#"):
            kept.append(statement)
    return "".join(kept)


def _header(statement: str) -> tuple[str, ...]:
    """Return the names that a table's header is made of."""
    names: list[str] = []
    value: Any = _parsed(statement)
    while value:
        name, value = next(iter(value.items()))
        names.append(name)
        value = value[0] if isinstance(value, list) else value
    return tuple(names)


def _statements(text: str) -> Iterator[str]:
    """Yield the lines of `text`, those together that one value spans: a list, or a string of many lines."""
    held, quote, depth = "", "", 0
    for line in whole_lines(text):
        held += line
        quote, depth = _state(line, quote, depth)
        if not quote and depth <= 0:
            yield held
            held, depth = "", 0
    if held:
        yield held


def _state(line: str, quote: str, depth: int) -> tuple[str, int]:
    """Return by which quotes a string is open after `line`, and how many brackets are."""
    at = 0
    while at < len(line):
        if quote:
            at, quote = _in_string(line, at, quote)
            continue
        if line[at] == "#":
            break
        quote = next((each for each in _QUOTES if line.startswith(each, at)), "")
        depth += (line[at] in "[{") - (line[at] in "]}")
        at += len(quote) or 1
    return quote, depth


def _in_string(line: str, at: int, quote: str) -> tuple[int, str]:
    """Return where to go on in a string that `quote` opened, and the quotes by which it is open then."""
    if quote[0] == '"' and line[at] == "\\":
        return at + 2, quote
    if not line.startswith(quote, at):
        return at + 1, quote
    end = at + len(quote)
    while len(quote) > 1 and line.startswith(quote[0], end):
        end += 1  # Up to two quotes may stand before the three that close it.
    return end, ""


def _apart(text: str) -> tuple[str, str]:
    return (BOM, text[1:]) if text.startswith(BOM) else ("", text)


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadTomlError(f"is no TOML: {error}") from error


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
